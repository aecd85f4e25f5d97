#include "cli/json.h"

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utf8.h"

enum {
    PIECE = 4096,                            /* bytes escaped at a time */
    PIECE_ESCAPED = JSON_TEXT_ESCAPE * PIECE /* the most they become */
};

static void put_piece(struct output *out, struct bytes b)
{
    uint8_t *p = (uint8_t *)output_room(out, PIECE_ESCAPED);

    for (size_t i = 0; i < b.len; i++) {
        uint8_t byte = b.data[i];

        /* DEL is allowed in JSON, but a terminal acts on it. */
        if (json_text_is_special(byte) || byte == 0x7f) {
            p = json_text_escape(p, byte);
        } else {
            *p++ = byte;
        }
    }
    output_filled(out, (char *)p);
}

void json_put_string(struct output *out, struct bytes utf8)
{
    output_byte(out, '"');
    for (size_t i = 0; i < utf8.len; i += PIECE) {
        size_t left = utf8.len - i;

        put_piece(out, bytes_of(utf8.data + i, left < PIECE ? left : PIECE));
    }
    output_byte(out, '"');
}

void json_put_base64(struct output *out, struct bytes b)
{
    output_byte(out, '"');
    for (size_t i = 0; i < b.len; i += 3) {
        char *p = output_room(out, BASE64_GROUP);

        base64_group(p, b.data + i, b.len - i < 3 ? b.len - i : 3);
        output_filled(out, p + BASE64_GROUP);
    }
    output_byte(out, '"');
}

/* The comma before and the name of what comes now. */
static void begin(struct json *j, const char *name, const char *suffix)
{
    if (j->comma) {
        output_byte(j->out, ',');
    }
    j->comma = true;
    if (name != NULL) {
        output_byte(j->out, '"');
        output_text(j->out, name);
        output_text(j->out, suffix);
        output_text(j->out, "\":");
    }
}

void json_open(struct json *j, const char *name)
{
    begin(j, name, "");
    output_byte(j->out, '{');
    j->comma = false;
}

void json_close(struct json *j)
{
    output_byte(j->out, '}');
    j->comma = true;
}

void json_open_array(struct json *j, const char *name)
{
    begin(j, name, "");
    output_byte(j->out, '[');
    j->comma = false;
}

void json_close_array(struct json *j)
{
    output_byte(j->out, ']');
    j->comma = true;
}

void json_line(struct json *j)
{
    output_byte(j->out, '\n');
    j->comma = false;
}

void json_bytes(struct json *j, const char *name, struct bytes b)
{
    if (utf8_is_well_formed(b.data, b.len)) {
        begin(j, name, "");
        json_put_string(j->out, b);
    } else {
        begin(j, name, "_base64");
        json_put_base64(j->out, b);
    }
}

void json_text(struct json *j, const char *name, const char *text)
{
    json_bytes(j, name, bytes_of_string(text));
}

void json_uint(struct json *j, const char *name, uint64_t v)
{
    begin(j, name, "");
    output_filled(j->out, output_digits_unsigned(
                              output_room(j->out, OUTPUT_DIGITS_MAX), v));
}

void json_int(struct json *j, const char *name, int64_t v)
{
    begin(j, name, "");
    output_filled(j->out,
                  output_digits(output_room(j->out, OUTPUT_DIGITS_MAX), v));
}

void json_bool(struct json *j, const char *name, bool v)
{
    begin(j, name, "");
    output_text(j->out, v ? "true" : "false");
}

void json_null(struct json *j, const char *name)
{
    begin(j, name, "");
    output_text(j->out, "null");
}

void json_hash(struct json *j, const char *name, struct hash128 h)
{
    char text[HASH128_TEXT];

    json_text(j, name, hash128_text(text, h));
}
