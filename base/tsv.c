#include "base/tsv.h"

bool tsv_append(struct buf *out, struct bytes field)
{
    bool ok = true;

    for (size_t i = 0; ok && i < field.len; i++) {
        char letter = tsv_letter(field.data[i]);

        ok = letter == 0 ? buf_append_byte(out, field.data[i])
                         : buf_append_byte(out, '\\') &&
                               buf_append_byte(out, (uint8_t)letter);
    }
    return ok;
}

bool tsv_unescape(struct bytes field, uint8_t *out, size_t *len)
{
    static const char letters[] = "tnr\\";
    static const char meanings[] = "\t\n\r\\";
    size_t n = 0;

    for (size_t i = 0; i < field.len; i++) {
        uint8_t byte = field.data[i];

        if (byte == '\\') {
            uint8_t letter = ++i < field.len ? field.data[i] : 0;
            const char *at = letter != 0 ? strchr(letters, letter) : NULL;

            if (at == NULL) {
                return false;
            }
            byte = (uint8_t)meanings[at - letters];
        }
        out[n++] = byte;
    }
    *len = n;
    return true;
}

struct bytes tsv_take(struct bytes *rest, bool *more)
{
    const uint8_t *tab =
        rest->len > 0 ? memchr(rest->data, '\t', rest->len) : NULL;
    struct bytes field = *rest;

    *more = tab != NULL;
    *rest = bytes_of(NULL, 0);
    if (*more) {
        size_t len = (size_t)(tab - field.data);

        *rest = bytes_of(tab + 1, field.len - len - 1);
        field.len = len;
    }
    return field;
}
