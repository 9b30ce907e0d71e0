/* looks.c: the watcher's names: looks at them, judges them, offers the finished ones */
#include <errno.h>
#include <stdlib.h>

#include "watch.h"

/* A refused offer is tried again after this. */
#define OFFER_AGAIN_MS 100
#define BEAT_MS 1000

void watch_beat(struct watcher *w)
{
	int64_t now = time_mono_ms();

	if (w->o.heartbeat && now - w->beat_ms >= BEAT_MS) {
		w->beat_ms = now;
		w->o.heartbeat(w->o.arg);
	}
}

/* ---- segments ---- */

void watch_note_segment(struct watcher *w, const char *name)
{
	struct ts_str prefix;
	uint64_t number;
	uint32_t at;
	bool is_new;

	if (!spool_segment(name, &prefix, &number))
		return;
	at = strmap_find(&w->prefixes, prefix);
	if (at == STRMAP_NONE) {
		/* Beyond the bound segments wait for idle_ms. */
		if (w->prefixes.count >= WATCH_PREFIXES_MAX)
			return;
		if (w->prefixes.count >= w->top_room) {
			size_t room = w->top_room ? w->top_room * 2 : 64;
			struct segment_top *grown = reallocarray(w->tops, room, sizeof(*grown));

			if (!grown)
				return;
			w->tops = grown;
			w->top_room = room;
		}
		at = strmap_add(&w->prefixes, prefix, &is_new);
		if (at == STRMAP_NONE)
			return;
		w->tops[at] = (struct segment_top){number, w->tick};
	} else if (number >= w->tops[at].number) {
		w->tops[at] = (struct segment_top){number, w->tick};
	}
}

/* Was a higher number seen since the entry came? Once true it stays so. */
static bool higher_seen(const struct watcher *w, struct entry *e)
{
	struct ts_str prefix;
	uint64_t number;
	uint32_t at;

	if (e->higher || !spool_segment(e->name, &prefix, &number))
		return e->higher;
	at = strmap_find(&w->prefixes, prefix);
	e->higher =
		at != STRMAP_NONE && w->tops[at].number > number && w->tops[at].tick >= e->since;
	return e->higher;
}

void watch_forget_segments(struct watcher *w)
{
	for (struct entry *e = w->names.head; e && w->prefixes.count; e = e->next)
		higher_seen(w, e);
	strmap_done(&w->prefixes);
}

/* ---- the table ---- */

/* Room made by forgetting names kept in place: known() tells again. */
static bool drop_known(struct watcher *w)
{
	struct entry *next;
	bool dropped = false;

	for (struct entry *e = w->names.head; e; e = next) {
		next = e->next;
		if (e->state == ENTRY_KNOWN) {
			table_remove(&w->names, e);
			dropped = true;
		}
	}
	return dropped;
}

/* Is there room for a new name, or is it not worth any? */
static bool make_room(struct watcher *w, const char *name)
{
	struct spool_look look;
	struct stat st;
	bool room;

	if (w->names.count < WATCH_NAMES_MAX)
		return true;
	if (w->o.known &&
	    (ready_look(spool_fd(w->o.spool), name, &look, &st) || w->o.known(w->o.arg, name, &st)))
		return false;
	pthread_mutex_lock(&w->lock);
	room = drop_known(w);
	if (!room)
		w->beyond++;
	pthread_mutex_unlock(&w->lock);
	return room;
}

struct entry *watch_add(struct watcher *w, const char *name)
{
	struct entry *e = table_find(&w->names, ts_str_c(name));
	bool is_new;

	if (e || !make_room(w, name))
		return e;
	pthread_mutex_lock(&w->lock);
	e = table_add(&w->names, name, &is_new);
	if (e) {
		e->seen_ms = time_now_ms();
		e->since = w->tick;
	} else {
		w->beyond++;
	}
	pthread_mutex_unlock(&w->lock);
	return e;
}

static void forget(struct watcher *w, struct entry *e)
{
	pthread_mutex_lock(&w->lock);
	table_remove(&w->names, e);
	pthread_mutex_unlock(&w->lock);
}

/* Another file under the name. */
static void start_anew(const struct watcher *w, struct entry *e)
{
	e->seen_ms = time_now_ms();
	e->since = w->tick;
	e->higher = false;
}

void watch_restart(struct watcher *w, struct entry *e, bool renamed_in, bool fresh)
{
	pthread_mutex_lock(&w->lock);
	e->state = ENTRY_WAITING;
	e->looked = false;
	e->renamed_in = renamed_in;
	if (fresh)
		start_anew(w, e);
	pthread_mutex_unlock(&w->lock);
}

static void set_due(struct watcher *w, struct entry *e, int64_t due_ms)
{
	e->due_ms = due_ms;
	if (due_ms < w->due_ms)
		w->due_ms = due_ms;
}

static int64_t later(int64_t ms, uint64_t more)
{
	int64_t sum;

	return __builtin_add_overflow(ms, i64_from_u64_sat(more), &sum) ? INT64_MAX : sum;
}

/* ---- one look ---- */

/* Takes the look in. True: it shows something new. */
static bool take_look(struct watcher *w, struct entry *e, const struct spool_look *now)
{
	if (e->looked && ready_same(&e->first, now))
		return false;
	pthread_mutex_lock(&w->lock);
	if (e->looked && (e->first.ino != now->ino || e->first.dev != now->dev)) {
		/* Another file under the name, by no event that was seen. */
		e->renamed_in = false;
		start_anew(w, e);
	}
	e->state = ENTRY_WAITING;
	pthread_mutex_unlock(&w->lock);
	e->first = *now;
	e->looked = true;
	e->proof_asked = false;
	return true;
}

static bool pulse_beat(void *arg)
{
	struct watcher *w = arg;

	watch_beat(w);
	return !w->stop;
}

static bool proved(struct watcher *w, struct entry *e, const struct spool_look *now)
{
	struct spool_pulse pulse = {.beat = pulse_beat, .arg = w};
	bool higher = higher_seen(w, e);

	/* Content that proved nothing proves nothing until it changes; names do. */
	if (!e->proof_asked || e->proof == PROOF_UNREAD || (higher && e->proof == PROOF_NONE)) {
		e->proof = ready_proof(spool_fd(w->o.spool), e->name, now->folder, higher,
				       w->o.content, &pulse);
		e->proof_asked = true;
		watch_beat(w);
	}
	return e->proof == PROOF_COMPLETE;
}

static void set_state(struct watcher *w, struct entry *e, enum entry_state state)
{
	pthread_mutex_lock(&w->lock);
	e->state = state;
	pthread_mutex_unlock(&w->lock);
}

static bool is_known(struct watcher *w, struct entry *e, const struct stat *st)
{
	if (!w->o.known || !w->o.known(w->o.arg, e->name, st))
		return false;
	set_state(w, e, ENTRY_KNOWN);
	return true;
}

/* Offers a finished drop, or keeps it for the next pass. */
static void offer(struct watcher *w, struct entry *e, const struct stat *st)
{
	if (is_known(w, e, st))
		return;
	if (!w->full && w->o.offer(w->o.arg, e->name, e->seen_ms)) {
		set_state(w, e, ENTRY_OFFERED);
		return;
	}
	w->full = true;
	set_state(w, e, ENTRY_READY);
	set_due(w, e, later(time_mono_ms(), OFFER_AGAIN_MS));
}

void watch_look(struct watcher *w, struct entry *e)
{
	struct spool_look now;
	struct ready_view view;
	struct stat st;
	bool is_new;

	watch_beat(w);
	e->due_ms = INT64_MAX; /* unless it is to be looked at between scans */
	if (atomic_exchange(&e->demoted, false))
		watch_restart(w, e, false, false);
	if (ready_look(spool_fd(w->o.spool), e->name, &now, &st)) {
		if (errno == ENOENT)
			forget(w, e);
		return;
	}
	is_new = take_look(w, e, &now);
	if (e->state == ENTRY_KNOWN)
		return;
	if (e->state == ENTRY_OFFERED) { /* still here and the same: the queue may have lost it */
		offer(w, e, &st);
		return;
	}
	/* What is kept in place is told at once, not after it was seen to rest. */
	if (is_new && !e->renamed_in && is_known(w, e, &st))
		return;
	view = (struct ready_view){.first = &e->first,
				   .now = &now,
				   .settle_ms = w->o.settle_ms,
				   .idle_ms = w->idle_ms,
				   .renamed_in = e->renamed_in};
	if (!view.renamed_in && ready_at_rest(&view))
		view.proof = proved(w, e, &now);
	if (ready_judge(&view) == READY_YES)
		offer(w, e, &st);
	else if (ready_at_rest(&view) || !now.size)
		set_due(w, e, later(e->first.at_ms, view.idle_ms));
	else
		set_due(w, e, later(e->first.at_ms, view.settle_ms));
}

void watch_look_all(struct watcher *w, bool only_due)
{
	int64_t now = time_mono_ms();
	struct entry *next;

	w->full = false;
	w->due_ms = INT64_MAX;
	for (struct entry *e = w->names.head; e && !w->stop; e = next) {
		next = e->next;
		if (only_due && e->due_ms > now) {
			set_due(w, e, e->due_ms);
		} else if (w->full && e->state == ENTRY_READY) {
			/* No room: without a look, since there may be very many. */
			set_due(w, e, later(now, OFFER_AGAIN_MS));
		} else {
			watch_look(w, e);
		}
	}
}
