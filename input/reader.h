/*
 * reader.h: documents in pieces, and fingerprints, from one pass of read().
 *
 * A batch's files become *units* of work: a small file is one unit, a huge
 * plain one is many where the job allows it (DF_PIECES_FREE). Each worker
 * has a reader and takes units in any order:
 *
 *     reader_plan_units(&units, &batch, cut, err);        once
 *     reader_open(&r, cut, err);                          per worker
 *       reader_read(r, &units, i, sink, ctx, err);        per unit
 *     reader_close(r);
 *     reader_finish(&units, err);          once, after all units: sets every
 *                                          file's hash in the batch
 *     reader_units_fini(&units);
 *
 * The bytes are read once, by read and never mmap, hashed and handed to the
 * sink from the same buffer. Length, time and inode are compared before and
 * after: a file that changes while it is read refuses the batch. gzip and
 * zstd are recognised by their first bytes and decoded (all members and
 * frames); a .gz or .zst name on other content, a truncated or corrupt
 * stream, or bytes behind it that are no member and not zero refuse the
 * batch. A UTF-8 mark is dropped; UTF-16 with a mark becomes UTF-8.
 *
 * A file named .warc, .warc.gz or .warc.zst holds many documents, whose ids
 * are their URIs (warc.h): it is one unit, and the sink sees the pieces of
 * one after the other. Two of the same URI, in one file or in several, are
 * two documents. A manifest's id for such a file names nothing.
 *
 * Records. With a record format (reader_cut.format) files hold records
 * (record.h) instead, and a huge plain file is cut where records end: unit i
 * gives the records that begin behind the first end of a record from its
 * begin on, up to where the next unit's do. In csv a line feed ends a record
 * only if it is not between quotes, which takes the parity of all quotes
 * before it. So where reader_units_need_scan says so all units are looked at
 * first, by the workers too:
 *
 *     reader_scan(r, &units, i, err);                     per unit
 *     reader_units_scanned(&units);                       once, after all
 *       reader_read_records(r, &units, i, sink, ctx, err) per unit
 *
 * That reads a huge csv file twice, the first time at the speed of memory;
 * the alternative, to guess and to map again where the guess was wrong, would
 * read some of it twice in the best case, and emit pairs that have to be
 * taken back in the worst. The file is compared with what the scan of the
 * batch saw both times.
 *
 * Fingerprint of a file: XXH3-128 of its bytes on disk where it has at most
 * READER_HASH_BLOCK of them; else XXH3-128 of the canonical (big-endian)
 * hashes of its blocks of that size, so that the blocks of a huge file can
 * be hashed by many workers.
 */
#ifndef INPUT_READER_H
#define INPUT_READER_H

#include <signal.h>

#include "deltafold/job.h"
#include "input/batch.h"
#include "input/record.h"

#define READER_HASH_BLOCK ((uint64_t)1 << 20)
#define READER_UNIT_DEFAULT ((uint64_t)8 << 20)

/* How documents may be cut, from the job and its config. */
struct reader_cut {
    enum df_pieces pieces;
    size_t (*cut)(const void *config, const uint8_t *data, size_t len);
    const void *config;
    uint64_t unit_size; /* bytes of a unit of a split file; a multiple of
                           READER_HASH_BLOCK; 0: READER_UNIT_DEFAULT */
    size_t whole_max;   /* longest decoded document for DF_PIECES_WHOLE;
                           longer ones refuse the batch */
    bool raw;           /* decompressed only (df_job.raw) */
    /* RECORD_NONE: documents. Else pieces, cut and raw mean nothing, and
     * columns are what is picked of each record. */
    enum record_format format;
    const struct df_columns *columns;
    /* Looked at while reading: not 0 ends it with DF_INTERRUPTED. NULL: none.
     */
    const volatile sig_atomic_t *stop;
};

/* What was made of the records of archives: each is a document or in one of
 * the five that follow. */
struct reader_counts {
    uint64_t records;
    uint64_t documents;
    uint64_t other_types;     /* request, metadata, revisit, warcinfo ... */
    uint64_t other_targets;   /* neither http nor https */
    uint64_t other_statuses;  /* than 200, or no HTTP response at all */
    uint64_t truncated;       /* by the writer, or in segments */
    uint64_t undecodable;     /* in a content coding not known here */
    uint64_t already_decoded; /* documents, not coded as their head says */
    uint64_t blank_lines;     /* of csv, tsv and ndjson; not in records */
};

struct reader_units {
    struct batch *batch; /* not owned */
    size_t count;
    void *owned; /* private */
    /* Set by the caller: */
    bool keeps_bounds; /* of all records, while they are read */
    bool has_bounds;   /* they are read once more, by what was kept */
};

enum df_status reader_plan_units(struct reader_units *units,
                                 struct batch *batch,
                                 const struct reader_cut *cut,
                                 struct df_error *err) DF_MUST_CHECK;
void reader_units_fini(struct reader_units *units);

/* The file a unit belongs to, and the bytes on disk it covers. Units are in
 * the order of files and offsets: of two failures the lower unit's is the
 * one to report. */
const struct batch_file *reader_unit_file(const struct reader_units *units,
                                          size_t unit);
uint64_t reader_unit_bytes(const struct reader_units *units, size_t unit);

/* Called per piece, on the reader's thread. A failure stops the read and
 * is returned from reader_read as it is. */
typedef enum df_status reader_sink(void *ctx, const struct df_piece *piece,
                                   struct df_error *err);

struct reader;
enum df_status reader_open(struct reader **r, const struct reader_cut *cut,
                           struct df_error *err) DF_MUST_CHECK;
void reader_close(struct reader *r); /* takes NULL */

/* Reads one unit. sink may be NULL: then the file is only hashed. */
enum df_status reader_read(struct reader *r, struct reader_units *units,
                           size_t unit, reader_sink *sink, void *ctx,
                           struct df_error *err) DF_MUST_CHECK;

/* ---- records ---- */

/* Whether units must be scanned before their records are read. */
bool reader_units_need_scan(const struct reader_units *units);
enum df_status reader_scan(struct reader *r, struct reader_units *units,
                           size_t unit, struct df_error *err) DF_MUST_CHECK;
void reader_units_scanned(struct reader_units *units);

/* Where records stand that a sink is given. (unit, index) is the order of
 * arrival: files in the batch's order, records in a file's. */
struct reader_place {
    size_t unit;
    uint64_t index; /* of the first record given, in its unit */
    const struct batch_file *file;
    struct reader *reader;
};

/* Called with some hundreds of records at a time. A failure stops the read
 * and is returned from reader_read_records as it is. */
typedef enum df_status reader_record_sink(void *ctx,
                                          const struct reader_place *place,
                                          const struct df_record *records,
                                          size_t n, struct df_error *err);

/* As reader_read. sink may not be NULL. Read by bounds, records are as they
 * stood, without fields; hashes tell whether they were the same. */
enum df_status reader_read_records(struct reader *r,
                                   struct reader_units *units, size_t unit,
                                   reader_record_sink *sink, void *ctx,
                                   struct df_error *err) DF_MUST_CHECK;

/* For sinks: the line of the file in which a record begins, from 1. Reads the
 * file again up to there: for messages. */
enum df_status reader_line(const struct reader_place *place,
                           const struct df_record *record, uint64_t *line,
                           struct df_error *err) DF_MUST_CHECK;

/* For sinks: the header of the file (record.h). */
struct bytes reader_header(const struct reader_place *place);

/* For sinks: DF_INPUT and "BATCH/inserted/x.csv:LINE: why". */
enum df_status reader_refuse(const struct reader_place *place,
                             const struct df_record *record, const char *why,
                             struct df_error *err);

/* Bytes on disk of the unit in hand that have been read, for sinks. */
uint64_t reader_read_bytes(const struct reader *r);

/* Of all that was read since reader_open: over the readers of a batch the
 * sums are the same for any number of them. */
struct reader_counts reader_counts(const struct reader *r);

enum df_status reader_finish(struct reader_units *units,
                             struct df_error *err) DF_MUST_CHECK;

#endif
