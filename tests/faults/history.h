/*
 * history.h: a small history that crash tests live through: two batches and
 * the documents that survive them, the same every time. The second batch
 * deletes a third of the first's documents, changes a third, and adds as
 * many new ones. Among the words are some longer than a key of the store.
 */
#ifndef FAULTS_HISTORY_H
#define FAULTS_HISTORY_H

/* Directories to make: two batches, and a tree of documents. */
void history_make(const char *first, const char *second,
                  const char *documents);

/* The same for views of first records, csv with the columns id and at. The
 * second batch has every outcome there is, and moves the window. */
void history_make_records(const char *first, const char *second);

#endif
