#include "input/units.h"

#include <assert.h>
#include <stdlib.h>

#include "input/decode.h"
#include "input/grow.h"
#include "input/warc.h"

struct units {
    struct unit *units;
    size_t capacity;
    /* Hashes of the blocks of all files that have more than one, in order
     * of files. Each is written by the one unit that holds the block. */
    struct hash128 *blocks;
    size_t block_count;
};

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
    return (!is_wide || cut->raw) && !warc_is_named(path) &&
           decode_kind_of(head) == DECODE_PLAIN &&
           decode_kind_of_name(path) == DECODE_PLAIN;
}

/* A look at the first bytes. *inode stays 0 where it may not be split. */
static enum df_status look(struct plan *p, const struct batch_file *file,
                           ino_t *inode, struct df_error *err)
{
    const struct source_range range = { .end = DECODE_HEAD };
    uint8_t head[DECODE_HEAD];
    enum df_status status;
    size_t n = 0;

    status = source_open(&p->source, p->units->batch, file, &range, err);
    if (status != DF_OK) {
        return status;
    }
    status = source_read(&p->source, head, sizeof head, &n, err);
    if (status != DF_OK) {
        source_abandon(&p->source);
        return status;
    }
    if (may_be_split(p->cut, file->path, bytes_of(head, n))) {
        *inode = p->source.inode;
    }
    return source_close(&p->source, err);
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
    if (file->length > p->unit_size && p->cut->pieces == DF_PIECES_FREE) {
        status = look(p, file, &unit.inode, err);
    }
    unit.is_split = unit.inode != 0;
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
    assert(cut->pieces == DF_PIECES_WHOLE || cut->cut != NULL);
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
        free(owned->units);
        free(owned->blocks);
    }
    free(owned);
    *units = (struct reader_units){ 0 };
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
