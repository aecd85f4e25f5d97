#include "kept_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/compact.h"
#include "state/history.h"
#include "state/settings.h"
#include "state/view_internal.h"

enum { LOCK_WAIT = 5 };

/* ---- life cycle ---- */

void kept_attach(struct kept_view *k, const char *root, const char *name,
                 const struct df_job *job, const char *const *given, size_t n)
{
    *k = (struct kept_view){ 0 };
    (void)snprintf(k->path, sizeof k->path, "%s", input_tree_path(root, name));
    k->options.method = INSTALL_INCREMENT;
    assert_int_equal(jobspec_open(&k->job, job, given, n, &k->err), DF_OK);
}

void kept_open(struct kept_view *k, const char *root, const char *name,
               const struct df_job *job, const char *const *given, size_t n,
               unsigned shards)
{
    struct buf text = { 0 };
    struct view_definition d = { .shards = shards };

    kept_attach(k, root, name, job, given, n);
    assert_true(jobspec_definition(&k->job, &text));
    d.text = buf_bytes(&text);
    d.shape = (struct row_shape){ .has_element = k->job.shape.has_element,
                                  .components = k->job.components,
                                  .wide = k->job.shape.wide };
    assert_int_equal(view_create(k->path, &d, &k->err), DF_OK);
    buf_fini(&text);
}

void kept_close(struct kept_view *k)
{
    jobspec_close(&k->job);
}

static void check(enum df_status status, const struct df_error *err)
{
    if (status != DF_OK) {
        fail_msg("%s", err->text);
    }
}

void kept_must(enum df_status status, const struct kept_view *k)
{
    if (status != DF_OK) {
        fail_msg("%s: %s", k->path, k->err.text);
    }
}

static struct view *open_view(const struct kept_view *k,
                              enum view_access access)
{
    struct df_error err;
    struct view *v;

    check(view_open(&v, k->path, access, LOCK_WAIT, &err), &err);
    return v;
}

/* ---- running ---- */

static void note(void *ctx, const struct engine_report *r)
{
    struct kept_view *k = ctx;

    k->outcomes[r->outcome]++;
    if (r->outcome == ENGINE_APPLIED) {
        k->applied = *r->entry;
        k->applied.name = bytes_of(NULL, 0);
        k->applied.program = bytes_of(NULL, 0);
    }
    if (r->quarantine != NULL) {
        (void)snprintf(k->quarantine, sizeof k->quarantine, "%s",
                       r->quarantine);
    }
    if (r->remark != NULL) {
        (void)snprintf(k->remark, sizeof k->remark, "%s", r->remark);
    }
    if (k->reported != NULL) {
        k->reported(k->reported_ctx);
    }
}

enum df_status kept_run(struct kept_view *k, const char *path)
{
    struct view *v = open_view(k, VIEW_WRITE);
    enum df_status status;

    memset(k->outcomes, 0, sizeof k->outcomes);
    k->quarantine[0] = '\0';
    k->remark[0] = '\0';
    status = engine_run(v, &k->job, &path, 1, &k->options, note, k, &k->err);
    view_close(v);
    return status;
}

enum df_status kept_rebuild(struct kept_view *k, const char *documents,
                            const char *as_of, unsigned shards)
{
    struct view *v = open_view(k, VIEW_WRITE);
    enum df_status status =
        engine_rebuild(v, &k->job, documents, as_of, shards, &k->options,
                       &k->applied, &k->err);

    view_close(v);
    return status;
}

enum df_status kept_undo(struct kept_view *k, const char *batch, bool redo)
{
    struct view *v = open_view(k, VIEW_WRITE);
    struct buf name = { 0 };
    enum df_status status = engine_undo(v, &k->job, batch, redo, &k->options,
                                        &k->applied, &name, &k->err);

    k->applied.name = bytes_of(NULL, 0);
    k->applied.program = bytes_of(NULL, 0);
    buf_fini(&name);
    view_close(v);
    return status;
}

void kept_keep(struct kept_view *k, uint64_t entries)
{
    struct view *v = open_view(k, VIEW_WRITE);

    kept_must(view_set_keep(v, entries, &k->err), k);
    view_close(v);
}

void kept_base(struct kept_view *k, const char *directory)
{
    struct view *v = open_view(k, VIEW_WRITE);

    kept_must(view_set(v, SETTING_BASE, bytes_of_string(directory), &k->err),
              k);
    view_close(v);
}

static void show_difference(void *ctx, const struct engine_difference *d)
{
    bool *shown_one = ctx;
    struct shown key;

    if (!*shown_one) {
        print_message("differs: '%s': %lld expected, %lld found\n",
                      shown(&key, d->key), (long long)d->expected[0],
                      (long long)d->found[0]);
    }
    *shown_one = true;
}

enum df_status kept_verify(struct kept_view *k, const char *directory,
                           bool deltas)
{
    struct view *v = open_view(k, VIEW_READ);
    struct engine_verdict verdict;
    bool shown_one = false;
    enum df_status status =
        engine_verify(v, &k->job, directory, deltas, 1, &k->options,
                      show_difference, &shown_one, &verdict, &k->err);

    assert_int_equal(shown_one, status == DF_DIFFERS);
    if (status == DF_OK) {
        assert_true(hash128_equal(verdict.view, verdict.recomputed));
    }
    hollow_fini(&verdict.hollow);
    view_close(v);
    return status;
}

struct snapshot_state kept_state(const struct kept_view *k)
{
    struct view *v = open_view(k, VIEW_READ);
    struct df_error err;
    struct snapshot *s;
    struct snapshot_state state;

    check(snapshot_open(&s, v, &err), &err);
    state = snapshot_state(s);
    snapshot_close(s);
    view_close(v);
    return state;
}

int64_t kept_count(const struct kept_view *k, const char *key)
{
    struct view *v = open_view(k, VIEW_READ);
    int64_t values[DF_COMPONENTS_MAX] = { 0 };
    struct df_error err;
    struct snapshot *s;
    bool found;

    check(snapshot_open(&s, v, &err), &err);
    check(snapshot_get(s, bytes_of_string(key), bytes_of(NULL, 0), values,
                       &found, &err),
          &err);
    snapshot_close(s);
    view_close(v);
    return found ? values[0] : 0;
}

/* ---- rows as bytes ---- */

static void append_row(struct buf *out, struct bytes key, struct bytes element,
                       unsigned components, const int64_t *values)
{
    assert_true(buf_printf(out, "%zu:", key.len) &&
                buf_append(out, key.data, key.len) &&
                buf_printf(out, " %zu:", element.len) &&
                buf_append(out, element.data, element.len));
    for (unsigned i = 0; i < components; i++) {
        assert_true(buf_printf(out, " %lld", (long long)values[i]));
    }
    assert_true(buf_append_byte(out, '\n'));
}

static void check_row(struct snapshot *s, struct row_shape shape,
                      const struct snapshot_row *row, struct hash128 *digest)
{
    int64_t values[DF_COMPONENTS_MAX] = { 0 };
    struct buf row_key = { 0 };
    struct df_error err;
    bool found;

    assert_false(row_values_zero(shape.components, row->values));
    check(snapshot_get(s, row->key, row->element, values, &found, &err), &err);
    assert_true(found);
    assert_memory_equal(values, row->values,
                        shape.components * sizeof *values);
    assert_true(row_key_append(&row_key, shape, row->key, row->element));
    *digest =
        digest_add(*digest, row_digest(shape, buf_bytes(&row_key), values));
    buf_fini(&row_key);
}

static void check_order(struct buf *last, const struct snapshot_row *row,
                        struct row_shape shape)
{
    struct buf row_key = { 0 };

    assert_true(row_key_append(&row_key, shape, row->key, row->element));
    if (last->len > 0) {
        assert_true(bytes_compare(buf_bytes(last), buf_bytes(&row_key)) < 0);
    }
    buf_fini(last);
    *last = row_key;
}

static void append_rows(struct snapshot *s, struct row_shape shape,
                        struct buf *out)
{
    struct snapshot_state state = snapshot_state(s);
    struct snapshot_scan *scan;
    const struct snapshot_row *row = NULL;
    struct hash128 digest = { 0, 0 };
    struct buf last = { 0 };
    struct df_error err;
    uint64_t rows = 0;

    check(snapshot_scan_open(&scan, s, SNAPSHOT_ALL, bytes_of(NULL, 0), &err),
          &err);
    for (;;) {
        check(snapshot_scan_next(scan, &row, &err), &err);
        if (row == NULL) {
            break;
        }
        check_order(&last, row, shape);
        append_row(out, row->key, row->element, shape.components, row->values);
        check_row(s, shape, row, &digest);
        rows++;
    }
    snapshot_scan_close(scan);
    buf_fini(&last);
    if (state.unfolded == 0) {
        assert_int_equal(rows, state.rows);
    }
    assert_true(rows + state.unfolded >= state.rows);
    assert_true(rows <= state.rows + state.unfolded);
    assert_true(hash128_equal(digest, state.digest));
}

/* ---- the ledger ---- */

static void check_ledger(struct snapshot *s)
{
    struct snapshot_state state = snapshot_state(s);
    struct hash128 digest = { 0, 0 };
    uint64_t rows = 0;
    uint64_t unfolded = 0; /* then rows is not known */
    struct ledger_entry e;
    struct df_error err;
    bool found = true;

    for (uint64_t seq = 1; seq <= state.seq; seq++) {
        check(snapshot_ledger_get(s, seq, &e, &found, &err), &err);
        assert_true(found);
        assert_int_equal(e.seq, seq);
        if (e.kind != LEDGER_REBUILD) {
            assert_true(hash128_equal(e.view_before, digest));
            assert_int_equal(e.rows_seen, e.method != INSTALL_DEFER);
        }
        if (e.kind == LEDGER_BATCH && e.rows_seen && unfolded == 0) {
            assert_int_equal(rows + e.rows_added - e.rows_removed, e.rows);
        }
        digest = e.view_after;
        rows = e.rows;
        unfolded = e.unfolded;
    }
    assert_true(hash128_equal(digest, state.digest));
    if (unfolded == 0) {
        assert_int_equal(rows, state.rows);
    }
    check(snapshot_ledger_get(s, state.seq + 1, &e, &found, &err), &err);
    assert_false(found);
}

void kept_rows(const struct kept_view *k, struct buf *out)
{
    struct view *v = open_view(k, VIEW_READ);
    struct df_error err;
    struct snapshot *s;

    buf_reset(out);
    check(snapshot_open(&s, v, &err), &err);
    append_rows(s, view_definition(v)->shape, out);
    check_ledger(s);
    snapshot_close(s);
    view_close(v);
}

enum df_status kept_rows_at(struct kept_view *k, uint64_t seq, struct buf *out)
{
    struct view *v = open_view(k, VIEW_READ);
    struct snapshot *s;
    enum df_status status;

    buf_reset(out);
    kept_must(snapshot_open(&s, v, &k->err), k);
    status = snapshot_show_at(s, seq, &k->err);
    if (status == DF_OK) {
        append_rows(s, view_definition(v)->shape, out);
    }
    snapshot_close(s);
    view_close(v);
    return status;
}

uint64_t kept_reach(const struct kept_view *k)
{
    struct view *v = open_view(k, VIEW_READ);
    struct df_error err;
    struct snapshot *s;
    uint64_t reach;

    check(snapshot_open(&s, v, &err), &err);
    check(snapshot_reach(s, &reach, &err), &err);
    snapshot_close(s);
    view_close(v);
    return reach;
}

static void append_entry(const struct ledger_entry *e, bool rows,
                         struct buf *out)
{
    char digest[3][HASH128_TEXT];

    assert_true(buf_printf(
        out, "%llu %d %.*s %s +%llu -%llu ~%llu pairs %llu run %llu %s %s",
        (unsigned long long)e->seq, (int)e->kind, (int)e->name.len,
        (const char *)e->name.data, hash128_text(digest[0], e->digest),
        (unsigned long long)e->inserted, (unsigned long long)e->deleted,
        (unsigned long long)e->quarantined, (unsigned long long)e->pairs,
        (unsigned long long)e->run_rows,
        hash128_text(digest[1], e->view_before),
        hash128_text(digest[2], e->view_after)));
    if (rows) {
        assert_true(buf_printf(out,
                               " rows %llu added %llu changed %llu removed "
                               "%llu",
                               (unsigned long long)e->rows,
                               (unsigned long long)e->rows_added,
                               (unsigned long long)e->rows_changed,
                               (unsigned long long)e->rows_removed));
    }
    for (unsigned i = 0; i < DF_COUNTERS_MAX; i++) {
        assert_true(
            buf_printf(out, " %llu", (unsigned long long)e->counters[i]));
    }
    assert_true(buf_append_byte(out, '\n'));
}

void kept_ledger(const struct kept_view *k, bool rows, struct buf *out)
{
    struct view *v = open_view(k, VIEW_READ);
    struct df_error err;
    struct snapshot *s;

    buf_reset(out);
    check(snapshot_open(&s, v, &err), &err);
    for (uint64_t seq = 1; seq <= snapshot_state(s).seq; seq++) {
        struct ledger_entry e;
        bool found;

        check(snapshot_ledger_get(s, seq, &e, &found, &err), &err);
        assert_true(found);
        append_entry(&e, rows, out);
    }
    snapshot_close(s);
    view_close(v);
}

/* ---- nothing left ---- */

static const enum store_table tables_of_rows[] = { STORE_ROWS_0, STORE_ROWS_1,
                                                   STORE_RUNS, STORE_KEPT };

static void check_tables_empty(struct store *store)
{
    struct df_error err;
    struct store_txn *t;
    struct store_size size;

    check(store_begin(&t, store, STORE_READ, &err), &err);
    for (size_t i = 0; i < 4; i++) {
        check(store_table_size(t, tables_of_rows[i], &size, &err), &err);
        assert_int_equal(size.entries, 0);
        assert_int_equal(size.leaf_pages + size.other_pages, 0);
    }
    store_abort(t);
}

void kept_compact(struct kept_view *k)
{
    const struct compact_plan plan = { .everything = true, .threads = 1 };
    struct compact_report report;
    struct view *v = open_view(k, VIEW_WRITE);

    check(view_compact(v, &plan, &report, &k->err), &k->err);
    view_close(v);
    assert_int_equal(kept_state(k).unfolded, 0);
}

void kept_check_empty(struct kept_view *k)
{
    struct snapshot_state state;
    struct view *v;

    kept_compact(k);
    state = kept_state(k);
    assert_int_equal(state.rows, 0);
    assert_true(hash128_equal(state.digest, (struct hash128){ 0, 0 }));
    v = open_view(k, VIEW_READ);
    for (unsigned i = 0; i < v->definition.shards; i++) {
        check_tables_empty(v->stores[i]);
    }
    view_close(v);
}

/* ---- what the rows should be ---- */

static void append_sums(struct collector *c, unsigned components,
                        struct buf *out)
{
    buf_reset(out);
    collector_sum(c);
    for (size_t i = 0; i < c->count; i++) {
        const struct collected *p = &c->pairs[i];

        append_row(
            out, collector_key(c, i),
            bytes_of(c->bytes.data + p->key + p->key_len, p->element_len),
            components, p->values);
    }
    collector_fini(c);
}

void expected_by_job(const struct jobspec *job, const struct history *h,
                     struct buf *out)
{
    struct collector c;
    struct df_error err;
    uint64_t random = h->random;
    void *mapper;

    collector_init_spec(&c, job);
    check(job->job->mapper_open(job->config, &mapper, &err), &err);
    for (unsigned i = 0; i < h->style->documents; i++) {
        const struct history_document *d = &h->documents[i];
        struct df_piece piece = { .id = (const uint8_t *)d->id,
                                  .id_len = strlen(d->id),
                                  .data = d->content.data,
                                  .len = d->content.len,
                                  .first = true,
                                  .last = true };

        if (d->alive) {
            map_copy(job->job, mapper, piece, &c.emitter, &random);
        }
    }
    assert_int_equal(c.emitter.status, DF_OK);
    job->job->mapper_close(mapper);
    append_sums(&c, job->components, out);
}

void expected_by_oracle(const struct oracle_rule *rule,
                        const struct history *h, struct buf *out)
{
    struct collector c;

    collector_init(&c, registry_find("wordcount"));
    for (unsigned i = 0; i < h->style->documents; i++) {
        const struct history_document *d = &h->documents[i];

        if (d->alive) {
            oracle_map(rule, buf_bytes(&d->content), &c);
        }
    }
    append_sums(&c, 1, out);
}

/* The line that holds byte `at`. */
static struct bytes line_at(const struct buf *b, size_t at)
{
    const uint8_t *end;
    size_t begin = at < b->len ? at : b->len;

    while (begin > 0 && b->data[begin - 1] != '\n') {
        begin--;
    }
    end =
        begin < b->len ? memchr(b->data + begin, '\n', b->len - begin) : NULL;
    return bytes_of(b->data + begin,
                    (end == NULL ? b->len : (size_t)(end - b->data)) - begin);
}

void assert_same_rows(const struct buf *expected, const struct buf *found)
{
    struct shown a;
    struct shown b;
    size_t at = 0;

    if (bytes_equal(buf_bytes(expected), buf_bytes(found))) {
        return;
    }
    while (at < expected->len && at < found->len &&
           expected->data[at] == found->data[at]) {
        at++;
    }
    fail_msg("%zu bytes of rows expected, %zu found, part at %zu:\n"
             "  expected %s\n  found    %s",
             expected->len, found->len, at, shown(&a, line_at(expected, at)),
             shown(&b, line_at(found, at)));
}
