/*
 * warc_memory.h: the documents of an archive that lies in memory, by the
 * same layers that read one from a file (input/decode.h, input/warc.h).
 *
 *     warc_memory_open(&m)
 *       warc_memory_read(m, archive, step, visit, ctx, &err) ...
 *     warc_memory_close(m)
 *
 * It can be used again after a failure.
 */
#ifndef TESTS_WARC_MEMORY_H
#define TESTS_WARC_MEMORY_H

#include "base/bytes.h"
#include "base/error.h"
#include "input/reader.h"

/* Content beyond this is left unread. */
enum { WARC_MEMORY_CONTENT_MAX = 1 << 20 };

struct warc_memory;
struct warc_memory *warc_memory_open(void); /* aborts without memory */
void warc_memory_close(struct warc_memory *m);

typedef void warc_memory_visit(void *ctx, struct bytes uri,
                               struct bytes content);

/* Visits every document that was read to its end, or to the limit. Layers
 * are given `step` bytes at a time. */
enum df_status warc_memory_read(struct warc_memory *m, struct bytes archive,
                                size_t step, warc_memory_visit *visit,
                                void *ctx, struct df_error *err);

/* The content of the next n documents is left unread, and they are not
 * visited. */
void warc_memory_leave(struct warc_memory *m, size_t n);

/* Of all that was read. */
struct reader_counts warc_memory_counts(const struct warc_memory *m);

#endif
