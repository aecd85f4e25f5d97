/*
 * The past, by subtraction: the rows at entry B are the rows now less the
 * effects of all entries after B. Effects are netted by run before anything
 * is read, so that a batch that came and left in between costs nothing.
 *
 *     entries   1 mon +1    2 tue +2    3 wed +3 -1    4 undo tue -2
 *     rows now                       wed
 *     at 2      now -3 +1 +2   =  mon + tue
 *     change from 1 to 4    +2 +3 -1 -2  =  wed - mon
 */
#include "state/history.h"

#include <stdlib.h>

#include "state/settings.h"
#include "state/snapshot_internal.h"

/* ---- how much is kept ---- */

enum df_status snapshot_keep(struct snapshot *s, uint64_t *keep,
                             struct df_error *err)
{
    struct bytes text;
    enum df_status status = snapshot_setting(s, SETTING_KEEP, &text, err);

    *keep = status == DF_OK && text.len == 8 ? load_be64(text.data) : 0;
    return status;
}

enum df_status view_set_keep(struct view *v, uint64_t keep,
                             struct df_error *err)
{
    uint8_t raw[8];

    store_be64(raw, keep);
    return view_set(v, SETTING_KEEP, bytes_of(raw, sizeof raw), err);
}

/* ---- what is kept ---- */

enum df_status snapshot_kept_after(struct snapshot *s, uint64_t seq,
                                   struct kept_run *kept, bool *found,
                                   struct df_error *err)
{
    enum df_status status = runs_after(s->txns[0], seq, kept, found, err);

    /* One behind the last entry is of a batch that is not decided. */
    *found = *found && kept->seq <= s->states[0].seq;
    for (unsigned i = 1; status == DF_OK && *found && i < s->shards; i++) {
        struct kept_run other = { 0 };
        bool there;

        status = runs_get(s->txns[i], kept->seq, &other, &there, err);
        kept->rows += other.rows;
        kept->bytes += other.bytes;
        kept->stored += other.stored;
        kept->blocks += other.blocks;
        kept->digest = digest_add(kept->digest, other.digest);
    }
    return status;
}

/* Whether all that an entry did to the rows can be told from kept runs. */
static enum df_status is_told(struct snapshot *s, const struct ledger_entry *e,
                              bool *told, struct df_error *err)
{
    enum df_status status = DF_OK;

    *told = e->kind != LEDGER_REBUILD;
    for (size_t i = 0; status == DF_OK && *told && i < ledger_effects(e);
         i++) {
        struct kept_run kept;

        status =
            runs_get(s->txns[0], ledger_effect(e, i).seq, &kept, told, err);
        *told = *told && kept.kept;
    }
    return status;
}

enum df_status snapshot_reach(struct snapshot *s, uint64_t *seq,
                              struct df_error *err)
{
    enum df_status status = DF_OK;
    bool told = true;

    *seq = s->states[0].seq;
    while (status == DF_OK && told && *seq > 0) {
        struct ledger_entry e;

        status = snapshot_ledger_get(s, *seq, &e, &told, err);
        if (status == DF_OK && told) {
            status = is_told(s, &e, &told, err);
        }
        *seq -= told ? 1 : 0;
    }
    return status;
}

enum df_status snapshot_kept_runs(struct snapshot *s, struct kept_runs *kept,
                                  struct df_error *err)
{
    struct kept_run one = { 0 };
    bool found = true;
    enum df_status status = snapshot_keep(s, &kept->keep, err);

    kept->runs = 0;
    kept->rows = 0;
    kept->stored = 0;
    while (status == DF_OK && found) {
        status = snapshot_kept_after(s, one.seq, &one, &found, err);
        if (status == DF_OK && found) {
            kept->runs++;
            kept->rows += one.rows;
            kept->stored += one.stored;
        }
    }
    return status == DF_OK ? snapshot_reach(s, &kept->reach, err) : status;
}

/* ---- which entry is meant ---- */

/* The number behind a #, false for anything else. */
static bool entry_number(const char *text, uint64_t *seq)
{
    *seq = 0;
    if (text[0] != '#' || text[1] == '\0') {
        return false;
    }
    for (const char *p = text + 1; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || *seq > UINT64_MAX / 10 - 1) {
            return false;
        }
        *seq = *seq * 10 + (uint64_t)(*p - '0');
    }
    return true;
}

enum df_status snapshot_find_entry(struct snapshot *s, const char *text,
                                   bool zero, struct ledger_entry *e,
                                   struct df_error *err)
{
    bool found = false;
    struct shown name;
    uint64_t seq;
    enum df_status status;

    if (!entry_number(text, &seq)) {
        status =
            snapshot_ledger_by_name(s, bytes_of_string(text), e, &found, err);
    } else if (seq == 0 && zero) {
        *e = (struct ledger_entry){ 0 };
        return DF_OK;
    } else {
        status = snapshot_ledger_get(s, seq, e, &found, err);
    }
    if (status != DF_OK || found) {
        return status;
    }
    return error_set(err, DF_LEDGER,
                     "no batch '%s' in the ledger: see 'deltafold log'",
                     shown(&name, bytes_of_string(text)));
}

/* ---- netting ---- */

struct net {
    uint64_t seq;
    int64_t times;
};

struct nets {
    struct net *at;
    size_t count;
    size_t capacity;
};

static bool nets_add(struct nets *n, struct ledger_effect effect)
{
    if (n->count == n->capacity) {
        size_t capacity = n->capacity == 0 ? 16 : 2 * n->capacity;
        struct net *at = realloc(n->at, capacity * sizeof *at);

        if (at == NULL) {
            return false;
        }
        n->at = at;
        n->capacity = capacity;
    }
    n->at[n->count++] =
        (struct net){ .seq = effect.seq, .times = effect.minus ? -1 : 1 };
    return true;
}

static int compare_nets(const void *a, const void *b)
{
    const struct net *x = a;
    const struct net *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* One net per run, none of them zero. */
static void nets_sum(struct nets *n)
{
    size_t kept = 0;

    if (n->count > 0) {
        qsort(n->at, n->count, sizeof *n->at, compare_nets);
    }
    for (size_t i = 0; i < n->count; i++) {
        if (kept > 0 && n->at[kept - 1].seq == n->at[i].seq) {
            n->at[kept - 1].times += n->at[i].times;
        } else {
            n->at[kept++] = n->at[i];
        }
        if (n->at[kept - 1].times == 0 &&
            (i + 1 == n->count || n->at[i + 1].seq != n->at[i].seq)) {
            kept--;
        }
    }
    n->count = kept;
}

/* The effects of the entries behind `from`, up to `to`. */
static enum df_status nets_between(struct nets *n, struct snapshot *s,
                                   uint64_t from, uint64_t to,
                                   struct df_error *err)
{
    enum df_status status = DF_OK;

    for (uint64_t seq = from + 1; status == DF_OK && seq <= to; seq++) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(s, seq, &e, &found, err);
        for (size_t i = 0; status == DF_OK && found && i < ledger_effects(&e);
             i++) {
            if (!nets_add(n, ledger_effect(&e, i))) {
                status = error_no_memory(err);
            }
        }
    }
    nets_sum(n);
    return status;
}

/* Makes the snapshot show nets, or what undoes them. A run is never in a view
 * more than once, so that each is one term. */
static enum df_status show_nets(struct snapshot *s, const struct nets *n,
                                bool reverse, bool with_rows,
                                struct df_error *err)
{
    struct runs_term *terms = calloc(n->count + 1, sizeof *terms);

    if (terms == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < n->count; i++) {
        if (n->at[i].times != 1 && n->at[i].times != -1) {
            free(terms);
            return error_set(err, DF_STATE,
                             "the ledger is damaged: restore the view from a "
                             "copy, or make it anew");
        }
        terms[i] =
            (struct runs_term){ .seq = n->at[i].seq,
                                .minus = (n->at[i].times < 0) != reverse };
    }
    snapshot_show_now(s);
    s->terms = terms;
    s->term_count = n->count;
    s->without_rows = !with_rows;
    return DF_OK;
}

/* ---- showing ---- */

static enum df_status refuse(struct snapshot *s, uint64_t seq, uint64_t reach,
                             struct df_error *err)
{
    struct ledger_entry e = { 0 };
    struct shown name;
    bool found = false;

    if (reach > 0 && snapshot_ledger_get(s, reach, &e, &found, err) != DF_OK) {
        found = false;
    }
    (void)shown(&name, found ? e.name : bytes_of(NULL, 0));
    if (seq > s->states[0].seq) {
        return error_set(err, DF_LEDGER, "the ledger ends with #%llu",
                         (unsigned long long)s->states[0].seq);
    }
    return error_set(err, DF_LEDGER,
                     "what is kept begins with the view as after #%llu%s%s%s: "
                     "#%llu is before that (see 'deltafold keep')",
                     (unsigned long long)reach, found ? " ('" : "",
                     found ? name.text : "", found ? "')" : "",
                     (unsigned long long)seq);
}

static enum df_status check_reach(struct snapshot *s, uint64_t seq,
                                  struct df_error *err)
{
    uint64_t reach;
    enum df_status status = snapshot_reach(s, &reach, err);

    return status == DF_OK && (seq < reach || seq > s->states[0].seq)
               ? refuse(s, seq, reach, err)
               : status;
}

static enum df_status show_state(struct snapshot *s, uint64_t seq,
                                 struct df_error *err)
{
    struct ledger_entry e = { 0 };
    bool found = true;
    enum df_status status = DF_OK;

    if (seq > 0) {
        status = snapshot_ledger_get(s, seq, &e, &found, err);
    }
    if (status == DF_OK && found) {
        s->state = (struct snapshot_state){ .seq = seq,
                                            .rows = e.rows,
                                            .unfolded = e.unfolded,
                                            .digest = e.view_after };
    }
    return status;
}

enum df_status snapshot_show_at(struct snapshot *s, uint64_t seq,
                                struct df_error *err)
{
    struct nets n = { 0 };
    enum df_status status = check_reach(s, seq, err);

    if (status == DF_OK) {
        status = nets_between(&n, s, seq, s->states[0].seq, err);
    }
    if (status == DF_OK) {
        status = show_nets(s, &n, true, true, err);
    }
    if (status == DF_OK) {
        status = show_state(s, seq, err);
    }
    free(n.at);
    return status;
}

enum df_status snapshot_show_change(struct snapshot *s, uint64_t from,
                                    uint64_t to, struct df_error *err)
{
    bool reverse = from > to;
    uint64_t first = reverse ? to : from;
    uint64_t last = reverse ? from : to;
    struct nets n = { 0 };
    enum df_status status = check_reach(s, first, err);

    if (status == DF_OK) {
        status = check_reach(s, last, err);
    }
    if (status == DF_OK) {
        status = nets_between(&n, s, first, last, err);
    }
    if (status == DF_OK) {
        status = show_nets(s, &n, reverse, false, err);
    }
    free(n.at);
    return status;
}

enum df_status snapshot_show_run(struct snapshot *s, uint64_t seq,
                                 struct df_error *err)
{
    struct net one = { .seq = seq, .times = 1 };
    struct nets n = { .at = &one, .count = 1 };

    return show_nets(s, &n, false, false, err);
}

enum df_status snapshot_show_base(struct snapshot *s, struct df_error *err)
{
    struct kept_run kept = { 0 };
    struct nets n = { 0 };
    bool found = true;
    enum df_status status = DF_OK;

    while (status == DF_OK && found) {
        status = snapshot_kept_after(s, kept.seq, &kept, &found, err);
        if (status == DF_OK && found && kept.times != 0 &&
            !nets_add(&n, (struct ledger_effect){ .seq = kept.seq })) {
            status = error_no_memory(err);
        }
    }
    if (status == DF_OK) {
        status = show_nets(s, &n, true, true, err);
    }
    free(n.at);
    return status;
}

void snapshot_show_now(struct snapshot *s)
{
    snapshot_close_shown(s);
    free(s->terms);
    s->terms = NULL;
    s->term_count = 0;
    s->without_rows = false;
    s->state = s->now;
}
