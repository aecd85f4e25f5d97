/*
 * view_copy.h: a view copied whole, to be tried out.
 *
 *     view_copy("words", "scratch/words", 10, stop, err);
 *
 * The copy holds the same pages in the same order and the same holes, so that
 * what is measured on it is what the view itself would show; where the file
 * system can, the two share their blocks. The writer's lock is held
 * meanwhile; readers go on. Nothing of the view is written, but for the
 * process's number in its lock file.
 */
#ifndef STATE_VIEW_COPY_H
#define STATE_VIEW_COPY_H

#include <signal.h>

#include "base/error.h"

/* Copies the view at `from` into the directory `to`, which is made, durable
 * when this returns. Waits up to wait_seconds for a writer. On failure `to`
 * may hold a part, which is no view. stop may be NULL. */
enum df_status view_copy(const char *from, const char *to,
                         unsigned wait_seconds,
                         const volatile sig_atomic_t *stop,
                         struct df_error *err) DF_MUST_CHECK;

/* Bytes that all files of a view take on disk, whoever has it open. */
uint64_t view_copy_bytes(const char *path);

#endif
