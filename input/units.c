#include "input/units.h"

#include <assert.h>
#include <stdlib.h>

#include "input/decode.h"
#include "input/grow.h"
#include "input/warc.h"

struct units {
    struct unit *units;
    size_t capacity;
    struct unit_head *heads; /* of split files of records */
    size_t head_count;
    size_t head_capacity;
    bool needs_scan;
    /* Hashes of the blocks of all files that have more than one, in order
     * of files. Each is written by the one unit that holds the block. */
    struct hash128 *blocks;
    size_t block_count;
};

/* Bytes of the first look at a header; then as many as there are. */
enum { HEADER_STEP = 4096 };

/* A plan being made. */
struct plan {
    struct reader_units *units;
    const struct reader_cut *cut;
    uint64_t unit_size;
    struct source source; /* for a look at the start of long files */
};

const struct unit *units_at(const struct reader_units *units, size_t i)
{
    const struct units *owned = units->owned;

    assert(i < units->count);
    return &owned->units[i];
}

struct unit *units_change(struct reader_units *units, size_t i)
{
    struct units *owned = units->owned;

    assert(i < units->count);
    return &owned->units[i];
}

const struct unit_head *units_head(const struct reader_units *units, size_t i)
{
    const struct units *owned = units->owned;

    return &owned->heads[units_at(units, i)->head];
}

bool units_is_last(const struct reader_units *units, size_t i)
{
    return units_at(units, i)->end == reader_unit_file(units, i)->length;
}

struct source_range units_range(struct reader_units *units, size_t i)
{
    const struct units *owned = units->owned;
    const struct unit *unit = units_at(units, i);
    struct batch_file *file = &units->batch->files[unit->file];

    return (struct source_range){
        .begin = unit->begin,
        .end = unit->end,
        .hashes = file->length <= READER_HASH_BLOCK
                      ? &file->hash
                      : &owned->blocks[unit->block],
        .inode = unit->inode,
    };
}

const struct batch_file *reader_unit_file(const struct reader_units *units,
                                          size_t unit)
{
    return &units->batch->files[units_at(units, unit)->file];
}

uint64_t reader_unit_bytes(const struct reader_units *units, size_t unit)
{
    return units_at(units, unit)->end - units_at(units, unit)->begin;
}

static uint64_t blocks_of(uint64_t bytes)
{
    return bytes / READER_HASH_BLOCK + (bytes % READER_HASH_BLOCK != 0);
}

static enum df_status add_unit(struct plan *p, const struct unit *unit,
                               struct df_error *err)
{
    struct units *owned = p->units->owned;
    struct unit *units = grow_array(owned->units, &owned->capacity,
                                    p->units->count, sizeof units[0]);

    if (units == NULL) {
        return error_no_memory(err);
    }
    owned->units = units;
    owned->units[p->units->count++] = *unit;
    return DF_OK;
}

/* What is decoded must be read from its start, and so must archives, and
 * what is misnamed, to be refused. */
static bool may_be_split(const struct reader_cut *cut, const char *path,
                         struct bytes head)
{
    enum utf16_order order;
    bool is_wide;

    (void)decode_mark(head, &is_wide, &order);
    return (!is_wide || (cut->raw && cut->format == RECORD_NONE)) &&
           !warc_is_named(bytes_of_string(path)) &&
           decode_kind_of(head) == DECODE_PLAIN &&
           decode_kind_of_name(path) == DECODE_PLAIN;
}

/* Reads the header of a file that is open, whose first bytes are in
 * head->header already. *is_whole: there is one. */
static enum df_status look_at_header(struct plan *p, struct unit_head *head,
                                     bool *is_whole, struct df_error *err)
{
    struct buf *b = &head->header;
    enum df_status status = DF_OK;
    size_t more = HEADER_STEP;
    size_t n = 1;
    size_t len;

    *is_whole = false;
    while (status == DF_OK && n > 0 && b->len <= RECORD_MAX) {
        if (!buf_reserve(b, more + DF_SLACK)) {
            return error_no_memory(err);
        }
        status = source_read(&p->source, b->data + b->len, more, &n, err);
        b->len += n;
        more = b->len;
        if (status == DF_OK &&
            record_header_is_whole(
                p->cut->format,
                bytes_of(b->data + head->mark, b->len - head->mark), &len)) {
            *is_whole = true;
            b->len = head->mark + len;
            break;
        }
    }
    return status;
}

/* Keeps how a file of records begins; *is_fit: it may be split. */
static enum df_status add_head(struct plan *p, struct bytes first,
                               bool *is_fit, struct df_error *err)
{
    struct units *owned = p->units->owned;
    enum utf16_order order;
    bool is_wide;
    struct unit_head *head;
    struct unit_head *heads = grow_array(owned->heads, &owned->head_capacity,
                                         owned->head_count, sizeof heads[0]);

    if (heads == NULL) {
        return error_no_memory(err);
    }
    owned->heads = heads;
    head = &owned->heads[owned->head_count++];
    *head = (struct unit_head){ .mark = decode_mark(first, &is_wide, &order) };
    *is_fit = true;
    if (!record_has_header(p->cut->format)) {
        return DF_OK;
    }
    if (!buf_append(&head->header, first.data, first.len)) {
        return error_no_memory(err);
    }
    return look_at_header(p, head, is_fit, err);
}

/* What can be said of a file that is open. */
static enum df_status look_into(struct plan *p, const struct batch_file *file,
                                bool *is_fit, struct df_error *err)
{
    uint8_t head[DECODE_HEAD];
    size_t n = 0;
    enum df_status status =
        source_read(&p->source, head, sizeof head, &n, err);

    *is_fit =
        status == DF_OK && may_be_split(p->cut, file->path, bytes_of(head, n));
    if (*is_fit && p->cut->format != RECORD_NONE) {
        status = add_head(p, bytes_of(head, n), is_fit, err);
    }
    return status;
}

/* A look at the first bytes. *inode stays 0 where it may not be split: a
 * header that does not end is for the reader to refuse, in its turn. */
static enum df_status look(struct plan *p, const struct batch_file *file,
                           ino_t *inode, struct df_error *err)
{
    const struct source_range range = { .end = file->length };
    enum df_status status;
    bool is_fit;

    status = source_open(&p->source, p->units->batch, file, &range, err);
    if (status != DF_OK) {
        return status;
    }
    status = look_into(p, file, &is_fit, err);
    if (status != DF_OK) {
        source_abandon(&p->source);
        return status;
    }
    if (is_fit) {
        *inode = p->source.inode;
    }
    return source_close(&p->source, err);
}

static bool wants_split(const struct plan *p, const struct batch_file *file)
{
    return file->length > p->unit_size &&
           (p->cut->format != RECORD_NONE || p->cut->pieces == DF_PIECES_FREE);
}

static enum df_status plan_file(struct plan *p, size_t index,
                                struct df_error *err)
{
    struct units *owned = p->units->owned;
    const struct batch_file *file = &p->units->batch->files[index];
    struct unit unit = { .file = index, .end = file->length };
    enum df_status status = DF_OK;

    unit.block = owned->block_count;
    if (file->length > READER_HASH_BLOCK) {
        owned->block_count += (size_t)blocks_of(file->length);
    }
    if (wants_split(p, file)) {
        status = look(p, file, &unit.inode, err);
    }
    unit.is_split = unit.inode != 0;
    if (unit.is_split && p->cut->format != RECORD_NONE) {
        unit.head = owned->head_count - 1;
        owned->needs_scan |= record_has_header(p->cut->format);
    }
    while (status == DF_OK && unit.is_split &&
           file->length - unit.begin > p->unit_size) {
        unit.end = unit.begin + p->unit_size;
        status = add_unit(p, &unit, err);
        unit.block += (size_t)(p->unit_size / READER_HASH_BLOCK);
        unit.begin = unit.end;
        unit.end = file->length;
    }
    return status == DF_OK ? add_unit(p, &unit, err) : status;
}

static enum df_status plan_files(struct plan *p, struct df_error *err)
{
    struct units *owned = p->units->owned;
    enum df_status status = DF_OK;

    for (size_t i = 0; i < p->units->batch->file_count && status == DF_OK;
         i++) {
        status = plan_file(p, i, err);
    }
    if (status == DF_OK) {
        owned->blocks =
            calloc(owned->block_count + 1, sizeof owned->blocks[0]);
        status = owned->blocks == NULL ? error_no_memory(err) : DF_OK;
    }
    return status;
}

enum df_status reader_plan_units(struct reader_units *units,
                                 struct batch *batch,
                                 const struct reader_cut *cut,
                                 struct df_error *err)
{
    struct plan p = { .units = units, .cut = cut };
    enum df_status status;

    p.unit_size = cut->unit_size == 0 ? READER_UNIT_DEFAULT : cut->unit_size;
    assert(p.unit_size % READER_HASH_BLOCK == 0);
    assert(cut->format != RECORD_NONE || cut->pieces == DF_PIECES_WHOLE ||
           cut->cut != NULL);
    *units = (struct reader_units){ .batch = batch };
    units->owned = calloc(1, sizeof(struct units));
    if (units->owned == NULL || !source_init(&p.source)) {
        status = error_no_memory(err);
    } else {
        status = plan_files(&p, err);
    }
    source_fini(&p.source);
    if (status != DF_OK) {
        reader_units_fini(units);
    }
    return status;
}

void reader_units_fini(struct reader_units *units)
{
    struct units *owned = units->owned;

    if (owned != NULL) {
        for (size_t i = 0; i < owned->head_count; i++) {
            buf_fini(&owned->heads[i].header);
        }
        for (size_t i = 0; i < units->count; i++) {
            bounds_fini(&owned->units[i].bounds);
        }
        free(owned->heads);
        free(owned->units);
        free(owned->blocks);
    }
    free(owned);
    *units = (struct reader_units){ 0 };
}

bool reader_units_need_scan(const struct reader_units *units)
{
    const struct units *owned = units->owned;

    return owned->needs_scan;
}

void reader_units_scanned(struct reader_units *units)
{
    for (size_t i = 1; i < units->count; i++) {
        struct unit *unit = units_change(units, i);

        if (unit->is_split && unit->begin > 0) {
            unit->inside = unit[-1].inside != unit[-1].parity;
        }
    }
}

enum df_status reader_finish(struct reader_units *units, struct df_error *err)
{
    const struct units *owned = units->owned;
    const struct hash128 *block = owned->blocks;
    struct hash_stream *stream;

    if (!hash_stream_open(&stream)) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < units->batch->file_count; i++) {
        struct batch_file *file = &units->batch->files[i];

        if (file->length <= READER_HASH_BLOCK) {
            continue; /* set by reading */
        }
        hash_stream_reset(stream);
        for (uint64_t n = blocks_of(file->length); n > 0; n--, block++) {
            uint8_t canonical[HASH128_SIZE];

            hash128_store(canonical, *block);
            hash_stream_add(stream, bytes_of(canonical, sizeof canonical));
        }
        file->hash = hash_stream_end(stream);
    }
    hash_stream_close(stream);
    return DF_OK;
}
