/*
 * Rows in byte order, over all shards.
 *
 * Each shard yields its rows by full row key; a heap merges the shards.
 * Within a shard the store's order is byte order but for long rows: those
 * that share their first ROW_HEAD_EXACT bytes lie together, ordered by hash.
 * Such a group is read into memory and sorted. Should it be larger than
 * group_max, only its smallest part is kept, given out, and the group read
 * again for what comes after: slower, but in bounded memory. Example, with
 * room for two rows of a group of four that lie as d b c a:
 *
 *     read d b, then c: over the limit, keep b c, from now on skip >= d
 *     read a: over the limit, keep a b; give out a, b
 *     read again, skipping <= b: c d; give out c, d
 */
#include "state/snapshot_internal.h"

#include <stdlib.h>

#define GROUP_MAX_DEFAULT ((size_t)32 << 20)

static size_t group_max = GROUP_MAX_DEFAULT;

void snapshot_scan_set_group_max(size_t bytes)
{
    group_max = bytes == 0 ? GROUP_MAX_DEFAULT : bytes;
}

struct group_row {
    size_t at; /* of the full row key in `bytes` */
    size_t len;
    int64_t values[DF_COMPONENTS_MAX];
};

struct group {
    bool active;
    bool partial; /* more rows of the group come after these */
    uint8_t prefix[ROW_HEAD_EXACT];
    struct buf bytes;
    struct group_row *rows;
    size_t count;
    size_t capacity;
    size_t next;       /* row to give out */
    struct buf after;  /* last row given out, when read again */
    struct buf before; /* only rows before this one are of interest */
};

struct shard_scan {
    struct run_source *rows;
    const struct row *at; /* the row under it, NULL at the end */
    struct group group;
    /* The row given out; key.data NULL at the end. */
    struct bytes key;
    int64_t values[DF_COMPONENTS_MAX];
};

struct snapshot_scan {
    struct snapshot *s;
    struct buf want; /* full row keys must begin with this ... */
    bool exact;      /* ... or be it */
    struct shard_scan shards[VIEW_SHARDS_MAX];
    struct shard_scan *heap[VIEW_SHARDS_MAX]; /* least key first */
    unsigned heap_count;
    bool given; /* heap[0]'s row was given out and is used up */
    struct buf room;
    struct snapshot_row row;
};

static bool begins_with(struct bytes b, struct bytes prefix)
{
    return b.len >= prefix.len &&
           (prefix.len == 0 || memcmp(b.data, prefix.data, prefix.len) == 0);
}

static struct bytes first_of(struct bytes b, size_t len)
{
    return bytes_of(b.data, b.len < len ? b.len : len);
}

static bool is_wanted(const struct snapshot_scan *scan, struct bytes row_key)
{
    struct bytes want = buf_bytes(&scan->want);

    return scan->exact ? bytes_equal(row_key, want)
                       : begins_with(row_key, want);
}

/* ---- groups of long rows ---- */

/* Row keys of the group being sorted; qsort has no context argument. */
struct sortable {
    const uint8_t *data;
    size_t len;
    size_t index;
};

static int compare_sortable(const void *a, const void *b)
{
    const struct sortable *x = a;
    const struct sortable *y = b;

    return bytes_compare(bytes_of(x->data, x->len), bytes_of(y->data, y->len));
}

/* Sorts the rows and keeps the first `keep` of them. */
static bool group_sort(struct group *g, size_t keep)
{
    struct sortable *order = calloc(g->count + 1, sizeof *order);
    struct group_row *rows = calloc(g->count + 1, sizeof *rows);
    struct buf bytes = { 0 };
    bool ok = order != NULL && rows != NULL;

    for (size_t i = 0; ok && i < g->count; i++) {
        order[i] = (struct sortable){ .data = g->bytes.data + g->rows[i].at,
                                      .len = g->rows[i].len,
                                      .index = i };
    }
    if (ok) {
        qsort(order, g->count, sizeof *order, compare_sortable);
    }
    for (size_t i = 0; ok && i < keep; i++) {
        rows[i] = g->rows[order[i].index];
        rows[i].at = bytes.len;
        ok = buf_append(&bytes, order[i].data, order[i].len);
    }
    free(order);
    if (!ok) {
        free(rows);
        buf_fini(&bytes);
        return false;
    }
    buf_fini(&g->bytes);
    free(g->rows);
    g->bytes = bytes;
    g->rows = rows;
    g->capacity = g->count + 1;
    g->count = keep;
    return true;
}

/* Too much to hold: keeps the smaller half and forgets the rest for now. */
static bool group_shrink(struct group *g)
{
    size_t keep = g->count / 2 > 0 ? g->count / 2 : 1;

    if (g->count <= keep || !group_sort(g, keep)) {
        return g->count <= keep;
    }
    g->partial = true;
    buf_reset(&g->before);
    /* Whatever is not before the last kept row waits for the next reading,
     * but for that row itself, which is here. */
    return buf_append(&g->before, g->bytes.data + g->rows[keep - 1].at,
                      g->rows[keep - 1].len);
}

static bool group_add(struct group *g, struct bytes tail,
                      const int64_t *values, unsigned components)
{
    struct group_row *row;

    if (g->count == g->capacity) {
        size_t capacity = g->capacity == 0 ? 16 : 2 * g->capacity;
        struct group_row *rows = realloc(g->rows, capacity * sizeof *g->rows);

        if (rows == NULL) {
            return false;
        }
        g->rows = rows;
        g->capacity = capacity;
    }
    row = &g->rows[g->count];
    row->at = g->bytes.len;
    row->len = sizeof g->prefix + tail.len;
    memcpy(row->values, values, components * sizeof *values);
    if (!buf_append(&g->bytes, g->prefix, sizeof g->prefix) ||
        !buf_append(&g->bytes, tail.data, tail.len)) {
        return false;
    }
    g->count++;
    return g->bytes.len + g->count * sizeof *g->rows <= group_max ||
           group_shrink(g);
}

/* Whether a row of the group belongs to this reading. */
static bool group_takes(const struct snapshot_scan *scan, struct group *g,
                        struct bytes row_key)
{
    if (!is_wanted(scan, row_key)) {
        return false;
    }
    if (g->after.len > 0 &&
        bytes_compare(row_key, buf_bytes(&g->after)) <= 0) {
        return false;
    }
    return g->before.len == 0 ||
           bytes_compare(row_key, buf_bytes(&g->before)) < 0;
}

static enum df_status group_take(struct snapshot_scan *scan,
                                 struct shard_scan *sh, struct df_error *err)
{
    struct group *g = &sh->group;
    struct bytes tail = sh->at->tail;

    buf_reset(&scan->room);
    if (!buf_append(&scan->room, g->prefix, sizeof g->prefix) ||
        !buf_append(&scan->room, tail.data, tail.len)) {
        return error_no_memory(err);
    }
    if (group_takes(scan, g, buf_bytes(&scan->room)) &&
        !group_add(g, tail, sh->at->values, scan->s->shape.components)) {
        return error_no_memory(err);
    }
    return DF_OK;
}

static enum df_status shard_step(struct shard_scan *sh, struct df_error *err)
{
    return sh->rows->next(sh->rows, &sh->at, err);
}

/* Goes to the first row that is not before head. */
static enum df_status shard_seek(struct shard_scan *sh, struct bytes head,
                                 struct df_error *err)
{
    enum df_status status = sh->rows->seek(sh->rows, head, err);

    return status == DF_OK ? shard_step(sh, err) : status;
}

static bool in_group(const struct shard_scan *sh)
{
    return sh->at != NULL && sh->at->head.len == ROW_HEAD_MAX &&
           memcmp(sh->at->head.data, sh->group.prefix, ROW_HEAD_EXACT) == 0;
}

/* Reads the group from its first row on; leaves the cursor behind it. */
static enum df_status group_fill(struct snapshot_scan *scan,
                                 struct shard_scan *sh, struct df_error *err)
{
    uint8_t first[ROW_HEAD_MAX] = { 0 };
    struct group *g = &sh->group;
    enum df_status status;

    memcpy(first, g->prefix, sizeof g->prefix);
    g->count = 0;
    g->next = 0;
    g->partial = false;
    buf_reset(&g->bytes);
    buf_reset(&g->before);
    status = shard_seek(sh, bytes_of(first, sizeof first), err);
    while (status == DF_OK && in_group(sh)) {
        status = group_take(scan, sh, err);
        if (status == DF_OK) {
            status = shard_step(sh, err);
        }
    }
    if (status == DF_OK && !group_sort(g, g->count)) {
        status = error_no_memory(err);
    }
    g->active = status == DF_OK;
    return status;
}

/* Gives out the group's next row; *done when there is none left. */
static enum df_status group_next(struct snapshot_scan *scan,
                                 struct shard_scan *sh, bool *done,
                                 struct df_error *err)
{
    struct group *g = &sh->group;
    struct group_row *row;

    *done = false;
    if (g->next == g->count && g->partial) {
        enum df_status status;

        buf_reset(&g->after);
        if (!buf_append(&g->after, sh->key.data, sh->key.len)) {
            return error_no_memory(err);
        }
        status = group_fill(scan, sh, err);
        if (status != DF_OK) {
            return status;
        }
    }
    if (g->next == g->count) {
        g->active = false;
        *done = true;
        return DF_OK;
    }
    row = &g->rows[g->next++];
    sh->key = bytes_of(g->bytes.data + row->at, row->len);
    memcpy(sh->values, row->values, sizeof sh->values);
    return DF_OK;
}

/* ---- one shard ---- */

static void take_short(const struct snapshot_scan *scan, struct shard_scan *sh)
{
    sh->key = sh->at->head;
    memcpy(sh->values, sh->at->values,
           scan->s->shape.components * sizeof *sh->values);
}

static enum df_status begin_group(struct snapshot_scan *scan,
                                  struct shard_scan *sh, struct df_error *err)
{
    memcpy(sh->group.prefix, sh->at->head.data, ROW_HEAD_EXACT);
    buf_reset(&sh->group.after);
    return group_fill(scan, sh, err);
}

/* Whether the entry under the cursor can still be of the selection. */
static bool in_range(const struct snapshot_scan *scan,
                     const struct shard_scan *sh)
{
    return sh->at != NULL &&
           begins_with(first_of(sh->at->head, ROW_HEAD_EXACT),
                       first_of(buf_bytes(&scan->want), ROW_HEAD_EXACT));
}

/* Moves to the shard's next wanted row. `used` tells whether the entry under
 * the cursor was given out. */
static enum df_status shard_next(struct snapshot_scan *scan,
                                 struct shard_scan *sh, bool used,
                                 struct df_error *err)
{
    enum df_status status = DF_OK;

    for (;;) {
        bool done;

        if (sh->group.active) {
            status = group_next(scan, sh, &done, err);
            if (status != DF_OK || !done) {
                return status;
            }
        } else if (used) {
            status = shard_step(sh, err);
        }
        used = false;
        if (status != DF_OK || !in_range(scan, sh)) {
            sh->key = bytes_of(NULL, 0);
            return status;
        }
        if (sh->at->head.len == ROW_HEAD_MAX) {
            status = begin_group(scan, sh, err);
        } else if (is_wanted(scan, sh->at->head)) {
            take_short(scan, sh);
            return DF_OK;
        } else {
            used = true;
        }
        if (status != DF_OK) {
            return status;
        }
    }
}

/* ---- all shards ---- */

static void heap_sift(struct snapshot_scan *scan, unsigned at)
{
    for (;;) {
        unsigned least = at;

        for (unsigned child = 2 * at + 1;
             child <= 2 * at + 2 && child < scan->heap_count; child++) {
            if (bytes_compare(scan->heap[child]->key, scan->heap[least]->key) <
                0) {
                least = child;
            }
        }
        if (least == at) {
            return;
        }
        struct shard_scan *moved = scan->heap[at];
        scan->heap[at] = scan->heap[least];
        scan->heap[least] = moved;
        at = least;
    }
}

static enum df_status open_shard(struct snapshot_scan *scan, unsigned i,
                                 struct df_error *err)
{
    struct shard_scan *sh = &scan->shards[i];
    struct bytes from = first_of(buf_bytes(&scan->want), ROW_HEAD_EXACT);
    enum df_status status = snapshot_shard_open(&sh->rows, scan->s, i, err);

    if (status == DF_OK) {
        status = shard_seek(sh, from, err);
    }
    if (status == DF_OK) {
        status = shard_next(scan, sh, false, err);
    }
    if (status == DF_OK && sh->key.data != NULL) {
        scan->heap[scan->heap_count++] = sh;
    }
    return status;
}

static bool select_rows(struct snapshot_scan *scan,
                        enum snapshot_select select, struct bytes bytes)
{
    struct row_shape shape = scan->s->shape;

    switch (select) {
    case SNAPSHOT_KEY:
        scan->exact = !shape.has_element;
        return row_key_prefix(&scan->want, shape, bytes);
    case SNAPSHOT_PREFIX:
        return bytes.len == 0 ||
               row_key_prefix_of_keys(&scan->want, shape, bytes);
    case SNAPSHOT_ALL:
        break;
    }
    return true;
}

enum df_status snapshot_scan_open(struct snapshot_scan **out,
                                  struct snapshot *s,
                                  enum snapshot_select select,
                                  struct bytes bytes, struct df_error *err)
{
    struct snapshot_scan *scan = calloc(1, sizeof *scan);
    unsigned only = row_part(row_key_hash(bytes), s->shards);
    enum df_status status = DF_OK;

    *out = NULL;
    if (scan == NULL) {
        return error_no_memory(err);
    }
    scan->s = s;
    if (!select_rows(scan, select, bytes)) {
        status = error_no_memory(err);
    }
    for (unsigned i = 0; status == DF_OK && i < s->shards; i++) {
        if (select != SNAPSHOT_KEY || i == only) {
            status = open_shard(scan, i, err);
        }
    }
    for (unsigned i = scan->heap_count / 2; i > 0; i--) {
        heap_sift(scan, i - 1);
    }
    if (status != DF_OK) {
        snapshot_scan_close(scan);
        return status;
    }
    *out = scan;
    return DF_OK;
}

/* Moves the shard whose row was given out, and puts it in its place. */
static enum df_status advance(struct snapshot_scan *scan, struct df_error *err)
{
    struct shard_scan *sh = scan->heap[0];
    enum df_status status = shard_next(scan, sh, !sh->group.active, err);

    if (status == DF_OK && sh->key.data == NULL) {
        scan->heap[0] = scan->heap[--scan->heap_count];
    }
    heap_sift(scan, 0);
    return status;
}

/* The shard with the least row that was not given out, NULL at the end. */
static enum df_status next_shard(struct snapshot_scan *scan,
                                 struct shard_scan **sh, struct df_error *err)
{
    enum df_status status = scan->given ? advance(scan, err) : DF_OK;

    scan->given = status == DF_OK && scan->heap_count > 0;
    *sh = scan->given ? scan->heap[0] : NULL;
    return status;
}

enum df_status snapshot_scan_next(struct snapshot_scan *scan,
                                  const struct snapshot_row **row,
                                  struct df_error *err)
{
    struct shard_scan *sh;
    enum df_status status;

    *row = NULL;
    do {
        status = next_shard(scan, &sh, err);
    } while (status == DF_OK && sh != NULL &&
             !snapshot_lets_see(scan->s, sh->values));
    if (status != DF_OK || sh == NULL) {
        return status;
    }
    scan->row.values = sh->values;
    buf_reset(&scan->room);
    if (!row_decode(scan->s->shape, sh->key, &scan->room, &scan->row.key,
                    &scan->row.element)) {
        return rows_damaged(err);
    }
    *row = &scan->row;
    return DF_OK;
}

void snapshot_scan_close(struct snapshot_scan *scan)
{
    if (scan == NULL) {
        return;
    }
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        struct shard_scan *sh = &scan->shards[i];

        snapshot_shard_close(sh->rows);
        buf_fini(&sh->group.bytes);
        buf_fini(&sh->group.after);
        buf_fini(&sh->group.before);
        free(sh->group.rows);
    }
    buf_fini(&scan->want);
    buf_fini(&scan->room);
    free(scan);
}
