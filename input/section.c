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

static int compare(const void *a, const void *b, void *ctx)
{
    const struct batch_file *files = ctx;
    const size_t *left = a;
    const size_t *right = b;
    int order = section_compare_id(&files[*left], &files[*right]);

    return order != 0 ? order : (*left > *right) - (*left < *right);
}

/* Files are in order of path, and without a manifest ids are paths. */
static bool is_sorted(const struct batch *b)
{
    for (size_t i = 1; i < b->file_count; i++) {
        if (section_compare_id(&b->files[i - 1], &b->files[i]) > 0) {
            return false;
        }
    }
    return true;
}

size_t *section_order_by_id(const struct batch *b)
{
    size_t *order = malloc((b->file_count + 1) * sizeof order[0]);

    if (order == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < b->file_count; i++) {
        order[i] = i;
    }
    if (!is_sorted(b)) {
        qsort_r(order, b->file_count, sizeof order[0], compare, b->files);
    }
    return order;
}
