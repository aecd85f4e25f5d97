#include "input/utf16.h"

#include "base/utf8.h"

enum { NO_TEXT = 0xFF /* a byte that no UTF-8 has */ };

static uint32_t unit_at(enum utf16_order order, const uint8_t *p)
{
    return order == UTF16_BIG ? (uint32_t)(p[0] << 8 | p[1])
                              : (uint32_t)(p[1] << 8 | p[0]);
}

static bool is_high_surrogate(uint32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(uint32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* The code point at the start of in, UTF8_BAD where there is none, and the
 * bytes it takes; 0 bytes when more input must decide. */
static size_t code_point(enum utf16_order order, struct bytes in, bool at_end,
                         uint32_t *point)
{
    uint32_t unit;
    uint32_t next;

    *point = UTF8_BAD;
    if (in.len < 2) {
        return at_end ? in.len : 0;
    }
    unit = unit_at(order, in.data);
    if (is_low_surrogate(unit)) {
        return 2;
    }
    if (!is_high_surrogate(unit)) {
        *point = unit;
        return 2;
    }
    if (in.len < 4) {
        return at_end ? 2 : 0;
    }
    next = unit_at(order, in.data + 2);
    if (!is_low_surrogate(next)) {
        return 2;
    }
    *point = 0x10000 + ((unit - 0xD800) << 10) + (next - 0xDC00);
    return 4;
}

size_t utf16_decode(enum utf16_order order, struct bytes in, bool at_end,
                    uint8_t *out, size_t size, size_t *used)
{
    size_t written = 0;

    *used = 0;
    while (*used < in.len && size - written >= UTF16_STEP_MAX) {
        struct bytes rest = bytes_of(in.data + *used, in.len - *used);
        uint32_t point;
        size_t taken = code_point(order, rest, at_end, &point);

        if (taken == 0) {
            break;
        }
        *used += taken;
        if (point == UTF8_BAD) {
            memset(out + written, NO_TEXT, taken);
            written += taken;
        } else {
            written += utf8_put(out + written, point);
        }
    }
    return written;
}
