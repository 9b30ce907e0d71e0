/* util.h: clean-up attributes, ownership hand-over, loud checks for bugs of this program */
#ifndef TRACESPOOL_UTIL_H
#define TRACESPOOL_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Runs fn(&variable) when the variable leaves its scope. */
#define CLEAN(fn) __attribute__((cleanup(fn)))

/* Hands an owned pointer on: the value is returned and the variable becomes NULL. */
#define TAKE(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) take_ = (p);                                                         \
		(p) = NULL;                                                                        \
		take_;                                                                             \
	})

/* For bugs in this program only, never for input, disk or network: prints the place and aborts. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (__builtin_expect(!(cond), 0))                                                  \
			check_failed(#cond, __FILE__, __LINE__);                                   \
	} while (0)

_Noreturn void check_failed(const char *cond, const char *file, int line);

/* Gives each block of 1 MiB or more pages of its own, once at the start of a program. Else each such
 * block that is freed lets the C library put larger ones into the heap, where the growing tables of
 * an ingest leave holes: a quarter of its peak. */
void large_blocks_apart(void);

/* For CLEAN: free(*(void **)p), close(*fd) if *fd >= 0. */
void free_ptr(void *p);
void close_fd(int *fd);

/* Hands a descriptor on: the value is returned and the variable becomes -1. */
static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

#endif
