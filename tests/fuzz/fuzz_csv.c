/*
 * Any bytes as rows of csv or tsv: never a crash, and the same records, or the
 * same refusal, on every vector path and for stretches of any length.
 */
#include "input/csv_index.h"
#include "tests/record_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "a", "b", "a" };

static void compare_paths(enum record_format format,
                          const struct df_columns *columns,
                          struct bytes content)
{
    const struct csv_index_path *path;
    struct buf first = { 0 };

    csv_index_prefer(NULL);
    record_text(&first, format, columns, content, 0);
    for (size_t i = 0; (path = csv_index_path(i)) != NULL; i++) {
        csv_index_prefer(path);
        record_text_must_be(path->name, format, columns, content,
                            buf_bytes(&first));
    }
    buf_fini(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes content = bytes_of(data, size);
    uint8_t how = size > 0 ? data[size - 1] : 0;
    const struct df_columns columns = { .names = names,
                                        .n = how % 4,
                                        .whole = how % 3 == 0 };
    const struct df_columns line = { .names = names, .n = 1 };

    compare_paths(how % 2 == 0 ? RECORD_CSV : RECORD_TSV, &columns, content);
    compare_paths(RECORD_LINES, &line, content);
    return 0;
}
