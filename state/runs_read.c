#include "state/runs_internal.h"

#include <stdlib.h>

#include "state/filter.h"
#include "state/merge.h"

/* ---- reading ---- */

struct runs_reader {
    struct run_source source; /* first: what callers hold */
    struct store_txn *t;
    unsigned components;
    uint64_t seq;
    uint32_t blocks;
    uint32_t next; /* block to open when this one is through */
    bool copy;
    bool ahead; /* block.row was found by a seek and is yet to be given */
    struct buf room;
    /* Where index and blocks were found; not with copy, for what is written
     * to moves. */
    struct bytes index;
    struct bytes *found; /* by block; NULL until a head is looked for */
    struct run_block opened;
    struct block_reader block;
};

static enum df_status get_block(struct runs_reader *r, uint32_t number,
                                struct bytes *v, struct df_error *err)
{
    uint8_t room[RUN_KEY];
    bool found;
    enum df_status status = store_get(
        r->t, STORE_RUNS, block_key(room, r->seq, number), v, &found, err);

    return status == DF_OK && !found ? runs_damaged(err) : status;
}

/* The block, from where it was found the last time. */
static enum df_status find_again(struct runs_reader *r, uint32_t number,
                                 struct bytes *v, struct df_error *err)
{
    enum df_status status;

    if (r->found != NULL && r->found[number].data != NULL) {
        *v = r->found[number];
        return DF_OK;
    }
    status = get_block(r, number, v, err);
    if (status == DF_OK && r->found != NULL) {
        r->found[number] = *v;
    }
    return status;
}

/* Makes r->opened the block, none of its rows read. */
static enum df_status open_block(struct runs_reader *r, uint32_t number,
                                 struct df_error *err)
{
    struct bytes v;
    enum df_status status = find_again(r, number, &v, err);

    if (status != DF_OK) {
        return status;
    }
    if (r->copy) {
        buf_reset(&r->room);
        if (!buf_append(&r->room, v.data, v.len)) {
            return error_no_memory(err);
        }
        v = buf_bytes(&r->room);
    }
    r->next = number + 1;
    return run_block_open(&r->opened, r->components, v) ? DF_OK
                                                        : runs_damaged(err);
}

static enum df_status reader_next(struct run_source *source,
                                  const struct row **row, struct df_error *err)
{
    struct runs_reader *r = (struct runs_reader *)source;

    *row = NULL;
    if (r->ahead) {
        r->ahead = false;
        *row = &r->block.row;
        return DF_OK;
    }
    for (;;) {
        enum df_status status;
        bool end;

        if (!block_next(&r->block, &end)) {
            return runs_damaged(err);
        }
        if (!end) {
            *row = &r->block.row;
            return DF_OK;
        }
        if (r->next >= r->blocks) {
            return DF_OK;
        }
        status = open_block(r, r->next, err);
        if (status == DF_OK && !run_block_read(&r->opened, &r->block)) {
            status = runs_damaged(err);
        }
        if (status != DF_OK) {
            return status;
        }
    }
}

static void go_to_start(struct runs_reader *r)
{
    r->block = (struct block_reader){ .components = r->components };
    r->next = 0;
    r->ahead = false;
}

static enum df_status reader_rewind(struct run_source *source,
                                    struct df_error *err)
{
    (void)err;
    go_to_start((struct runs_reader *)source);
    return DF_OK;
}

/* ---- finding ---- */

static enum df_status get_index(struct runs_reader *r, struct bytes *index,
                                struct df_error *err)
{
    enum df_status status = DF_OK;

    if (r->index.data == NULL || r->copy) {
        status = get_block(r, RUN_INDEX, &r->index, err);
    }
    *index = r->index;
    return status == DF_OK && index->len < (size_t)4 * r->blocks
               ? runs_damaged(err)
               : status;
}

/* The first head of a block; false where the index is damaged. */
static bool first_head(struct bytes index, uint32_t blocks, uint32_t i,
                       struct bytes *head)
{
    size_t at = (size_t)4 * blocks;
    size_t begin = i == 0 ? 0 : load_be32(index.data + (size_t)4 * (i - 1));
    size_t end = load_be32(index.data + (size_t)4 * i);

    if (begin > end || end > index.len - at) {
        return false;
    }
    *head = bytes_of(index.data + at + begin, end - begin);
    return true;
}

/* The last block that may hold `head`; the first where none begins before. */
static enum df_status find_block(struct runs_reader *r, struct bytes head,
                                 uint32_t *number, struct df_error *err)
{
    uint32_t from = 0;
    uint32_t to = r->blocks; /* block `from` begins before head, or is 0;
                                block `to` does not */
    struct bytes index;
    enum df_status status = get_index(r, &index, err);

    while (status == DF_OK && to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        struct bytes first;

        if (!first_head(index, r->blocks, middle, &first)) {
            status = runs_damaged(err);
        } else if (bytes_compare(first, head) <= 0) {
            from = middle;
        } else {
            to = middle;
        }
    }
    *number = from;
    return status;
}

/* Opens the block that may hold `head`. */
static enum df_status open_near(struct runs_reader *r, struct bytes head,
                                struct df_error *err)
{
    uint32_t number;
    enum df_status status = find_block(r, head, &number, err);

    return status == DF_OK ? open_block(r, number, err) : status;
}

/* Goes to the first row of the opened block, or behind it, that is not before
 * head; *row is NULL where there is none. */
static enum df_status read_to(struct runs_reader *r, struct bytes head,
                              const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (!run_block_read_near(&r->opened, head, &r->block)) {
        return runs_damaged(err);
    }
    do {
        status = reader_next(&r->source, row, err);
    } while (status == DF_OK && *row != NULL &&
             bytes_compare((*row)->head, head) < 0);
    return status;
}

static enum df_status reader_seek(struct run_source *source, struct bytes head,
                                  struct df_error *err)
{
    struct runs_reader *r = (struct runs_reader *)source;
    const struct row *row = NULL;
    enum df_status status;

    go_to_start(r);
    if (r->blocks == 0) {
        return DF_OK;
    }
    status = open_near(r, head, err);
    if (status == DF_OK) {
        status = read_to(r, head, &row, err);
    }
    r->ahead = status == DF_OK && row != NULL;
    return status;
}

enum df_status runs_find(struct run_source *run, struct bytes head,
                         const struct row **row, struct df_error *err)
{
    struct runs_reader *r = (struct runs_reader *)run;
    enum df_status status = DF_OK;

    *row = NULL;
    go_to_start(r);
    if (r->found == NULL && !r->copy) {
        r->found = calloc(r->blocks + (size_t)1, sizeof *r->found);
        status = r->found == NULL ? error_no_memory(err) : DF_OK;
    }
    if (status == DF_OK && r->blocks > 0) {
        status = open_near(r, head, err);
    }
    if (status == DF_OK && r->blocks > 0 &&
        filter_may_hold(r->opened.filter, hash64(head))) {
        status = read_to(r, head, row, err);
    }
    if (*row != NULL && !bytes_equal((*row)->head, head)) {
        *row = NULL;
    }
    return status;
}

enum df_status runs_open(struct run_source **run, struct store_txn *t,
                         unsigned components, uint64_t seq, bool copy,
                         struct df_error *err)
{
    struct runs_reader *r;
    struct kept_run kept;
    bool found;
    enum df_status status = runs_get(t, seq, &kept, &found, err);

    *run = NULL;
    if (status == DF_OK && !found) {
        status = error_set(err, DF_STATE,
                           "the run of ledger entry %llu is not kept any more",
                           (unsigned long long)seq);
    }
    if (status != DF_OK) {
        return status;
    }
    r = calloc(1, sizeof *r);
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->source = (struct run_source){ .next = reader_next,
                                     .rewind = reader_rewind,
                                     .seek = reader_seek };
    r->t = t;
    r->components = components;
    r->seq = seq;
    r->blocks = kept.blocks;
    r->copy = copy;
    go_to_start(r);
    *run = &r->source;
    return DF_OK;
}

void runs_close(struct run_source *run)
{
    struct runs_reader *r = (struct runs_reader *)run;

    if (r != NULL) {
        buf_fini(&r->room);
        free(r->found);
        free(r);
    }
}

/* ---- adding up ---- */

static struct hash128 negated(struct hash128 h)
{
    return digest_scale(h, -1);
}

static enum df_status add_term(struct runs_sum *sum,
                               const struct runs_from *from,
                               struct runs_term term, struct df_error *err)
{
    bool own = from->own != 0 && term.seq == from->own;
    struct store_txn *t = own                          ? from->own_t
                          : runs_is_in_inbox(term.seq) ? from->inbox
                                                       : from->t;
    struct kept_run kept;
    bool found;
    enum df_status status =
        runs_open(&sum->sources[sum->count], t, from->shape.components,
                  term.seq, own, err);

    if (status != DF_OK) {
        return status;
    }
    sum->count++;
    status = runs_get(t, term.seq, &kept, &found, err);
    if (status == DF_OK) {
        sum->all.rows += kept.rows;
        sum->all.bytes += kept.bytes;
        sum->all.magnitude =
            row_magnitude_add(sum->all.magnitude, kept.magnitude);
        sum->all.digest = digest_add(
            sum->all.digest, term.minus ? negated(kept.digest) : kept.digest);
    }
    return status;
}

static enum df_status open_merge(struct runs_sum *sum,
                                 const struct runs_from *from,
                                 const struct runs_term *terms, size_t n,
                                 struct df_error *err)
{
    struct run_source **sources = calloc(n + 1, sizeof(struct run_source *));
    bool *minus = calloc(n + 1, sizeof *minus);
    enum df_status status;
    size_t at = 0;

    if (sources == NULL || minus == NULL) {
        status = error_no_memory(err);
        goto out;
    }
    if (from->rows != NULL) {
        sources[at++] = from->rows;
    }
    for (size_t i = 0; i < n; i++) {
        minus[at] = terms[i].minus;
        sources[at++] = sum->sources[i];
    }
    status =
        merge_open_signed(&sum->run, from->shape, sources, minus, at, err);
out:
    free(sources);
    free(minus);
    return status;
}

enum df_status runs_sum_open(struct runs_sum *sum,
                             const struct runs_from *from,
                             const struct runs_term *terms, size_t n,
                             struct df_error *err)
{
    enum df_status status = DF_OK;

    *sum = (struct runs_sum){ .sources =
                                  calloc(n + 1, sizeof(struct run_source *)) };
    if (sum->sources == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = add_term(sum, from, terms[i], err);
    }
    if (status == DF_OK) {
        status = open_merge(sum, from, terms, n, err);
    }
    if (status != DF_OK) {
        runs_sum_close(sum);
    }
    return status;
}

void runs_sum_close(struct runs_sum *sum)
{
    merge_close(sum->run);
    for (size_t i = 0; i < sum->count; i++) {
        runs_close(sum->sources[i]);
    }
    free(sum->sources);
    *sum = (struct runs_sum){ 0 };
}
