/*
 * refuse.h: the one form in which input is refused.
 *
 *     return refuse(err, root, path, "dangling symbolic link");
 *
 * gives DF_INPUT and "root/path: dangling symbolic link", the path as the
 * user would write it, control bytes escaped.
 */
#ifndef INPUT_REFUSE_H
#define INPUT_REFUSE_H

#include "base/error.h"

/* path is below root; NULL or empty for root itself. */
enum df_status refuse(struct df_error *err, const char *root, const char *path,
                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "root/path:line: " in front of the message that is there. */
enum df_status refuse_at_line(struct df_error *err, const char *root,
                              const char *path, uint64_t line);

/* The same as refuse with strerror's text. DF_SYSTEM where errnum is trouble
 * of the system itself (memory, descriptors, I/O) and not of the file. */
enum df_status refuse_errno(struct df_error *err, const char *root,
                            const char *path, int errnum);

#endif
