/*
 * source.h: the bytes of one file on disk, or of a range of it, read once
 * and hashed as they come.
 *
 *     source_init(&s)                                 false without memory
 *       source_open(&s, batch, file, &range, err)
 *         source_read(&s, room, size, &n, err) ...    hashed; n = 0: the end
 *         source_read_behind(&s, ...) ...             behind the range
 *       source_close(&s, err)          the file is still what it was
 *       source_abandon(&s)             after a failure, instead of close
 *     source_fini(&s)
 *
 * The file must be what the scan saw, when it is opened and when it is
 * closed; otherwise it "changed while it was read". By read and never by
 * mmap: a file cut while it is mapped would be a signal. One thread at a
 * time.
 */
#ifndef INPUT_SOURCE_H
#define INPUT_SOURCE_H

#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/hash.h"
#include "input/batch.h"
#include "input/feed.h"

struct source_range {
    uint64_t begin; /* a multiple of READER_HASH_BLOCK */
    uint64_t end;
    struct hash128 *hashes; /* set by reading, one per block begun; an
                               empty file has one too; NULL: not wanted */
    ino_t inode;            /* the file must have it; 0: any */
};

struct source {
    struct buf path; /* as opened, ends with NUL */
    const char *root;
    const struct batch_file *file;
    struct source_range range;
    struct hash_stream *block; /* of the block at hand */
    int fd;                    /* -1 while closed */
    ino_t inode;
    uint64_t pos;                      /* next byte to read */
    const volatile sig_atomic_t *stop; /* set by the owner; NULL: none */
};

bool source_init(struct source *s);
void source_fini(struct source *s); /* safe on zeroed memory */

enum df_status source_open(struct source *s, const struct batch *batch,
                           const struct batch_file *file,
                           const struct source_range *range,
                           struct df_error *err) DF_MUST_CHECK;

/* Fills room, unless the range ends before; *n tells how far. */
enum df_status source_read(struct source *s, uint8_t *room, size_t size,
                           size_t *n, struct df_error *err) DF_MUST_CHECK;

/* The same for what follows the range, up to the end of the file, not
 * hashed; after source_read has come to its end. */
enum df_status source_read_behind(struct source *s, uint8_t *room, size_t size,
                                  size_t *n,
                                  struct df_error *err) DF_MUST_CHECK;

/* Whether the last byte of the file has been read. */
static inline bool source_is_at_end(const struct source *s)
{
    return s->pos == s->file->length;
}

enum df_status source_close(struct source *s,
                            struct df_error *err) DF_MUST_CHECK;
void source_abandon(struct source *s);

/* DF_INPUT, naming the file. */
enum df_status source_refuse(const struct source *s, struct df_error *err,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* source_read and source_refuse, of whatever file is open; s stays where
 * it is. */
struct feed source_feed(struct source *s);

#endif
