#include "jobs/aggregate/find.h"

#include "base/tsv.h"
#include "jobs/aggregate/value.h"
#include "jobs/typed.h"

/* Appends the code of a field, as the last part of key or another. */
static enum df_status append_code(struct buf *key, const struct df_field *f,
                                  bool is_last, struct df_error *err)
{
    struct buf code = { 0 };
    enum value_fault fault = value_append(&code, f);
    bool ok = true;

    if (fault == VALUE_OK && is_last) {
        ok = code.len == 0 || buf_append(key, code.data, code.len);
    } else if (fault == VALUE_OK) {
        ok = value_append_part(key, buf_bytes(&code));
    }
    buf_fini(&code);
    if (fault == VALUE_BAD_NUMBER) {
        return typed_refuse(bytes_of(f->data, f->len),
                            "has too many digits or too great an exponent",
                            err);
    }
    return ok && fault == VALUE_OK ? DF_OK : error_no_memory(err);
}

static enum df_status append_field(const struct query *p, struct buf *key,
                                   struct bytes column, bool is_last,
                                   struct df_error *err)
{
    struct buf room = { 0 };
    struct df_field field;
    enum df_status status =
        typed_read(&room, column, p->is_ndjson, &field, err);

    if (status == DF_OK) {
        status = append_code(key, &field, is_last, err);
    }
    buf_fini(&room);
    return status;
}

static enum df_status wrong_columns(const struct query *p, struct bytes text,
                                    struct df_error *err)
{
    struct shown s;

    if (p->by_count == 0) {
        return error_set(
            err, DF_USAGE,
            "KEY '%s': all records are one group, whose key is ''",
            shown(&s, text));
    }
    return error_set(err, DF_USAGE,
                     "KEY '%s': a key of this view has %u column%s%s",
                     shown(&s, text), p->by_count, p->by_count == 1 ? "" : "s",
                     p->by_count == 1 ? "; a TAB in it is written \\t"
                                      : ", with a TAB between");
}

enum df_status find_key(const struct query *p, struct bytes text,
                        struct buf *key, struct df_error *err)
{
    struct bytes rest = text;
    bool more = p->by_count > 0 || text.len > 0;

    buf_reset(key);
    if (!buf_reserve(key, 1)) {
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < p->by_count; i++) {
        struct bytes column = tsv_take(&rest, &more);
        bool is_last = i + 1 == p->by_count;
        enum df_status status;

        if (is_last == more) {
            return wrong_columns(p, text, err);
        }
        status = append_field(p, key, column, is_last, err);
        if (status != DF_OK) {
            return status;
        }
    }
    return more ? wrong_columns(p, text, err) : DF_OK;
}
