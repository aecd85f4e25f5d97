#include "state/cost.h"

#include <math.h>
#include <stdlib.h>

#include "state/ledger_table.h"

/*
 * Microseconds, measured by `bench/run auto` (NOTES.md there) on two cores
 * and a disk that syncs in a millisecond; what is different elsewhere the fit
 * makes good.
 */
#define COMMIT_US 1500.0     /* a transaction, synced */
#define TAKE_ROW_US 0.10     /* the next row of the run, from reduce */
#define SEEK_ROW_US 0.35     /* find a row's entry and add to it */
#define DIRTY_PAGE_US 20.0   /* copy a page, free the old one, write it */
#define REWRITE_ROW_US 0.045 /* read a row of the table and pack it again */
#define COMPARE_ROW_US 0.05  /* read a row of the table beside a new one */
#define STORE_ROW_US 0.06    /* add a row to a stored run */
#define MERGE_ROW_US 0.12    /* merge a row of stored runs once */
#define MERGES 2.0           /* so often before it is folded */
#define DUE_MIN 65536.0      /* bytes */

/* Where the costs are nearly equal, rows are changed in place, and counted,
 * rather than all written or deferred. */
#define WORTH 0.95

/* Fits are taken for noise beyond these. */
#define FACTOR_MIN (1.0 / 16)
#define FACTOR_MAX 16.0

double cost_pages_hit(double leaf_pages, double rows)
{
    return leaf_pages == 0 ? 0 : leaf_pages * (1 - exp(-rows / leaf_pages));
}

static double due_min = DUE_MIN;

void cost_set_due_min(double bytes)
{
    due_min = bytes == 0 ? DUE_MIN : bytes;
}

double cost_due_bytes(double leaf_pages, double page_size)
{
    double due = COST_FOLD_SHARE * leaf_pages * page_size;

    return due > due_min ? due : due_min;
}

/* ---- the model ---- */

static double increment_us(const struct cost_features *f)
{
    double rows = f->run_rows + f->overlay_rows;

    return rows * SEEK_ROW_US +
           cost_pages_hit(f->leaf_pages, rows) * DIRTY_PAGE_US;
}

static double overwrite_us(const struct cost_features *f)
{
    return (f->view_rows + f->overlay_rows + f->run_rows) * REWRITE_ROW_US +
           f->overlay_rows * MERGE_ROW_US;
}

/* Rows are compared with those to be, and then all written anew. */
static double rebuild_us(const struct cost_features *f)
{
    double rows = f->view_rows + f->overlay_rows;

    return overwrite_us(f) + rows * COMPARE_ROW_US;
}

double cost_model(const struct cost_features *f, enum install_method m)
{
    double us = f->run_rows * TAKE_ROW_US;

    if (f->keeps || m == INSTALL_DEFER) {
        us += f->run_rows * STORE_ROW_US;
    }
    if (m == INSTALL_INCREMENT) {
        us += increment_us(f);
    } else if (m == INSTALL_OVERWRITE) {
        us += overwrite_us(f);
    } else if (m == INSTALL_REBUILD) {
        us += rebuild_us(f);
    }
    return COMMIT_US + us / (f->lanes > 0 ? f->lanes : 1);
}

/* ---- the fit ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *at, size_t n)
{
    if (n == 0) {
        return 0;
    }
    qsort(at, n, sizeof *at, compare_doubles);
    return n % 2 == 1 ? at[n / 2] : (at[n / 2 - 1] + at[n / 2]) / 2;
}

/* How far the model was off, by method, newest first. */
struct samples {
    double at[COST_METHODS][COST_SAMPLES];
    size_t count[COST_METHODS];
};

static void note(struct samples *s, const struct ledger_entry *e)
{
    double off;

    if (e->model_us == 0 || (unsigned)e->method >= COST_METHODS ||
        s->count[e->method] == COST_SAMPLES) {
        return;
    }
    off = (double)e->install_us / (double)e->model_us;
    off = off < FACTOR_MIN ? FACTOR_MIN : off;
    s->at[e->method][s->count[e->method]++] =
        off > FACTOR_MAX ? FACTOR_MAX : off;
}

enum df_status cost_fit_load(struct cost_fit *fit, struct store_txn *t,
                             const struct timings *timings, uint64_t seq,
                             struct df_error *err)
{
    struct samples s = { 0 };
    enum df_status status = DF_OK;
    uint64_t last = seq > COST_ENTRIES ? seq - COST_ENTRIES : 0;

    *fit = (struct cost_fit){ 0 };
    for (; status == DF_OK && seq > last; seq--) {
        struct ledger_entry e;
        bool found;

        status = ledger_table_get(t, seq, &e, &found, err);
        if (status == DF_OK && found) {
            timings_apply(timings, &e);
            note(&s, &e);
        }
    }
    for (size_t m = 0; m < COST_METHODS; m++) {
        fit->factor[m] = median(s.at[m], s.count[m]);
    }
    return status;
}

double cost_factor(const struct cost_fit *fit, enum install_method m)
{
    double known[COST_METHODS];
    size_t n = 0;

    if (fit->factor[m] > 0) {
        return fit->factor[m];
    }
    for (size_t i = 0; i < COST_METHODS; i++) {
        if (fit->factor[i] > 0) {
            known[n++] = fit->factor[i];
        }
    }
    return n == 0 ? 1 : median(known, n);
}

/* ---- the choice ---- */

struct cost_choice cost_predict(const struct cost_features *f,
                                const struct cost_fit *fit,
                                enum install_method m)
{
    double us = cost_model(f, m);

    return (struct cost_choice){ .method = m,
                                 .model_us = us,
                                 .predicted_us = us * cost_factor(fit, m) };
}

/* What part of a fold bytes of the overlay will have to pay for. */
static double share_of_fold(const struct cost_features *f, double bytes)
{
    double share = bytes / cost_due_bytes(f->leaf_pages, f->page_size);

    return share < 1 ? share : 1;
}

/* Bytes that the run will take when it is stored: about what as many rows of
 * the table do. */
static double stored_bytes(const struct cost_features *f)
{
    double table = f->leaf_pages * f->page_size;
    double likely = f->view_rows > 0 ? f->run_rows * table / f->view_rows : 0;

    return likely > 0 && likely < f->run_bytes ? likely : f->run_bytes;
}

/* What deferring the run will cost later. */
static double debt_of_run(const struct cost_features *f,
                          const struct cost_fit *fit)
{
    struct cost_features later = *f;
    double merges = MERGES * f->run_rows * MERGE_ROW_US / (f->lanes + 1e-9);

    later.overlay_rows = f->run_rows;
    later.run_rows = 0;
    return merges * cost_factor(fit, INSTALL_DEFER) +
           share_of_fold(f, stored_bytes(f)) *
               cost_predict(&later, fit, INSTALL_OVERWRITE).predicted_us;
}

/* What folding the overlay now will not cost later. */
static double debt_of_overlay(const struct cost_features *f,
                              const struct cost_fit *fit)
{
    struct cost_features later = *f;

    later.run_rows = 0;
    return share_of_fold(f, f->overlay_bytes) *
           cost_predict(&later, fit, INSTALL_OVERWRITE).predicted_us;
}

struct cost_choice cost_choose(const struct cost_features *f,
                               const struct cost_fit *fit, bool can_defer)
{
    struct cost_choice best = cost_predict(f, fit, INSTALL_INCREMENT);
    struct cost_choice one = cost_predict(f, fit, INSTALL_OVERWRITE);
    double saved = debt_of_overlay(f, fit);
    double least = best.predicted_us - saved;

    if (one.predicted_us < best.predicted_us * WORTH) {
        best = one;
        least = one.predicted_us - saved;
    }
    one = cost_predict(f, fit, INSTALL_DEFER);
    if (can_defer && one.predicted_us + debt_of_run(f, fit) < least * WORTH) {
        best = one;
    }
    return best;
}
