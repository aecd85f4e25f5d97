#include "wordcount_subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void subject_open(struct subject *s, const struct oracle_rule *rule)
{
    char text[3][64];
    const char *const given[] = { text[0], text[1], text[2] };
    struct df_error err;

    (void)snprintf(text[0], 64, "tokenizer=%s", rule->tokenizer);
    (void)snprintf(text[1], 64, "case=%s", rule->letter_case);
    (void)snprintf(text[2], 64, "ngram=%u", rule->ngram);
    s->job = registry_find("wordcount");
    assert_int_equal(jobspec_open(&s->spec, s->job, given, 3, &err), DF_OK);
    assert_int_equal(s->job->mapper_open(s->spec.config, &s->mapper, &err),
                     DF_OK);
    collector_init(&s->out, s->job);
}

void subject_close(struct subject *s)
{
    collector_fini(&s->out);
    s->job->mapper_close(s->mapper);
    jobspec_close(&s->spec);
}

/* Maps part of a document. */
void subject_map(struct subject *s, struct bytes part, bool first,
                 bool continues, bool unfinished)
{
    uint64_t random = part.len;
    struct df_piece piece = { .data = part.data,
                              .len = part.len,
                              .first = first,
                              .continues = continues,
                              .unfinished = unfinished };

    map_copy(s->job, s->mapper, piece, &s->out.emitter, &random);
    assert_int_equal(s->out.emitter.status, DF_OK);
}

/* Shows where two lists of keys part, and fails, unless they are equal. */
void subject_assert_same(const struct collector *expected,
                         const struct collector *found)
{
    for (size_t i = 0; i < expected->count && i < found->count; i++) {
        struct bytes a = collector_key(expected, i);
        struct bytes b = collector_key(found, i);

        if (!bytes_equal(a, b)) {
            struct shown left;
            struct shown right;

            fail_msg("key %zu: '%s' expected, '%s' found", i, shown(&left, a),
                     shown(&right, b));
        }
    }
    assert_int_equal(expected->count, found->count);
    for (size_t i = 0; i < DF_COUNTERS_MAX; i++) {
        assert_int_equal(expected->emitter.counters[i],
                         found->emitter.counters[i]);
    }
    assert_true(collector_equal(expected, found));
}

void subject_check(struct subject *s, const struct oracle_rule *rule,
                   struct bytes text)
{
    struct collector expected;

    collector_init(&expected, s->job);
    oracle_map(rule, text, &expected);
    collector_reset(&s->out);
    subject_map(s, text, true, false, false);
    subject_assert_same(&expected, &s->out);
    collector_fini(&expected);
}
