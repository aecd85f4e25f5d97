/*
 * job.h: what a job is, for those who write one.
 *
 * A job is a constant table: how documents become signed pairs, and what
 * the values of a pair are. The runtime owns everything else: reading,
 * splitting, threads, memory, spilling, sorting, adding, storing.
 *
 * Calls, in their only legal order:
 *
 *     configure(settings)              once per command, one thread
 *       cut(config, bytes)             any time, any thread, no state
 *       mapper_open(config)            once per worker
 *         map(mapper, piece, emitter)  once per piece, or
 *         map_records(mapper, records, n, emitter)
 *       mapper_close(mapper)
 *     release(config)
 *
 * map must be a pure function of the document: the same pairs in any order
 * on any day, on any thread, for an insertion and for a deletion (the
 * runtime negates). It must not look at the clock, the locale, the
 * environment or another document. This is what makes a view that is kept
 * up to date equal to one computed anew.
 *
 * Group jobs: values are vectors of signed 64-bit integers under addition,
 * an Abelian group. A pair whose components are all zero does not exist.
 * A sum that leaves 64 bits refuses the batch. Two components may be one
 * number of 128 bits (df_shape.wide), which then refuses where it leaves
 * these.
 *
 * Component 0 is the multiplicity: how often a row is there. A batch that
 * would make it negative deletes what was never inserted and is treated as
 * --on-negative says; the other components may have any sign. Component 0
 * is therefore never part of a 128-bit number.
 */
#ifndef DELTAFOLD_JOB_H
#define DELTAFOLD_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deltafold/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DF_KEY_MAX = 65536,     /* longest key or element, in bytes */
    DF_COMPONENTS_MAX = 32, /* most components of a value */
    DF_COUNTERS_MAX = 16,   /* most counters of a job */
    DF_COLUMNS_MAX = 64,    /* most columns a job asks for */
    DF_SLACK = 64           /* readable bytes behind every piece and key */
};

/*
 * How a document may be handed to map.
 *   DF_PIECES_FREE     cut where cut() allows; pieces are independent of
 *                      each other and go to any worker in any order
 *   DF_PIECES_ORDERED  cut where cut() allows, but all pieces of a document
 *                      go to one mapper, in order
 *   DF_PIECES_WHOLE    never cut; a document must fit in memory
 */
enum df_pieces { DF_PIECES_FREE, DF_PIECES_ORDERED, DF_PIECES_WHOLE };

/*
 * A part of a document, borrowed for the duration of one map call. The
 * content is decoded: decompressed, without byte order mark, UTF-16 turned
 * into UTF-8 (but see df_job.raw). With the view's option format= a document
 * is what a column of a record holds, in one piece. DF_SLACK bytes behind
 * data[len] are readable (their values mean nothing).
 *
 * Where no cut is found in DF_UNCUT bytes the document is cut all the same:
 * then `unfinished` is set on the piece before and `continues` on the piece
 * after, and what straddles that place is known to be longer than
 * DF_UNCUT - enough for a job to leave it out, and count it, the same way
 * for every split. In that case alone the piece with `continues` may come
 * to a mapper that has not seen the piece before.
 */
struct df_piece {
    const uint8_t *id; /* document id, id_len bytes */
    size_t id_len;
    const uint8_t *data;
    size_t len;
    bool first;      /* data begins where the document begins */
    bool last;       /* data ends where the document ends */
    bool continues;  /* begins inside something longer than DF_UNCUT */
    bool unfinished; /* ends inside something longer than DF_UNCUT */
    bool is_text;    /* the text of a record, UTF-8 whatever it says of
                        itself (matters with df_job.raw) */
};

/* A stretch this long without a cut is cut by force; above DF_KEY_MAX. */
#define DF_UNCUT ((size_t)1 << 20)

/*
 * Records: lines, or rows of csv, tsv and ndjson, as the view's option
 * format= says. The runtime finds them, parses them and picks by name the
 * columns that the job asks for.
 */
enum df_kind {
    DF_ABSENT, /* ndjson: the object has no such member; no bytes */
    DF_NULL,   /* ndjson: null; its bytes are the literal */
    DF_TEXT,   /* csv, tsv, lines: always this; ndjson: a string, unescaped */
    DF_NUMBER, /* ndjson: the literal as it stands in the file; it is one
                  that df_number_canonical takes */
    DF_FALSE,  /* bytes: the literal */
    DF_TRUE,
    DF_NESTED /* ndjson: an array or object as canonical JSON: members in
                 byte order, no blanks, shortest escapes, numbers as
                 df_number_canonical writes them */
};

/* One value. DF_SLACK bytes behind data[len] are readable. */
struct df_field {
    enum df_kind kind;
    const uint8_t *data;
    size_t len;
};

/* Borrowed for the duration of one map_records call. */
struct df_record {
    const uint8_t *data; /* as it stands in the file, without line end */
    size_t len;
    /* One per column asked for, in that order; then, if asked for, the
     * canonical form of the whole record (DF_TEXT). */
    const struct df_field *fields;
};

/*
 * The canonical form of a JSON number: the same bytes for the same value,
 * exactly, and no others: 1, 1.0, 1e0 and 10e-1 give "1", -0 gives "0", 2^53
 * and 2^53 + 1 differ. Plain ("0.000015", "100") where the decimal point is
 * at most 21 places behind or 5 before the first digit, else "1.5e+30".
 * Returns its length; out has DF_NUMBER_ROOM(len) bytes. Returns 0 where the
 * literal is no number, or its exponent has more than 18 digits, as it is
 * written or in that form.
 */
#define DF_NUMBER_ROOM(len) ((len) + 32)
DF_PUBLIC size_t df_number_canonical(const uint8_t *literal, size_t len,
                                     uint8_t *out);

/* What a job asks of each record. A column that a csv or tsv file does not
 * have refuses the batch. For lines there is one column, "line". Of ndjson
 * columns are the members of the object itself, not of objects in it. The
 * whole of a csv or tsv record is its columns in byte order of their names:
 * of each the name and the value, before both their length in 8 bytes,
 * big-endian; that of ndjson is canonical JSON; a line is itself. */
struct df_columns {
    const char *const *names;
    size_t n;   /* at most DF_COLUMNS_MAX */
    bool whole; /* wants the record as a value that does not depend on the
                   order of its members or columns */
};

/* A key in a list for df_emit_keys; DF_SLACK bytes behind it are readable.
 * len is 1 to DF_KEY_MAX. */
struct df_key {
    const uint8_t *data;
    size_t len;
};

/* A pair in a list for df_emit_pairs, as df_emit takes it; DF_SLACK bytes
 * behind the key are readable. */
struct df_pair {
    const uint8_t *key;
    size_t key_len;
    const uint8_t *element;
    size_t element_len;
    const int64_t *values;
};

/*
 * Where pairs go. The runtime makes one per worker; map calls it through the
 * functions below. The status is sticky: after a failure every call returns
 * at once, so map need not look at it except to stop early in a long loop.
 * Bytes are copied before the call returns where they must be kept.
 */
struct df_emitter {
    enum df_status status; /* set by the runtime, read by anyone */
    void (*pair)(struct df_emitter *, const uint8_t *key, size_t key_len,
                 const uint8_t *element, size_t element_len,
                 const int64_t *values);
    void (*keys)(struct df_emitter *, const struct df_key *keys, size_t n);
    void (*pairs)(struct df_emitter *, const struct df_pair *pairs, size_t n);
    void (*refuse)(struct df_emitter *, const struct df_record *record,
                   const char *why);
    void *refuse_ctx;                   /* the runtime's */
    uint64_t counters[DF_COUNTERS_MAX]; /* added to by df_count only */
};

/* Emits one pair. element is ignored unless the job has elements; values
 * holds one number per component. A key or element longer than DF_KEY_MAX
 * refuses the batch: a job that would rather leave it out looks first. */
static inline void df_emit(struct df_emitter *e, const uint8_t *key,
                           size_t key_len, const uint8_t *element,
                           size_t element_len, const int64_t *values)
{
    if (e->status == DF_OK) {
        e->pair(e, key, key_len, element, element_len, values);
    }
}

/* Emits n keys, each with the value 1, for jobs with one component and no
 * element: the fast path. Lists of a few hundred to a few thousand keys let
 * the runtime overlap the cache misses of many look-ups. */
static inline void df_emit_keys(struct df_emitter *e,
                                const struct df_key *keys, size_t n)
{
    if (e->status == DF_OK) {
        e->keys(e, keys, n);
    }
}

/* df_emit for a list of n pairs: the fast path for jobs without elements
 * whose values are more than a count. */
static inline void df_emit_pairs(struct df_emitter *e,
                                 const struct df_pair *pairs, size_t n)
{
    if (e->status == DF_OK) {
        e->pairs(e, pairs, n);
    }
}

/* Refuses the batch because of one of the records at hand: the runtime puts
 * file and line in front of why ("column 'v': '1.2.3' is no number"). */
static inline void df_refuse(struct df_emitter *e,
                             const struct df_record *record, const char *why)
{
    if (e->status == DF_OK) {
        e->refuse(e, record, why);
    }
}

/* Adds n to counter number c of the job (see df_job.counters). Counters
 * appear in the log: what a job leaves out must be counted. */
static inline void df_count(struct df_emitter *e, unsigned c, uint64_t n)
{
    e->counters[c] += n;
}

/* An option of a job, as `deltafold init VIEW JOB name=value` sets it and
 * `deltafold jobs` shows it. */
struct df_option {
    const char *name;    /* NULL ends the list */
    const char *initial; /* value when not given; never NULL */
    const char *values;  /* what is allowed, as shown: "lower|fold|keep" */
    const char *help;    /* half a line */
    /* May be given several times; configure sees the values with a comma
     * between them. Others are refused the second time. */
    bool is_list;
    /* What NAME without a value stands for; NULL: a value must be given. */
    const char *bare;
};

/* The options of a view, all of them, in the order of the job's list;
 * borrowed by configure for the duration of the call. */
struct df_settings {
    const struct df_option *options;
    const char *const *values; /* values[i] belongs to options[i] */
    /* What the documents are: "csv", "tsv", "ndjson", "lines" or "document";
     * the view's option format=. */
    const char *format;
};

/*
 * What the rows of a view are. Usually the job's constants; a job whose
 * options decide it has df_job.shape.
 */
struct df_shape {
    bool has_element;
    const char *const *components; /* names of the values; ends with NULL */
    /* Bit i: components i and i + 1 are the low and the high 64 bits of one
     * 128-bit number in two's complement. i is at least 1, and no component
     * belongs to two numbers. */
    uint32_t wide;
};

/*
 * How readers show a view: as lines of named cells rather than as rows of
 * key, element and components, where these are no use to people.
 *
 *     columns(config), key_columns(config)
 *     open(config, &presenter, err)
 *       key(presenter, key, len)                per key, in byte order
 *         row(presenter, element, len, values)  per row of it, in byte order
 *       cells(presenter, &cells)                the key's line
 *       find(presenter, text, len, ...)         at any time between keys
 *     close(presenter)
 *
 * One thread; a line depends on the rows of its key and on nothing else. A
 * presenter holds one line, not the rows of a key: there may be many.
 */
enum df_cell_kind {
    DF_CELL_NULL,   /* no value: \N in TSV, nothing in csv, null, nil */
    DF_CELL_TEXT,   /* any bytes */
    DF_CELL_NUMBER, /* a JSON number, of any length */
    DF_CELL_JSON    /* any other JSON value, on one line: as it is in ndjson,
                       as text elsewhere */
};

/* One cell of a line; len in bytes. */
struct df_cell {
    enum df_cell_kind kind;
    const uint8_t *data;
    size_t len;
};

struct df_present {
    /* The names of a line's cells, those of the key first; no two are the
     * same; ends with NULL; as long-lived as config. */
    const char *const *(*columns)(const void *config);
    /* How many of them are the key's. They alone tell keys apart. */
    unsigned (*key_columns)(const void *config);
    /* Whether column i can hold numbers: what having= can be asked of. */
    bool (*has_numbers)(const void *config, unsigned i);

    enum df_status (*open)(const void *config, void **presenter,
                           struct df_error *);
    void (*close)(void *presenter); /* takes NULL */

    /* Begins a key. False: it is not shown (a job's own book-keeping), and
     * neither row nor cells is called for it. The bytes may go after the
     * call. */
    bool (*key)(void *presenter, const uint8_t *key, size_t key_len);
    /* Fails with DF_SYSTEM when memory runs out, with DF_STATE when the row
     * is none that the job writes; the same for cells. */
    enum df_status (*row)(void *presenter, const uint8_t *element,
                          size_t element_len, const int64_t *values);
    /* One cell per column, borrowed until the next call of key or find.
     * *cells is NULL when the key has no line after all. */
    enum df_status (*cells)(void *presenter, const struct df_cell **cells);

    /* The bytes of the key that a user means by text, the key's cells as
     * export writes them in TSV: escaped, a TAB between them. Borrowed until
     * the next call of key or find. DF_USAGE, with a message, when the text
     * cannot be a key. */
    enum df_status (*find)(void *presenter, const char *text, size_t len,
                           const uint8_t **key, size_t *key_len,
                           struct df_error *);
};

/*
 * Fold jobs: a state per key is moved by records in arrival order, and each
 * record has exactly one outcome. Arrival order: the deleted records of a
 * batch, then the inserted ones; files in byte order of their paths; records
 * as they stand in the file. Keys are independent of each other, so the
 * runtime runs them in parallel; what all records share is the clock.
 *
 * Calls, per batch:
 *
 *     read(mapper, records, n, events)    all records, on any thread
 *     tick(config, clock, time)           every inserted record that was read,
 *     look(config, clock, time)           every deleted one: in arrival order
 *     step(config, state, moment, ...)    every record that is live then, key
 *                                         by key, in arrival order
 *
 * Rows are the runtime's: [copies, time] under the byte DF_FOLD_KEY and the
 * key, and for jobs whose keys expire a second one, DF_FOLD_SPAN, the span
 * (64 bits, big-endian, sign flipped) and the key, by which an expired span
 * is found as a range. A job whose keys live within their own span has only
 * rows of the second kind, with [copies, time].
 */
enum { DF_FOLD_KEY = 1, DF_FOLD_SPAN = 2, DF_FOLD_SPAN_HEAD = 9 };

/* What becomes of a record. */
enum df_outcome {
    DF_OUTCOME_PENDING = 0, /* not decided yet */
    DF_OUTCOME_UNIQUE = 1,
    DF_OUTCOME_DUPLICATE = 2,
    DF_OUTCOME_EXPIRED = 3,
    DF_OUTCOME_RETRACTED = 4,
    DF_OUTCOME_REJECTED = 5,  /* for the first of df_fold.reasons; 6 for the
                                 second ... */
    DF_OUTCOME_NEGATIVE = 255 /* of a step alone: a deletion of what was never
                                 there, which refuses the batch */
};

/* What of time a view remembers; zeroed before the first record. It is kept
 * in the ledger, and every batch goes on from there. */
struct df_clock {
    bool is_set;      /* origin, start and end say something */
    bool has_seen;    /* latest and earliest do */
    int64_t origin;   /* a line of the grid of spans, where start began */
    int64_t start;    /* the expiry point; never moves back */
    int64_t end;      /* a time from here on moves the window */
    int64_t latest;   /* of the times that were live on arrival */
    int64_t earliest; /* likewise */
};

/* What becomes of a record by its time alone. */
enum df_tick {
    DF_TICK_LIVE,
    DF_TICK_EXPIRED, /* before the expiry point */
    DF_TICK_FUTURE   /* too far ahead to be believed: df_fold.future */
};

/* What read makes of a record. */
struct df_event {
    /* DF_OUTCOME_PENDING, and the rest is filled; or DF_OUTCOME_REJECTED plus
     * a reason. */
    unsigned outcome;
    /* The mapper's, until the next read; DF_SLACK bytes behind it are
     * readable, and in the DF_FOLD_SPAN_HEAD bytes before it the runtime
     * writes. */
    uint8_t *key;
    size_t key_len; /* at most DF_FOLD_KEY_MAX */
    int64_t time;   /* 0 for jobs without time */
};

enum { DF_TIME_TEXT = 48 }; /* bytes of a time as text, with a NUL */

/* What a key is made of has up to DF_KEY_MAX bytes; there is room for eight
 * more of each column. Rows add up to DF_FOLD_SPAN_HEAD bytes to a key. */
enum { DF_FOLD_KEY_MAX = DF_KEY_MAX + 8 * DF_COLUMNS_MAX };

/* What a view remembers of a key. */
struct df_state {
    int64_t copies; /* 0: the key is not known */
    int64_t time;   /* of the record that was kept */
};

struct df_fold {
    /* Why a record is rejected; names, in snake case; ends with NULL. The
     * job's counters are: unique, duplicate, expired, retracted, rejected
     * (all), then these. */
    const char *const *reasons;
    /* The reason, counted from 0, of what look and tick call future. */
    unsigned future;
    bool (*is_timed)(const void *config);   /* records have a time */
    bool (*is_by_span)(const void *config); /* a key lives in its own span */

    /* Takes records apart, n of them or fewer, where their keys are long; 0
     * without memory. Returns how many. */
    size_t (*read)(void *mapper, const struct df_record *records, size_t n,
                   struct df_event *events);

    /* These five only for jobs with time. */
    void (*begin)(const void *config, struct df_clock *clock);
    enum df_tick (*tick)(const void *config, struct df_clock *clock,
                         int64_t time);
    enum df_tick (*look)(const void *config, const struct df_clock *clock,
                         int64_t time);
    int64_t (*span_of)(const void *config, const struct df_clock *clock,
                       int64_t time);
    /* A time as readers see it. Returns out. */
    const char *(*show_time)(const void *config, int64_t time,
                             char out[DF_TIME_TEXT]);

    /* Moves the state of a key by one record, inserted (sign 1) or deleted
     * (-1). A kept record that has expired by then has been forgotten (copies
     * 0). The clock is as it was when the batch began, which is how it
     * stands for all that is deleted, since that comes first. */
    enum df_outcome (*step)(const void *config, struct df_state *state,
                            const struct df_clock *clock, int sign,
                            int64_t time);
};

struct df_job {
    const char *name;
    const char *summary; /* one line for `deltafold jobs` */
    /* Raised whenever the same document gives other pairs than before:
     * views made with another version are refused, with a hint. */
    unsigned version;
    const struct df_option *options;
    bool has_element;
    const char *const *components; /* names of the values; ends with NULL */
    const char *const *counters;   /* names, in snake case; ends with NULL */
    /* Wants bytes as they are, decompressed only: no mark dropped, UTF-16
     * not turned into UTF-8. */
    bool raw;
    /* NULL: has_element and components above hold for every config. */
    struct df_shape (*shape)(const void *config);
    /* NULL: readers show key, element and components. */
    const struct df_present *present;

    /* Checks the settings and makes what the other functions are given as
     * config; it is read by all threads and changed by none. Fails with
     * DF_USAGE and a message that names the option. */
    enum df_status (*configure)(const struct df_settings *, void **config,
                                struct df_error *);
    void (*release)(void *config); /* takes NULL */
    /* The one spelling of option i of the list under this config, for the
     * view's definition; the config's. NULL: as it was given. */
    const char *(*canonical)(const void *config, size_t i);

    /* How documents may be cut under this config. */
    enum df_pieces (*pieces)(const void *config);

    /* The smallest c in 1..len such that a document may be cut between
     * data[c - 1] and data[c], whatever stands before data and from
     * data[c] on; 0 where there is none. A cut must not change the pairs.
     * NULL for jobs whose pieces are DF_PIECES_WHOLE. */
    size_t (*cut)(const void *config, const uint8_t *data, size_t len);

    /* Jobs over records have these two and neither pieces, cut nor map; for
     * other jobs they are NULL. map_records is called with up to a few
     * thousand records of one file, in their order. */
    const struct df_columns *(*columns)(const void *config);
    void (*map_records)(void *mapper, const struct df_record *records,
                        size_t n, struct df_emitter *);

    /* A mapper is the scratch space of one worker; it may allocate here and
     * grow in map. */
    enum df_status (*mapper_open)(const void *config, void **mapper,
                                  struct df_error *);
    void (*mapper_close)(void *mapper); /* takes NULL */

    /* Emits the pairs of one piece. Runs on many threads at once, each with
     * its own mapper and emitter; must not block. Fails only by setting the
     * emitter's status to DF_SYSTEM when memory runs out. */
    void (*map)(void *mapper, const struct df_piece *, struct df_emitter *);

    /* Fold jobs have this and columns, and none of the functions that map;
     * NULL for group jobs. */
    const struct df_fold *fold;
};

#ifdef __cplusplus
}
#endif

#endif
