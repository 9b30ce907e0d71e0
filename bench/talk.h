/* talk.h: the least HTTP/1.1 that a load generator needs */
#ifndef BENCH_TALK_H
#define BENCH_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A response as it comes in. */
struct talk {
	char head[8192];
	size_t head_len;
	bool in_body, chunked, done;
	int status;
	uint64_t left;  /* of a body with a length */
	uint64_t bytes; /* of the body, framing of chunks included */
	char tail[5];   /* last bytes of a chunked body */
};

int talk_connect(const char *address); /* HOST:PORT, IPv4; fails the program if it cannot */
void talk_begin(struct talk *t);
/* Takes bytes that came in. */
void talk_take(struct talk *t, const char *p, size_t n);
void talk_send(int fd, const char *p, size_t n);
/* Puts a GET request together; header may be NULL ("If-None-Match: ..."). Returns the length. */
size_t talk_request(char *out, size_t size, const char *address, const char *path,
		    const char *header);
/* One request on a blocking connection, to its end. */
void talk_get(int fd, struct talk *t, const char *request, size_t n);

#endif
