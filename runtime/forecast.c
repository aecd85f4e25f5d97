#include "runtime/forecast.h"

#include <stdlib.h>

#include "runtime/crew.h"

enum {
    SAMPLES = 9,  /* batches that count */
    ENTRIES = 64, /* of the last entries of the ledger */
    BYTES_MIN = 1 /* input that tells something */
};

/* A rebuild is worth it where it is faster for certain. */
#define WORTH 0.95

/*
 * What files take to be read, counted in bytes that are mapped. To open and
 * close one takes as long as to map FILE_BYTES of it, and to hash a byte takes
 * HASH_SHARE of what it takes to map one (measured with word count, two
 * workers and files of 1 KB, 11 KB and 4 MB: ../bench/NOTES.md).
 */
#define FILE_BYTES 1500.0
#define HASH_SHARE 0.25

static double to_map(double bytes, double files)
{
    return bytes + FILE_BYTES * files;
}

static double to_hash(double bytes, double files)
{
    return HASH_SHARE * bytes + FILE_BYTES * files;
}

/* Rows for each byte, or microseconds for each byte that is to be mapped, of
 * the last batches. */
struct sample {
    double at[SAMPLES];
    size_t count;
};

struct rates {
    struct sample rows;
    struct sample delta;   /* all but install, where the delta was mapped */
    struct sample rebuild; /* and where what survives was */
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(struct sample *s)
{
    qsort(s->at, s->count, sizeof *s->at, compare_doubles);
    return s->at[s->count / 2];
}

static void add(struct sample *s, double value)
{
    if (s->count < SAMPLES) {
        s->at[s->count++] = value;
    }
}

/* The delta is hashed, what it leaves is mapped. */
static double to_rebuild(double bytes, double files,
                         const struct ledger_survivors *survivors)
{
    return to_hash(bytes, files) +
           to_map((double)survivors->bytes, (double)survivors->files);
}

static void note(struct rates *r, const struct ledger_entry *e)
{
    double bytes = (double)e->input_bytes;
    double files = (double)(e->inserted + e->deleted);
    double us = (double)e->measured_us - (double)e->install_us;

    if (e->input_bytes < BYTES_MIN || us < 0) {
        return;
    }
    if (e->kind == LEDGER_BATCH) {
        add(&r->rows, (double)e->run_rows / bytes);
    }
    if (e->kind == LEDGER_BATCH && e->method != INSTALL_REBUILD) {
        add(&r->delta, us / to_map(bytes, files));
    } else if (e->kind == LEDGER_BATCH) {
        add(&r->rebuild, us / to_rebuild(bytes, files, &e->survivors));
    } else if (e->kind == LEDGER_REBUILD) {
        add(&r->rebuild, us / to_map(bytes, files));
    }
}

static enum df_status read_rates(struct rates *r, struct snapshot *s,
                                 struct df_error *err)
{
    uint64_t seq = snapshot_state(s).seq;
    uint64_t last = seq > ENTRIES ? seq - ENTRIES : 0;
    enum df_status status = DF_OK;

    for (; status == DF_OK && seq > last && r->rows.count < SAMPLES; seq--) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(s, seq, &e, &found, err);
        if (status == DF_OK && found) {
            note(r, &e);
        }
    }
    return status;
}

/* One way: what is read takes so long, and then it is installed. */
static enum df_status forecast_way(struct view *v,
                                   const struct install_guess *guess,
                                   double read_us, struct engine_forecast *out,
                                   struct df_error *err)
{
    struct install_forecast install = { 0 };
    enum df_status status = install_forecast(v, guess, &install, err);

    *out = (struct engine_forecast){
        .method = install.method,
        .install_us = install.install_us,
        .total_us = install.install_us + (uint64_t)read_us,
    };
    return status;
}

/* Puts the rebuild in place of *out, where it is asked for or better. */
static enum df_status try_rebuild(struct view *v, struct install_guess guess,
                                  bool is_asked, double read_us,
                                  struct engine_forecast *out,
                                  struct df_error *err)
{
    struct engine_forecast rebuild;
    enum df_status status;

    guess.method = INSTALL_REBUILD;
    status = forecast_way(v, &guess, read_us, &rebuild, err);
    if (status == DF_OK && (is_asked || (double)rebuild.total_us <
                                            WORTH * (double)out->total_us)) {
        *out = rebuild;
    }
    return status;
}

enum df_status forecast_batch(struct view *v, struct snapshot *s,
                              const struct batch *batch,
                              const struct engine_options *options,
                              const struct ledger_survivors *survivors,
                              struct engine_forecast *out, bool *known,
                              struct df_error *err)
{
    bool is_asked = options->method == INSTALL_REBUILD;
    struct install_guess guess = {
        .method = is_asked ? INSTALL_AUTO : options->method,
        .memory = crew_memory(options) / 4,
        .threads = crew_threads(options),
    };
    struct rates r = { 0 };
    double files = (double)batch->file_count;
    double bytes = (double)batch_bytes(batch);
    enum df_status status = read_rates(&r, s, err);

    *known = status == DF_OK && r.rows.count > 0;
    if (!*known) {
        return status;
    }
    guess.run_rows = bytes * middle(&r.rows);
    if (r.delta.count == 0) {
        r.delta = r.rebuild;
    }
    if (r.rebuild.count == 0) {
        r.rebuild = r.delta;
    }
    status = forecast_way(v, &guess, to_map(bytes, files) * middle(&r.delta),
                          out, err);
    if (status == DF_OK && survivors != NULL) {
        status = try_rebuild(v, guess, is_asked,
                             to_rebuild(bytes, files, survivors) *
                                 middle(&r.rebuild),
                             out, err);
    }
    return status;
}
