#include "runtime/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_copy.h"
#include "input/manifest.h"

enum {
    DIRECTORY_MODE = 0777,  /* less the umask */
    REMOVE_DESCRIPTORS = 16 /* open at once while a tree is removed */
};

static enum df_status join(struct buf *out, const char *directory,
                           const char *name, struct df_error *err)
{
    buf_reset(out);
    return buf_printf(out, "%s/%s", directory, name) && buf_append_byte(out, 0)
               ? DF_OK
               : error_no_memory(err);
}

/* Makes the directories that lead to path, which is written to and restored.
 */
static bool make_way(char *path)
{
    for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        bool ok;

        *p = '\0';
        ok = mkdir(path, DIRECTORY_MODE) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* No link can be had, but a copy can. */
static bool wants_copy(int errnum)
{
    return errnum == EXDEV || errnum == EPERM || errnum == EMLINK ||
           errnum == EOPNOTSUPP || errnum == ENOSYS;
}

static bool link_file(const char *from, char *to)
{
    return link(from, to) == 0 ||
           (errno == ENOENT && make_way(to) && link(from, to) == 0);
}

static enum df_status add_file(const char *from, char *to,
                               const volatile sig_atomic_t *stop,
                               struct df_error *err)
{
    if (link_file(from, to)) {
        return DF_OK;
    }
    if (wants_copy(errno) && make_way(to)) {
        return file_copy(from, to, false, stop, err);
    }
    return error_errno(err, errno, "%s: cannot link it to %s", from, to);
}

enum df_status mirror_add(const struct batch *documents,
                          const struct delta_share *share, const char *to,
                          const volatile sig_atomic_t *stop,
                          struct df_error *err)
{
    enum df_status status = DF_OK;
    struct buf source = { 0 };
    struct buf target = { 0 };

    for (size_t i = 0; status == DF_OK && i < share->count; i++) {
        const char *path = documents->files[share->files[i]].path;

        if (stop != NULL && *stop != 0) {
            status = error_set(err, DF_INTERRUPTED, "interrupted");
            break;
        }
        status = join(&source, documents->path, path, err);
        if (status == DF_OK) {
            status = join(&target, to, path, err);
        }
        if (status == DF_OK) {
            status = add_file((const char *)source.data, (char *)target.data,
                              stop, err);
        }
    }
    buf_fini(&source);
    buf_fini(&target);
    return status;
}

enum df_status mirror_drop(const struct batch *documents,
                           const struct delta_share *share, const char *to,
                           struct df_error *err)
{
    enum df_status status = DF_OK;
    struct buf target = { 0 };

    for (size_t i = 0; status == DF_OK && i < share->count; i++) {
        status =
            join(&target, to, documents->files[share->files[i]].path, err);
        if (status == DF_OK && unlink((const char *)target.data) != 0) {
            status = error_errno(err, errno, "%s", (const char *)target.data);
        }
    }
    buf_fini(&target);
    return status;
}

bool mirror_can_link(const struct batch *documents, const char *to)
{
    struct buf source = { 0 };
    struct buf target = { 0 };
    struct df_error ignored;
    bool can = documents->file_count > 0 &&
               join(&source, documents->path, documents->files[0].path,
                    &ignored) == DF_OK &&
               join(&target, to, "link", &ignored) == DF_OK &&
               link((const char *)source.data, (const char *)target.data) == 0;

    if (can) {
        (void)unlink((const char *)target.data);
    }
    buf_fini(&source);
    buf_fini(&target);
    return can;
}

/* ---- manifest ---- */

static bool put_escaped(struct buf *out, struct bytes text)
{
    static const char raw[] = "\t\n\r\\";
    static const char letters[] = "tnr\\";
    bool ok = true;

    for (size_t i = 0; ok && i < text.len; i++) {
        const char *at = memchr(raw, text.data[i], sizeof raw - 1);

        ok = at == NULL ? buf_append_byte(out, text.data[i])
                        : buf_printf(out, "\\%c", letters[at - raw]);
    }
    return ok;
}

static bool put_line(struct buf *out, const char *section,
                     const struct batch_file *file)
{
    struct bytes path = bytes_of_string(file->path);

    return bytes_equal(path, file->id) ||
           (buf_append_string(out, section) && put_escaped(out, path) &&
            buf_append_byte(out, '\t') && put_escaped(out, file->id) &&
            buf_append_byte(out, '\n'));
}

/* Both shares are in order, and one is part of the other. */
static bool put_part(struct buf *out, const struct batch *documents,
                     const struct mirror_part *part)
{
    size_t k = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < part->share->count; i++) {
        size_t file = part->share->files[i];

        if (part->without != NULL && k < part->without->count &&
            part->without->files[k] == file) {
            k++;
        } else {
            ok = put_line(out, part->section, &documents->files[file]);
        }
    }
    return ok;
}

static enum df_status write_file(const char *path, struct bytes text,
                                 struct df_error *err)
{
    FILE *f = fopen(path, "we");
    bool ok;

    if (f == NULL) {
        return error_errno(err, errno, "%s", path);
    }
    ok = fwrite(text.data, 1, text.len, f) == text.len;
    if (fclose(f) != 0 || !ok) {
        return error_errno(err, errno, "%s", path);
    }
    return DF_OK;
}

enum df_status mirror_manifest(const struct batch *documents,
                               const struct mirror_part *parts, size_t n,
                               const char *directory, struct df_error *err)
{
    struct buf path = { 0 };
    struct buf text = { 0 };
    bool ok = true;
    enum df_status status = join(&path, directory, MANIFEST_NAME, err);

    for (size_t i = 0; ok && i < n; i++) {
        ok = put_part(&text, documents, &parts[i]);
    }
    if (status == DF_OK && !ok) {
        status = error_no_memory(err);
    } else if (status == DF_OK && text.len > 0) {
        status = write_file((const char *)path.data, buf_bytes(&text), err);
    } else if (status == DF_OK) {
        (void)unlink((const char *)path.data);
    }
    buf_fini(&path);
    buf_fini(&text);
    return status;
}

/* ---- removal ---- */

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void mirror_remove(const char *path)
{
    (void)nftw(path, remove_one, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
