#include "runtime/fold_emit.h"

#include "state/view.h"

enum {
    AHEAD = 16, /* records lie all over the memory */
    /* The longest row key of the first kind that comes among rows by span
     * where it comes among its own: the row by span has a whole head, too. */
    IN_ORDER_MAX = ROW_HEAD_EXACT - (DF_FOLD_SPAN_HEAD - 1)
};

/* In an entry's part: the row by span goes. */
#define IS_GONE UINT32_C(0x100)

/* What is at work on a group. */
struct emit {
    const struct fold_emit_plan *plan;
    const struct sort_entry *keys; /* of the shard at hand */
    size_t key_count;
    struct sort_entry *spans; /* its rows by span; word: the row's own */
    struct sort_entry *room;  /* for as many */
    size_t span_count;
    size_t begin[VIEW_SHARDS_MAX + 1]; /* of each shard's in spans */
    struct buf long_key;               /* of a row by span */
    uint8_t key[ROW_HEAD_EXACT];       /* of one that is not long */
};

static bool has_spans(const struct emit *e)
{
    return e->plan->rows->is_timed && !e->plan->rows->is_by_span;
}

static struct state_record *record_at(const struct emit *e,
                                      const struct sort_entry *entries,
                                      size_t i, size_t n)
{
    if (n - i > AHEAD) {
        states_prefetch(e->plan->states, entries[i + AHEAD].ref);
    }
    return states_record(e->plan->states, entries[i].ref);
}

/* ---- which rows by span ---- */

/* At most two: the one that goes, and the one that comes. */
struct change {
    bool was;
    bool is;
    uint64_t old_span;
    uint64_t new_span;
};

static uint64_t span_word(const struct emit *e, int64_t time)
{
    uint8_t head[DF_FOLD_SPAN_HEAD];

    fold_rows_put_span(e->plan->rows, e->plan->clock, time, head);
    return load_be64(head + 1);
}

static struct change change_of(const struct emit *e,
                               const struct state_record *r)
{
    const struct df_state before = states_before(e->plan->states, r);
    struct change c = { .was = before.copies > 0, .is = r->after.copies > 0 };

    if (c.was && c.is && before.time == r->after.time) {
        return (struct change){ 0 };
    }
    c.old_span = c.was ? span_word(e, before.time) : 0;
    c.new_span = c.is ? span_word(e, r->after.time) : 0;
    if (c.was && c.is && c.old_span == c.new_span) {
        return (struct change){ 0 };
    }
    return c;
}

/* The row's own kind of key begins with one byte: the last of the span goes
 * there. */
enum { SPAN_ROOM = DF_FOLD_SPAN_HEAD - 1 };

/* The key of a row by span, in e->key. */
static struct bytes span_key(struct emit *e, const struct state_record *r,
                             uint64_t span)
{
    memcpy(e->key + SPAN_ROOM, r->key, r->len);
    e->key[0] = DF_FOLD_SPAN;
    store_be64(e->key + 1, span);
    return bytes_of(e->key, SPAN_ROOM + r->len);
}

/* A row by span of a long key takes its place by a hash: the table sorts. */
static bool emit_long(struct emit *e, const struct state_record *r,
                      uint64_t span, int64_t copies)
{
    const int64_t values[2] = { copies, 0 };
    struct buf *key = &e->long_key;
    struct bytes head;
    struct bytes tail;

    states_key(r, &head, &tail);
    buf_reset(key);
    if (!buf_append(key, (uint8_t[SPAN_ROOM]){ DF_FOLD_SPAN }, SPAN_ROOM) ||
        !row_join(key, head, tail)) {
        return false;
    }
    store_be64(key->data + 1, span);
    df_emit(combine_emitter(e->plan->combine), key->data, key->len, NULL, 0,
            values);
    return true;
}

static bool is_long(const struct state_record *r)
{
    return r->len > IN_ORDER_MAX;
}

static void add_span(struct emit *e, const struct state_record *r,
                     uint32_t ref, uint64_t span, bool is_gone)
{
    unsigned shards = e->plan->shards;
    unsigned part = 0;

    if (shards > 1) {
        part = row_part(row_key_hash(span_key(e, r, span)), shards);
    }
    e->spans[e->span_count++] = (struct sort_entry){
        .word = span,
        .ref = ref,
        .part = part | (is_gone ? IS_GONE : 0),
    };
}

static void add_spans(struct emit *e, const struct state_record *r,
                      uint32_t ref)
{
    struct change c = change_of(e, r);

    if (c.was) {
        add_span(e, r, ref, c.old_span, true);
    }
    if (c.is) {
        add_span(e, r, ref, c.new_span, false);
    }
}

static bool emit_long_spans(struct emit *e, const struct state_record *r)
{
    struct change c = change_of(e, r);

    return (!c.was || emit_long(e, r, c.old_span, -1)) &&
           (!c.is || emit_long(e, r, c.new_span, 1));
}

static void sort_spans(struct emit *e)
{
    struct sort_entry *sorted = sort_by_word(e->spans, e->room, e->span_count,
                                             e->plan->shards, e->begin);

    if (sorted == e->room) {
        e->room = e->spans;
        e->spans = sorted;
    }
}

/* ---- writing ---- */

/* At the end of the batch the view holds no expired keys. */
static void expire(const struct emit *e, struct state_record *r)
{
    if (e->plan->rows->is_timed && r->after.copies > 0 &&
        r->after.time < e->plan->clock->start) {
        r->after = (struct df_state){ 0 };
    }
}

static enum df_status write_key(struct emit *e, const struct state_record *r,
                                struct df_error *err)
{
    const struct df_state before = states_before(e->plan->states, r);
    int64_t values[2] = { r->after.copies - before.copies,
                          r->after.time - before.time };
    struct row row = { .values = values };

    if (values[0] == 0 && values[1] == 0) {
        return DF_OK;
    }
    states_key(r, &row.head, &row.tail);
    return combine_sorted_add(e->plan->combine, &row, err);
}

/* The rows of the first kind; notes those by span on the way. */
static enum df_status write_keys(struct emit *e, struct df_error *err)
{
    bool by_span = has_spans(e);
    enum df_status status = DF_OK;

    e->span_count = 0;
    for (size_t i = 0; status == DF_OK && i < e->key_count; i++) {
        struct state_record *r = record_at(e, e->keys, i, e->key_count);

        expire(e, r);
        status = write_key(e, r, err);
        if (by_span && !is_long(r)) {
            add_spans(e, r, e->keys[i].ref);
        }
    }
    return status;
}

static enum df_status write_spans(struct emit *e, unsigned part,
                                  struct df_error *err)
{
    enum df_status status = DF_OK;
    size_t end = e->begin[part + 1];

    for (size_t i = e->begin[part]; status == DF_OK && i < end; i++) {
        const struct sort_entry *entry = &e->spans[i];
        const struct state_record *r = record_at(e, e->spans, i, end);
        int64_t values[2] = { (entry->part & IS_GONE) != 0 ? -1 : 1, 0 };

        status = combine_sorted_add(
            e->plan->combine,
            &(struct row){ .head = span_key(e, r, entry->word),
                           .values = values },
            err);
    }
    return status;
}

/* The keys' own shard comes first, for what is written there tells what the
 * others get. */
static enum df_status emit_shard(struct emit *e, unsigned shard,
                                 struct df_error *err)
{
    struct combine *c = e->plan->combine;
    enum df_status status = combine_sorted_begin(c, err);

    if (status == DF_OK) {
        status = combine_sorted_part(c, shard, err);
    }
    if (status == DF_OK) {
        status = write_keys(e, err);
    }
    if (status == DF_OK) {
        sort_spans(e);
        status = write_spans(e, shard, err);
    }
    for (unsigned i = 0; status == DF_OK && i < e->plan->shards; i++) {
        if (i == shard || e->begin[i] == e->begin[i + 1]) {
            continue;
        }
        status = combine_sorted_part(c, i, err);
        if (status == DF_OK) {
            status = write_spans(e, i, err);
        }
    }
    return status == DF_OK ? combine_sorted_end(c, err) : status;
}

/* ---- a group ---- */

/* Rows by span of long keys go to the table, which is not to be touched while
 * rows that are sorted are written: they come first. */
static enum df_status emit_long_keys(struct emit *e, struct df_error *err)
{
    struct state_record *r;
    size_t at = 0;

    if (!has_spans(e) || e->plan->states->longest <= IN_ORDER_MAX) {
        return DF_OK;
    }
    while ((r = states_each(e->plan->states, &at)) != NULL) {
        expire(e, r);
        if (is_long(r) && !emit_long_spans(e, r)) {
            return error_no_memory(err);
        }
    }
    return combine_status(e->plan->combine, err);
}

enum df_status fold_emit(const struct fold_emit_plan *plan,
                         struct sort_entry *entries, const size_t *begin,
                         struct df_error *err)
{
    size_t n = begin[plan->shards];
    struct emit e = { .plan = plan,
                      .spans = entries + n,
                      .room = entries + 3 * n };
    enum df_status status = emit_long_keys(&e, err);

    for (unsigned i = 0; status == DF_OK && i < plan->shards; i++) {
        if (begin[i] < begin[i + 1]) {
            e.keys = entries + begin[i];
            e.key_count = begin[i + 1] - begin[i];
            status = emit_shard(&e, i, err);
        }
    }
    buf_fini(&e.long_key);
    return status;
}
