/*
 * Decimal numbers of any bytes: what is one has a code that comes back, in
 * its place among others, and the same value at a scale whatever its form.
 * And keys as users write them, and rows that no job wrote.
 */
#include <stdlib.h>

#include "jobs/aggregate/decimal.h"
#include "jobs/aggregate/find.h"
#include "jobs/aggregate/value.h"
#include "jobs/registry.h"

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* The canonical text of a number has the same code. */
static void check_code(struct bytes text)
{
    struct decimal d;
    struct decimal again;
    uint8_t *code;
    uint8_t *back;
    uint8_t *same;
    size_t len;
    size_t text_len;

    if (decimal_split(text, &d) != DECIMAL_OK) {
        return;
    }
    code = malloc(decimal_code_room(d.digits));
    same = malloc(decimal_code_room(d.digits));
    must(code != NULL && same != NULL);
    len = decimal_encode(&d, code);
    must(len <= decimal_code_room(d.digits));
    back = malloc(decimal_decode_room(len));
    must(back != NULL);
    text_len = decimal_decode(bytes_of(code, len), back);
    must(text_len > 0 && text_len <= decimal_decode_room(len));
    must(decimal_split(bytes_of(back, text_len), &again) == DECIMAL_OK);
    must(again.digits == d.digits && decimal_encode(&again, same) == len &&
         memcmp(code, same, len) == 0);
    free(code);
    free(same);
    free(back);
}

static void check_sum(struct bytes text, unsigned scale)
{
    uint8_t out[DECIMAL_TEXT_MAX];
    decimal_wide v;
    decimal_wide again;

    if (decimal_parse(text, scale, &v) == DECIMAL_OK) {
        size_t len = decimal_text(out, v, scale);

        must(len <= sizeof out);
        must(decimal_parse(bytes_of(out, len), scale, &again) == DECIMAL_OK);
        must(v == again);
        must(decimal_quotient(out, v, scale, 1 + (int64_t)text.len) <=
             sizeof out);
    }
}

/* Codes that nobody wrote are refused or shown, and do no harm. */
static void check_foreign(struct bytes code)
{
    struct buf room = { 0 };
    struct df_cell cell;
    struct bytes rest = code;
    struct bytes part;

    (void)(value_cell(code, &room, &cell) == DF_OK);
    buf_reset(&room);
    while (rest.len > 0 && value_take_part(&rest, &room, &part)) {
        (void)part;
    }
    buf_fini(&room);
}

static void check_key(struct bytes text, const char *format)
{
    const char *const given[] = { "by=a,b", format };
    static struct jobspec specs[2];
    struct jobspec *spec = &specs[format[7] == 'n'];
    struct buf key = { 0 };
    struct df_error err;

    if (spec->job == NULL) {
        must(jobspec_open(spec, registry_find("aggregate"), given, 2, &err) ==
             DF_OK);
    }
    (void)!find_key(spec->config, text, &key, &err);
    buf_fini(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = bytes_of(data, size);

    check_code(text);
    check_sum(text, size > 0 ? data[0] % (DECIMAL_SCALE_MAX + 1) : 0);
    check_foreign(text);
    check_key(text, "format=csv");
    check_key(text, "format=ndjson");
    return 0;
}
