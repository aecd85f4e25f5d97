/* runtime/crossover, mirror: the measurement of a small tree from end to end,
 * and that nothing of it stays, however it ends. */
#include "runtime/crossover.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/mirror.h"
#include "state/settings.h"
#include "state/view_copy.h"
#include "workplace.h"

static char root[INPUT_TREE_PATH];
static struct df_error err;
static const double sizes[] = { 0.001, 10, 50 };

enum { REBUILD = 5 }; /* which method it is */

static char *path_of(const char *name)
{
    char *copy = strdup(input_tree_path(root, name));

    assert_non_null(copy);
    return copy;
}

/* 60 documents; names that a manifest must escape; ids for half of them. */
static void make_documents(void)
{
    struct buf manifest = { 0 };

    for (int i = 0; i < 60; i++) {
        char path[60];
        char text[200];

        (void)snprintf(path, sizeof path, "documents/%s%d",
                       i % 3 == 0 ? "a\tb\\c/" : "", i);
        (void)snprintf(text, sizeof text, "a word%d of word%d and word%d", i,
                       i % 7, i % 3);
        input_tree_text(root, path, text);
        if (i % 2 == 0) {
            assert_true(buf_printf(&manifest, "%s%d\tid \\\\ %d\n",
                                   i % 3 == 0 ? "a\\tb\\\\c/" : "", i, i));
        }
    }
    input_tree_file(root, "documents/manifest.tsv", manifest.data,
                    manifest.len);
    buf_fini(&manifest);
}

/* A plan and what it needs. */
struct setting {
    struct jobspec job;
    struct engine_options options;
    struct crossover_plan plan;
    char *documents;
    char *scratch;
    char notices[2000];
};

static void keep_notice(void *ctx, const char *text)
{
    struct setting *s = ctx;
    size_t len = strlen(s->notices);

    (void)snprintf(s->notices + len, sizeof s->notices - len, "%s\n", text);
}

static void setting_init(struct setting *s)
{
    const struct df_job *job = registry_find("wordcount");

    (void)workplace_new(root);
    make_documents();
    input_tree_directory(root, "scratch");
    *s = (struct setting){ .documents = path_of("documents"),
                           .scratch = path_of("scratch") };
    s->options =
        (struct engine_options){ .threads = 2, .memory = (size_t)4 << 20 };
    assert_non_null(job);
    assert_int_equal(jobspec_open(&s->job, job, NULL, 0, &err), DF_OK);
    s->plan = (struct crossover_plan){ .job = &s->job,
                                       .documents = s->documents,
                                       .shards = 2,
                                       .scratch = s->scratch,
                                       .percents = sizes,
                                       .percent_count = 3,
                                       .methods = { false, true,
                                                    true, [REBUILD] = true },
                                       .repeats = 3,
                                       .seed = 5,
                                       .options = &s->options,
                                       .notice = keep_notice,
                                       .notice_ctx = s };
}

static void setting_fini(struct setting *s)
{
    jobspec_close(&s->job);
    free(s->documents);
    free(s->scratch);
}

static size_t entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    assert_int_equal(closedir(dir), 0);
    return n - 2; /* . and .. */
}

/* The documents have one name each again. */
static void check_left_alone(const struct setting *s)
{
    struct stat st;

    assert_int_equal(entries(s->scratch), 0);
    assert_int_equal(stat(input_tree_path(root, "documents/1"), &st), 0);
    assert_int_equal(st.st_nlink, 1);
}

static void check_report(const struct crossover_report *r)
{
    assert_int_equal(r->size_count, 2);
    assert_int_equal(r->method_count, 4);
    assert_string_equal(crossover_method(r->methods[3])->name, "rebuild");
    assert_true(r->documents > 30 && r->documents < 60);
    assert_true(r->rows > 30 && r->view_bytes > 0);
    for (size_t i = 0; i < r->size_count; i++) {
        assert_true(r->sizes[i].deleted > 0 && r->sizes[i].inserted > 0);
        for (size_t k = 0; k < r->method_count; k++) {
            for (unsigned n = 0; n < r->repeats; n++) {
                struct crossover_sample *s = &crossover_samples(r, i, k)[n];

                assert_true(s->us > 0);
                assert_int_equal(s->method,
                                 crossover_method(r->methods[k])->method);
            }
        }
    }
}

static void of_documents(void **state)
{
    struct crossover_report first;
    struct crossover_report again;
    struct setting s;

    (void)state;
    setting_init(&s);
    assert_int_equal(crossover_measure(&first, &s.plan, &err), DF_OK);
    check_report(&first);
    check_left_alone(&s);
    assert_non_null(strstr(s.notices, "0.001 % is left out"));
    s.plan.shards = 1;
    s.options.threads = 1;
    s.plan.methods[1] = false;
    assert_int_equal(crossover_measure(&again, &s.plan, &err), DF_OK);
    assert_int_equal(again.method_count, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_true(
            hash128_equal(first.sizes[i].digest, again.sizes[i].digest));
    }
    crossover_fini(&first);
    crossover_fini(&again);
    setting_fini(&s);
}

/* The view of all documents, made by the engine. */
static void make_view(struct setting *s, const char *path)
{
    struct view_definition definition = { .shape = { .components = 1 },
                                          .shards = 2 };
    struct ledger_entry entry;
    struct buf text = { 0 };
    struct view *v;

    assert_true(jobspec_definition(&s->job, &text));
    definition.text = buf_bytes(&text);
    assert_int_equal(view_create(path, &definition, &err), DF_OK);
    buf_fini(&text);
    assert_int_equal(view_open(&v, path, VIEW_WRITE, 0, &err), DF_OK);
    assert_int_equal(engine_rebuild(v, &s->job, s->documents, NULL, 0,
                                    &s->options, &entry, &err),
                     DF_OK);
    view_close(v);
}

static struct hash128 digest_of(const char *path)
{
    struct snapshot *snapshot;
    struct hash128 digest;
    struct view *v;

    assert_int_equal(view_open(&v, path, VIEW_READ, 0, &err), DF_OK);
    assert_int_equal(snapshot_open(&snapshot, v, &err), DF_OK);
    digest = snapshot_state(snapshot).digest;
    snapshot_close(snapshot);
    view_close(v);
    return digest;
}

static void of_a_view(void **state)
{
    struct crossover_report made;
    struct crossover_report copied;
    struct hash128 before;
    struct setting s;
    char *view;

    (void)state;
    setting_init(&s);
    view = path_of("view");
    make_view(&s, view);
    before = digest_of(view);
    assert_int_equal(crossover_measure(&made, &s.plan, &err), DF_OK);
    s.plan.view = view;
    assert_int_equal(crossover_measure(&copied, &s.plan, &err), DF_OK);
    check_report(&copied);
    check_left_alone(&s);
    assert_true(hash128_equal(before, digest_of(view)));
    for (size_t i = 0; i < 2; i++) {
        assert_true(
            hash128_equal(made.sizes[i].digest, copied.sizes[i].digest));
    }
    crossover_fini(&made);
    crossover_fini(&copied);
    free(view);
    setting_fini(&s);
}

/* Measures; the methods are three, rebuild is left out, and why. */
static void check_left_out(struct setting *s, const char *why)
{
    struct crossover_report r;

    if (crossover_measure(&r, &s->plan, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(r.method_count, 3);
    for (size_t i = 0; i < r.method_count; i++) {
        assert_int_not_equal(r.methods[i], REBUILD);
    }
    assert_true(crossover_samples(&r, r.size_count - 1, 2)->us > 0);
    if (strstr(s->notices, "rebuild is left out: ") == NULL ||
        strstr(s->notices, why) == NULL) {
        fail_msg("'%s' is not in '%s'", why, s->notices);
    }
    check_left_alone(s);
    crossover_fini(&r);
}

static void of_records(void **state)
{
    static const char *const lines[] = { "format=lines" };
    struct setting s;

    (void)state;
    setting_init(&s);
    jobspec_close(&s.job);
    assert_int_equal(
        jobspec_open(&s.job, registry_find("wordcount"), lines, 1, &err),
        DF_OK);
    check_left_out(&s, "the view is of records");
    setting_fini(&s);
}

static void of_archives(void **state)
{
    struct setting s;

    (void)state;
    setting_init(&s);
    input_tree_text(root, "documents/empty.warc",
                    "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: "
                    "0\r\n\r\n\r\n\r\n");
    check_left_out(&s, "'empty.warc' is an archive");
    setting_fini(&s);
}

/* A view of the same rows that knows its documents by other names. */
static void of_other_names(void **state)
{
    struct setting s;
    char *view;
    char *manifest;
    char *away;

    (void)state;
    setting_init(&s);
    view = path_of("view");
    manifest = path_of("documents/manifest.tsv");
    away = path_of("manifest.tsv");
    assert_int_equal(rename(manifest, away), 0);
    make_view(&s, view);
    assert_int_equal(rename(away, manifest), 0);
    s.plan.view = view;
    check_left_out(&s, "not of documents with these names");
    free(view);
    free(manifest);
    free(away);
    setting_fini(&s);
}

/* Where the view knows its base itself, that is not looked at. */
static void of_a_view_with_a_base(void **state)
{
    struct crossover_report r;
    struct setting s;
    struct view *v;
    char *view;

    (void)state;
    setting_init(&s);
    view = path_of("view");
    make_view(&s, view);
    assert_int_equal(view_open(&v, view, VIEW_WRITE, 0, &err), DF_OK);
    assert_int_equal(
        view_set(v, SETTING_BASE, bytes_of_string("/nowhere"), &err), DF_OK);
    view_close(v);
    s.plan.view = view;
    assert_int_equal(crossover_measure(&r, &s.plan, &err), DF_OK);
    check_report(&r);
    crossover_fini(&r);
    free(view);
    setting_fini(&s);
}

/* Documents that the view does not hold, and such that it holds besides. */
static void of_another_view(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct crossover_report r;
        struct setting s;
        char *view;

        setting_init(&s);
        view = path_of("view");
        make_view(&s, view);
        s.plan.view = view;
        assert_int_equal(unlink(input_tree_path(root, "documents/5")), 0);
        if (i == 0) {
            input_tree_text(root, "documents/new", "something else");
        }
        assert_int_equal(crossover_measure(&r, &s.plan, &err), DF_DIFFERS);
        assert_non_null(strstr(err.text, "is not what the documents"));
        check_left_alone(&s);
        free(view);
        setting_fini(&s);
    }
}

/* Stops after so many looks at where the work stands, if there are as many;
 * below 0: before the first. */
struct stopper {
    volatile sig_atomic_t stop;
    int looks;
};

static void look(void *ctx, const struct engine_progress *now)
{
    struct stopper *s = ctx;

    (void)now;
    s->stop = s->looks-- <= 0;
}

static void interrupted(void **state)
{
    size_t interruptions = 0;

    (void)state;
    for (int looks = -1; looks < 20; looks += 5) {
        struct crossover_report r;
        struct stopper stopper = { .stop = looks < 0, .looks = looks };
        enum df_status status;
        struct setting s;

        setting_init(&s);
        s.plan.repeats = 1;
        s.options.stop = &stopper.stop;
        s.options.progress = look;
        s.options.progress_ctx = &stopper;
        status = crossover_measure(&r, &s.plan, &err);
        assert_true(status == DF_OK || status == DF_INTERRUPTED);
        interruptions += status == DF_INTERRUPTED;
        check_left_alone(&s);
        crossover_fini(&r);
        setting_fini(&s);
    }
    assert_true(interruptions > 0);
}

static void no_scratch(void **state)
{
    struct crossover_report r;
    struct setting s;

    (void)state;
    setting_init(&s);
    s.plan.scratch = "/no/such/place";
    assert_int_equal(crossover_measure(&r, &s.plan, &err), DF_SYSTEM);
    assert_non_null(strstr(err.text, "--scratch"));
    assert_int_equal(r.size_count, 0);
    setting_fini(&s);
}

/* A scratch directory on a file system where there are no links to them. */
static void copies(void **state)
{
    struct crossover_report r;
    char elsewhere[] = "/dev/shm/deltafold-test.XXXXXX";
    struct setting s;
    struct stat here;
    struct stat there;

    (void)state;
    setting_init(&s);
    if (mkdtemp(elsewhere) == NULL || stat(elsewhere, &there) != 0 ||
        stat(s.scratch, &here) != 0 || here.st_dev == there.st_dev) {
        (void)rmdir(elsewhere);
        setting_fini(&s);
        skip();
    }
    s.plan.scratch = elsewhere;
    assert_int_equal(crossover_measure(&r, &s.plan, &err), DF_OK);
    assert_non_null(strstr(s.notices, "the documents are copied"));
    check_report(&r);
    assert_int_equal(entries(elsewhere), 0);
    assert_int_equal(rmdir(elsewhere), 0);
    crossover_fini(&r);
    setting_fini(&s);
}

/* What a manifest says is what the documents are called again. */
static void manifests(void **state)
{
    size_t all[60];
    struct delta_share share = { .files = all, .count = 60 };
    const struct mirror_part parts[] = { { "inserted/", &share, NULL } };
    struct batch documents;
    struct batch mirrored;
    struct setting s;
    char *batch;
    char *inserted;

    (void)state;
    setting_init(&s);
    batch = path_of("batch");
    inserted = path_of("batch/inserted");
    assert_int_equal(batch_scan_tree(&documents, s.documents, 2, &err), DF_OK);
    assert_int_equal(documents.file_count, 60);
    for (size_t i = 0; i < 60; i++) {
        all[i] = i;
    }
    assert_int_equal(mirror_add(&documents, &share, inserted, NULL, &err),
                     DF_OK);
    assert_int_equal(mirror_manifest(&documents, parts, 1, batch, &err),
                     DF_OK);
    assert_int_equal(batch_scan(&mirrored, batch, 2, &err), DF_OK);
    assert_int_equal(mirrored.file_count, 60);
    for (size_t i = 0; i < 60; i++) {
        assert_true(bytes_equal(mirrored.files[i].id, documents.files[i].id));
    }
    assert_int_equal(mirror_drop(&documents, &share, inserted, &err), DF_OK);
    assert_int_equal(mirror_drop(&documents, &share, inserted, &err),
                     DF_SYSTEM);
    mirror_remove(batch);
    assert_int_equal(access(batch, F_OK), -1);
    batch_fini(&documents);
    batch_fini(&mirrored);
    free(batch);
    free(inserted);
    setting_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_documents),
        cmocka_unit_test(of_a_view),
        cmocka_unit_test(of_records),
        cmocka_unit_test(of_archives),
        cmocka_unit_test(of_other_names),
        cmocka_unit_test(of_a_view_with_a_base),
        cmocka_unit_test(of_another_view),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(no_scratch),
        cmocka_unit_test(copies),
        cmocka_unit_test(manifests),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
