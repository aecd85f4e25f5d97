/*
 * wordcount_oracle.h: which words a document holds, found the slow way.
 *
 * The oracle decodes a document into code points by trial, takes words by
 * their grammar, and makes keys with utf8proc alone. It shares no code with
 * jobs/wordcount.
 */
#ifndef TESTS_WORDCOUNT_ORACLE_H
#define TESTS_WORDCOUNT_ORACLE_H

#include <utf8proc.h>

#include "job_conformance.h"

/* Options of the job. */
struct oracle_rule {
    const char *tokenizer;
    const char *letter_case;
    unsigned ngram;
};

/* Sets of options that differ in what they exercise. The first three are
 * unicode with each letter case, [3] is unicode with n-grams, [4] ascii,
 * [7] whitespace. */
enum { ORACLE_RULES = 9 };
extern const struct oracle_rule oracle_rules[ORACLE_RULES];

/* Emits the document's keys to out, in order, and sets its counters. */
void oracle_map(const struct oracle_rule *rule, struct bytes s,
                struct collector *out);

/* utf8proc_map with these options; the caller's to free. */
struct buf oracle_mapped(struct bytes in, int bits);
void oracle_append_point(struct buf *out, utf8proc_int32_t c);

#endif
