#include "input/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tsv.h"
#include "deltafold/job.h"
#include "input/refuse.h"
#include "input/section.h"
#include "input/walk.h"

enum {
    MANIFEST_CHUNK = 65536, /* bytes of one read */
    /* Longest line: path and id with every byte escaped, tab and CR. */
    MANIFEST_LINE_MAX = 2 * PATH_MAX + 2 * DF_KEY_MAX + 2
};

struct manifest {
    struct batch *batch;
    struct pool *pool;
    bool tree;
    uint64_t line;     /* the one at hand, from 1 */
    uint64_t *line_of; /* by file: the line that named it, or 0 */
    struct buf text;   /* read, not yet taken; begins with a line */
    struct buf path;   /* of the line at hand, unescaped */
    struct buf id;
};

/* "BATCH/manifest.tsv:LINE: why". */
static enum df_status refuse_line(const struct manifest *m, const char *why,
                                  struct bytes what, struct df_error *err)
{
    struct shown out;
    char place[64];

    (void)snprintf(place, sizeof place, MANIFEST_NAME ":%llu",
                   (unsigned long long)m->line);
    if (what.len == 0) {
        return refuse(err, m->batch->path, place, "%s", why);
    }
    return refuse(err, m->batch->path, place, "'%s' %s", shown(&out, what),
                  why);
}

static enum df_status unescape(const struct manifest *m, struct bytes column,
                               struct buf *out, struct df_error *err)
{
    buf_reset(out);
    if (!buf_reserve(out, column.len)) {
        return error_no_memory(err);
    }
    if (!tsv_unescape(column, out->data, &out->len)) {
        return refuse_line(m,
                           "has a backslash that is none of \\t \\n \\r \\\\",
                           column, err);
    }
    return DF_OK;
}

/* The path of a file as the manifest writes it without a section. */
static struct bytes path_in_section(const struct manifest *m,
                                    const struct batch_file *file)
{
    size_t skip = m->tree ? 0 : strlen(section_name(file->section)) + 1;

    return bytes_of_string(file->path + skip);
}

/* The first file that is not before (section, path). */
static size_t lower_bound(const struct manifest *m, enum batch_section section,
                          struct bytes path)
{
    size_t low = 0;
    size_t high = m->batch->file_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct batch_file *file = &m->batch->files[middle];
        bool is_before =
            file->section != section
                ? file->section < section
                : bytes_compare(path_in_section(m, file), path) < 0;

        if (is_before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Gives the id at hand to one document, if there is such a one. */
static enum df_status name_document(struct manifest *m,
                                    enum batch_section section,
                                    struct bytes path, size_t *named,
                                    struct df_error *err)
{
    size_t i = lower_bound(m, section, path);
    struct batch_file *file = &m->batch->files[i];
    const char *id;

    if (i == m->batch->file_count || file->section != section ||
        !bytes_equal(path_in_section(m, file), path)) {
        return DF_OK;
    }
    if (m->line_of[i] != 0) {
        char why[64];

        (void)snprintf(why, sizeof why, "is listed twice, in line %llu too",
                       (unsigned long long)m->line_of[i]);
        return refuse_line(m, why, buf_bytes(&m->path), err);
    }
    id = pool_copy(m->pool, buf_bytes(&m->id));
    if (id == NULL) {
        return error_no_memory(err);
    }
    file->id = bytes_of(id, m->id.len);
    m->line_of[i] = m->line;
    (*named)++;
    return DF_OK;
}

/* Gives the id at hand to every document that the path at hand names. */
static enum df_status name_documents(struct manifest *m, struct df_error *err)
{
    struct bytes path = buf_bytes(&m->path);
    struct bytes below;
    enum batch_section section;
    enum df_status status;
    size_t named = 0;

    if (m->tree) {
        status = name_document(m, BATCH_INSERTED, path, &named, err);
    } else if (section_of_path(path, &section, &below)) {
        status = name_document(m, section, below, &named, err);
    } else {
        status = name_document(m, BATCH_DELETED, path, &named, err);
        if (status == DF_OK) {
            status = name_document(m, BATCH_INSERTED, path, &named, err);
        }
    }
    if (status == DF_OK && named == 0) {
        return refuse_line(m, "names no document of this batch", path, err);
    }
    return status;
}

static enum df_status take_line(struct manifest *m, struct bytes line,
                                struct df_error *err)
{
    const uint8_t *tab;
    const uint8_t *end;
    enum df_status status;

    m->line++;
    if (line.len > 0 && line.data[line.len - 1] == '\r') {
        line.len--;
    }
    end = line.data + line.len;
    tab = line.len == 0 ? NULL : memchr(line.data, '\t', line.len);
    if (tab == NULL ||
        memchr(tab + 1, '\t', (size_t)(end - tab - 1)) != NULL) {
        return refuse_line(m, "needs a path, one tab and an id",
                           bytes_of(NULL, 0), err);
    }
    status = unescape(m, bytes_of(line.data, (size_t)(tab - line.data)),
                      &m->path, err);
    if (status == DF_OK) {
        status = unescape(m, bytes_of(tab + 1, (size_t)(end - tab - 1)),
                          &m->id, err);
    }
    if (status != DF_OK) {
        return status;
    }
    if (m->path.len == 0 || m->id.len == 0) {
        return refuse_line(
            m, m->path.len == 0 ? "the path is empty" : "the id is empty",
            bytes_of(NULL, 0), err);
    }
    if (m->id.len > DF_KEY_MAX) {
        return refuse_line(m, "has an id longer than 65536 bytes",
                           buf_bytes(&m->path), err);
    }
    return name_documents(m, err);
}

/* Takes the whole lines of m->text; at the end of the file also the rest. */
static enum df_status take_lines(struct manifest *m, bool at_end,
                                 struct df_error *err)
{
    enum df_status status = DF_OK;
    size_t begin = 0;

    if (m->line == 0 && m->text.len >= 3 &&
        memcmp(m->text.data, "\xEF\xBB\xBF", 3) == 0) {
        begin = 3;
    }
    while (status == DF_OK && begin < m->text.len) {
        const uint8_t *line = m->text.data + begin;
        size_t rest = m->text.len - begin;
        const uint8_t *newline = memchr(line, '\n', rest);
        size_t len = newline == NULL ? rest : (size_t)(newline - line);

        if (len > MANIFEST_LINE_MAX) {
            m->line++;
            return refuse_line(m, "is longer than any path and id",
                               bytes_of(NULL, 0), err);
        }
        if (newline == NULL && !at_end) {
            break;
        }
        status = take_line(m, bytes_of(line, len), err);
        begin += len + (newline == NULL ? 0 : 1);
    }
    if (begin > 0) {
        memmove(m->text.data, m->text.data + begin, m->text.len - begin);
        m->text.len -= begin;
    }
    return status;
}

static enum df_status read_lines(struct manifest *m, int fd,
                                 struct df_error *err)
{
    for (;;) {
        enum df_status status;
        ssize_t n;

        if (!buf_reserve(&m->text, MANIFEST_CHUNK)) {
            return error_no_memory(err);
        }
        n = read(fd, m->text.data + m->text.len, MANIFEST_CHUNK);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return refuse_errno(err, m->batch->path, MANIFEST_NAME, errno);
        }
        m->text.len += (size_t)n;
        status = take_lines(m, n == 0, err);
        if (status != DF_OK || n == 0) {
            return status;
        }
    }
}

/* Reads the file, which must be the same after as before. */
static enum df_status read_file(struct manifest *m, int fd,
                                struct df_error *err)
{
    const char *root = m->batch->path;
    struct stat before;
    struct stat after;
    enum df_status status;

    if (fstat(fd, &before) != 0) {
        return refuse_errno(err, root, MANIFEST_NAME, errno);
    }
    status = read_lines(m, fd, err);
    if (status != DF_OK) {
        return status;
    }
    if (fstat(fd, &after) != 0) {
        return refuse_errno(err, root, MANIFEST_NAME, errno);
    }
    if (after.st_size != before.st_size ||
        walk_mtime(&after) != walk_mtime(&before)) {
        return refuse(err, root, MANIFEST_NAME, "changed while it was read");
    }
    return DF_OK;
}

static enum df_status refuse_shared_id(const struct manifest *m,
                                       const struct batch_file *a,
                                       const struct batch_file *b,
                                       struct df_error *err)
{
    struct shown path;
    struct shown id;

    return refuse(err, m->batch->path, a->path, "has the same id as %s: '%s'",
                  shown(&path, bytes_of_string(b->path)), shown(&id, a->id));
}

static enum df_status check_ids(const struct manifest *m, struct df_error *err)
{
    const struct batch_file *files = m->batch->files;
    size_t *order = section_order_by_id(m->batch);
    enum df_status status = DF_OK;

    if (order == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 1; i < m->batch->file_count && status == DF_OK; i++) {
        const struct batch_file *before = &files[order[i - 1]];
        const struct batch_file *file = &files[order[i]];

        if (section_compare_id(before, file) == 0) {
            status = refuse_shared_id(m, before, file, err);
        }
    }
    free(order);
    return status;
}

enum df_status manifest_apply(struct batch *b, struct pool *pool, bool tree,
                              struct df_error *err)
{
    struct manifest m = { .batch = b, .pool = pool, .tree = tree };
    enum df_status status = DF_OK;
    char *path = pool_path(pool, bytes_of_string(b->path),
                           bytes_of_string(MANIFEST_NAME));
    int fd = -1;

    m.line_of = calloc(b->file_count + 1, sizeof m.line_of[0]);
    if (path == NULL || m.line_of == NULL) {
        status = error_no_memory(err);
        goto out;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        status = refuse_errno(err, b->path, MANIFEST_NAME, errno);
        goto out;
    }
    status = read_file(&m, fd, err);
    if (status == DF_OK) {
        status = check_ids(&m, err);
    }
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    free(m.line_of);
    buf_fini(&m.text);
    buf_fini(&m.path);
    buf_fini(&m.id);
    return status;
}
