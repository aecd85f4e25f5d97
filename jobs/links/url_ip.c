#include "jobs/links/url_ip.h"

#include "jobs/links/url_chars.h"

/* ---- IPv4 ---- */

#define NO_NUMBER UINT64_MAX /* the part is none */
#define V4_END ((uint64_t)1 << 32)

/* One part; anything from V4_END on may come out as V4_END. */
static uint64_t read_part(struct bytes part)
{
    const uint8_t *s = part.data;
    const uint8_t *end = s + part.len;
    unsigned radix = 10;
    uint64_t number = 0;

    if (part.len == 0) {
        return NO_NUMBER;
    }
    if (part.len >= 2 && s[0] == '0') {
        radix = (s[1] | 0x20) == 'x' ? 16 : 8;
        s += radix == 16 ? 2 : 1;
    }
    for (; s < end; s++) {
        if (!url_char_is(*s, URL_CHAR_HEX) || url_char_hex(*s) >= radix) {
            return NO_NUMBER;
        }
        number = number * radix + url_char_hex(*s);
        number = number < V4_END ? number : V4_END;
    }
    return number;
}

static bool are_digits(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!url_char_is_digit(text.data[i])) {
            return false;
        }
    }
    return text.len > 0;
}

/* One dot at the end does not count. */
static struct bytes without_last_dot(struct bytes host)
{
    host.len -= host.len > 1 && host.data[host.len - 1] == '.';
    return host;
}

bool url_ip_is_v4(struct bytes host)
{
    const uint8_t *dot;
    struct bytes last = without_last_dot(host);

    dot = last.len > 0 ? memrchr(last.data, '.', last.len) : NULL;
    if (dot != NULL) {
        last = bytes_of(dot + 1, last.len - (size_t)(dot + 1 - last.data));
    }
    return are_digits(last) || read_part(last) != NO_NUMBER;
}

static uint8_t *write_byte(uint8_t *o, unsigned byte)
{
    if (byte >= 100) {
        *o++ = (uint8_t)('0' + byte / 100);
    }
    if (byte >= 10) {
        *o++ = (uint8_t)('0' + byte / 10 % 10);
    }
    *o++ = (uint8_t)('0' + byte % 10);
    return o;
}

/* The last part fills the bytes that the others leave. */
static bool read_v4(struct bytes text, uint64_t *address)
{
    unsigned parts = 0;

    *address = 0;
    for (;;) {
        const uint8_t *dot =
            text.len > 0 ? memchr(text.data, '.', text.len) : NULL;
        size_t len = dot != NULL ? (size_t)(dot - text.data) : text.len;
        uint64_t part = read_part(bytes_of(text.data, len));

        if (part == NO_NUMBER || ++parts > 4) {
            return false;
        }
        if (dot == NULL) {
            *address |= part;
            return part < V4_END >> 8 * (parts - 1);
        }
        if (part > 255) {
            return false;
        }
        *address |= part << 8 * (4 - parts);
        text = bytes_of(dot + 1, text.len - len - 1);
    }
}

uint8_t *url_ip_write_v4(uint8_t *o, struct bytes text)
{
    uint64_t address;

    if (!read_v4(without_last_dot(text), &address)) {
        return NULL;
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        o = write_byte(o, address >> shift & 255);
        *o++ = '.';
    }
    return o - 1;
}

/* ---- IPv6 ---- */

enum { PIECES = 8 };

struct v6 {
    const uint8_t *s; /* what is not read yet */
    const uint8_t *end;
    uint16_t piece[PIECES];
    unsigned pieces; /* read so far, with the :: as one */
    unsigned gap;    /* pieces up to and with the ::; 0: there is none */
};

static bool starts_with(const struct v6 *v, char c)
{
    return v->s < v->end && *v->s == (uint8_t)c;
}

/* 0 to 255 without leading zeros. */
static bool read_decimal(struct v6 *v, unsigned *number)
{
    const uint8_t *begin = v->s;

    *number = 0;
    while (v->s < v->end && url_char_is_digit(*v->s)) {
        if (v->s > begin && *number == 0) {
            return false;
        }
        *number = *number * 10 + url_char_hex(*v->s++);
        if (*number > 255) {
            return false;
        }
    }
    return v->s > begin;
}

/* An IPv4 address in decimal is the last two pieces. */
static bool read_v4_tail(struct v6 *v)
{
    if (v->pieces > PIECES - 2) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        unsigned number;

        if (i > 0) {
            if (!starts_with(v, '.')) {
                return false;
            }
            v->s++;
        }
        if (!read_decimal(v, &number)) {
            return false;
        }
        v->piece[v->pieces] =
            (uint16_t)(v->piece[v->pieces] << 8 | (uint16_t)number);
        v->pieces += i % 2;
    }
    return v->s == v->end;
}

static bool read_piece(struct v6 *v)
{
    const uint8_t *begin = v->s;
    unsigned number = 0;

    while (v->s < v->end && v->s - begin < 4 &&
           url_char_is(*v->s, URL_CHAR_HEX)) {
        number = number << 4 | url_char_hex(*v->s++);
    }
    if (starts_with(v, '.') && v->s > begin) {
        v->s = begin;
        return read_v4_tail(v);
    }
    if (starts_with(v, ':')) {
        v->s++;
        if (v->s == v->end) {
            return false;
        }
    } else if (v->s < v->end) {
        return false;
    }
    v->piece[v->pieces++] = (uint16_t)number;
    return true;
}

static bool read_pieces(struct v6 *v)
{
    if (starts_with(v, ':')) {
        v->s++;
        if (!starts_with(v, ':')) {
            return false;
        }
        v->s++;
        v->gap = ++v->pieces;
    }
    while (v->s < v->end) {
        if (v->pieces == PIECES) {
            return false;
        }
        if (!starts_with(v, ':')) {
            if (!read_piece(v)) {
                return false;
            }
        } else if (v->gap > 0) {
            return false;
        } else {
            v->s++;
            v->gap = ++v->pieces;
        }
    }
    return v->gap > 0 || v->pieces == PIECES;
}

/* Moves the pieces behind the :: to the end. */
static void fill_gap(struct v6 *v)
{
    unsigned behind = v->pieces - v->gap;
    unsigned to = PIECES - behind;

    if (v->gap > 0) {
        memmove(v->piece + to, v->piece + v->gap, behind * sizeof *v->piece);
        memset(v->piece + v->gap, 0, (to - v->gap) * sizeof *v->piece);
    }
}

/* The first of the longest runs of zeros, if it has two at least. */
static unsigned longest_zeros(const uint16_t *piece, unsigned *run)
{
    unsigned at = 0;
    unsigned len = 0;

    *run = 1;
    for (unsigned i = 0; i < PIECES; i++) {
        len = piece[i] == 0 ? len + 1 : 0;
        if (len > *run) {
            *run = len;
            at = i + 1 - len;
        }
    }
    *run = *run > 1 ? *run : 0;
    return at;
}

static uint8_t *write_piece(uint8_t *o, unsigned piece)
{
    static const char digits[] = "0123456789abcdef";

    for (int shift = 12; shift >= 0; shift -= 4) {
        if (shift == 0 || piece >> shift > 0) {
            *o++ = (uint8_t)digits[piece >> shift & 15];
        }
    }
    return o;
}

static uint8_t *write_pieces(uint8_t *o, const uint16_t *piece)
{
    unsigned run;
    unsigned zeros = longest_zeros(piece, &run);

    *o++ = '[';
    for (unsigned i = 0; i < PIECES; i++) {
        if (run > 0 && i == zeros) {
            *o++ = ':';
            *o++ = ':';
            i += run - 1;
            continue;
        }
        if (i > 0 && o[-1] != ':') {
            *o++ = ':';
        }
        o = write_piece(o, piece[i]);
    }
    *o++ = ']';
    return o;
}

uint8_t *url_ip_write_v6(uint8_t *o, struct bytes text)
{
    struct v6 v = { .s = text.data, .end = text.data + text.len };

    if (!read_pieces(&v)) {
        return NULL;
    }
    fill_gap(&v);
    return write_pieces(o, v.piece);
}
