/*
 * Any bytes as an archive, compressed or not: never a crash, and the same
 * documents, or a refusal, whether the bytes come one by one, by sevens or
 * at once. (Which fault is named may differ: of corrupt compressed bytes a
 * decoder gives more before it sees that they are, if it has fewer at once.)
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "tests/warc_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What came of one reading. */
struct outcome {
    enum df_status status;
    struct df_error err;
    struct hash128 documents; /* of all of them, in order */
    size_t count;
    bool is_cut; /* one was longer than is looked at */
};

static void visit(void *ctx, struct bytes uri, struct bytes content)
{
    struct outcome *o = ctx;

    o->documents = hash128(uri, o->documents.low);
    o->documents = hash128(content, o->documents.low);
    o->count++;
    o->is_cut =
        o->is_cut || content.len + 64 > (size_t)WARC_MEMORY_CONTENT_MAX;
}

static struct outcome read_by(struct bytes archive, size_t step)
{
    static struct warc_memory *memory;
    struct outcome o = { .status = DF_OK, .err = { "" } };

    if (memory == NULL) {
        memory = warc_memory_open();
    }
    o.status = warc_memory_read(memory, archive, step, visit, &o, &o.err);
    return o;
}

static void compare(const struct outcome *a, const struct outcome *b)
{
    bool differ = a->status != b->status;

    if (a->is_cut || b->is_cut) {
        return;
    }
    if (a->status == DF_OK) {
        differ = differ || a->count != b->count ||
                 !hash128_equal(a->documents, b->documents);
    }
    if (differ) {
        (void)fprintf(stderr, "%zu documents, %s\n%zu documents, %s\n",
                      a->count, a->err.text, b->count, b->err.text);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes archive = bytes_of(data, size);
    struct outcome whole = read_by(archive, SIZE_MAX);
    struct outcome by_one = read_by(archive, 1);
    struct outcome by_seven = read_by(archive, 7);

    compare(&whole, &by_one);
    compare(&whole, &by_seven);
    return 0;
}
