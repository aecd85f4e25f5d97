/*
 * A tree of losers: leaves are the sources, each inner node remembers who
 * lost the match there, and who never lost is next. When the winner has
 * moved on to its next row it plays again the matches on its own way to the
 * root, one comparison per level. The best of those it has beaten there is its
 * rival: while its rows come before the rival's no match need be played, and
 * no other source has the same head. So the rows of a large source that lie
 * between two of small ones cost one comparison each. Of two sources the one
 * is the other's rival: they change places without a match.
 *
 * Here with three sources, next is "ant", and bee the rival:
 *
 *              ant (2)                   the winner
 *                |
 *             bee (0)                    lost to ant
 *             /     \
 *        cow (1)     \                   lost to bee
 *        /     \      \
 *    0: bee  1: cow  2: ant
 */
#include "state/merge.h"

#include <assert.h>
#include <stdlib.h>

struct leaf {
    struct run_source *source;
    const struct row *row; /* NULL at its end */
    uint64_t word;         /* first eight bytes of the row's head; all ones
                              at its end, and nobody's is greater */
    bool minus;            /* its values count negated */
};

enum { NOBODY = -1 };

struct merge {
    struct run_source source; /* first: what callers hold */
    struct row_shape shape;
    int n;
    struct leaf *leaves;
    int *losers;        /* by node, 1 to n - 1; losers[0] is the winner */
    struct leaf *front; /* the winner's, while its rival is known ... */
    struct leaf *rival; /* ... and is not NULL */
    uint64_t bound;     /* its word: a lesser one of front's comes before it */
    bool is_started;    /* leaves and losers are filled */
    bool is_owing;      /* the winner's row was handed out as it lies there: it
                           has yet to move on */
    struct buf tail;    /* of the row handed out, like the next two */
    struct row row;
    uint64_t word;
    uint8_t head[ROW_HEAD_MAX];
    int64_t values[DF_COMPONENTS_MAX];
    /* A row's partial sums may leave their width though the sum does not:
     * whether it does is the same for any order of the sources. */
    int64_t carry[DF_COMPONENTS_MAX];
    bool is_carried; /* carry is not all zero, or was not */
};

static inline enum df_status fetch(struct leaf *leaf, struct df_error *err)
{
    enum df_status status = leaf->source->next(leaf->source, &leaf->row, err);

    if (status == DF_OK) {
        leaf->word =
            leaf->row == NULL ? UINT64_MAX : bytes_word(leaf->row->head, 0);
    }
    return status;
}

static inline bool leaf_is_before(const struct leaf *x, const struct leaf *y)
{
    if (x->word != y->word) {
        return x->word < y->word;
    }
    if (x->row == NULL || y->row == NULL) {
        return x->row != NULL;
    }
    return bytes_compare(x->row->head, y->row->head) < 0;
}

static bool is_before(const struct merge *m, int a, int b)
{
    return leaf_is_before(&m->leaves[a], &m->leaves[b]);
}

/* Finds the best of those that the winner has beaten; it has itself where it
 * is the only source. */
static void find_rival(struct merge *m)
{
    int winner = m->losers[0];

    m->front = &m->leaves[winner];
    m->rival = NULL;
    for (int node = (winner + m->n) / 2; node >= 1; node /= 2) {
        struct leaf *other = &m->leaves[m->losers[node]];

        if (m->rival == NULL || leaf_is_before(other, m->rival)) {
            m->rival = other;
        }
    }
    m->bound = m->rival == NULL ? UINT64_MAX : m->rival->word;
    m->rival = m->rival == NULL ? m->front : m->rival;
}

/* Plays the matches from leaf w up. While the tree is being built a node may
 * be empty: there w waits for its opponent. */
__attribute__((noinline)) static void play(struct merge *m, int w)
{
    for (int node = (w + m->n) / 2; node >= 1; node /= 2) {
        int opponent = m->losers[node];

        if (opponent == NOBODY) {
            m->losers[node] = w;
            return;
        }
        if (is_before(m, opponent, w)) {
            m->losers[node] = w;
            w = opponent;
        }
    }
    m->losers[0] = w;
}

static enum df_status start(struct merge *m, struct df_error *err)
{
    for (int i = 0; i < m->n; i++) {
        enum df_status status = fetch(&m->leaves[i], err);

        if (status != DF_OK) {
            return status;
        }
        m->losers[i] = NOBODY;
    }
    m->rival = NULL;
    for (int i = 0; i < m->n; i++) {
        play(m, i);
    }
    m->is_started = true;
    return DF_OK;
}

static enum df_status advance(struct merge *m, struct df_error *err)
{
    int winner = m->losers[0];
    enum df_status status = fetch(&m->leaves[winner], err);

    m->rival = NULL;
    if (status == DF_OK) {
        play(m, winner);
    }
    return status;
}

/* Copies the winner's row, for its source moves on before it is used. */
static enum df_status take_row(struct merge *m, const struct leaf *leaf,
                               struct df_error *err)
{
    const struct row *row = leaf->row;

    bytes_copy(m->head, row->head.data, row->head.len);
    memcpy(m->values, row->values, m->shape.components * sizeof *m->values);
    if (leaf->minus && !row_values_negate(m->shape, m->values, m->values)) {
        return row_overflow(err, m->shape, row->head, row->tail);
    }
    m->word = leaf->word;
    m->row.head.len = row->head.len;
    m->row.tail.len = 0;
    if (row->tail.len != 0) {
        buf_reset(&m->tail);
        if (!buf_append(&m->tail, row->tail.data, row->tail.len)) {
            return error_no_memory(err);
        }
        m->row.tail = buf_bytes(&m->tail);
    }
    return DF_OK;
}

static bool is_same_head(const struct merge *m, const struct leaf *leaf)
{
    return leaf->row != NULL && leaf->word == m->word &&
           bytes_equal(leaf->row->head, m->row.head);
}

static enum df_status add_row(struct merge *m, const struct leaf *leaf,
                              struct df_error *err)
{
    const struct row *row = leaf->row;
    int64_t values[DF_COMPONENTS_MAX];

    memcpy(values, row->values, m->shape.components * sizeof *values);
    if (!bytes_equal(row->tail, m->row.tail)) {
        return row_collision(err, m->shape, row->head, row->tail);
    }
    if (leaf->minus && !row_values_negate(m->shape, values, values)) {
        return row_overflow(err, m->shape, row->head, row->tail);
    }
    if (!row_values_carry(m->shape, m->values, m->carry, values)) {
        m->is_carried = true;
    }
    return DF_OK;
}

/* The sum is complete: it must fit. */
static enum df_status check_carry(struct merge *m, struct df_error *err)
{
    bool fits = row_values_zero(m->shape.components, m->carry);

    memset(m->carry, 0, sizeof m->carry);
    m->is_carried = false;
    return fits ? DF_OK
                : row_overflow(err, m->shape, m->row.head, m->row.tail);
}

/* Sums all rows with the next head into m->row. */
static enum df_status sum_rows(struct merge *m, struct df_error *err)
{
    const struct leaf *leaf = &m->leaves[m->losers[0]];
    enum df_status status = take_row(m, leaf, err);

    if (status == DF_OK) {
        status = advance(m, err);
    }
    while (status == DF_OK &&
           is_same_head(m, leaf = &m->leaves[m->losers[0]])) {
        status = add_row(m, leaf, err);
        if (status == DF_OK) {
            status = advance(m, err);
        }
    }
    if (status == DF_OK && m->is_carried) {
        status = check_carry(m, err);
    }
    return status;
}

/* Whether no other source has the winner's head. */
static bool is_alone(struct merge *m)
{
    if (m->rival == NULL) {
        find_rival(m);
    }
    return m->rival == m->front || leaf_is_before(m->front, m->rival);
}

/* The next row as it lies in its source, where that can be: most rows of most
 * merges. NULL else. */
static const struct row *pass_on(struct merge *m)
{
    const struct leaf *leaf = &m->leaves[m->losers[0]];

    if (leaf->minus || !is_alone(m)) {
        return NULL;
    }
    m->is_owing = true;
    return leaf->row;
}

/* The next row, the winner being settled. */
static enum df_status next_sum(struct merge *m, const struct row **row,
                               struct df_error *err)
{
    enum df_status status = DF_OK;

    *row = NULL;
    while (status == DF_OK && m->leaves[m->losers[0]].row != NULL) {
        *row = pass_on(m);
        if (*row != NULL) {
            break;
        }
        status = sum_rows(m, err);
        if (status == DF_OK &&
            !row_values_zero(m->shape.components, m->values)) {
            *row = &m->row;
            break;
        }
    }
    return status;
}

/* Of two sources, the rival is next: they change places. */
static bool change_places(struct merge *m)
{
    struct leaf *behind = m->front;
    int winner = m->losers[1];

    if (m->n != 2 || m->rival->minus || !leaf_is_before(m->rival, m->front)) {
        return false;
    }
    m->losers[1] = m->losers[0];
    m->losers[0] = winner;
    m->front = m->rival;
    m->rival = behind;
    m->bound = behind->word;
    return true;
}

/* The next row where front's is at the rival's, or behind. Not inlined, like
 * the next one: merge_next, which mostly does without, would be twice as
 * slow. */
__attribute__((noinline)) static enum df_status next_of_two(
    struct merge *m, const struct row **row, struct df_error *err)
{
    if (leaf_is_before(m->front, m->rival) || change_places(m)) {
        *row = m->front->row;
        return DF_OK;
    }
    m->is_owing = false;
    m->rival = NULL;
    play(m, m->losers[0]);
    return next_sum(m, row, err);
}

/* The next row where none was handed out as it lies. */
__attribute__((noinline)) static enum df_status next_of_all(
    struct merge *m, const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;

    *row = NULL;
    if (m->n == 1 && !m->leaves[0].minus) {
        /* A run has no repeats and no zeros: pass it on. */
        return m->leaves[0].source->next(m->leaves[0].source, row, err);
    }
    if (m->n == 0) {
        return DF_OK;
    }
    if (!m->is_started) {
        status = start(m, err);
    }
    return status == DF_OK ? next_sum(m, row, err) : status;
}

static enum df_status merge_next(struct run_source *source,
                                 const struct row **row, struct df_error *err)
{
    struct merge *m = (struct merge *)source;
    enum df_status status;

    if (!m->is_owing) {
        return next_of_all(m, row, err);
    }
    status = fetch(m->front, err);
    if (status == DF_OK && m->front->word >= m->bound) {
        return next_of_two(m, row, err);
    }
    m->is_owing = status == DF_OK;
    *row = m->front->row;
    return status;
}

static enum df_status merge_rewind(struct run_source *source,
                                   struct df_error *err)
{
    struct merge *m = (struct merge *)source;

    m->is_started = false;
    m->is_owing = false;
    m->is_carried = false;
    memset(m->carry, 0, sizeof m->carry);
    for (int i = 0; i < m->n; i++) {
        struct run_source *s = m->leaves[i].source;
        enum df_status status = s->rewind(s, err);

        if (status != DF_OK) {
            return status;
        }
    }
    return DF_OK;
}

static enum df_status merge_seek(struct run_source *source, struct bytes head,
                                 struct df_error *err)
{
    struct merge *m = (struct merge *)source;
    enum df_status status = DF_OK;

    m->is_started = false;
    m->is_owing = false;
    for (int i = 0; status == DF_OK && i < m->n; i++) {
        struct run_source *s = m->leaves[i].source;

        status = s->seek(s, head, err);
    }
    return status;
}

static bool all_can_seek(struct run_source *const *sources, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (sources[i]->seek == NULL) {
            return false;
        }
    }
    return true;
}

enum df_status merge_open(struct run_source **merge, struct row_shape shape,
                          struct run_source *const *sources, size_t n,
                          struct df_error *err)
{
    return merge_open_signed(merge, shape, sources, NULL, n, err);
}

enum df_status merge_open_signed(struct run_source **merge,
                                 struct row_shape shape,
                                 struct run_source *const *sources,
                                 const bool *minus, size_t n,
                                 struct df_error *err)
{
    struct merge *m = calloc(1, sizeof *m);

    assert(n < INT32_MAX / 2);
    *merge = NULL;
    if (m == NULL) {
        return error_no_memory(err);
    }
    m->source.next = merge_next;
    m->source.rewind = merge_rewind;
    m->source.seek = all_can_seek(sources, n) ? merge_seek : NULL;
    m->shape = shape;
    m->n = (int)n;
    m->row.head.data = m->head;
    m->row.values = m->values;
    m->leaves = calloc(n + 1, sizeof *m->leaves);
    m->losers = calloc(n + 1, sizeof *m->losers);
    if (m->leaves == NULL || m->losers == NULL) {
        merge_close(&m->source);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        m->leaves[i].source = sources[i];
        m->leaves[i].minus = minus != NULL && minus[i];
    }
    *merge = &m->source;
    return DF_OK;
}

void merge_close(struct run_source *merge)
{
    struct merge *m = (struct merge *)merge;

    if (m != NULL) {
        buf_fini(&m->tail);
        free(m->losers);
        free(m->leaves);
        free(m);
    }
}

size_t merge_memory(size_t n)
{
    return sizeof(struct merge) +
           (n + 1) * (sizeof(struct leaf) + sizeof(int));
}
