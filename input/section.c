#include "input/section.h"

#include <stdlib.h>

const char *section_name(enum batch_section section)
{
    return section == BATCH_DELETED ? "deleted" : "inserted";
}

bool section_of_path(struct bytes path, enum batch_section *section,
                     struct bytes *below)
{
    for (int s = BATCH_DELETED; s <= BATCH_INSERTED; s++) {
        struct bytes name =
            bytes_of_string(section_name((enum batch_section)s));

        if (path.len > name.len && path.data[name.len] == '/' &&
            memcmp(path.data, name.data, name.len) == 0) {
            *section = (enum batch_section)s;
            *below =
                bytes_of(path.data + name.len + 1, path.len - name.len - 1);
            return true;
        }
    }
    return false;
}

int section_compare_id(const struct batch_file *a, const struct batch_file *b)
{
    if (a->section != b->section) {
        return a->section < b->section ? -1 : 1;
    }
    return bytes_compare(a->id, b->id);
}

static int compare(const void *a, const void *b)
{
    const struct batch_file *const *left = a;
    const struct batch_file *const *right = b;
    int order = section_compare_id(*left, *right);

    if (order != 0) {
        return order;
    }
    return (*left > *right) - (*left < *right);
}

/* Files are in order of path, and without a manifest ids are paths. */
static bool is_sorted(const struct batch_file **files, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (section_compare_id(files[i - 1], files[i]) > 0) {
            return false;
        }
    }
    return true;
}

bool section_sort_by_id(const struct batch *b,
                        const struct batch_file ***sorted)
{
    *sorted = malloc((b->file_count + 1) * sizeof(*sorted)[0]);
    if (*sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < b->file_count; i++) {
        (*sorted)[i] = &b->files[i];
    }
    if (!is_sorted(*sorted, b->file_count)) {
        qsort(*sorted, b->file_count, sizeof(*sorted)[0], compare);
    }
    return true;
}
