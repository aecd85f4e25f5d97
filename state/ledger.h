/*
 * ledger.h: the list of applied batches.
 *
 * An entry is written in the transaction that makes its batch visible, never
 * before and never after. Entries are numbered 1, 2, 3 ... in the order of
 * application; nothing is ever changed or removed, but for a rebuild as of
 * an earlier batch, which starts from a copy without the later ones.
 */
#ifndef STATE_LEDGER_H
#define STATE_LEDGER_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "deltafold/job.h"

enum ledger_kind {
    LEDGER_BATCH = 1,   /* a delta directory */
    LEDGER_REBUILD = 2, /* the view computed anew; name is the batch as of
                           which it stands, "" when none was named */
    LEDGER_UNDO = 3,    /* a batch was subtracted; name is its name */
    LEDGER_REDO = 4     /* one that was undone was added again */
};

/* How rows came into the view. Stored by number. */
enum install_method {
    INSTALL_INCREMENT = 1, /* seek and add in place */
    INSTALL_OVERWRITE = 2, /* merge and write all rows anew */
    INSTALL_REBUILD = 3,   /* computed from the surviving documents */
    INSTALL_DEFER = 4,     /* append the run, fold later */
    INSTALL_AUTO = 5       /* the cheapest by the cost model (cost.h); never
                              what an entry says */
};
const char *install_method_name(enum install_method m);

/* A file of a batch as the ledger keeps it. */
struct ledger_file {
    bool inserted;     /* else deleted */
    bool quarantined;  /* was left out by --on-negative=quarantine */
    struct bytes path; /* below the batch directory */
    struct bytes id;
    uint64_t length;     /* bytes on disk */
    int64_t mtime;       /* nanoseconds since 1970 */
    struct hash128 hash; /* of the content */
};

/*
 * The documents of a view, told without a list of them: sums over the files
 * that were inserted, less those that were deleted. A directory whose sums
 * are the same holds the survivors, and nothing else does (runtime's
 * survivors.h).
 */
struct ledger_survivors {
    bool known; /* false: some entry before did not say; the rest is zero */
    int64_t files;
    int64_t bytes;         /* on disk */
    struct hash128 digest; /* of ids, lengths and contents */
};

/* Everything about one application. Times in microseconds. A zeroed entry is
 * valid to fill. `name` is borrowed from whoever filled it. */
struct ledger_entry {
    uint64_t seq; /* 1, 2, ...; set by install */
    enum ledger_kind kind;
    struct bytes name;
    struct hash128 digest; /* of the batch */
    enum install_method method;

    uint64_t inserted; /* documents */
    uint64_t deleted;
    uint64_t quarantined;
    uint64_t records;                  /* of archives (WARC) ... */
    uint64_t records_skipped;          /* ... that were no documents */
    uint64_t input_bytes;              /* on disk */
    uint64_t pairs;                    /* emitted by map */
    uint64_t run_rows;                 /* left after reduce */
    struct ledger_survivors survivors; /* after the entry */
    bool rows_seen;                    /* the method saw the three below */
    uint64_t rows_added;
    uint64_t rows_changed;
    uint64_t rows_removed;
    uint64_t rows;              /* of the view, after; set by install */
    uint64_t unfolded;          /* 0: that is exact. Else rows are those that
                                   are folded, and so many changes of rows,
                                   in runs, are not */
    struct hash128 view_before; /* set by install */
    struct hash128 view_after;  /* set by install */

    /* What the entry did to the rows: see ledger_effects. */
    bool has_effects;
    bool kept;            /* its own run was kept */
    struct bytes effects; /* by ledger_effects_add */
    struct bytes drops;   /* by ledger_drops_add */
    struct bytes note;    /* what is to be said of it: "window: 2 of 3
                             batches"; text */
    uint64_t gap;         /* batches that seem to be missing before this one */
    int64_t window_end;   /* of views with windows by interval: the last
                             interval that is published, counted from the
                             epoch */
    bool undone;          /* not stored: filled by look-ups that say so */

    uint64_t counters[DF_COUNTERS_MAX]; /* the job's */
    uint64_t spills;
    int64_t time;             /* when committed, seconds since 1970 */
    uint64_t predicted_us;    /* of install_us; 0: there was no prediction */
    uint64_t model_us;        /* the same before it was fitted to this view */
    uint64_t model_commit_us; /* of that, commits */
    uint64_t compact_us;      /* merging and folding since the entry before */
    uint64_t measured_us;     /* start of reading to the commit (timings.h) */
    uint64_t map_us;          /* reading, mapping, combining */
    uint64_t reduce_us;       /* sorting and merging that was not overlapped */
    uint64_t install_us;      /* reduce streamed into the store, committed */
    /* Processor time of these, all threads together: where it is threads times
     * as long, no thread has waited, for another one or for the disk. */
    uint64_t map_cpu_us;
    uint64_t reduce_cpu_us;
    uint64_t install_cpu_us;
    uint64_t threads;     /* that there were for the batch */
    struct bytes program; /* "deltafold 0.1.0" */

    /* Fold jobs: where time stands after the batch, and the directory that
     * its outcome files were given, absolute; empty where none was asked
     * for. Until they stand there they lie beside it, hidden, under a name
     * with the token in it. */
    struct df_clock clock;
    struct bytes outcomes;
    uint64_t outcomes_token;
};

/*
 * The effects of an entry: the runs, by number, that it added to the rows or
 * subtracted from them. A batch adds its own run, unless it says otherwise:
 * one that moves a window subtracts others as well, one that a window does
 * not show yet adds nothing. A rebuild has none that could be told. What has
 * happened to the rows between two entries is the sum of the effects in
 * between; example, window=2:
 *
 *     1 mon  +1            rows = mon
 *     2 tue  +2            rows = mon + tue
 *     3 wed  +3 -1         rows = tue + wed
 *
 * Drops are the runs, by number, that were kept until this entry.
 */
struct ledger_effect {
    uint64_t seq;
    bool minus;
};
size_t ledger_effects(const struct ledger_entry *e); /* how many */
struct ledger_effect ledger_effect(const struct ledger_entry *e, size_t i);
bool ledger_effects_add(struct buf *effects, struct ledger_effect effect);
size_t ledger_drops(const struct ledger_entry *e);
uint64_t ledger_drop(const struct ledger_entry *e, size_t i);
bool ledger_drops_add(struct buf *drops, uint64_t seq);

/* Entries and files as bytes (MessagePack maps with short string keys, so
 * that later versions may add fields and older ones skip them). */
bool ledger_entry_encode(const struct ledger_entry *e, struct buf *out);
/* Strings point into `in`. False when malformed. */
bool ledger_entry_decode(struct bytes in, struct ledger_entry *e);
/* Files are kept in blocks of about 4 KiB; a path or id that equals its
 * neighbour's start is not stored twice. */
bool ledger_files_encode(const struct ledger_file *files, size_t n,
                         struct buf *out);
/* Decodes one block: calls each for every file, stops when it returns
 * false. Returns false when the block is malformed. */
bool ledger_files_decode(struct bytes in,
                         bool (*each)(void *ctx, const struct ledger_file *),
                         void *ctx);

#endif
