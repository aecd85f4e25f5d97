/*
 * normal.h: a word's key by the book: letter case and Normalization Form C.
 * Slow and general; most words need none of it (characters.h).
 *
 *   lower  NFC(lower(NFC(word)))   simple mappings, each code point alone
 *   fold   NFC(fold(NFD(word)))    full folding; Unicode's canonical
 *                                  caseless match
 *   keep   NFC(word)
 *
 * Words that are canonically equivalent give the same key, and keys are NFC.
 * Lower-casing comes after composing: U+0130 is `i`, as UnicodeData.txt maps
 * it, however it is written.
 */
#ifndef JOBS_WORDCOUNT_NORMAL_H
#define JOBS_WORDCOUNT_NORMAL_H

#include "base/buf.h"

enum letter_case { CASE_LOWER, CASE_FOLD, CASE_KEEP };

struct normal {
    struct buf text;   /* the word, well-formed UTF-8; then its key */
    struct buf points; /* private */
};
void normal_fini(struct normal *n); /* safe on zeroed memory */

/* Makes the key of n->text, in place. False when memory ran out. */
bool normal_apply(struct normal *n, enum letter_case letter_case);

#endif
