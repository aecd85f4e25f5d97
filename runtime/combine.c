/*
 * combine.c: counting words, mostly.
 *
 * Nearly every call is: this key once more. So a key costs a hash, a look at
 * a slot, a look at a record, and an addition; no lock, no allocation and no
 * copy. Keys come in lists, which are worked off in batches: the first loop
 * over a batch hashes and asks for the cache lines, the second finds them
 * there. Only a key that is new is copied, and hashed a second time for its
 * partition. Keys that count one each are counted before the table (hot.h),
 * those that come all the time; what leaves there, and what never was, comes
 * here later.
 *
 * Memory. All of it is counted: slots, records, the buffer of the writer,
 * the list of segments. What would not fit is not allocated; the table is
 * spilled instead. Sorting needs nothing more: slots are turned into sort
 * entries where they are (table_take_entries). With room for three rows and
 * two partitions, five keys go this way, in this order:
 *
 *     tree +1, leaf +1, root +1, leaf -1, tree +1, bark +1, tree -1
 *
 *     table     tree 2, leaf 0, root 1      bark is new and does not fit
 *     spill 0   part 0: root 1              leaf is zero: it is dropped
 *               part 1: tree 2
 *     table     bark 1, tree -1
 *     spill 1   part 0: bark 1              combine_finish: once spilled,
 *               part 1: tree -1             all is spilled
 *
 * and reduce merges part 0 into bark 1, root 1, part 1 into tree 1.
 */
#include "runtime/combine_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "runtime/pages.h"
#include "runtime/spill.h"

enum {
    /* With less, the longest row could not be inserted and written: a
     * smaller budget is taken for this one. */
    MEMORY_MIN = 1 << 20,
    /* More is not used: a larger table is missed by all caches, and sorting it
     * costs more than to write it out and merge (bench/NOTES.md). */
    MEMORY_MAX = 256 << 20,
    /* What run_writer holds, for ordinary rows and for the longest. */
    WRITER_MEMORY = 68 * 1024,
    WRITER_MEMORY_LONG = 260 * 1024
};

static enum df_status allocate(struct combine *c, struct df_error *err)
{
    c->spill_directory = strdup(c->plan.spill_directory);
    c->begin = calloc((size_t)c->plan.parts + 1, sizeof *c->begin);
    c->part_bytes = calloc(c->plan.parts, sizeof *c->part_bytes);
    if (c->spill_directory == NULL || c->begin == NULL ||
        c->part_bytes == NULL ||
        !table_init(&c->table, c->plan.shape.components)) {
        return error_no_memory(err);
    }
    c->plan.spill_directory = c->spill_directory;
    return DF_OK;
}

static void bound_plan(struct combine_plan *plan)
{
    if (plan->memory < MEMORY_MIN) {
        plan->memory = MEMORY_MIN;
    }
    if (plan->memory > MEMORY_MAX) {
        plan->memory = MEMORY_MAX;
    }
    if (plan->key_max == 0) {
        plan->key_max = DF_KEY_MAX;
    }
}

enum df_status combine_open(struct combine **c,
                            const struct combine_plan *plan,
                            struct df_error *err)
{
    struct combine *combine = calloc(1, sizeof *combine);

    assert(plan->parts > 0 && plan->parts <= SORT_PARTS_MAX);
    assert(plan->sample > 0);
    *c = NULL;
    if (combine == NULL) {
        return error_no_memory(err);
    }
    combine_add_init(combine);
    combine_keys_init(combine);
    combine->plan = *plan;
    bound_plan(&combine->plan);
    combine->sign = 1;
    combine->fd = -1;
    if (allocate(combine, err) != DF_OK) {
        combine_close(combine);
        return DF_SYSTEM;
    }
    *c = combine;
    return DF_OK;
}

void combine_close(struct combine *c)
{
    if (c == NULL) {
        return;
    }
    run_writer_close(c->sorted);
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    table_fini(&c->table);
    hot_close(&c->hot);
    buf_fini(&c->stored);
    free(c->segments);
    free(c->part_bytes);
    free(c->begin);
    free(c->spill_directory);
    free(c);
}

void combine_sign(struct combine *c, int sign)
{
    assert(sign == 1 || sign == -1);
    c->sign = sign;
}

struct df_emitter *combine_emitter(struct combine *c)
{
    return &c->emitter;
}

enum df_status combine_status(const struct combine *c, struct df_error *err)
{
    if (c->emitter.status == DF_OK) {
        return DF_OK;
    }
    if (c->error.text[0] == '\0') { /* a mapper set it, out of memory */
        return error_no_memory(err);
    }
    return error_set(err, c->emitter.status, "%s", c->error.text);
}

struct combine_stats combine_stats(const struct combine *c)
{
    return c->stats;
}

/* ---- Spilling ---- */

static struct bytes head_of(const void *table, uint32_t ref)
{
    return table_head(table, ref);
}

/* Sorts what is in the table; fills begin and part_bytes. */
static struct sort_entry *sort_table(struct combine *c)
{
    const struct sort_rows rows = { &c->table, head_of };
    struct table_entries taken =
        table_take_entries(&c->table, c->plan.parts, c->part_bytes);

    sort_by_part(taken.entries, taken.n, c->plan.parts, c->begin, taken.room);
    for (unsigned p = 0; p < c->plan.parts; p++) {
        sort_by_head(taken.entries + c->begin[p],
                     c->begin[p + 1] - c->begin[p], 0, &rows, taken.room);
    }
    return taken.entries;
}

static enum df_status write_part(struct combine *c,
                                 const struct sort_entry *entries, size_t n,
                                 struct combine_segment *segment,
                                 struct df_error *err)
{
    struct run_writer *w = NULL;
    enum df_status status;

    status = run_writer_open(&w, c->plan.shape, c->fd, c->file_end, err);
    for (size_t i = 0; i < n && status == DF_OK; i++) {
        struct row row = table_row(&c->table, entries[i].ref);

        status = run_writer_add(w, &row, err);
    }
    if (status == DF_OK) {
        status = run_writer_end(w, &segment->run, err);
    }
    if (status == DF_OK) {
        c->file_end = segment->run.end;
    }
    run_writer_close(w);
    return status;
}

/* The segments of the spill to come, one per part. */
static struct combine_segment *add_segments(struct combine *c)
{
    size_t used = (size_t)c->stats.spills * c->plan.parts;

    if (c->segment_room < used + c->plan.parts) {
        size_t room = (used + c->plan.parts) * 3 / 2;
        struct combine_segment *segments =
            realloc(c->segments, room * sizeof *segments);

        if (segments == NULL) {
            return NULL;
        }
        c->segments = segments;
        c->segment_room = room;
    }
    return c->segments + used;
}

enum df_status combine_spill(struct combine *c, struct df_error *err)
{
    struct combine_segment *segments = add_segments(c);
    struct sort_entry *entries;

    if (segments == NULL) {
        return error_no_memory(err);
    }
    if (c->fd < 0) {
        enum df_status status = spill_file(&c->fd, c->spill_directory, err);

        if (status != DF_OK) {
            return status;
        }
    }
    entries = sort_table(c);
    for (unsigned p = 0; p < c->plan.parts; p++) {
        enum df_status status =
            write_part(c, entries + c->begin[p], c->begin[p + 1] - c->begin[p],
                       &segments[p], err);

        if (status != DF_OK) {
            return error_prefix(err, status, "%s", c->spill_directory);
        }
        segments[p].bytes = c->part_bytes[p];
    }
    c->stats.spills++;
    c->stats.spill_bytes = c->file_end;
    table_clear(&c->table);
    return DF_OK;
}

/* ---- Rows that come sorted ---- */

enum df_status combine_sorted_begin(struct combine *c, struct df_error *err)
{
    c->sorted_segments = add_segments(c);
    if (c->sorted_segments == NULL) {
        return error_no_memory(err);
    }
    memset(c->sorted_segments, 0, c->plan.parts * sizeof *c->sorted_segments);
    return c->fd < 0 ? spill_file(&c->fd, c->spill_directory, err) : DF_OK;
}

static enum df_status end_sorted_part(struct combine *c, struct df_error *err)
{
    struct run_segment *run = &c->sorted_segments[c->sorted_part].run;
    enum df_status status;

    if (c->sorted == NULL) {
        return DF_OK;
    }
    status = run_writer_end(c->sorted, run, err);
    if (status != DF_OK) {
        return error_prefix(err, status, "%s", c->spill_directory);
    }
    c->file_end = run->end;
    run_writer_close(c->sorted);
    c->sorted = NULL;
    return DF_OK;
}

enum df_status combine_sorted_part(struct combine *c, unsigned part,
                                   struct df_error *err)
{
    enum df_status status = end_sorted_part(c, err);

    assert(part < c->plan.parts);
    c->sorted_part = part;
    return status == DF_OK ? run_writer_open(&c->sorted, c->plan.shape, c->fd,
                                             c->file_end, err)
                           : status;
}

enum df_status combine_sorted_add(struct combine *c, const struct row *row,
                                  struct df_error *err)
{
    size_t len = row->head.len + row->tail.len;

    c->longest = len > c->longest ? len : c->longest;
    c->sorted_segments[c->sorted_part].bytes +=
        run_row_bound(row, c->plan.shape.components);
    return run_writer_add(c->sorted, row, err);
}

enum df_status combine_sorted_end(struct combine *c, struct df_error *err)
{
    enum df_status status = end_sorted_part(c, err);

    c->stats.spills++;
    c->stats.spill_bytes = c->file_end;
    return status;
}

/* ---- Memory ---- */

/* Bytes in use and set aside beside the table. */
static size_t overhead(const struct combine *c)
{
    size_t writer =
        c->longest < RUN_BUFFER_MIN / 2 ? WRITER_MEMORY : WRITER_MEMORY_LONG;

    return sizeof *c + hot_memory(&c->hot) + c->stored.capacity + writer +
           c->segment_room * sizeof *c->segments +
           c->plan.parts * (sizeof *c->begin + sizeof *c->part_bytes);
}

static bool fits(const struct combine *c, size_t more)
{
    return table_memory(&c->table) + overhead(c) + more <= c->plan.memory;
}

/* A quarter more, where that is much in huge pages. */
static size_t grown(size_t size)
{
    size_t more = size + size / 4;
    size_t unit = more < PAGES_HUGE ? PAGES_UNIT : PAGES_HUGE;

    return (more + unit - 1) / unit * unit;
}

/* Room for one more record, and for many if that fits. */
static bool grow_records(struct combine *c, size_t size)
{
    size_t least = pages_round(size + TABLE_KEY_SLACK);
    size_t step = grown(c->table.records_size) - c->table.records_size;

    if (step > least && fits(c, step)) {
        return table_grow_records(&c->table, step);
    }
    return fits(c, least) && table_grow_records(&c->table, least);
}

static bool grow_table(struct combine *c, size_t size)
{
    struct table *t = &c->table;
    size_t doubled = 2 * t->slots * sizeof *t->cells;

    if (table_is_crowded(t) && fits(c, doubled)) {
        (void)table_grow_slots(t); /* if not, until it is full */
    }
    return !table_is_full(t) &&
           (table_has_record_room(t, size) || grow_records(c, size));
}

enum df_status combine_make_room(struct combine *c, size_t size,
                                 struct df_error *err)
{
    enum df_status status;

    if (grow_table(c, size)) {
        return DF_OK;
    }
    if (c->table.used > 0) {
        status = combine_spill(c, err);
        if (status != DF_OK || grow_table(c, size)) {
            return status;
        }
    }
    /* Slots take what a long row needs, or the list of segments has become
     * long: then begin small again. MEMORY_MIN has room for any row. */
    if (!table_shrink(&c->table) ||
        (!table_has_record_room(&c->table, size) &&
         !table_grow_records(&c->table,
                             pages_round(size + TABLE_KEY_SLACK)))) {
        return error_no_memory(err);
    }
    return DF_OK;
}

/* ---- The end ---- */

enum df_status combine_finish(struct combine *c, struct df_error *err)
{
    enum df_status status;

    combine_settle(c);
    status = combine_status(c, err);
    if (status != DF_OK) {
        return status;
    }
    buf_fini(&c->stored);
    if (c->stats.spills == 0) {
        (void)sort_table(c);
        table_trim(&c->table, c->begin[c->plan.parts]);
        c->is_sorted = true;
        return DF_OK;
    }
    /* The merge needs the memory more than it needs the last part of the
     * rows in it. */
    if (c->table.used > 0) {
        status = combine_spill(c, err);
    }
    table_fini(&c->table);
    return status;
}

const struct combine_plan *combine_plan_of(const struct combine *c)
{
    return &c->plan;
}

size_t combine_longest(const struct combine *c)
{
    return c->longest;
}

const struct combine_segment *combine_segment(const struct combine *c,
                                              uint64_t spill_number,
                                              unsigned part)
{
    assert(spill_number < c->stats.spills && part < c->plan.parts);
    return &c->segments[(size_t)spill_number * c->plan.parts + part];
}

struct combine_rows combine_rows(const struct combine *c, unsigned part)
{
    struct combine_rows rows = { .table = &c->table };

    if (c->is_sorted) {
        rows.entries = &c->table.cells[0].entry + c->begin[part];
        rows.n = c->begin[part + 1] - c->begin[part];
        rows.bytes = c->part_bytes[part];
    }
    return rows;
}
