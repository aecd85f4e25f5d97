#include "jobs/links/encoding.h"

#include "base/utf8.h"
#include "deltafold/job.h"
#include "jobs/links/encoding_labels.h"
#include "jobs/links/windows1252.h"

/* ---- well-formed UTF-8 ---- */

/* The length of the well-formed character that s begins with, or 0 and in
 * *bad the bytes that one U+FFFD stands for. */
static size_t character(const uint8_t *s, size_t left, size_t *bad)
{
    uint8_t low = 0x80; /* what the second byte may be */
    uint8_t high = 0xBF;
    size_t len;

    *bad = 1;
    if (s[0] < 0x80) {
        return 1;
    }
    if (s[0] < 0xC2 || s[0] > 0xF4) {
        return 0;
    }
    len = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : low;
    high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : high;
    for (size_t i = 1; i < len; i++) {
        if (i == left || s[i] < low || s[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return len;
}

/* How many bytes from `at` on are ASCII, eight by eight. */
static size_t ascii_run(struct bytes page, size_t at)
{
    size_t begin = at;

    while (at + 32 <= page.len) {
        uint64_t v[4];

        memcpy(v, page.data + at, sizeof v);
        if (((v[0] | v[1] | v[2] | v[3]) & UINT64_C(0x8080808080808080)) !=
            0) {
            break;
        }
        at += sizeof v;
    }
    while (at < page.len && page.data[at] < 0x80) {
        at++;
    }
    return at - begin;
}

/* Where the first ill-formed bytes are; the page's length if nowhere. */
static size_t well_formed(struct bytes page, size_t at)
{
    size_t bad;

    while (at < page.len) {
        size_t len = ascii_run(page, at);

        if (len == 0) {
            len = character(page.data + at, page.len - at, &bad);
        }
        if (len == 0) {
            break;
        }
        at += len;
    }
    return at;
}

/* ---- into UTF-8 ---- */

/* The slack behind what is read as a page. */
static bool close_room(struct buf *room, struct bytes *utf8)
{
    if (!buf_reserve(room, DF_SLACK)) {
        return false;
    }
    memset(room->data + room->len, 0, DF_SLACK);
    *utf8 = buf_bytes(room);
    return true;
}

static bool append_point(struct buf *room, uint32_t point)
{
    if (!buf_reserve(room, UTF8_POINT_MAX)) {
        return false;
    }
    room->len += utf8_put(room->data + room->len, point);
    return true;
}

/* Ill-formed bytes from `at` on become U+FFFD. */
static bool mend_utf8(struct bytes page, size_t at, struct buf *room,
                      struct bytes *utf8)
{
    if (!buf_append(room, page.data, at)) {
        return false;
    }
    while (at < page.len) {
        size_t good = well_formed(page, at);
        size_t bad = 0;

        if (!buf_append(room, page.data + at, good - at)) {
            return false;
        }
        at = good;
        if (at < page.len) {
            (void)character(page.data + at, page.len - at, &bad);
            if (!append_point(room, UTF8_REPLACEMENT)) {
                return false;
            }
        }
        at += bad;
    }
    return close_room(room, utf8);
}

static bool from_windows1252(struct bytes page, struct buf *room,
                             struct bytes *utf8)
{
    for (size_t at = 0; at < page.len;) {
        size_t ascii = ascii_run(page, at);

        if (!buf_append(room, page.data + at, ascii)) {
            return false;
        }
        at += ascii;
        if (at < page.len) {
            if (!append_point(room, windows1252_point(page.data[at]))) {
                return false;
            }
            at++;
        }
    }
    return close_room(room, utf8);
}

static uint32_t unit_at(struct bytes page, size_t at, bool is_big)
{
    const uint8_t *p = page.data + at;

    return is_big ? (uint32_t)(p[0] << 8 | p[1])
                  : (uint32_t)(p[1] << 8 | p[0]);
}

/* The code point at `at` and how many bytes it takes; lone surrogates and an
 * odd byte at the end are U+FFFD. */
static size_t utf16_point(struct bytes page, size_t at, bool is_big,
                          uint32_t *point)
{
    uint32_t unit;
    uint32_t next;

    *point = UTF8_REPLACEMENT;
    if (page.len - at < 2) {
        return 1;
    }
    unit = unit_at(page, at, is_big);
    if (unit < 0xD800 || unit > 0xDFFF) {
        *point = unit;
        return 2;
    }
    if (unit > 0xDBFF || page.len - at < 4) {
        return 2;
    }
    next = unit_at(page, at + 2, is_big);
    if (next < 0xDC00 || next > 0xDFFF) {
        return 2;
    }
    *point = 0x10000 + ((unit - 0xD800) << 10) + (next - 0xDC00);
    return 4;
}

static bool from_utf16(struct bytes page, bool is_big, struct buf *room,
                       struct bytes *utf8)
{
    for (size_t at = 0; at < page.len;) {
        uint32_t point;

        at += utf16_point(page, at, is_big, &point);
        if (!append_point(room, point)) {
            return false;
        }
    }
    return close_room(room, utf8);
}

/* ---- which one ---- */

static bool begins_with(struct bytes page, const char *mark, size_t len)
{
    return page.len >= len && memcmp(page.data, mark, len) == 0;
}

static struct bytes without(struct bytes page, size_t len)
{
    return bytes_of(page.data + len, page.len - len);
}

static bool from_utf8(struct bytes page, struct buf *room, struct bytes *utf8)
{
    size_t good = well_formed(page, 0);

    *utf8 = page;
    return good == page.len || mend_utf8(page, good, room, utf8);
}

static bool from_unmarked(struct bytes page, struct buf *room,
                          struct bytes *utf8)
{
    size_t ascii = ascii_run(page, 0);
    enum encoding declared;

    *utf8 = page;
    if (ascii == page.len) {
        return true; /* the same in all of them */
    }
    declared = encoding_prescan(page);
    if (declared == ENCODING_OTHER || (declared == ENCODING_UNKNOWN &&
                                       well_formed(page, ascii) < page.len)) {
        return from_windows1252(page, room, utf8);
    }
    return from_utf8(page, room, utf8);
}

bool encoding_to_utf8(struct bytes page, struct buf *room, struct bytes *utf8)
{
    buf_reset(room);
    if (begins_with(page, "\xEF\xBB\xBF", 3)) {
        return from_utf8(without(page, 3), room, utf8);
    }
    if (begins_with(page, "\xFE\xFF", 2)) {
        return from_utf16(without(page, 2), true, room, utf8);
    }
    if (begins_with(page, "\xFF\xFE", 2)) {
        return from_utf16(without(page, 2), false, room, utf8);
    }
    /* An XML declaration tells UTF-16 without a mark: "<?x". */
    if (begins_with(page, "\0<\0?\0x", 6)) {
        return from_utf16(page, true, room, utf8);
    }
    if (begins_with(page, "<\0?\0x\0", 6)) {
        return from_utf16(page, false, room, utf8);
    }
    return from_unmarked(page, room, utf8);
}

bool encoding_mend(struct bytes page, struct buf *room, struct bytes *utf8)
{
    buf_reset(room);
    return from_utf8(begins_with(page, "\xEF\xBB\xBF", 3) ? without(page, 3)
                                                          : page,
                     room, utf8);
}
