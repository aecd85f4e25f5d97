#include "cli/json.h"

enum {
    PIECE = 4096,             /* bytes escaped at a time */
    PIECE_ESCAPED = 6 * PIECE /* the most they become */
};

/* Bytes that one of UTF-8's sequences at p takes, 0 when there is none. */
static size_t sequence(const uint8_t *p, size_t left)
{
    size_t len;

    if (p[0] < 0x80) {
        return 1;
    }
    if (p[0] < 0xc2 || p[0] > 0xf4) {
        return 0;
    }
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (len > left) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Overlong forms, surrogates, beyond U+10FFFF. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) {
        return 0;
    }
    return len;
}

bool json_is_utf8(struct bytes b)
{
    size_t i = 0;

    while (i < b.len) {
        size_t len = sequence(b.data + i, b.len - i);

        if (len == 0) {
            return false;
        }
        i += len;
    }
    return true;
}

static char *escape(char *p, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[] = "btn?fr"; /* from U+0008 on */

    *p++ = '\\';
    if (byte == '"' || byte == '\\') {
        *p++ = (char)byte;
    } else if (byte >= '\b' && byte <= '\r' && byte != '\v') {
        *p++ = letters[byte - '\b'];
    } else {
        memcpy(p, "u00", 3);
        p[3] = digits[byte >> 4];
        p[4] = digits[byte & 15];
        p += 5;
    }
    return p;
}

static void put_piece(struct output *out, struct bytes b)
{
    char *p = output_room(out, PIECE_ESCAPED);

    for (size_t i = 0; i < b.len; i++) {
        uint8_t byte = b.data[i];

        /* DEL is allowed in JSON, but a terminal acts on it. */
        if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f) {
            p = escape(p, byte);
        } else {
            *p++ = (char)byte;
        }
    }
    output_filled(out, p);
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

/* One to three bytes as four characters. */
static void base64_group(char out[4], const uint8_t *in, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t v = (uint32_t)in[0] << 16;

    v |= n > 1 ? (uint32_t)in[1] << 8 : 0;
    v |= n > 2 ? in[2] : 0;
    out[0] = digits[v >> 18];
    out[1] = digits[v >> 12 & 63];
    memset(out + 2, '=', 2);
    if (n > 1) {
        out[2] = digits[v >> 6 & 63];
    }
    if (n > 2) {
        out[3] = digits[v & 63];
    }
}

void json_put_base64(struct output *out, struct bytes b)
{
    output_byte(out, '"');
    for (size_t i = 0; i < b.len; i += 3) {
        char *p = output_room(out, 4);

        base64_group(p, b.data + i, b.len - i < 3 ? b.len - i : 3);
        output_filled(out, p + 4);
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
    if (json_is_utf8(b)) {
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
