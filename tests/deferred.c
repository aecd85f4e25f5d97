#include "deferred.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "history.h"
#include "state/commit.h"
#include "state/inbox.h"

static const struct row_shape plain = { .components = 1 };

void deferred_number(struct rows_source *run, uint64_t n, int64_t value)
{
    char key[800];

    (void)snprintf(key, sizeof key, "%0*llu", n % 40 == 0 ? 700 : 8,
                   (unsigned long long)n);
    rows_source_add_text(run, key, value);
}

void deferred_apply(struct stored *s, enum install_method method)
{
    char name[32];

    (void)snprintf(name, sizeof name, "batch %llu",
                   (unsigned long long)s->seq + 1);
    s->method = method;
    if (stored_apply(s, name) != DF_OK) {
        fail_msg("%s: %s", name, s->err.text);
    }
}

void deferred_fill(struct stored *s, unsigned rows)
{
    for (unsigned i = 0; i < rows; i++) {
        deferred_number(&s->run, i, 1 + i % 3);
    }
    deferred_apply(s, INSTALL_DEFER);
    /* Into an empty view rows go packed, whatever was asked for. */
    assert_int_equal(s->entry.method, INSTALL_OVERWRITE);
}

void deferred_open(struct stored *s, unsigned shards, unsigned rows)
{
    stored_open(s, plain, shards);
    deferred_fill(s, rows);
}

void deferred_random(struct stored *s, unsigned n, uint64_t *random)
{
    for (unsigned i = 0; i < n; i++) {
        size_t at = (size_t)random_below(random, s->model.count);
        struct rows_source one = { .at = &s->model.at[at],
                                   .count = 1,
                                   .shape = s->shape };

        switch (random_below(random, 3)) {
        case 0:
            rows_source_add_all(&s->run, &one, 1);
            break;
        case 1:
            rows_source_add_all(&s->run, &one, -1);
            break;
        default:
            deferred_number(&s->run, random_below(random, 100000), 1);
        }
    }
}

void deferred_add(struct stored *s, unsigned n, uint64_t *random)
{
    deferred_random(s, n, random);
    s->allow_negative = true; /* the same row may be taken twice */
    deferred_apply(s, INSTALL_DEFER);
    assert_int_equal(s->entry.method, INSTALL_DEFER);
    assert_true(s->entry.unfolded > 0);
}

struct view *deferred_view(struct stored *s, enum view_access access)
{
    struct view *v;

    assert_int_equal(view_open(&v, s->path, access, 0, &s->err), DF_OK);
    return v;
}

struct overlay deferred_overlay(struct stored *s, unsigned shard)
{
    struct view *v = deferred_view(s, VIEW_READ);
    struct shard_state seen;
    struct store_txn *t;
    struct store_txn *inbox;
    struct overlay o;

    assert_int_equal(store_begin(&t, v->stores[shard], STORE_READ, &s->err),
                     DF_OK);
    assert_int_equal(store_begin(&inbox, v->stores[0], STORE_READ, &s->err),
                     DF_OK);
    assert_int_equal(inbox_look(t, inbox, shard, &seen, &o, &s->err), DF_OK);
    store_abort(inbox);
    store_abort(t);
    view_close(v);
    return o;
}

uint64_t deferred_entries(struct stored *s, unsigned shard,
                          enum store_table table)
{
    struct view *v = deferred_view(s, VIEW_READ);
    struct store_txn *t;
    struct store_size size;

    assert_int_equal(store_begin(&t, v->stores[shard], STORE_READ, &s->err),
                     DF_OK);
    assert_int_equal(store_table_size(t, table, &size, &s->err), DF_OK);
    store_abort(t);
    view_close(v);
    return size.entries;
}

enum df_status deferred_compact(struct stored *s,
                                const struct compact_plan *plan,
                                struct compact_report *report)
{
    struct view *v = deferred_view(s, VIEW_WRITE);
    enum df_status status = view_compact(v, plan, report, &s->err);

    view_close(v);
    return status;
}

struct compact_report deferred_fold_all(struct stored *s)
{
    const struct compact_plan plan = { .everything = true, .threads = 1 };
    struct compact_report report;

    assert_int_equal(deferred_compact(s, &plan, &report), DF_OK);
    for (unsigned i = 0; i < s->shards; i++) {
        assert_int_equal(deferred_overlay(s, i).count, 0);
        assert_int_equal(deferred_entries(s, i, STORE_RUNS), 0);
        assert_int_equal(deferred_entries(s, i, STORE_KEPT), 0);
    }
    return report;
}
