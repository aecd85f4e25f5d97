#include "state/run_block.h"

#include "state/filter.h"

enum { OFFSET = 2, TRAILER = 4 };

static uint16_t load_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void store_be16(uint8_t *p, size_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* ---- writing ---- */

void run_block_begin(struct run_block_writer *w, unsigned components)
{
    block_begin(&w->block, components, bytes_of_string(""));
    buf_reset(&w->restarts);
    buf_reset(&w->hashes);
}

bool run_block_has_room(const struct run_block_writer *w,
                        const struct row *row)
{
    const struct block_writer *b = &w->block;
    size_t rows = b->rows + 1;
    /* The row may be a restart, and share nothing. */
    size_t least = b->value.len + row->head.len + w->restarts.len + OFFSET +
                   filter_size(rows) + TRAILER;
    size_t bound = (size_t)4 + 9 * (size_t)b->components +
                   (row->tail.len > 0 ? row->tail.len + 4 : 0);

    return rows == 1 || least + bound <= RUN_BLOCK_SIZE;
}

bool run_block_add(struct run_block_writer *w, const struct row *row)
{
    uint64_t hash = hash64(row->head);
    uint8_t at[OFFSET];

    if (w->block.rows % RUN_BLOCK_RESTART == 0) {
        store_be16(at, w->block.value.len);
        if (!buf_append(&w->restarts, at, sizeof at)) {
            return false;
        }
        block_restart(&w->block);
    }
    return buf_append(&w->hashes, &hash, sizeof hash) &&
           block_add(&w->block, row);
}

bool run_block_end(struct run_block_writer *w)
{
    struct buf *out = &w->block.value;
    size_t size = filter_size(w->block.rows);
    uint8_t trailer[TRAILER];

    if (!buf_append(out, w->restarts.data, w->restarts.len) ||
        !buf_reserve(out, size + TRAILER)) {
        return false;
    }
    memset(out->data + out->len, 0, size);
    for (size_t i = 0; i < w->block.rows; i++) {
        uint64_t hash;

        memcpy(&hash, w->hashes.data + i * sizeof hash, sizeof hash);
        filter_add(out->data + out->len, size, hash);
    }
    out->len += size;
    store_be16(trailer, w->restarts.len / OFFSET);
    store_be16(trailer + 2, size / FILTER_LINE);
    return buf_append(out, trailer, sizeof trailer);
}

void run_block_writer_fini(struct run_block_writer *w)
{
    block_writer_fini(&w->block);
    buf_fini(&w->restarts);
    buf_fini(&w->hashes);
}

/* ---- reading ---- */

bool run_block_open(struct run_block *b, unsigned components,
                    struct bytes value)
{
    size_t restarts;
    size_t filter;

    if (value.len < TRAILER) {
        return false;
    }
    value.len -= TRAILER;
    restarts = (size_t)OFFSET * load_be16(value.data + value.len);
    filter = (size_t)FILTER_LINE * load_be16(value.data + value.len + 2);
    if (restarts == 0 || filter == 0 || restarts + filter > value.len) {
        return false;
    }
    b->components = components;
    b->rows = bytes_of(value.data, value.len - restarts - filter);
    b->restarts = bytes_of(b->rows.data + b->rows.len, restarts);
    b->filter = bytes_of(b->restarts.data + restarts, filter);
    return true;
}

static bool read_from(const struct run_block *b, size_t at,
                      struct block_reader *r)
{
    return at <= b->rows.len &&
           block_open(r, b->components, bytes_of_string(""),
                      bytes_of(b->rows.data + at, b->rows.len - at));
}

bool run_block_read(const struct run_block *b, struct block_reader *r)
{
    return read_from(b, 0, r);
}

static size_t restart_at(const struct run_block *b, size_t i)
{
    return load_be16(b->restarts.data + i * OFFSET);
}

bool run_block_read_near(const struct run_block *b, struct bytes head,
                         struct block_reader *r)
{
    size_t from = 0;
    size_t to = b->restarts.len / OFFSET; /* restart `to` is after head;
                                             `from` is not, or is 0 */
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        size_t at = restart_at(b, middle);
        struct bytes there;

        if (at > b->rows.len ||
            !block_first_head(bytes_of(b->rows.data + at, b->rows.len - at),
                              &there)) {
            return false;
        }
        if (bytes_compare(there, head) <= 0) {
            from = middle;
        } else {
            to = middle;
        }
    }
    return read_from(b, restart_at(b, from), r);
}
