/* Small deferred batches of several shards: in shard 0, and out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "deferred.h"
#include "history.h"
#include "input_tree.h"
#include "state/commit.h"
#include "state/inbox.h"

/* Batches that the shard's own file has not got. */
static uint64_t behind(struct stored *s, unsigned shard)
{
    struct view *v = deferred_view(s, VIEW_READ);
    struct shard_state own;

    assert_int_equal(shard_look(v->stores[shard], &own, &s->err), DF_OK);
    view_close(v);
    return s->seq - own.seq;
}

static struct inbox_sight inbox_of(struct stored *s)
{
    struct view *v = deferred_view(s, VIEW_READ);
    struct inbox_sight sight;

    assert_int_equal(view_inbox_look(v, &sight, &s->err), DF_OK);
    view_close(v);
    return sight;
}

/* A run's compaction leaves some batches there, and takes more over. */
static void test_small_batches_lie_in_inboxes(void **state)
{
    const struct compact_plan plan = { .budget_us = 1000000, .threads = 2 };
    uint64_t random = history_seed();
    struct compact_report report;
    struct stored s;

    (void)state;
    deferred_open(&s, 3, 300);
    for (unsigned i = 1; i < INBOX_BATCHES; i++) {
        deferred_add(&s, 20, &random);
        assert_int_equal(behind(&s, 0), 0);
        assert_int_equal(behind(&s, 1), i);
        assert_int_equal(behind(&s, 2), i);
        assert_int_equal(deferred_compact(&s, &plan, &report), DF_OK);
        stored_check(&s);
    }
    assert_int_equal(inbox_of(&s).batches, INBOX_BATCHES - 1);
    deferred_add(&s, 20, &random);
    assert_int_equal(deferred_compact(&s, &plan, &report), DF_OK);
    assert_true(report.merged >= INBOX_BATCHES);
    assert_int_equal(behind(&s, 2), 0);
    assert_false(inbox_of(&s).any);
    stored_check(&s);
    stored_close(&s);
}

static void take_over(struct stored *s)
{
    struct view *v = deferred_view(s, VIEW_WRITE);

    assert_int_equal(view_take_over(v, 1, &s->err), DF_OK);
    view_close(v);
}

/* What a crash leaves: batches that are in the shards and in their inboxes. */
static void test_what_was_taken_over_counts_once(void **state)
{
    uint64_t random = history_seed();
    struct stored s;

    (void)state;
    deferred_open(&s, 3, 300);
    for (unsigned i = 0; i < 3; i++) {
        deferred_add(&s, 20, &random);
        deferred_add(&s, 20, &random);
        assert_int_equal(behind(&s, 1), 2);
        take_over(&s);
        assert_int_equal(behind(&s, 1), 0);
        assert_true(inbox_of(&s).any);
        stored_check(&s);
    }
    (void)deferred_fold_all(&s);
    assert_false(inbox_of(&s).any);
    stored_check(&s);
    stored_close(&s);
}

/* A batch that goes another way finds every shard where the ledger is. */
static void test_inboxes_are_empty_before_another_way(void **state)
{
    static const enum install_method methods[] = { INSTALL_INCREMENT,
                                                   INSTALL_OVERWRITE,
                                                   INSTALL_DEFER };
    uint64_t random = history_seed();

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct stored s;

        deferred_open(&s, 3, 300);
        deferred_add(&s, 20, &random);
        deferred_add(&s, 20, &random);
        inbox_set_batch_max(0);
        deferred_random(&s, 20, &random);
        deferred_apply(&s, methods[i]);
        inbox_set_batch_max(INBOX_BATCH_MAX);
        assert_int_equal(s.entry.method, methods[i]);
        assert_int_equal(behind(&s, 1), 0);
        assert_false(inbox_of(&s).any);
        stored_check(&s);
        stored_close(&s);
    }
}

/* Programs that know no inboxes must refuse the view; one shard has none. */
static void test_a_view_of_the_first_format_is_marked(void **state)
{
    static const char first[] = "deltafold view format 1\ngeneration 1\n";

    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        uint64_t random = history_seed();
        char text[100] = "";
        struct stored s;
        FILE *f;

        store_set_checks(false);
        stored_open(&s, (struct row_shape){ .components = 1 }, shards);
        store_set_checks(true);
        input_tree_text(s.path, "current", first);
        deferred_fill(&s, 300);
        deferred_add(&s, 20, &random);
        stored_check(&s);
        f = fopen(input_tree_path(s.path, "current"), "r");
        assert_non_null(f);
        assert_int_equal(fread(text, 1, sizeof text - 1, f), strlen(first));
        (void)fclose(f);
        assert_string_equal(
            text,
            shards == 1 ? first : "deltafold view format 2\ngeneration 1\n");
        stored_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_batches_lie_in_inboxes),
        cmocka_unit_test(test_what_was_taken_over_counts_once),
        cmocka_unit_test(test_inboxes_are_empty_before_another_way),
        cmocka_unit_test(test_a_view_of_the_first_format_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
