/*
 * Any bytes as lines of JSON: never a crash, the same records or the same
 * refusal for stretches of any length, and the canonical form of a record is
 * its own canonical form.
 */
#include <stdio.h>
#include <stdlib.h>

#include "input/json.h"
#include "tests/record_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

/* A copy with what may be read behind it, and no more. */
static enum json_result parse(struct json *j, struct bytes text,
                              uint8_t **room)
{
    *room = malloc(text.len + 8);
    if (*room == NULL) {
        fail("no memory");
    }
    memcpy(*room, text.data, text.len);
    memset(*room + text.len, '\\', 8);
    return json_parse(j, bytes_of(*room, text.len));
}

static void canonical(struct bytes text)
{
    struct json j = { 0 };
    struct buf once = { 0 };
    struct buf twice = { 0 };
    uint8_t *a;
    uint8_t *b = NULL;

    if (parse(&j, text, &a) == JSON_OK) {
        if (!json_canonical(&j, 0, &once) ||
            parse(&j, buf_bytes(&once), &b) != JSON_OK ||
            !json_canonical(&j, 0, &twice) ||
            !bytes_equal(buf_bytes(&once), buf_bytes(&twice))) {
            fail("the canonical form is not canonical");
        }
    }
    json_fini(&j);
    buf_fini(&once);
    buf_fini(&twice);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "a", "b" };
    static const struct df_columns columns = { .names = names,
                                               .n = 2,
                                               .whole = true };
    struct bytes content = bytes_of(data, size);
    struct buf first = { 0 };

    record_text(&first, RECORD_NDJSON, &columns, content, 0);
    record_text_must_be("steps", RECORD_NDJSON, &columns, content,
                        buf_bytes(&first));
    buf_fini(&first);
    canonical(content);
    return 0;
}
