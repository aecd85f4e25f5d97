/*
 * wordcount_subject.h: the word count job, opened with options, beside its
 * oracle.
 *
 *     subject_open(&s, &oracle_rules[0]);
 *     subject_check(&s, rule, text);      maps text and asks the oracle
 *     subject_map(&s, part, ...);         or maps piece by piece into s.out
 *     subject_close(&s);
 *
 * All fail the running cmocka test.
 */
#ifndef TESTS_WORDCOUNT_SUBJECT_H
#define TESTS_WORDCOUNT_SUBJECT_H

#include "wordcount_oracle.h"

struct subject {
    const struct df_job *job;
    struct jobspec spec;
    void *mapper;
    struct collector out;
};

void subject_open(struct subject *s, const struct oracle_rule *rule);
void subject_close(struct subject *s);

/* Maps part of a document. */
void subject_map(struct subject *s, struct bytes part, bool first,
                 bool continues, bool unfinished);

/* Maps a document; s->out then holds the keys the oracle gives. */
void subject_check(struct subject *s, const struct oracle_rule *rule,
                   struct bytes text);

/* The same keys in the same order, and the same counters; shows where they
 * part. */
void subject_assert_same(const struct collector *expected,
                         const struct collector *found);

#endif
