/*
 * decode.h: from the bytes of a file, or of a record of an archive, to
 * content.
 *
 *     decode_open(&d, &feed, err)                    once per reader
 *       decode_start(d)                              per file
 *       decode_compressed(d, kind, head, err)        where it is compressed
 *       decode_wide(d, order, head, err)             where content is UTF-16
 *       decode_pull(d, room, size, &n, err) ...      n = 0: the end
 *     decode_close(d)
 *
 * What something is is told by its first bytes, so these have been read
 * before it is known: `head` hands them back. decode_compressed takes the
 * first bytes of the file, decode_wide those of what decode_pull gave, the
 * mark taken off. A document that is neither is pulled from the feed
 * without a copy.
 *
 * Every member of a gzip file and every frame of a zstd file is read,
 * skippable frames give nothing, and zeros may stand behind the last. All
 * else that does not decode to its end is refused. What files are not, but
 * the content of a record may be, is DECODE_ZLIB (RFC 1950) and
 * DECODE_DEFLATE (RFC 1951).
 */
#ifndef INPUT_DECODE_H
#define INPUT_DECODE_H

#include "input/feed.h"
#include "input/utf16.h"

enum decode_kind {
    DECODE_PLAIN,
    DECODE_GZIP,
    DECODE_ZSTD,
    DECODE_ZLIB,
    DECODE_DEFLATE
};

enum {
    DECODE_CHUNK = 256 << 10, /* most bytes of a head */
    DECODE_HEAD = 4,          /* bytes that tell the kind, if there are */
    /* Memory that one zstd stream may ask for, as a power of two. RFC 8878
     * wants decoders to allow 8 MiB and encoders not to ask for more; the
     * zstd command does so below --ultra and --long. */
    DECODE_ZSTD_WINDOW_LOG = 23
};

/* By the first bytes of a file. */
enum decode_kind decode_kind_of(struct bytes head);

/* By the name: DECODE_GZIP for .gz, DECODE_ZSTD for .zst. */
enum decode_kind decode_kind_of_name(const char *path);

/* The length of a byte order mark at the start; *is_wide tells whether it
 * is that of UTF-16, in *order. */
size_t decode_mark(struct bytes head, bool *is_wide, enum utf16_order *order);

struct decode;
enum df_status decode_open(struct decode **d, const struct feed *feed,
                           struct df_error *err) DF_MUST_CHECK;
void decode_close(struct decode *d); /* takes NULL */

void decode_start(struct decode *d);
enum df_status decode_compressed(struct decode *d, enum decode_kind kind,
                                 struct bytes head,
                                 struct df_error *err) DF_MUST_CHECK;
enum df_status decode_wide(struct decode *d, enum utf16_order order,
                           struct bytes head,
                           struct df_error *err) DF_MUST_CHECK;

/* At least one byte unless it is the end; size is at least
 * UTF16_STEP_MAX. The bytes of one call are of one member. */
enum df_status decode_pull(struct decode *d, uint8_t *room, size_t size,
                           size_t *n, struct df_error *err) DF_MUST_CHECK;

/* Where in the feed the member lies whose bytes were pulled last, and
 * whether these are its first. */
struct decode_member {
    uint64_t at;
    bool begins;
    bool is_packed; /* false: nothing is compressed, there are none */
};
struct decode_member decode_member(const struct decode *d);

/* DF_INPUT, naming what the feed names. */
enum df_status decode_refuse(const struct decode *d, struct df_error *err,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
