#include "runtime/deltas.h"

#include <stdlib.h>

/* A share is done within this of what is wanted: closer would be a hunt for
 * ever smaller documents. */
static const double tolerance = 0.02;
/* With less than this of what is wanted a delta would not be what it is
 * called. */
static const double least_share = 0.5;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Below n, all but evenly: 2^32 files would not fit into memory. */
static size_t random_below(uint64_t *state, size_t n)
{
    return (size_t)((next_random(state) >> 32) * n >> 32);
}

static void shuffle(size_t *items, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = random_below(state, i);
        size_t item = items[i - 1];

        items[i - 1] = items[k];
        items[k] = item;
    }
}

static int compare_places(const void *a, const void *b)
{
    const size_t *left = a;
    const size_t *right = b;

    return (*left > *right) - (*left < *right);
}

/*
 * Takes out of `from`, which is shuffled, documents of `wanted` bytes
 * together. Those taken come in order; is_taken is set for each.
 */
static bool take(struct delta_share *out, const struct batch *documents,
                 const size_t *from, size_t n, double wanted, bool *is_taken)
{
    double slack = wanted * tolerance;
    double sum = 0;

    *out = (struct delta_share){ .files = calloc(n + 1, sizeof(size_t)) };
    if (out->files == NULL) {
        return false;
    }
    for (size_t i = 0; i < n && sum < wanted - slack; i++) {
        double length = (double)documents->files[from[i]].length;

        if (sum + length <= wanted + slack) {
            sum += length;
            out->files[out->count++] = from[i];
            out->bytes += documents->files[from[i]].length;
            if (is_taken != NULL) {
                is_taken[from[i]] = true;
            }
        }
    }
    qsort(out->files, out->count, sizeof out->files[0], compare_places);
    return true;
}

/* What is not in the reserve, in order. */
static bool keep_base(struct deltas *d, const struct batch *documents,
                      const bool *is_taken)
{
    d->base.files = calloc(documents->file_count + 1, sizeof(size_t));
    for (size_t i = 0; d->base.files != NULL && i < documents->file_count;
         i++) {
        if (!is_taken[i]) {
            d->base.files[d->base.count++] = i;
            d->base.bytes += documents->files[i].length;
        }
    }
    return d->base.files != NULL;
}

/* Divides the documents so that the largest delta finds its insertions in
 * the reserve: with h = P/2 percent of the base, h / (1 + h) of all. */
static bool divide(struct deltas *d, const struct batch *documents,
                   double most, uint64_t *random)
{
    size_t n = documents->file_count;
    size_t *order = calloc(n + 1, sizeof *order);
    bool *is_taken = calloc(n + 1, sizeof *is_taken);
    double half = most / 200;
    bool ok = order != NULL && is_taken != NULL;
    double total = (double)batch_bytes(documents);

    for (size_t i = 0; ok && i < n; i++) {
        order[i] = i;
    }
    if (ok) {
        shuffle(order, n, random);
        ok = take(&d->reserve, documents, order, n, total * half / (1 + half),
                  is_taken) &&
             keep_base(d, documents, is_taken);
    }
    free(order);
    free(is_taken);
    return ok;
}

/* Draws one of the two shares of a delta. */
static bool draw(struct delta_share *out, const struct batch *documents,
                 const struct delta_share *from, double wanted,
                 uint64_t *random)
{
    size_t *order = calloc(from->count + 1, sizeof *order);
    bool ok = order != NULL;

    if (ok) {
        if (from->count > 0) {
            memcpy(order, from->files, from->count * sizeof *order);
        }
        shuffle(order, from->count, random);
        ok = take(out, documents, order, from->count, wanted, NULL);
    }
    free(order);
    return ok;
}

static bool share_equal(const struct delta_share *a,
                        const struct delta_share *b)
{
    return a->count == b->count &&
           (a->count == 0 ||
            memcmp(a->files, b->files, a->count * sizeof a->files[0]) == 0);
}

static bool is_enough(const struct delta_share *s, double wanted)
{
    return s->count > 0 && (double)s->bytes >= wanted * least_share;
}

/* The last delta before `end` that was made; NULL: none. */
static const struct delta *made_before(const struct deltas *d, size_t end)
{
    for (size_t i = end; i > 0; i--) {
        if (d->list[i - 1].kind == DELTA_MADE) {
            return &d->list[i - 1];
        }
    }
    return NULL;
}

static bool make(struct deltas *d, size_t i, const struct batch *documents,
                 double percent, uint64_t seed)
{
    struct delta *delta = &d->list[i];
    const struct delta *before = made_before(d, i);
    double wanted = (double)d->base.bytes * percent / 200;
    uint64_t random = seed; /* of its own: whatever other sizes there are */

    delta->asked = percent;
    if (!draw(&delta->deleted, documents, &d->base, wanted, &random) ||
        !draw(&delta->inserted, documents, &d->reserve, wanted, &random)) {
        return false;
    }
    delta->percent = 100 *
                     (double)(delta->deleted.bytes + delta->inserted.bytes) /
                     (double)d->base.bytes;
    if (!is_enough(&delta->deleted, wanted) ||
        !is_enough(&delta->inserted, wanted)) {
        delta->kind = DELTA_TOO_SMALL;
    } else if (before != NULL &&
               share_equal(&before->deleted, &delta->deleted) &&
               share_equal(&before->inserted, &delta->inserted)) {
        delta->kind = DELTA_SAME;
    }
    return true;
}

/* What one can do about documents that make no delta. */
static enum df_status refuse(const struct batch *documents,
                             struct df_error *err)
{
    struct shown s;

    return error_set(err, DF_INPUT,
                     "%s: %zu document%s cannot make a delta of any of these "
                     "sizes: deltas are made of whole files, so name larger "
                     "--sizes or a directory with more and smaller files",
                     shown(&s, bytes_of_string(documents->path)),
                     documents->file_count,
                     documents->file_count == 1 ? "" : "s");
}

enum df_status deltas_choose(struct deltas *d, const struct batch *documents,
                             const double *percents, size_t n, uint64_t seed,
                             struct df_error *err)
{
    uint64_t random = seed;
    bool ok;

    *d = (struct deltas){ .list = calloc(n + 1, sizeof *d->list) };
    if (d->list == NULL) {
        return error_no_memory(err);
    }
    ok = divide(d, documents, percents[n - 1], &random);
    seed = next_random(&random);
    for (size_t i = 0; ok && i < n && d->base.bytes > 0; i++) {
        d->count++;
        ok = make(d, i, documents, percents[i], seed);
    }
    if (!ok) {
        deltas_fini(d);
        return error_no_memory(err);
    }
    if (made_before(d, d->count) == NULL) {
        deltas_fini(d);
        return refuse(documents, err);
    }
    return DF_OK;
}

void deltas_fini(struct deltas *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->list[i].deleted.files);
        free(d->list[i].inserted.files);
    }
    free(d->base.files);
    free(d->reserve.files);
    free(d->list);
    *d = (struct deltas){ 0 };
}
