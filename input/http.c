#include "input/http.h"

#include "input/fields.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_version(struct bytes line)
{
    size_t i = strlen("http/");

    while (i < line.len && (is_digit(line.data[i]) || line.data[i] == '.')) {
        i++;
    }
    return i;
}

/* "HTTP/1.1 200 OK"; the reason may be missing. */
static bool parse_status(struct bytes line, unsigned *status)
{
    size_t i;

    if (!fields_begins(line, "http/")) {
        return false;
    }
    i = skip_version(line);
    if (i == strlen("http/") || i >= line.len || line.data[i] != ' ') {
        return false;
    }
    while (i < line.len && line.data[i] == ' ') {
        i++;
    }
    if (line.len - i < 3 || line.data[i] == '0' || !is_digit(line.data[i]) ||
        !is_digit(line.data[i + 1]) || !is_digit(line.data[i + 2]) ||
        (line.len - i > 3 && line.data[i + 3] != ' ')) {
        return false;
    }
    *status = (unsigned)(line.data[i] - '0') * 100 +
              (unsigned)(line.data[i + 1] - '0') * 10 +
              (unsigned)(line.data[i + 2] - '0');
    return true;
}

static bool coding_of(struct bytes word, enum decode_kind *kind)
{
    static const struct {
        const char *name;
        enum decode_kind kind;
    } codings[] = {
        { "gzip", DECODE_GZIP },      { "x-gzip", DECODE_GZIP },
        { "deflate", DECODE_ZLIB },   { "zstd", DECODE_ZSTD },
        { "identity", DECODE_PLAIN },
    };

    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++) {
        if (fields_is(word, codings[i].name)) {
            *kind = codings[i].kind;
            return true;
        }
    }
    return false;
}

/* The words of Content-Encoding or Transfer-Encoding. */
static void add_codings(struct http_head *http, struct bytes list,
                        bool of_transfer)
{
    struct bytes word;

    while (fields_word(&list, &word)) {
        enum decode_kind kind = DECODE_PLAIN;

        if (of_transfer && fields_is(word, "chunked")) {
            http->is_chunked = true;
            continue;
        }
        if (!coding_of(word, &kind) ||
            (kind != DECODE_PLAIN && http->coding != DECODE_PLAIN)) {
            http->is_decodable = false;
        }
        if (kind != DECODE_PLAIN) {
            http->coding = kind;
        }
    }
}

bool http_parse(struct bytes head, struct http_head *http)
{
    struct bytes line;
    struct field field;

    *http = (struct http_head){ .is_decodable = true, .coding = DECODE_PLAIN };
    if (!fields_line(&head, &line) || !parse_status(line, &http->status)) {
        return false;
    }
    while (fields_next(&head, &field)) {
        if (fields_is(field.name, "content-encoding")) {
            add_codings(http, field.value, false);
        } else if (fields_is(field.name, "transfer-encoding")) {
            add_codings(http, field.value, true);
        }
    }
    return true;
}

enum decode_kind http_deflate(struct bytes first)
{
    const unsigned method_deflate = 8;

    if (first.len >= 2 && (first.data[0] & 0x0F) == method_deflate &&
        first.data[0] >> 4 <= 7 &&
        ((unsigned)first.data[0] << 8 | first.data[1]) % 31 == 0) {
        return DECODE_ZLIB;
    }
    return DECODE_DEFLATE;
}
