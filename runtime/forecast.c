#include "runtime/forecast.h"

#include <stdlib.h>

#include "runtime/crew.h"

enum {
    SAMPLES = 9,  /* batches that count */
    ENTRIES = 64, /* of the last entries of the ledger */
    BYTES_MIN = 1 /* input that tells something */
};

/* Of the last batches, for each byte of input. */
struct rates {
    double rows[SAMPLES];
    double us[SAMPLES]; /* all but install */
    size_t count;
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(double *at, size_t n)
{
    qsort(at, n, sizeof *at, compare_doubles);
    return at[n / 2];
}

static void note(struct rates *r, const struct ledger_entry *e)
{
    double bytes = (double)e->input_bytes;

    if (e->kind != LEDGER_BATCH || e->input_bytes < BYTES_MIN ||
        e->measured_us < e->install_us) {
        return;
    }
    r->rows[r->count] = (double)e->run_rows / bytes;
    r->us[r->count] = (double)(e->measured_us - e->install_us) / bytes;
    r->count++;
}

static enum df_status read_rates(struct rates *r, struct snapshot *s,
                                 struct df_error *err)
{
    uint64_t seq = snapshot_state(s).seq;
    uint64_t last = seq > ENTRIES ? seq - ENTRIES : 0;
    enum df_status status = DF_OK;

    for (; status == DF_OK && seq > last && r->count < SAMPLES; seq--) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(s, seq, &e, &found, err);
        if (status == DF_OK && found) {
            note(r, &e);
        }
    }
    return status;
}

enum df_status forecast_batch(struct view *v, struct snapshot *s,
                              const struct batch *batch,
                              const struct engine_options *options,
                              struct engine_forecast *out, bool *known,
                              struct df_error *err)
{
    struct install_guess guess = { .method = options->method,
                                   .memory = crew_memory(options) / 4,
                                   .threads = crew_threads(options) };
    struct install_forecast install;
    struct rates rates = { 0 };
    double bytes = 0;
    enum df_status status = read_rates(&rates, s, err);

    *known = false;
    for (size_t i = 0; i < batch->file_count; i++) {
        bytes += (double)batch->files[i].length;
    }
    if (status != DF_OK || rates.count == 0) {
        return status;
    }
    guess.run_rows = bytes * middle(rates.rows, rates.count);
    status = install_forecast(v, &guess, &install, err);
    *known = status == DF_OK;
    if (status == DF_OK) {
        *out = (struct engine_forecast){
            .method = install.method,
            .install_us = install.install_us,
            .total_us = install.install_us +
                        (uint64_t)(bytes * middle(rates.us, rates.count)),
        };
    }
    return status;
}
