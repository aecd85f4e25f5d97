#include "runtime/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"

/* Some file systems know no O_TMPFILE: there the name is taken away at
 * once. */
static int open_and_unlink(const char *directory)
{
    struct buf path = { 0 };
    int fd = -1;

    if (!buf_printf(&path, "%s/spill.XXXXXX", directory)) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp((char *)path.data, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink((char *)path.data);
    }
    buf_fini(&path);
    return fd;
}

enum df_status spill_file(int *fd, const char *directory, struct df_error *err)
{
    *fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0) {
        *fd = open_and_unlink(directory);
    }
    if (*fd < 0) {
        return error_errno(err, errno, "%s: making a spill file", directory);
    }
    return DF_OK;
}
