/*
 * A window by count, window=3 slide=2; rows in brackets are what is shown:
 *
 *     b1           kept, not shown: a result every 2 batches        [ ]
 *     b2           b1 and b2 are the last 3 so far: +1 +2           [b1 b2]
 *     b3           kept                                             [b1 b2]
 *     b4           +3 +4 -1                                         [b2 b3 b4]
 *     b25 (late)   between b2 and b3: now b25 b3 b4: +25 -2         [b25 b3
 * b4]
 *
 * What is shown ends with a mark, the greatest name in it; batches behind the
 * mark wait until there are `slide` of them. With an interval the mark is a
 * position, moved by whole slides from the first batch on, and the window is
 * the positions up to it, with batches or without.
 */
#include "runtime/keeping.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/plan.h"

/* A run that is kept, or is about to be. */
struct member {
    uint64_t seq;
    bool is_in; /* the rows hold it */
    bool wanted;
    bool waits; /* behind the mark */
    char name[PLAN_NAME_MAX + 1];
    int64_t position;
};

struct members {
    struct member *at; /* in natural order of names */
    size_t count;
    size_t capacity;
};

void keeping_fini(struct keeping *k)
{
    buf_fini(&k->effects);
    buf_fini(&k->drops);
    buf_fini(&k->note);
}

void keeping_fill(const struct keeping *k, struct ledger_entry *e)
{
    e->has_effects = k->has_effects;
    e->effects = buf_bytes(&k->effects);
    e->drops = buf_bytes(&k->drops);
    e->note = buf_bytes(&k->note);
    e->gap = k->gap;
    e->window_end = k->window_end;
}

static enum df_status add_effect(struct keeping *k, uint64_t seq, bool minus,
                                 struct df_error *err)
{
    k->has_effects = true;
    return ledger_effects_add(&k->effects,
                              (struct ledger_effect){ seq, minus })
               ? DF_OK
               : error_no_memory(err);
}

/* ---- what is dropped ---- */

/* Whether an entry from number `oldest` on tells of run `seq`. */
static enum df_status is_told_of(struct snapshot *s, uint64_t oldest,
                                 uint64_t seq, bool *told,
                                 struct df_error *err)
{
    uint64_t last = snapshot_state(s).seq;
    enum df_status status = DF_OK;

    *told = seq >= oldest;
    for (uint64_t i = oldest; status == DF_OK && !*told && i <= last; i++) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(s, i, &e, &found, err);
        for (size_t n = 0; status == DF_OK && found && n < ledger_effects(&e);
             n++) {
            *told = *told || ledger_effect(&e, n).seq == seq;
        }
    }
    return status;
}

/* Whether this entry itself tells of run `seq`. */
static bool is_moved(const struct keeping *k, uint64_t seq)
{
    const struct ledger_entry e = { .has_effects = true,
                                    .effects = buf_bytes(&k->effects) };

    for (size_t i = 0; i < ledger_effects(&e); i++) {
        if (ledger_effect(&e, i).seq == seq) {
            return true;
        }
    }
    return false;
}

/* The first of the last `keep` entries, this one counted. */
static uint64_t oldest_kept(struct snapshot *s, uint64_t keep)
{
    uint64_t next = snapshot_state(s).seq + 1;

    return next + 1 > keep ? next + 1 - keep : 1;
}

/* Drops a run, unless the last `keep` entries tell of it. */
static enum df_status drop_unless_told(struct keeping *k, struct snapshot *s,
                                       uint64_t keep, uint64_t seq,
                                       struct df_error *err)
{
    bool told = keep > 0 && is_moved(k, seq);
    enum df_status status = DF_OK;

    if (!told) {
        status = is_told_of(s, oldest_kept(s, keep), seq, &told, err);
    }
    if (status == DF_OK && !told && !ledger_drops_add(&k->drops, seq)) {
        status = error_no_memory(err);
    }
    return status;
}

/* Of a view without a window. */
static enum df_status drop_old(struct keeping *k, struct snapshot *s,
                               uint64_t keep, struct df_error *err)
{
    struct kept_run kept = { 0 };
    bool found = true;
    enum df_status status = DF_OK;

    while (status == DF_OK && found) {
        status = snapshot_kept_after(s, kept.seq, &kept, &found, err);
        if (status == DF_OK && found) {
            status = drop_unless_told(k, s, keep, kept.seq, err);
        }
    }
    return status;
}

/* ---- the members of a window ---- */

static enum df_status add_member(struct members *m, const struct window *w,
                                 const struct kept_run *run, struct bytes name,
                                 struct df_error *err)
{
    struct member *one;
    size_t len = name.len < PLAN_NAME_MAX ? name.len : PLAN_NAME_MAX;

    if (m->count == m->capacity) {
        size_t capacity = m->capacity == 0 ? 16 : 2 * m->capacity;
        struct member *at = realloc(m->at, capacity * sizeof *at);

        if (at == NULL) {
            return error_no_memory(err);
        }
        m->at = at;
        m->capacity = capacity;
    }
    one = &m->at[m->count++];
    *one = (struct member){ .seq = run->seq, .is_in = run->times > 0 };
    memcpy(one->name, name.data, len);
    if (w->by != WINDOW_BATCHES && !window_position(w, name, &one->position)) {
        struct shown s;

        return error_set(
            err, DF_INPUT,
            "batch '%s': its name %s: the view has interval=", shown(&s, name),
            w->by == WINDOW_TIMES ? "has no date like 2026-11-29"
                                  : "does not end in a number");
    }
    return DF_OK;
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = batch_name_compare(x->name, y->name);

    return order != 0 ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

/* What is kept, and the batch that comes. */
static enum df_status find_members(struct members *m, struct snapshot *s,
                                   const struct window *w, const char *name,
                                   struct df_error *err)
{
    struct kept_run run = { 0 };
    bool found = true;
    enum df_status status = DF_OK;

    while (status == DF_OK && found) {
        struct ledger_entry e;
        bool there = true;

        status = snapshot_kept_after(s, run.seq, &run, &found, err);
        if (status == DF_OK && found) {
            status = snapshot_ledger_get(s, run.seq, &e, &there, err);
        }
        if (status == DF_OK && found && there) {
            status = add_member(m, w, &run, e.name, err);
        }
    }
    run = (struct kept_run){ .seq = snapshot_state(s).seq + 1 };
    if (status == DF_OK) {
        status = add_member(m, w, &run, bytes_of_string(name), err);
    }
    if (status == DF_OK && m->at != NULL) {
        qsort(m->at, m->count, sizeof *m->at, compare_members);
    }
    return status;
}

/* Where the batch that comes is among them. */
static size_t own_place(const struct members *m, struct snapshot *s)
{
    uint64_t own = snapshot_state(s).seq + 1;
    size_t at = 0;

    while (at < m->count && m->at[at].seq != own) {
        at++;
    }
    assert(at < m->count);
    return at;
}

/* ---- which of them the window should hold ---- */

/* By count: the last `size` up to the mark. */
static void want_by_count(struct members *m, const struct window *w)
{
    size_t mark = 0; /* members before this one are shown */
    size_t held = 0;

    for (size_t i = 0; i < m->count; i++) {
        mark = m->at[i].is_in ? i + 1 : mark;
    }
    if (m->count - mark >= w->slide) {
        mark = m->count;
    }
    for (size_t i = m->count; i > 0; i--) {
        struct member *one = &m->at[i - 1];

        one->waits = i > mark;
        one->wanted = !one->waits && held < w->size;
        held += one->wanted ? 1 : 0;
    }
}

/* By position: `end` is the last that is shown. */
static void want_by_position(struct members *m, const struct window *w,
                             int64_t end)
{
    for (size_t i = 0; i < m->count; i++) {
        struct member *one = &m->at[i];

        one->waits = one->position > end;
        one->wanted = !one->waits && one->position > end - (int64_t)w->size;
    }
}

/* Where the window ended before this batch, and the last position that had
 * one; false for the first batch. */
static enum df_status end_before(struct snapshot *s, int64_t *end, bool *found,
                                 struct df_error *err)
{
    struct ledger_entry e;
    uint64_t last = snapshot_state(s).seq;
    enum df_status status = DF_OK;

    *found = false;
    if (last > 0) {
        status = snapshot_ledger_get(s, last, &e, found, err);
    }
    if (status == DF_OK && *found) {
        *end = e.window_end;
    }
    return status;
}

/* The greatest position of all but the batch that comes. */
static int64_t greatest_before(const struct members *m, uint64_t own,
                               int64_t end)
{
    int64_t greatest = end;

    for (size_t i = 0; i < m->count; i++) {
        if (m->at[i].seq != own && m->at[i].position > greatest) {
            greatest = m->at[i].position;
        }
    }
    return greatest;
}

static enum df_status place_by_position(struct keeping *k, struct members *m,
                                        struct snapshot *s,
                                        const struct window *w,
                                        struct df_error *err)
{
    uint64_t own = snapshot_state(s).seq + 1;
    int64_t position = m->at[own_place(m, s)].position;
    int64_t slide = (int64_t)w->slide;
    int64_t end = position - 1;
    int64_t before;
    bool found;
    enum df_status status = end_before(s, &end, &found, err);

    if (status != DF_OK) {
        return status;
    }
    before = greatest_before(m, own, end);
    if (found && position > before + 1) {
        k->gap = (uint64_t)(position - before - 1);
    }
    if (position > end) {
        end += (position - end) / slide * slide;
    }
    k->window_end = end;
    want_by_position(m, w, end);
    return DF_OK;
}

static void place_by_count(struct keeping *k, struct members *m,
                           struct snapshot *s, const struct window *w)
{
    size_t at = own_place(m, s);
    const struct member *own = &m->at[at];

    if (at > 0 && at + 1 == m->count) {
        bool daily;

        assert(own[-1].name != NULL && (at == 1 || own[-2].name != NULL));
        daily = at > 1 && window_is_next_day(bytes_of_string(own[-2].name),
                                             bytes_of_string(own[-1].name));

        k->gap = window_gap(bytes_of_string(own[-1].name),
                            bytes_of_string(own->name), daily);
    }
    want_by_count(m, w);
}

/* ---- effects, drops, and what is said ---- */

static enum df_status move_members(struct keeping *k, const struct members *m,
                                   struct df_error *err)
{
    enum df_status status = DF_OK;

    k->has_effects = true;
    /* An empty list is not the same as none. */
    if (!buf_reserve(&k->effects, 1)) {
        return error_no_memory(err);
    }
    for (size_t i = 0; status == DF_OK && i < m->count; i++) {
        const struct member *one = &m->at[i];

        if (one->wanted != one->is_in) {
            status = add_effect(k, one->seq, one->is_in, err);
        }
    }
    return status;
}

/* What has left the window does not come back: names and positions only move
 * on. */
static enum df_status drop_members(struct keeping *k, const struct members *m,
                                   struct snapshot *s, uint64_t keep,
                                   struct df_error *err)
{
    uint64_t own = snapshot_state(s).seq + 1;
    enum df_status status = DF_OK;

    for (size_t i = 0; status == DF_OK && i < m->count; i++) {
        const struct member *one = &m->at[i];

        if (!one->wanted && !one->waits && one->seq != own) {
            status = drop_unless_told(k, s, keep, one->seq, err);
        }
    }
    return status;
}

/* How many positions of the window have a batch. */
static uint64_t filled(const struct members *m, const struct window *w)
{
    uint64_t n = 0;
    bool any = false;
    int64_t last = 0;

    for (size_t i = 0; i < m->count; i++) {
        const struct member *one = &m->at[i];

        if (one->wanted &&
            (w->by == WINDOW_BATCHES || !any || one->position != last)) {
            n++;
            any = true;
            last = one->position;
        }
    }
    return n;
}

static enum df_status note_members(struct keeping *k, const struct members *m,
                                   const struct window *w,
                                   const struct member *own,
                                   struct df_error *err)
{
    const char *unit = w->by == WINDOW_BATCHES ? "batches" : "intervals";
    unsigned long long waiting = 0;
    bool ok = buf_printf(&k->note, "window: %llu of %llu %s",
                         (unsigned long long)filled(m, w),
                         (unsigned long long)w->size, unit);

    for (size_t i = 0; i < m->count; i++) {
        waiting += m->at[i].waits ? 1 : 0;
    }
    if (ok && waiting > 0) {
        ok = buf_printf(&k->note, ", %llu not shown yet", waiting);
    }
    if (ok && !own->wanted && !own->waits) {
        ok = buf_append_string(&k->note, ", this batch comes before it");
    }
    if (ok && k->gap > 0) {
        ok = buf_printf(&k->note, ", gap of %llu before",
                        (unsigned long long)k->gap);
    }
    return ok ? DF_OK : error_no_memory(err);
}

static enum df_status move_window(struct keeping *k, struct snapshot *s,
                                  const struct window *w, const char *name,
                                  uint64_t keep, struct df_error *err)
{
    struct members m = { 0 };
    enum df_status status = find_members(&m, s, w, name, err);

    k->keep = true;
    k->is_window = true;
    if (status == DF_OK && w->by == WINDOW_BATCHES) {
        place_by_count(k, &m, s, w);
    } else if (status == DF_OK) {
        status = place_by_position(k, &m, s, w, err);
    }
    if (status == DF_OK) {
        status = move_members(k, &m, err);
    }
    if (status == DF_OK) {
        status = drop_members(k, &m, s, keep, err);
    }
    if (status == DF_OK) {
        status = note_members(k, &m, w, &m.at[own_place(&m, s)], err);
    }
    free(m.at);
    return status;
}

enum df_status keeping_batch(struct keeping *k, struct snapshot *s,
                             const struct jobspec *job, const char *name,
                             struct df_error *err)
{
    struct window w;
    uint64_t keep = 0;
    enum df_status status = window_of(&w, job, err);

    keeping_fini(k);
    *k = (struct keeping){ 0 };
    if (status == DF_OK) {
        status = snapshot_keep(s, &keep, err);
    }
    if (status != DF_OK) {
        return status;
    }
    if (w.size > 0) {
        return move_window(k, s, &w, name, keep, err);
    }
    k->keep = keep > 0;
    return drop_old(k, s, keep, err);
}

enum df_status keeping_undo(struct keeping *k, struct snapshot *s,
                            uint64_t seq, bool redo, struct df_error *err)
{
    uint64_t keep = 0;
    enum df_status status = snapshot_keep(s, &keep, err);

    if (status == DF_OK) {
        status = add_effect(k, seq, !redo, err);
    }
    return status == DF_OK ? drop_old(k, s, keep, err) : status;
}
