/* util.c: what the clean-up attributes call, and the loud end for bugs of this program */
#include "tracespool/util.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void check_failed(const char *cond, const char *file, int line)
{
	fprintf(stderr, "<2>tracespool: bug: %s does not hold at %s:%d\n", cond, file, line);
	abort();
}

void large_blocks_apart(void)
{
#ifdef M_MMAP_THRESHOLD
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void free_ptr(void *p)
{
	free(*(void **)p);
}

void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
