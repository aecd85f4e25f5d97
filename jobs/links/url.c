/*
 * A reference is looked at once, byte by byte in a table: which classes of
 * bytes are there, and is there a dot behind a slash. Most have nothing that
 * is escaped, decoded or left out; their path and query are copied whole.
 * The others take the same way, only that their parts are written segment by
 * segment and byte by byte.
 *
 * Room for the longest result is made once, so nothing behind that can run
 * out of memory but for a domain (url_idn.h), and everything writes through
 * one pointer, `o`.
 *
 * Words in quotation marks are states of the standard's basic URL parser.
 */
#include "jobs/links/url.h"

#include "jobs/links/url_chars.h"
#include "jobs/links/url_host.h"
/* The one UTF-8 decoder there is; it counts ill-formed bytes as the WHATWG
 * Encoding standard does. */
#include "base/utf8.h"

/* A longer reference could overflow the arithmetic of its room. */
#define LENGTH_MAX (SIZE_MAX / 64)

struct reference {
    struct bytes text; /* without fragment and what is stripped */
    unsigned seen;     /* enum url_char bits of its bytes */
    bool is_dotted;    /* a dot begins a segment; not told behind "\" */
};

/* ---- what is there ---- */

static uint8_t *write_bytes(uint8_t *o, struct bytes text)
{
    if (text.len > 0) {
        memcpy(o, text.data, text.len);
    }
    return o + text.len;
}

static struct reference look_at(struct bytes text)
{
    struct reference ref = { .text = text };
    unsigned before = URL_CHAR_SLASH;
    unsigned dotted = 0;
    size_t i;

    for (i = 0; i < text.len; i++) {
        unsigned is = url_chars[text.data[i]];

        if ((is & URL_CHAR_HASH) != 0) {
            break;
        }
        dotted |= before << 1 & is;
        ref.seen |= is;
        before = is;
    }
    ref.text.len = i;
    ref.is_dotted = (dotted & URL_CHAR_DOT) != 0;
    return ref;
}

static bool is_stripped(uint8_t byte)
{
    return byte <= ' ';
}

/* Controls and spaces at the ends do not count; in front of a fragment they
 * are not at the end. */
static struct reference strip(struct bytes href)
{
    struct reference ref;

    while (href.len > 0 && is_stripped(href.data[0])) {
        href = bytes_of(href.data + 1, href.len - 1);
    }
    ref = look_at(href);
    if ((ref.seen & URL_CHAR_ODD) != 0 && ref.text.len == href.len) {
        while (is_stripped(ref.text.data[ref.text.len - 1])) {
            ref.text.len--;
        }
    }
    return ref;
}

/* The reference without tabs and line ends and with U+FFFD for what is not
 * UTF-8, copied to `to`. */
static struct reference repaired(struct reference ref, uint8_t *to)
{
    static const uint8_t replacement[] = { 0xef, 0xbf, 0xbd };
    struct bytes text = ref.text;
    uint8_t *o = to;
    uint32_t point;
    size_t len;

    for (size_t i = 0; i < text.len; i += len) {
        len = utf8_decode(text.data + i, text.len - i, &point);
        if (point == UTF8_BAD) {
            o = write_bytes(o, bytes_of(replacement, sizeof replacement));
        } else if (!url_char_is(text.data[i], URL_CHAR_BLANK)) {
            o = write_bytes(o, bytes_of(text.data + i, len));
        }
    }
    return look_at(bytes_of(to, (size_t)(o - to)));
}

/* ---- scheme ---- */

enum scheme { SCHEME_NONE, SCHEME_HTTP, SCHEME_HTTPS, SCHEME_OTHER };

static const struct {
    struct bytes text;
    unsigned port;
} schemes[] = {
    [SCHEME_HTTP] = { { (const uint8_t *)"http://", 7 }, 80 },
    [SCHEME_HTTPS] = { { (const uint8_t *)"https://", 8 }, 443 },
};

static bool is_letter(uint8_t byte)
{
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

static enum scheme scheme_named(const uint8_t *name, size_t len)
{
    static const char known[] = "https";

    if (len != 4 && len != 5) {
        return SCHEME_OTHER;
    }
    for (size_t i = 0; i < len; i++) {
        if ((name[i] | 0x20) != known[i]) {
            return SCHEME_OTHER;
        }
    }
    return len == 4 ? SCHEME_HTTP : SCHEME_HTTPS;
}

/* Takes "scheme:" off text, if it begins with one. */
static enum scheme take_scheme(struct bytes *text)
{
    enum scheme scheme;
    size_t i = 0;

    if (text->len == 0 || !is_letter(text->data[0])) {
        return SCHEME_NONE;
    }
    while (i < text->len && url_char_is(text->data[i], URL_CHAR_SCHEME)) {
        i++;
    }
    if (i == text->len || text->data[i] != ':') {
        return SCHEME_NONE;
    }
    scheme = scheme_named(text->data, i);
    *text = bytes_of(text->data + i + 1, text->len - i - 1);
    return scheme;
}

static enum scheme scheme_of(const struct url_base *base)
{
    if (base == NULL || base->text.len == 0) {
        return SCHEME_NONE;
    }
    return base->text.data[4] == 's' ? SCHEME_HTTPS : SCHEME_HTTP;
}

/* ---- path and query ---- */

static size_t segment_length(struct bytes path, bool is_odd)
{
    const uint8_t *slash;

    if (!is_odd) {
        slash = memchr(path.data, '/', path.len);
        return slash != NULL ? (size_t)(slash - path.data) : path.len;
    }
    for (size_t i = 0; i < path.len; i++) {
        if (url_char_is_slash(path.data[i])) {
            return i;
        }
    }
    return path.len;
}

/* 1 for ".", 2 for "..", else 0. */
static unsigned count_dots(const uint8_t *segment, size_t len)
{
    if (len == 0 || len > 2 || segment[0] != '.' || segment[len - 1] != '.') {
        return 0;
    }
    return (unsigned)len;
}

/* o stands behind a slash and goes back behind the one before, but not
 * beyond the first, at root. What it passes over never comes again: the time
 * for a whole path is linear. */
static uint8_t *leave_directory(uint8_t *o, const uint8_t *root)
{
    if (o - 1 > root) {
        o--;
        while (o[-1] != '/') {
            o--;
        }
    }
    return o;
}

/* Writes path behind a slash: root is where the first slash of the whole
 * path was written. */
static uint8_t *write_path(uint8_t *o, const uint8_t *root, struct bytes path,
                           bool is_odd)
{
    while (path.len > 0) {
        size_t len = segment_length(path, is_odd);
        struct bytes segment = bytes_of(path.data, len);
        uint8_t *begin = o;
        unsigned dots;

        o = is_odd ? url_write_escaped(o, segment, URL_CHAR_PATH)
                   : write_bytes(o, segment);
        dots = count_dots(begin, (size_t)(o - begin));
        len += len < path.len; /* the slash */
        if (dots > 0) {
            o = dots == 2 ? leave_directory(begin, root) : begin;
        } else if (len > segment.len) {
            *o++ = '/';
        }
        path = bytes_of(path.data + len, path.len - len);
    }
    return o;
}

static uint8_t *write_query(uint8_t *o, struct bytes query, bool is_odd)
{
    return is_odd ? url_write_escaped(o, query, URL_CHAR_QUERY)
                  : write_bytes(o, query);
}

/* Writes what comes behind a slash, to the end. */
static uint8_t *write_rest(uint8_t *o, const uint8_t *root, struct bytes rest,
                           const struct reference *ref)
{
    bool is_odd = (ref->seen & URL_CHAR_ODD) != 0;
    const uint8_t *query;
    size_t path;

    if (!is_odd && !ref->is_dotted) {
        return write_bytes(o, rest);
    }
    query = rest.len > 0 ? memchr(rest.data, '?', rest.len) : NULL;
    path = query != NULL ? (size_t)(query - rest.data) : rest.len;
    o = write_path(o, root, bytes_of(rest.data, path), is_odd);
    return write_query(o, bytes_of(rest.data + path, rest.len - path), is_odd);
}

/* ---- the whole ---- */

static bool begins_with_slash(struct bytes text)
{
    return text.len > 0 && url_char_is_slash(text.data[0]);
}

/* "special authority ignore slashes" and on. */
static enum url_result write_absolute(uint8_t **end, enum scheme scheme,
                                      struct bytes rest,
                                      const struct reference *ref)
{
    enum url_result result;
    uint8_t *root;
    uint8_t *o = *end;
    bool is_simple;
    size_t len;

    while (begins_with_slash(rest)) {
        rest = bytes_of(rest.data + 1, rest.len - 1);
    }
    o = write_bytes(o, schemes[scheme].text);
    len = url_host_find_end(rest, &is_simple);
    if (is_simple) {
        o = write_bytes(o, bytes_of(rest.data, len));
    } else {
        result =
            url_host_write(&o, bytes_of(rest.data, len), schemes[scheme].port);
        if (result != URL_OK) {
            return result;
        }
    }
    root = o;
    *o++ = '/';
    rest = bytes_of(rest.data + len, rest.len - len);
    if (begins_with_slash(rest)) {
        rest = bytes_of(rest.data + 1, rest.len - 1);
    }
    *end = write_rest(o, root, rest, ref);
    return URL_OK;
}

/* "relative": what there is of rest takes the place of the base's. */
static enum url_result write_relative(uint8_t **end,
                                      const struct url_base *base,
                                      struct bytes rest,
                                      const struct reference *ref)
{
    const uint8_t *text = base->text.data;
    uint8_t *o = *end;
    const uint8_t *root = o + base->host_end;

    if (rest.len == 0) {
        o = write_bytes(o, buf_bytes(&base->text));
    } else if (rest.data[0] == '?') {
        o = write_bytes(o, bytes_of(text, base->path_end));
        o = write_query(o, rest, (ref->seen & URL_CHAR_ODD) != 0);
    } else if (!begins_with_slash(rest)) {
        o = write_bytes(o, bytes_of(text, base->dir_end));
        o = write_rest(o, root, rest, ref);
    } else if (rest.len > 1 && url_char_is_slash(rest.data[1])) {
        return write_absolute(end, scheme_of(base), rest, ref);
    } else {
        o = write_bytes(o, bytes_of(text, base->host_end));
        *o++ = '/';
        rest = bytes_of(rest.data + 1, rest.len - 1);
        o = write_rest(o, root, rest, ref);
    }
    *end = o;
    return URL_OK;
}

/* "scheme" and what follows it. */
static enum url_result write_url(uint8_t **end, const struct url_base *base,
                                 struct reference *ref)
{
    struct bytes rest = ref->text;
    enum scheme scheme = SCHEME_NONE;

    if ((ref->seen & URL_CHAR_COLON) != 0) {
        scheme = take_scheme(&rest);
        ref->is_dotted |= rest.len > 0 && rest.data[0] == '.';
    }
    if (scheme == SCHEME_OTHER) {
        return URL_OTHER;
    }
    if (scheme != SCHEME_NONE && scheme != scheme_of(base)) {
        return write_absolute(end, scheme, rest, ref);
    }
    if (scheme_of(base) == SCHEME_NONE) {
        return URL_INVALID;
    }
    return write_relative(end, base, rest, ref);
}

/* What one byte can become: %EF%BF%BD for an ill-formed one. */
enum { BYTE_ROOM = 9, ASCII_BYTE_ROOM = 3, REPAIRED_ROOM = 3 };

/* The longest result, and the repaired reference behind it. */
static size_t room_for(const struct url_base *base,
                       const struct reference *ref)
{
    bool is_ascii = (ref->seen & URL_CHAR_HIGH) == 0;
    size_t times = (is_ascii ? ASCII_BYTE_ROOM : BYTE_ROOM) + REPAIRED_ROOM;
    size_t before = base != NULL ? base->text.len : 0;

    return before + URL_HOST_ROOM + sizeof "https:///" + times * ref->text.len;
}

/* out may be the text of base. */
static enum url_result resolve(const struct url_base *base, struct bytes href,
                               struct buf *out)
{
    struct reference ref = strip(href);
    enum url_result result;
    uint8_t *end;

    if (ref.text.len > LENGTH_MAX || !buf_reserve(out, room_for(base, &ref))) {
        return URL_NO_MEMORY;
    }
    if ((ref.seen & (URL_CHAR_BLANK | URL_CHAR_HIGH)) != 0) {
        ref = repaired(ref, out->data + out->capacity -
                                REPAIRED_ROOM * ref.text.len);
    }
    end = out->data + out->len;
    result = write_url(&end, base, &ref);
    if (result == URL_OK) {
        out->len = (size_t)(end - out->data);
    }
    return result;
}

enum url_result url_resolve(const struct url_base *base, struct bytes href,
                            struct buf *out)
{
    return resolve(base, href, out);
}

/* ---- bases ---- */

/* Finds the parts of a normalised URL. */
static void mark_parts(struct url_base *base)
{
    const uint8_t *begin = base->text.data;
    const uint8_t *end = begin + base->text.len;
    const uint8_t *host = begin + schemes[scheme_of(base)].text.len;
    const uint8_t *root = memchr(host, '/', (size_t)(end - host));
    const uint8_t *query = memchr(root, '?', (size_t)(end - root));
    const uint8_t *path_end = query != NULL ? query : end;
    const uint8_t *last = memrchr(root, '/', (size_t)(path_end - root));

    base->host_end = (size_t)(root - begin);
    base->dir_end = (size_t)(last + 1 - begin);
    base->path_end = (size_t)(path_end - begin);
}

/* The new text is written behind the old one, which it may need, and then
 * takes its place. */
static enum url_result replace(struct url_base *base,
                               const struct url_base *against,
                               struct bytes href)
{
    size_t before = base->text.len;
    enum url_result result = resolve(against, href, &base->text);

    if (result == URL_OK) {
        base->text.len -= before;
        memmove(base->text.data, base->text.data + before, base->text.len);
        mark_parts(base);
    }
    return result;
}

enum url_result url_base_set(struct url_base *base, struct bytes absolute)
{
    return replace(base, NULL, absolute);
}

enum url_result url_base_move(struct url_base *base, struct bytes href)
{
    return replace(base, base, href);
}

void url_base_fini(struct url_base *base)
{
    buf_fini(&base->text);
    *base = (struct url_base){ 0 };
}
