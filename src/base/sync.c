/* sync.c: syncs of many files at once, by short-lived threads */
#include "tracespool/sync.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define THREADS_MAX 15 /* besides the caller */
#define STACK_BYTES ((size_t)64 << 10)

struct crew {
	struct sync_item *items;
	size_t n;
	atomic_size_t next;
};

int sync_one(int fd, bool folder)
{
	if (fsync(fd) == 0)
		return 0;
	return folder && (errno == EINVAL || errno == EROFS) ? 0 : errno;
}

static void *work(void *arg)
{
	struct crew *c = arg;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->n)
		if (c->items[i].fd >= 0)
			c->items[i].sys = sync_one(c->items[i].fd, c->items[i].folder);
	return NULL;
}

static bool small_stack(pthread_attr_t *attr)
{
	size_t bytes = STACK_BYTES;

	if (bytes < (size_t)PTHREAD_STACK_MIN)
		bytes = (size_t)PTHREAD_STACK_MIN;
	return pthread_attr_init(attr) == 0 && pthread_attr_setstacksize(attr, bytes) == 0;
}

void sync_all(struct sync_item *items, size_t n)
{
	struct crew c = {.items = items, .n = n};
	pthread_t threads[THREADS_MAX];
	size_t started = 0;
	pthread_attr_t attr;

	for (size_t i = 0; i < n; i++)
		items[i].sys = 0;
	/* Where no thread can be had the caller does it all. */
	if (n > 1 && small_stack(&attr)) {
		while (started < THREADS_MAX && started + 1 < n &&
		       pthread_create(&threads[started], &attr, work, &c) == 0)
			started++;
		pthread_attr_destroy(&attr);
	}
	work(&c);
	while (started)
		pthread_join(threads[--started], NULL);
}
