#include "rows_source.h"

#include <stdlib.h>

static void *need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

void rows_source_reset(struct rows_source *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->at[i].row_key);
    }
    r->count = 0;
}

void rows_source_fini(struct rows_source *r)
{
    rows_source_reset(r);
    free(r->at);
    r->at = NULL;
    r->capacity = 0;
}

static struct bytes key_of(const struct rows_source_row *row)
{
    return bytes_of(row->row_key, row->len);
}

static void add_row_key(struct rows_source *r, struct bytes row_key,
                        const int64_t *values, int64_t factor)
{
    struct rows_source_row *row;

    if (r->count == r->capacity) {
        r->capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
        r->at = need(realloc(r->at, r->capacity * sizeof *r->at));
    }
    row = &r->at[r->count++];
    *row = (struct rows_source_row){ .len = row_key.len };
    row->row_key = need(malloc(row_key.len));
    memcpy(row->row_key, row_key.data, row_key.len);
    for (unsigned i = 0; i < r->shape.components; i++) {
        must(!__builtin_mul_overflow(values[i], factor, &row->values[i]));
    }
}

void rows_source_add(struct rows_source *r, struct bytes key,
                     struct bytes element, const int64_t *values)
{
    struct buf row_key = { 0 };

    must(row_key_append(&row_key, r->shape, key, element));
    add_row_key(r, buf_bytes(&row_key), values, 1);
    buf_fini(&row_key);
}

void rows_source_add_text(struct rows_source *r, const char *key,
                          int64_t value)
{
    const int64_t values[DF_COMPONENTS_MAX] = { value };

    rows_source_add(r, bytes_of_string(key), bytes_of(NULL, 0), values);
}

void rows_source_add_all(struct rows_source *r,
                         const struct rows_source *other, int64_t factor)
{
    for (size_t i = 0; i < other->count; i++) {
        add_row_key(r, key_of(&other->at[i]), other->at[i].values, factor);
    }
}

static int by_key(const void *a, const void *b)
{
    return bytes_compare(key_of(a), key_of(b));
}

static int by_head(const void *a, const void *b)
{
    uint8_t rooms[2][ROW_HEAD_MAX];
    struct bytes heads[2];
    struct bytes tail;

    row_split(key_of(a), rooms[0], &heads[0], &tail);
    row_split(key_of(b), rooms[1], &heads[1], &tail);
    return bytes_compare(heads[0], heads[1]);
}

static enum df_status next(struct run_source *source, const struct row **row,
                           struct df_error *err)
{
    struct rows_source *r = (struct rows_source *)source;

    if (r->before != NULL) {
        enum df_status status = r->before(r->before_ctx, r->next, err);

        if (status != DF_OK) {
            return status;
        }
    }
    *row = NULL;
    if (r->next < r->count) {
        row_split(key_of(&r->at[r->next]), r->room, &r->row.head,
                  &r->row.tail);
        r->row.values = r->at[r->next].values;
        r->next++;
        *row = &r->row;
    }
    return DF_OK;
}

static enum df_status rewind_rows(struct run_source *source,
                                  struct df_error *err)
{
    struct rows_source *r = (struct rows_source *)source;

    (void)err;
    r->next = 0;
    r->rewinds++;
    return DF_OK;
}

void rows_source_order(struct rows_source *r, enum rows_source_order order)
{
    size_t kept = 0;

    if (r->count > 0) {
        qsort(r->at, r->count, sizeof *r->at,
              order == ROWS_BY_HEAD ? by_head : by_key);
    }
    for (size_t i = 0; i < r->count;) {
        struct rows_source_row sum = r->at[i++];

        while (i < r->count && by_key(&sum, &r->at[i]) == 0) {
            must(row_values_add(r->shape, sum.values, r->at[i].values));
            free(r->at[i++].row_key);
        }
        if (row_values_zero(r->shape.components, sum.values)) {
            free(sum.row_key);
        } else {
            r->at[kept++] = sum;
        }
    }
    r->count = kept;
    r->source.next = next;
    r->source.rewind = rewind_rows;
    r->next = 0;
}

void rows_source_decode(const struct rows_source *r, size_t i,
                        struct buf *room, struct bytes *key,
                        struct bytes *element)
{
    buf_reset(room);
    must(row_decode(r->shape, key_of(&r->at[i]), room, key, element));
}

void rows_source_of_shard(const struct rows_source *all, unsigned shards,
                          unsigned shard, struct rows_source *out)
{
    struct buf room = { 0 };
    struct bytes key;
    struct bytes element;

    *out = (struct rows_source){
        .source = { .next = next, .rewind = rewind_rows, .seek = NULL },
        .shape = all->shape,
        .before = all->before,
        .before_ctx = all->before_ctx
    };
    for (size_t i = 0; i < all->count; i++) {
        rows_source_decode(all, i, &room, &key, &element);
        if (row_part(row_key_hash(key), shards) == shard) {
            add_row_key(out, key_of(&all->at[i]), all->at[i].values, 1);
        }
    }
    buf_fini(&room);
}

struct hash128 rows_source_digest(const struct rows_source *r)
{
    struct hash128 sum = { 0, 0 };

    for (size_t i = 0; i < r->count; i++) {
        sum = digest_add(
            sum, row_digest(r->shape, key_of(&r->at[i]), r->at[i].values));
    }
    return sum;
}

uint64_t rows_source_bytes(const struct rows_source *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->count; i++) {
        sum += r->at[i].len + HASH128_SIZE + ROW_VALUES_MAX;
    }
    return sum;
}
