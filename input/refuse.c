#include "input/refuse.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

/* The path as a message shows it. */
static const char *place(struct shown *out, const char *root, const char *path)
{
    char full[PATH_MAX];

    if (path == NULL || path[0] == '\0') {
        return shown(out, bytes_of_string(root));
    }
    /* What does not fit here would not be shown in full either. */
    (void)snprintf(full, sizeof full, "%s/%s", root, path);
    return shown(out, bytes_of_string(full));
}

enum df_status refuse(struct df_error *err, const char *root, const char *path,
                      const char *format, ...)
{
    struct shown out;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return error_prefix(err, DF_INPUT, "%s", place(&out, root, path));
}

enum df_status refuse_at_line(struct df_error *err, const char *root,
                              const char *path, uint64_t line)
{
    struct shown out;

    return error_prefix(err, DF_INPUT, "%s:%llu", place(&out, root, path),
                        (unsigned long long)line);
}

static bool is_of_the_system(int errnum)
{
    return errnum == ENOMEM || errnum == EMFILE || errnum == ENFILE ||
           errnum == EIO;
}

enum df_status refuse_errno(struct df_error *err, const char *root,
                            const char *path, int errnum)
{
    struct shown out;
    enum df_status status =
        error_errno(err, errnum, "%s", place(&out, root, path));

    return is_of_the_system(errnum) ? status : DF_INPUT;
}
