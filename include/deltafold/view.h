/*
 * view.h: reading a view from a C program.
 *
 *     struct df_view *view;
 *     struct df_error err;
 *     if (df_view_open(&view, "words", &err) != DF_OK) { ... err.text ... }
 *     int64_t count;
 *     if (df_view_get(view, "tree", 4, NULL, 0, &count, &err) == DF_OK) ...
 *     df_view_close(view);
 *
 * A df_view is a snapshot: it shows the view after one whole batch for as
 * long as it is open, while a writer goes on; df_view_refresh moves it to
 * the newest. It takes no lock, unless a writer has died between two shards:
 * then its batch is finished first. A process opens each view once; a df_view
 * belongs to one thread at a time. Whatever is called may fail with DF_STATE
 * where the view turns out to be damaged, and with DF_SYSTEM where memory or
 * the disk do not do their part. Damage that leads LMDB itself astray ends the
 * process by a signal.
 *
 * Rows that the view's option having= hides are not there for get and each;
 * info counts them. Views of jobs that show lines of their own (aggregate)
 * are rows here as well, all of them, with their numbers as they are stored:
 * a sum is an integer at its scale and two of the values, low half first.
 */
#ifndef DELTAFOLD_VIEW_H
#define DELTAFOLD_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "deltafold/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct df_view;

/* Opens the view in directory path. The handle is the caller's to close.
 * DF_STATE when there is no view or it is damaged. */
DF_PUBLIC enum df_status df_view_open(struct df_view **view, const char *path,
                                      struct df_error *err) DF_MUST_CHECK;
DF_PUBLIC void df_view_close(struct df_view *view); /* takes NULL */

/* Moves the snapshot to the last applied batch. On failure the handle can
 * only be closed. */
DF_PUBLIC enum df_status df_view_refresh(struct df_view *view,
                                         struct df_error *err) DF_MUST_CHECK;

/* Moves the snapshot to the view as it was after a batch, given by its name or
 * as "#12", the twelfth entry of the log; NULL: back to the last one that the
 * snapshot has. DF_LEDGER, with what can be had, when that is not kept; the
 * snapshot then stays where it is. */
DF_PUBLIC enum df_status df_view_at(struct df_view *view, const char *batch,
                                    struct df_error *err) DF_MUST_CHECK;

/* What the view is and where it stands. */
struct df_view_info {
    const char *definition; /* job name, version and options, one line */
    unsigned components;    /* numbers per value */
    int has_element;        /* rows are (key, element), not key alone */
    uint64_t batches;       /* entries in the ledger */
    uint64_t rows;          /* whatever having= hides; but see unfolded */
    uint64_t unfolded; /* 0: rows is exact. Else so many changes of rows are
                          not folded in yet, each of which may add a row or
                          take one away; df_view_get and _each see them */
    unsigned char digest[16]; /* of all rows; equal views, equal digests */
};
/* Where the snapshot stands; after df_view_at, where it stood then. Strings
 * hold until the handle is closed. */
DF_PUBLIC void df_view_info(const struct df_view *view,
                            struct df_view_info *info);

/* One row's values, info.components numbers. DF_DIFFERS when there is no
 * such row (values are then zeroed). element is ignored for jobs without. */
DF_PUBLIC enum df_status df_view_get(struct df_view *view, const void *key,
                                     size_t key_len, const void *element,
                                     size_t element_len, int64_t *values,
                                     struct df_error *err) DF_MUST_CHECK;

/* A row, borrowed for the duration of the callback. Lengths are in bytes. */
struct df_view_row {
    const unsigned char *key;
    size_t key_len;
    const unsigned char *element; /* of jobs with elements, else empty */
    size_t element_len;
    const int64_t *values; /* info.components of them */
};

/* Calls each with every row whose key begins with prefix (all rows: NULL,
 * 0), in byte order of (key, element), until it returns non-zero, which is
 * DF_OK. */
DF_PUBLIC enum df_status df_view_each(
    struct df_view *view, const void *prefix, size_t prefix_len,
    int (*each)(void *ctx, const struct df_view_row *row), void *ctx,
    struct df_error *err) DF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
