/* ready.c: is this name finished? pure rules over looks and what proves the end */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"

int ready_look(int dir_fd, const char *name, struct spool_look *ret, struct stat *ret_st)
{
	struct spool_look look = {0};
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	look.dev = (uint64_t)st.st_dev;
	look.ino = (uint64_t)st.st_ino;
	look.mtime_ns = stat_mtime_ns(&st);
	look.at_ms = time_mono_ms();
	if (S_ISDIR(st.st_mode)) {
		CLEAN(close_fd)
		int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct survey survey;

		look.folder = true;
		/* One that cannot be read has size 0: it is never at rest, only idle. */
		if (fd >= 0 && !folder_survey(fd, &survey)) {
			look.size = survey.smallest;
			look.entries = survey.hash;
			if (survey.mtime_ns > look.mtime_ns)
				look.mtime_ns = survey.mtime_ns;
		}
	} else if (S_ISREG(st.st_mode)) {
		look.size = (uint64_t)st.st_size;
	} else {
		look.special = true;
		look.size = 1;
	}
	*ret = look;
	if (ret_st)
		*ret_st = st;
	return 0;
}

bool ready_same(const struct spool_look *a, const struct spool_look *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->entries == b->entries && a->folder == b->folder &&
	       a->special == b->special;
}

/* Time between the two looks if nothing changed from one to the other. */
static bool unchanged_for(const struct ready_view *view, uint64_t ms)
{
	return ready_same(view->first, view->now) && view->now->at_ms >= view->first->at_ms &&
	       (uint64_t)(view->now->at_ms - view->first->at_ms) >= ms;
}

bool ready_at_rest(const struct ready_view *view)
{
	return unchanged_for(view, view->settle_ms) && view->now->size > 0;
}

enum ready_state ready_judge(const struct ready_view *view)
{
	if (view->renamed_in)
		return READY_YES;
	if (view->proof && ready_at_rest(view))
		return READY_YES;
	return unchanged_for(view, view->idle_ms) ? READY_YES : READY_NO;
}

static enum spool_proof folder_proof(int dir_fd, const char *name)
{
	CLEAN(close_fd)
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct survey survey;

	if (fd < 0 || folder_survey(fd, &survey))
		return PROOF_UNREAD;
	return survey.shards && survey.smallest && !survey.unfinished ? PROOF_COMPLETE : PROOF_NONE;
}

enum spool_proof ready_proof(int dir_fd, const char *name, bool folder, bool higher_segment,
			     const struct spool_content *content, const struct spool_pulse *pulse)
{
	CLEAN(close_fd) int fd = -1;
	struct ts_str prefix;
	struct stat st;
	uint64_t number;

	if (folder)
		return folder_proof(dir_fd, name);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return PROOF_UNREAD;
	if (!S_ISREG(st.st_mode))
		return PROOF_COMPLETE;
	if (spool_segment(name, &prefix, &number))
		return higher_segment ? PROOF_COMPLETE : PROOF_NONE;
	if (!content)
		return PROOF_NONE;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return PROOF_UNREAD;
	return content->complete(content->arg, fd, name, pulse) ? PROOF_COMPLETE : PROOF_NONE;
}
