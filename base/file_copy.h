/*
 * file_copy.h: a file copied with its holes, sharing its blocks where the
 * file system can.
 */
#ifndef BASE_FILE_COPY_H
#define BASE_FILE_COPY_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"

/* Copies the regular file `from`, which no link may lead to, to `to`, which
 * must not exist; is_durable: on disk when this returns. On failure a part
 * may stand at `to`. stop may be NULL; where it is set: DF_INTERRUPTED. */
enum df_status file_copy(const char *from, const char *to, bool is_durable,
                         const volatile sig_atomic_t *stop,
                         struct df_error *err) DF_MUST_CHECK;

#endif
