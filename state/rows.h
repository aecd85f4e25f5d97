/*
 * rows.h: the rows of one shard, in one of its two tables, as a sequence in
 * head order. Hides that the store's entries are blocks of rows (block.h).
 *
 * Four ways to use them, one per purpose:
 *
 *     rows_get        one row
 *     rows_reader_*   rows from a head on, in order
 *     rows_writer_*   rows appended to an empty table, packed
 *     rows_editor_*   rows changed in place, in order
 *
 * Rows handed out are borrowed until the next call on the same object. An
 * entry that is damaged or out of order is DF_STATE.
 */
#ifndef STATE_ROWS_H
#define STATE_ROWS_H

#include "state/block.h"
#include "state/store.h"

/* *found: values and the tail are set; the tail points into the
 * transaction. */
enum df_status rows_get(struct store_txn *t, enum store_table table,
                        unsigned components, struct bytes head,
                        int64_t *values, struct bytes *tail, bool *found,
                        struct df_error *err) DF_MUST_CHECK;

/*
 *     rows_reader_open(&r, t, table, rows, components, err);
 *     rows_reader_seek(r, head, &row, err)     first row not before head
 *     rows_reader_next(r, &row, err) ...       NULL past the last
 *     rows_reader_close(r);                    takes NULL
 * `rows` is how many there are: who begins at the empty head and comes to the
 * end has seen so many, or it is DF_STATE.
 */
struct rows_reader;
enum df_status rows_reader_open(struct rows_reader **out, struct store_txn *t,
                                enum store_table table, uint64_t rows,
                                unsigned components,
                                struct df_error *err) DF_MUST_CHECK;
void rows_reader_close(struct rows_reader *r);
enum df_status rows_reader_seek(struct rows_reader *r, struct bytes head,
                                const struct row **row,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status rows_reader_next(struct rows_reader *r, const struct row **row,
                                struct df_error *err) DF_MUST_CHECK;

/*
 * Packs rows that come in order behind everything in the table.
 *     rows_writer_open(&w, t, table, components, err);
 *     rows_writer_add(w, row, err) ...;
 *     rows_writer_end(w, err);     writes the last entry; before the commit
 *     rows_writer_close(w);        takes NULL; before the transaction ends
 * *bytes, where it is not NULL, is raised by what goes to the store.
 */
struct rows_writer;
enum df_status rows_writer_open(struct rows_writer **out, struct store_txn *t,
                                enum store_table table, unsigned components,
                                size_t *bytes,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status rows_writer_add(struct rows_writer *w, const struct row *row,
                               struct df_error *err) DF_MUST_CHECK;
enum df_status rows_writer_end(struct rows_writer *w,
                               struct df_error *err) DF_MUST_CHECK;
void rows_writer_close(struct rows_writer *w);

/*
 * Changes rows in place. Heads must come in ascending order:
 *     rows_editor_open(&e, t, table, components, err);
 *     per head:
 *       rows_editor_find(e, head, &old, err);   NULL where there is no row
 *       rows_editor_put(e, row, err);           the row as it is to be
 *     rows_editor_end(e, err);                  writes what is left
 *     rows_editor_close(e);                     takes NULL
 *
 * A row that was found goes unless something is put; what is put after a find
 * of NULL is new.
 */
struct rows_editor;
enum df_status rows_editor_open(struct rows_editor **out, struct store_txn *t,
                                enum store_table table, unsigned components,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status rows_editor_find(struct rows_editor *e, struct bytes head,
                                const struct row **old,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status rows_editor_put(struct rows_editor *e, const struct row *row,
                               struct df_error *err) DF_MUST_CHECK;
enum df_status rows_editor_end(struct rows_editor *e,
                               struct df_error *err) DF_MUST_CHECK;
void rows_editor_close(struct rows_editor *e);

/* DF_STATE, and what is said of a row that is not as it was written. */
enum df_status rows_damaged(struct df_error *err);

#endif
