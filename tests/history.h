/*
 * history.h: random histories of documents, and the batches that tell them.
 *
 *     history_open(&h, root, &history_small, seed);
 *     history_step(&h);            writes DELTAS/batch_1, batch_2 ...
 *     ... h.documents[i].alive, .content; h.survivors is a directory ...
 *     history_erase(&h);           one batch that deletes what is left
 *     history_close(&h);           files stay: they are root's owner's
 *
 * Steps insert, delete and change documents, insert deleted ones again with
 * the content they had, exchange contents, delete what the same batch
 * inserts, and do nothing at all. Batches hold documents as they are or
 * gzipped. The same seed gives the same history. Fails the running cmocka
 * test where files cannot be written.
 */
#ifndef TESTS_HISTORY_H
#define TESTS_HISTORY_H

#include "input_tree.h"
#include "job_conformance.h"

/* What the documents of a history look like. */
struct history_style {
    unsigned documents;   /* ids there are */
    unsigned first;       /* how many the first batch inserts */
    unsigned changes;     /* most documents a batch touches */
    unsigned words;       /* most words of a document */
    unsigned vocabulary;  /* distinct words, about */
    bool is_plain;        /* words and blanks only: many pairs per byte, and
                             never empty */
    bool is_site;         /* HTML pages: most words are links as well */
    size_t stretch;       /* documents hold one stretch of this length that
                             has no place to cut; 0: none */
    unsigned gzip_one_in; /* files of batches; 0: none. Compressed ones are
                             not split */
};

/* Many small documents of every kind of text, with words beyond the store's
 * 511 bytes, many of which share their first 500. */
extern const struct history_style history_small;
/* The same words as the pages of a site that link to each other. */
extern const struct history_style history_site;
/* What gives a job something to map. */
const struct history_style *history_for(const struct df_job *job);
/* Few documents with tens of thousands of distinct words. */
extern const struct history_style history_wide;
/* One document of some MiB with few places to cut. */
extern const struct history_style history_huge;

enum { HISTORY_NAME = 32 };

struct history_document {
    char id[HISTORY_NAME]; /* path below inserted/ and deleted/ */
    struct buf content;    /* the last it had */
    bool alive;
    bool existed;
    bool touched; /* by the step that is being made */
};

struct history {
    const struct history_style *style;
    uint64_t random;
    struct history_document *documents; /* style->documents of them */
    unsigned batches;                   /* made so far */
    unsigned ghosts;
    char deltas[INPUT_TREE_PATH];
    char survivors[INPUT_TREE_PATH]; /* what is alive, as files */
    char batch[INPUT_TREE_PATH];     /* the batch made last */
};

void history_open(struct history *h, const char *root,
                  const struct history_style *style, uint64_t seed);
void history_close(struct history *h);

void history_step(struct history *h);
void history_steps(struct history *h, unsigned n);
void history_erase(struct history *h);
/* One batch that inserts every document that is not there: where there are few
 * of them, chance can have deleted all. */
void history_fill(struct history *h);

/* Adds the deletion of a document that never was to the batch made last. It
 * holds words of the others and one of its own. Returns that word. */
const char *history_haunt(struct history *h);

/* Writes what is alive to another directory. */
void history_write_survivors(const struct history *h, const char *directory);

/* "batch_N" in static room. */
const char *history_batch_name(unsigned number);

/* A seed for this run: $DELTAFOLD_SEED, or the time; printed. */
uint64_t history_seed(void);
/* $DELTAFOLD_HISTORIES times as many, where it is set. */
unsigned history_times(unsigned n);
/* Under a sanitizer, which takes its time: whether, and a tenth of so many. */
bool history_is_sanitized(void);
unsigned history_tenth(unsigned n);

#endif
