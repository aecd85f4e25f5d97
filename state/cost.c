#include "state/cost.h"

#include <math.h>
#include <stdlib.h>

#include "state/block.h"
#include "state/compact.h"
#include "state/ledger_table.h"

/*
 * Microseconds, measured by `bench/run auto` (NOTES.md there) on two cores
 * and a disk that syncs in half a millisecond; what is different elsewhere the
 * fit makes good.
 */
#define COMMIT_US 700.0    /* a transaction, synced */
#define STALL_US 1500.0    /* more, where other threads wait for it (cost.h) */
#define DECIDE_COMMITS 2.0 /* what files and names of a batch take */
#define TAKE_ROW_US 0.08   /* the next row of the run, from reduce */
#define SEEK_ROW_US 0.20   /* find a row's block and add to it */
#define BLOCK_US 4.0       /* read a block and pack it again */
#define DIRTY_PAGE_US 16.0 /* copy a page, free the old one, write it */
#define REWRITE_ROW_US 0.09 /* read a row of the table and pack it again */
#define BESIDE_ROW_US 0.01  /* look whether the run has it, too */
#define COMPARE_ROW_US 0.05 /* read a row of the table beside a new one */
#define STORE_ROW_US 0.06   /* add a row to a stored run */
#define MERGE_ROW_US 0.12   /* merge a row of stored runs once */
#define STORED 1.25         /* of a row's bytes in the table, in a run */
#define DUE_MIN 65536.0     /* bytes */

/* Where deferring saves less, it is not done: the rows are counted then. */
#define WORTH 0.95
/* Nor for tables of so many bytes: there it saves a few milliseconds at most,
 * and how many rows there are is told after every batch. */
#define TINY 32768.0

/* Fits are taken for noise beyond these. */
#define FACTOR_MIN (1.0 / 16)
#define FACTOR_MAX 16.0

double cost_pages_hit(double leaf_pages, double rows)
{
    return leaf_pages == 0 ? 0 : leaf_pages * (1 - exp(-rows / leaf_pages));
}

static double due_min = DUE_MIN;
static double stall_us = STALL_US;

void cost_set_stall(double us)
{
    stall_us = us < 0 ? STALL_US : us;
}

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

/* What an install consists of, beside its commits. */
struct parts {
    double work;    /* that shards share, by one thread */
    double written; /* pages, while their shard commits */
};

/* A view whose shards were not counted has one. */
static double shards_of(const struct cost_features *f)
{
    return f->shards > 0 ? f->shards : 1;
}

/* How often so many shards are each one's turn. */
static double turns(unsigned shards, unsigned lanes)
{
    return ceil((double)shards / (lanes > 0 ? lanes : 1));
}

static struct parts increment_parts(const struct cost_features *f)
{
    double rows = f->run_rows + f->overlay_rows;
    double blocks = f->leaf_pages * f->page_size / BLOCK_SIZE;

    return (struct parts){
        .work = rows * SEEK_ROW_US + cost_pages_hit(blocks, rows) * BLOCK_US +
                f->overlay_rows * MERGE_ROW_US,
        .written = cost_pages_hit(f->leaf_pages, rows) * DIRTY_PAGE_US,
    };
}

/* Most rows of the run are taken to be in the table already. */
static struct parts overwrite_parts(const struct cost_features *f)
{
    return (struct parts){
        .work = fmax(f->view_rows, f->run_rows) * REWRITE_ROW_US +
                f->overlay_rows * MERGE_ROW_US,
    };
}

static struct parts parts_of(const struct cost_features *f,
                             enum install_method m)
{
    struct parts p = { 0 };

    if (m == INSTALL_INCREMENT) {
        p = increment_parts(f);
    } else if (m == INSTALL_OVERWRITE || m == INSTALL_REBUILD) {
        p = overwrite_parts(f);
        p.work += f->view_rows * BESIDE_ROW_US;
    }
    if (m == INSTALL_REBUILD) {
        /* Rows are compared with those to be. */
        p.work += (f->view_rows + f->overlay_rows) * COMPARE_ROW_US;
    }
    p.work += f->run_rows * TAKE_ROW_US;
    if (f->keeps || m == INSTALL_DEFER) {
        p.work += f->run_rows * STORE_ROW_US;
    }
    return p;
}

/* Rounds in which the shards of an install commit: the others, then the
 * first. */
static double rounds(const struct cost_features *f, unsigned lanes)
{
    return f->shards <= 1 ? 1 : turns(f->shards - 1, lanes) + 1;
}

/* What is synced beside these: what is stored before it is decided, and the
 * decision. */
static double syncs(const struct cost_features *f, enum install_method m,
                    unsigned lanes)
{
    if (f->shards <= 1 || m == INSTALL_DEFER) {
        return 0;
    }
    return m == INSTALL_INCREMENT ? DECIDE_COMMITS
                                  : DECIDE_COMMITS + turns(f->shards, lanes);
}

/* So many commits, one after the other, and what is done beside them. */
static struct cost with_commits(const struct cost_features *f,
                                const struct parts *p, double rounds,
                                double syncs, unsigned lanes)
{
    double commits = rounds + syncs;
    double stalls = lanes > 1 ? stall_us * commits : 0;

    return (struct cost){
        .commit_us = COMMIT_US * commits,
        .work_us =
            stalls + p->work / lanes + p->written * rounds / shards_of(f),
    };
}

static double sum(struct cost c)
{
    return c.commit_us + c.work_us;
}

static struct cost install_cost(const struct cost_features *f,
                                enum install_method m, unsigned lanes)
{
    struct parts p = parts_of(f, m);
    bool at_once = m == INSTALL_DEFER && f->is_small;

    return with_commits(f, &p, at_once ? 1 : rounds(f, lanes),
                        syncs(f, m, lanes), lanes);
}

unsigned cost_team(const struct cost_features *f, enum install_method m)
{
    return f->lanes > 1 && sum(install_cost(f, m, f->lanes)) <
                               sum(install_cost(f, m, 1))
               ? f->lanes
               : 1;
}

static struct cost modelled(const struct cost_features *f,
                            enum install_method m)
{
    return install_cost(f, m, cost_team(f, m));
}

double cost_model(const struct cost_features *f, enum install_method m)
{
    return sum(modelled(f, m));
}

/* ---- the fit ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* In the middle of ratios; of two, the one that is nearer to 1. */
static double median(double *at, size_t n)
{
    double low;
    double high;

    qsort(at, n, sizeof *at, compare_doubles);
    low = at[(n - 1) / 2];
    high = at[n / 2];
    return fabs(log(low)) < fabs(log(high)) ? low : high;
}

/* How far the model was off, newest first; there is room for one more. */
struct samples {
    double at[COST_SAMPLES + 1];
    size_t count;
};

static void note(struct samples *s, double us, double model)
{
    double off = us / model;

    /* Nothing is left when the other part was quicker than ever. */
    if (us > 0 && s->count < COST_SAMPLES) {
        off = off < FACTOR_MIN ? FACTOR_MIN : off;
        s->at[s->count++] = off > FACTOR_MAX ? FACTOR_MAX : off;
    }
}

/* Whether the one part is most of an entry's time, so that it tells of it. */
static bool is_most(double part, double other)
{
    return part >= 2 * other;
}

static double modelled_work(const struct ledger_entry *e)
{
    return (double)(e->model_us - e->model_commit_us);
}

static void note_commits(struct samples *s, const struct ledger_entry *e)
{
    double commits = (double)e->model_commit_us;
    double work = modelled_work(e);

    if (is_most(commits, work)) {
        note(s, (double)e->install_us - work, commits);
    }
}

static void note_work(struct samples *s, const struct ledger_entry *e,
                      double commit)
{
    double commits = (double)e->model_commit_us;
    double work = modelled_work(e);

    if (is_most(work, commits)) {
        note(s, (double)e->install_us - commit * commits, work);
    }
}

/* The model's own word counts as one of the samples: a single night, be it the
 * first, does not decide. */
static double fitted(struct samples *s)
{
    if (s->count == 0) {
        return 0;
    }
    s->at[s->count] = 1;
    return median(s->at, s->count + 1);
}

/* What the last entries say of what they took, newest first. */
struct told {
    struct ledger_entry entries[COST_ENTRIES];
    size_t count;
};

static enum df_status load_told(struct told *told, struct store_txn *t,
                                const struct timings *timings, uint64_t seq,
                                struct df_error *err)
{
    enum df_status status = DF_OK;
    uint64_t last = seq > COST_ENTRIES ? seq - COST_ENTRIES : 0;

    for (; status == DF_OK && seq > last; seq--) {
        struct ledger_entry *e = &told->entries[told->count];
        bool found;

        status = ledger_table_get(t, seq, e, &found, err);
        if (status == DF_OK && found) {
            timings_apply(timings, e);
            /* Those of earlier versions do not say what of it is commits. */
            told->count += e->model_commit_us > 0 &&
                           e->model_commit_us <= e->model_us &&
                           (unsigned)e->method < COST_METHODS;
        }
    }
    return status;
}

/* First what a commit takes, then by that what is left. */
static void fit_to(struct cost_fit *fit, const struct told *told)
{
    struct samples commits = { 0 };
    struct samples work[COST_METHODS] = { 0 };

    for (size_t i = 0; i < told->count; i++) {
        note_commits(&commits, &told->entries[i]);
    }
    fit->commit = fitted(&commits);
    for (size_t i = 0; i < told->count; i++) {
        const struct ledger_entry *e = &told->entries[i];

        note_work(&work[e->method], e, cost_commit_factor(fit));
    }
    for (size_t m = 0; m < COST_METHODS; m++) {
        fit->work[m] = fitted(&work[m]);
    }
}

enum df_status cost_fit_load(struct cost_fit *fit, struct store_txn *t,
                             const struct timings *timings, uint64_t seq,
                             struct df_error *err)
{
    struct told *told = calloc(1, sizeof *told);
    enum df_status status;

    *fit = (struct cost_fit){ 0 };
    if (told == NULL) {
        return error_no_memory(err);
    }
    status = load_told(told, t, timings, seq, err);
    if (status == DF_OK) {
        fit_to(fit, told);
    }
    free(told);
    return status;
}

double cost_commit_factor(const struct cost_fit *fit)
{
    return fit->commit > 0 ? fit->commit : 1;
}

double cost_work_factor(const struct cost_fit *fit, enum install_method m)
{
    double known[COST_METHODS];
    size_t n = 0;

    if (fit->work[m] > 0) {
        return fit->work[m];
    }
    for (size_t i = 0; i < COST_METHODS; i++) {
        if (fit->work[i] > 0) {
            known[n++] = fit->work[i];
        }
    }
    return n == 0 ? 1 : median(known, n);
}

static double fit_us(const struct cost_fit *fit, struct cost c,
                     enum install_method m)
{
    return c.commit_us * cost_commit_factor(fit) +
           c.work_us * cost_work_factor(fit, m);
}

/* ---- the choice ---- */

struct cost_choice cost_predict(const struct cost_features *f,
                                const struct cost_fit *fit,
                                enum install_method m)
{
    struct cost model = modelled(f, m);

    return (struct cost_choice){ .method = m,
                                 .model = model,
                                 .predicted_us = fit_us(fit, model, m) };
}

/* Bytes of an overlay that is due, all shards together. */
static double due_bytes(const struct cost_features *f)
{
    double shards = shards_of(f);

    return shards * cost_due_bytes(f->leaf_pages / shards, f->page_size);
}

/* Whether that many rows may be folded in place (compact_fold.c). */
static bool folds_in_place(const struct cost_features *f, double rows)
{
    double dirty = cost_pages_hit(f->leaf_pages, rows) * f->page_size;

    return dirty < (double)COMPACT_CHUNK * f->shards;
}

/* Shards fold each for itself. */
static double fold_with(const struct cost_features *f, const struct parts *p,
                        const struct cost_fit *fit, enum install_method as,
                        unsigned lanes)
{
    return fit_us(fit, with_commits(f, p, turns(f->shards, lanes), 0, lanes),
                  as);
}

/* Rows are folded as this method installs them. */
static double fold_us(const struct cost_features *f, const struct parts *p,
                      const struct cost_fit *fit, enum install_method as)
{
    double alone = fold_with(f, p, fit, as, 1);

    return f->lanes > 1 ? fmin(alone, fold_with(f, p, fit, as, f->lanes))
                        : alone;
}

double cost_fold(const struct cost_features *f, const struct cost_fit *fit,
                 double rows)
{
    struct cost_features later = *f;
    struct parts in_place;
    struct parts anew;
    double us;

    later.overlay_rows = rows;
    later.run_rows = 0;
    in_place = increment_parts(&later);
    anew = overwrite_parts(&later);
    us = fold_us(f, &anew, fit, INSTALL_OVERWRITE);
    return folds_in_place(f, rows)
               ? fmin(us, fold_us(f, &in_place, fit, INSTALL_INCREMENT))
               : us;
}

/* Bytes that the run will take when it is stored: some more than what as many
 * rows of the table do, for neighbours have less in common. */
static double stored_bytes(const struct cost_features *f)
{
    double table = STORED * f->leaf_pages * f->page_size;
    double likely = f->view_rows > 0 ? f->run_rows * table / f->view_rows : 0;

    return likely > 0 && likely < f->run_bytes ? likely : f->run_bytes;
}

/* How often each row of the run will be merged with others before it is
 * folded: as often as it takes, four runs at a time, to come to half of what
 * is due (compact.h). */
static double merges(const struct cost_features *f, double bytes)
{
    double least = (double)COMPACT_LEVEL_0 * shards_of(f);
    double from = bytes > least ? bytes : least;
    double levels =
        log(due_bytes(f) / COMPACT_MERGE_PART / from) / log(COMPACT_TIER);

    return levels > 0 ? levels : 0;
}

/* What is put off, and will have to be done. */
struct debts {
    double overlay; /* of what is deferred already */
    double run;     /* of the run, if it is deferred, too */
};

/* Of a fold that has begun, what is left; of the next one, by bytes. That
 * comes when enough is deferred, if nights go on as this one: few large runs
 * may come to much more than what is due. */
static struct debts debts_of(const struct cost_features *f,
                             const struct cost_fit *fit)
{
    double rows = f->overlay_rows - f->folding_rows;
    double bytes = f->overlay_bytes - f->folding_bytes;
    double run = fmax(stored_bytes(f), 1);
    double nights = fmax(ceil((due_bytes(f) - bytes) / run), 1);
    double by_byte = cost_fold(f, fit, rows + nights * f->run_rows) /
                     (bytes + nights * run);
    struct debts d = { .overlay = bytes * by_byte, .run = run * by_byte };

    if (f->fold_left > 0) {
        d.overlay +=
            cost_fold(f, fit, f->folding_rows) * f->fold_left / f->view_rows;
    }
    d.run += merges(f, run) * f->run_rows * MERGE_ROW_US /
             (f->lanes > 0 ? f->lanes : 1) *
             cost_work_factor(fit, INSTALL_DEFER);
    return d;
}

static bool is_tiny(const struct cost_features *f)
{
    return f->leaf_pages * f->page_size <= TINY;
}

struct cost_choice cost_choose(const struct cost_features *f,
                               const struct cost_fit *fit, bool can_increment,
                               bool can_defer)
{
    struct cost_choice best = cost_predict(f, fit, INSTALL_INCREMENT);
    struct cost_choice one = cost_predict(f, fit, INSTALL_OVERWRITE);
    struct debts d = debts_of(f, fit);

    if (!can_increment || one.predicted_us < best.predicted_us) {
        best = one;
    }
    one = cost_predict(f, fit, INSTALL_DEFER);
    return can_defer && !is_tiny(f) &&
                   one.predicted_us + d.run <
                       (best.predicted_us - d.overlay) * WORTH
               ? one
               : best;
}
