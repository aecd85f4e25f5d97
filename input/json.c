#include "input/json.h"

#include <stdlib.h>

#include "base/json_text.h"
#include "base/number.h"
#include "base/utf8.h"
#include "input/grow.h"
#include "input/json_members.h"

/* The text being parsed, and where. */
struct scan {
    struct json *j;
    const uint8_t *data;
    size_t len;
    size_t at;
    unsigned depth;
    bool no_memory;
};

void json_fini(struct json *j)
{
    free(j->nodes);
    free(j->members);
    buf_fini(&j->names);
    *j = (struct json){ 0 };
}

static bool bad(struct scan *s, const char *why)
{
    s->j->why = why;
    s->j->why_at = s->at;
    return false;
}

static bool no_memory(struct scan *s)
{
    s->no_memory = true;
    return false;
}

static bool grow_nodes(struct scan *s)
{
    struct json *j = s->j;
    struct json_node *nodes =
        grow_array(j->nodes, &j->capacity, j->count, sizeof nodes[0]);

    if (nodes == NULL) {
        return no_memory(s);
    }
    j->nodes = nodes;
    return true;
}

static inline bool add_node(struct scan *s, enum json_kind kind, size_t at,
                            size_t len, bool is_escaped)
{
    struct json *j = s->j;

    if (j->count == j->capacity && !grow_nodes(s)) {
        return false;
    }
    j->nodes[j->count++] = (struct json_node){
        .at = (uint32_t)at,
        .len = (uint32_t)len,
        .nodes = 1,
        .kind = (uint8_t)kind,
        .is_escaped = is_escaped,
    };
    return true;
}

static inline uint8_t peek(const struct scan *s)
{
    return s->at < s->len ? s->data[s->at] : 0;
}

static inline bool is_blank(uint8_t c)
{
    /* Nearly all bytes that are none are above. */
    return c <= ' ' && (c == ' ' || c == '\t' || c == '\r' || c == '\n');
}

static inline void skip_blanks(struct scan *s)
{
    while (s->at < s->len && is_blank(s->data[s->at])) {
        s->at++;
    }
}

/* ---- strings ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* How many of the next eight bytes are ordinary: from U+0020 to U+007F, no
 * quote and no backslash. (Bytes behind the first that is not may be taken
 * for one that is not, too: only the first counts.) */
static inline unsigned ordinary(const uint8_t *p)
{
    uint64_t x;
    uint64_t quote;
    uint64_t backslash;
    uint64_t found;

    memcpy(&x, p, sizeof x);
    quote = x ^ EACH('"');
    backslash = x ^ EACH('\\');
    found = (x | ((quote - EACH(1)) & ~quote) |
             ((backslash - EACH(1)) & ~backslash) | ((x - EACH(0x20)) & ~x)) &
            EACH(0x80);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return found == 0 ? 8 : 0; /* borrows run the other way: byte by byte */
#else
    return found == 0 ? 8 : (unsigned)__builtin_ctzll(found) / 8;
#endif
}

static bool scan_escape(struct scan *s)
{
    const char *why;
    uint32_t point;
    size_t n =
        json_text_read_escape(s->data + s->at, s->len - s->at, &point, &why);

    if (n == 0) {
        return bad(s, why);
    }
    s->at += n;
    return true;
}

/* A byte of a string that is not ordinary, and not the quote that ends it. */
static bool scan_special(struct scan *s, bool *is_escaped)
{
    uint8_t c = s->data[s->at];
    uint32_t point;
    size_t n;

    if (c == '\\') {
        *is_escaped = true;
        return scan_escape(s);
    }
    if (c < 0x20) {
        return bad(s, "control character in a string");
    }
    n = utf8_decode(s->data + s->at, s->len - s->at, &point);
    if (point == UTF8_BAD) {
        return bad(s, "bytes that are not UTF-8");
    }
    s->at += n;
    return true;
}

static bool scan_string(struct scan *s)
{
    size_t begin = ++s->at;
    bool is_escaped = false;

    for (;;) {
        unsigned n = ordinary(s->data + s->at);

        if (s->at + n >= s->len) {
            s->at = s->len;
            return bad(s, "a string that does not end");
        }
        s->at += n;
        if (n == 8) {
            continue;
        }
        if (s->data[s->at] == '"') {
            break;
        }
        if (!scan_special(s, &is_escaped)) {
            return false;
        }
    }
    s->at++;
    return add_node(s, JSON_STRING, begin, s->at - 1 - begin, is_escaped);
}

/* ---- other values ---- */

static bool scan_number(struct scan *s)
{
    enum number_result result;
    size_t n = number_scan(bytes_of(s->data + s->at, s->len - s->at), &result);

    if (result == NUMBER_HUGE_EXPONENT) {
        return bad(s, "a number whose exponent has more than 18 digits");
    }
    if (n == 0) {
        return bad(s, "not a number");
    }
    s->at += n;
    return add_node(s, JSON_NUMBER, s->at - n, n, false);
}

static bool scan_literal(struct scan *s, const char *word, enum json_kind kind)
{
    size_t n = strlen(word);

    if (s->len - s->at < n || memcmp(s->data + s->at, word, n) != 0) {
        return bad(s, "not a value");
    }
    s->at += n;
    return add_node(s, kind, s->at - n, n, false);
}

static bool scan_value(struct scan *s);

static bool scan_member(struct scan *s)
{
    if (peek(s) != '"') {
        return bad(s, "a member without a name in quotes");
    }
    if (!scan_string(s)) {
        return false;
    }
    skip_blanks(s);
    if (peek(s) != ':') {
        return bad(s, "no ':' behind a member's name");
    }
    s->at++;
    skip_blanks(s);
    return scan_value(s);
}

/* Two members of the same name: which one is meant? */
static bool check_names(struct scan *s, size_t object)
{
    size_t twice;

    switch (json_members_check(s->j, object, &twice)) {
    case JSON_OK:
        return true;
    case JSON_BAD:
        s->at = s->j->nodes[twice].at;
        return bad(s, "two members of the same name");
    case JSON_NO_MEMORY:
    default:
        return no_memory(s);
    }
}

/* Of an array or object whose node is there: what stands between its
 * brackets, and the closing one. */
static bool scan_items(struct scan *s, bool is_object)
{
    uint8_t closing = is_object ? '}' : ']';

    skip_blanks(s);
    if (peek(s) == closing) {
        s->at++;
        return true;
    }
    for (;;) {
        if (!(is_object ? scan_member(s) : scan_value(s))) {
            return false;
        }
        skip_blanks(s);
        if (peek(s) == closing) {
            s->at++;
            return true;
        }
        if (peek(s) != ',') {
            return bad(s, is_object ? "neither ',' nor '}' behind a member"
                                    : "neither ',' nor ']' behind an element");
        }
        s->at++;
        skip_blanks(s);
    }
}

static bool scan_nested(struct scan *s, bool is_object)
{
    size_t node = s->j->count;
    size_t begin = s->at;

    if (s->depth == JSON_DEPTH_MAX) {
        return bad(s, "more than 512 arrays and objects in each other");
    }
    if (!add_node(s, is_object ? JSON_OBJECT : JSON_ARRAY, begin, 0, false)) {
        return false;
    }
    s->depth++;
    s->at++;
    if (!scan_items(s, is_object)) {
        return false;
    }
    s->depth--;
    s->j->nodes[node].len = (uint32_t)(s->at - begin);
    s->j->nodes[node].nodes = (uint32_t)(s->j->count - node);
    return !is_object || check_names(s, node);
}

static bool scan_value(struct scan *s)
{
    switch (peek(s)) {
    case '"':
        return scan_string(s);
    case '{':
        return scan_nested(s, true);
    case '[':
        return scan_nested(s, false);
    case 't':
        return scan_literal(s, "true", JSON_TRUE);
    case 'f':
        return scan_literal(s, "false", JSON_FALSE);
    case 'n':
        return scan_literal(s, "null", JSON_NULL);
    default:
        break;
    }
    if (s->at == s->len) {
        return bad(s, "ends where a value must be");
    }
    return peek(s) == '-' || (peek(s) >= '0' && peek(s) <= '9')
               ? scan_number(s)
               : bad(s, "not a value");
}

enum json_result json_parse(struct json *j, struct bytes text)
{
    struct scan s = { .j = j, .data = text.data, .len = text.len };
    bool ok;

    j->text = text;
    j->count = 0;
    j->why = NULL;
    skip_blanks(&s);
    ok = scan_value(&s);
    if (ok) {
        skip_blanks(&s);
        ok = s.at == s.len || bad(&s, "text behind the value");
    }
    if (s.no_memory) {
        return JSON_NO_MEMORY;
    }
    return ok ? JSON_OK : JSON_BAD;
}

size_t json_unescape(struct bytes raw, uint8_t *out)
{
    size_t len = 0;

    (void)json_text_unescape(raw, out, &len); /* it has been scanned */
    return len;
}
