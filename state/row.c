#include "state/row.h"

enum { ESCAPE = 0x00, ESCAPED_ZERO = 0xff, KEY_END = 0x01 };

static const struct bytes key_end = { (const uint8_t[]){ ESCAPE, KEY_END },
                                      2 };

bool row_shape_is_sound(struct row_shape shape)
{
    uint32_t low = shape.wide;

    return shape.components >= 1 && shape.components <= DF_COMPONENTS_MAX &&
           (low & 1) == 0 && (low & low << 1) == 0 &&
           (uint64_t)low << 1 < (uint64_t)1 << shape.components;
}

/* Appends bytes with every 00 written 00 FF. */
static bool append_escaped(struct buf *out, struct bytes b)
{
    size_t done = 0;

    if (!buf_reserve(out, b.len + key_end.len)) {
        return false;
    }
    while (done < b.len) {
        const uint8_t *rest = b.data + done;
        const uint8_t *zero = memchr(rest, ESCAPE, b.len - done);
        size_t plain = zero != NULL ? (size_t)(zero - rest) + 1 : b.len - done;

        if (!buf_append(out, rest, plain)) {
            return false;
        }
        if (zero != NULL && !buf_append_byte(out, ESCAPED_ZERO)) {
            return false;
        }
        done += plain;
    }
    return true;
}

static bool needs_guard(struct bytes key)
{
    return key.len == 0 || key.data[0] == ESCAPE;
}

/* Appends the row key of a job without elements. */
static bool append_guarded(struct buf *out, struct bytes key)
{
    if (needs_guard(key) && !buf_append_byte(out, ESCAPE)) {
        return false;
    }
    return key.len == 0 || buf_append(out, key.data, key.len);
}

bool row_key_append(struct buf *out, struct row_shape shape, struct bytes key,
                    struct bytes element)
{
    if (!row_key_prefix(out, shape, key)) {
        return false;
    }
    if (!shape.has_element || element.len == 0) {
        return true;
    }
    return buf_append(out, element.data, element.len);
}

bool row_key_prefix(struct buf *out, struct row_shape shape, struct bytes key)
{
    if (!shape.has_element) {
        return append_guarded(out, key);
    }
    return append_escaped(out, key) &&
           buf_append(out, key_end.data, key_end.len);
}

bool row_key_prefix_of_keys(struct buf *out, struct row_shape shape,
                            struct bytes prefix)
{
    if (prefix.len == 0) {
        return true;
    }
    return shape.has_element ? append_escaped(out, prefix)
                             : append_guarded(out, prefix);
}

void row_split(struct bytes row_key, uint8_t room[ROW_HEAD_MAX],
               struct bytes *head, struct bytes *tail)
{
    if (row_key.len <= ROW_HEAD_EXACT) {
        *head = row_key;
        *tail = bytes_of(NULL, 0);
        return;
    }
    memcpy(room, row_key.data, ROW_HEAD_EXACT);
    hash128_store(room + ROW_HEAD_EXACT, hash128(row_key, 0));
    *head = bytes_of(room, ROW_HEAD_MAX);
    *tail =
        bytes_of(row_key.data + ROW_HEAD_EXACT, row_key.len - ROW_HEAD_EXACT);
}

bool row_join(struct buf *out, struct bytes head, struct bytes tail)
{
    if (head.len < ROW_HEAD_MAX) {
        return buf_append(out, head.data, head.len);
    }
    return buf_reserve(out, ROW_HEAD_EXACT + tail.len) &&
           buf_append(out, head.data, ROW_HEAD_EXACT) &&
           buf_append(out, tail.data, tail.len);
}

/* Takes the escaped key in front of row_key to `to`. Returns the bytes read
 * with the end mark, 0 when malformed; *key_len says what was written. */
static size_t unescape(struct bytes row_key, uint8_t *to, size_t *key_len)
{
    size_t in = 0;
    size_t out = 0;

    while (in + 1 < row_key.len) {
        uint8_t byte = row_key.data[in++];

        if (byte == ESCAPE) {
            uint8_t what = row_key.data[in++];

            if (what == KEY_END) {
                *key_len = out;
                return in;
            }
            if (what != ESCAPED_ZERO) {
                return 0;
            }
        }
        to[out++] = byte;
    }
    return 0;
}

/* The same for a job without elements: all of row_key is key. */
static size_t unguard(struct bytes row_key, uint8_t *to, size_t *key_len)
{
    size_t guard = row_key.data[0] == ESCAPE ? 1 : 0;

    /* It stands in front of nothing or of another 00, and only there. */
    if (guard == 1 && row_key.len > 1 && row_key.data[1] != ESCAPE) {
        return 0;
    }
    *key_len = row_key.len - guard;
    memcpy(to, row_key.data + guard, *key_len);
    return row_key.len;
}

bool row_decode(struct row_shape shape, struct bytes row_key, struct buf *room,
                struct bytes *key, struct bytes *element)
{
    uint8_t *to;
    size_t used;
    size_t key_len;

    if (row_key.len == 0 || !buf_reserve(room, row_key.len)) {
        return false;
    }
    to = room->data + room->len;
    used = shape.has_element ? unescape(row_key, to, &key_len)
                             : unguard(row_key, to, &key_len);
    if (used == 0) {
        return false;
    }
    memcpy(to + key_len, row_key.data + used, row_key.len - used);
    *key = bytes_of(to, key_len);
    *element = bytes_of(to + key_len, row_key.len - used);
    room->len += key_len + element->len;
    return true;
}

struct hash128 row_digest(struct row_shape shape, struct bytes row_key,
                          const int64_t *values)
{
    struct hash128 sum = { 0, 0 };

    for (unsigned i = 0; i < shape.components; i++) {
        bool is_wide = row_is_wide(shape, i);

        if (values[i] != 0 || (is_wide && values[i + 1] != 0)) {
            struct hash128 h = hash128(row_key, i);

            h = is_wide ? digest_scale_wide(h, values[i + 1], values[i])
                        : digest_scale(h, values[i]);
            sum = digest_add(sum, h);
        }
        i += is_wide ? 1 : 0;
    }
    return sum;
}

bool row_values_carry(struct row_shape shape, int64_t *into, int64_t *carry,
                      const int64_t *values)
{
    bool carried = false;

    for (unsigned i = 0; i < shape.components; i++) {
        bool is_wide = row_is_wide(shape, i);
        int one = row_number_add(is_wide, into + i, values + i);

        carry[i] += one;
        carried = carried || one != 0;
        i += is_wide ? 1 : 0;
    }
    return !carried;
}

bool row_values_add_wide(struct row_shape shape, int64_t *into,
                         const int64_t *values)
{
    for (unsigned i = 0; i < shape.components; i++) {
        bool is_wide = row_is_wide(shape, i);

        if (row_number_add(is_wide, into + i, values + i) != 0) {
            return false;
        }
        i += is_wide ? 1 : 0;
    }
    return true;
}

bool row_values_negate(struct row_shape shape, int64_t *into,
                       const int64_t *values)
{
    for (unsigned i = 0; i < shape.components; i++) {
        row_wide v = 0;

        if (!row_is_wide(shape, i)) {
            if (__builtin_sub_overflow(0, values[i], &into[i])) {
                return false;
            }
            continue;
        }
        if (__builtin_sub_overflow(v, row_wide_load(values + i), &v)) {
            return false;
        }
        row_wide_store(into + i++, v);
    }
    return true;
}

/*
 * The integers are written and read by hand, for msgpack-c would allocate a
 * zone per row and this runs for every row of every merge. Only the shortest
 * form is read: a vector of values has one encoding.
 */
enum {
    MP_UINT8 = 0xcc, /* then 16, 32 and 64 bits: + 1, + 2, + 3 */
    MP_INT8 = 0xd0,
    MP_FIX_MAX = 127,
    MP_FIX_MIN = -32
};

/* log2 of the bytes that v needs behind its type byte; v is no fixint. */
static unsigned width_of(int64_t v)
{
    /* As signed or unsigned, whatever the type byte will say. */
    uint64_t u = v < 0 ? ~(uint64_t)v << 1 : (uint64_t)v;

    return u <= UINT8_MAX ? 0 : u <= UINT16_MAX ? 1 : u <= UINT32_MAX ? 2 : 3;
}

static size_t value_encode(uint8_t *out, int64_t v)
{
    unsigned width;
    size_t n;

    if (v >= MP_FIX_MIN && v <= MP_FIX_MAX) {
        out[0] = (uint8_t)v;
        return 1;
    }
    width = width_of(v);
    n = (size_t)1 << width;
    out[0] = (uint8_t)((v < 0 ? MP_INT8 : MP_UINT8) + (int)width);
    for (size_t i = 0; i < n; i++) {
        out[1 + i] = (uint8_t)((uint64_t)v >> 8 * (n - 1 - i));
    }
    return 1 + n;
}

/* Returns the bytes read, 0 when malformed. */
static size_t value_decode(struct bytes in, int64_t *v)
{
    bool is_signed;
    unsigned width;
    size_t n;
    uint64_t u;

    if (in.len == 0) {
        return 0;
    }
    if (in.data[0] <= MP_FIX_MAX || in.data[0] >= (uint8_t)MP_FIX_MIN) {
        *v = in.data[0] <= MP_FIX_MAX ? in.data[0] : in.data[0] - 256;
        return 1;
    }
    if (in.data[0] < MP_UINT8 || in.data[0] > MP_INT8 + 3) {
        return 0;
    }
    is_signed = in.data[0] >= MP_INT8;
    width = in.data[0] & 3;
    n = (size_t)1 << width;
    if (in.len < 1 + n) {
        return 0;
    }
    u = is_signed && in.data[1] >= 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++) {
        u = u << 8 | in.data[1 + i];
    }
    *v = (int64_t)u;
    if ((*v < 0) != is_signed || (*v >= MP_FIX_MIN && *v <= MP_FIX_MAX) ||
        width_of(*v) != width) {
        return 0;
    }
    return 1 + n;
}

size_t row_values_encode(uint8_t out[ROW_VALUES_MAX], unsigned components,
                         const int64_t *values)
{
    size_t n = 0;

    for (unsigned i = 0; i < components; i++) {
        n += value_encode(out + n, values[i]);
    }
    return n;
}

size_t row_values_decode(struct bytes in, unsigned components, int64_t *values)
{
    size_t used = 0;

    for (unsigned i = 0; i < components; i++) {
        size_t n =
            value_decode(bytes_of(in.data + used, in.len - used), &values[i]);

        if (n == 0) {
            return 0;
        }
        used += n;
    }
    return used;
}

/* Sets "key 'x': why", with the element where there is one. */
static uint64_t distance_from_zero(int64_t v)
{
    return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

uint64_t row_values_magnitude(struct row_shape shape, const int64_t *values)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < shape.components; i++) {
        uint64_t one;

        if (row_is_wide(shape, i)) {
            one = distance_from_zero(values[++i]) + 1;
        } else {
            one = distance_from_zero(values[i]);
        }
        most = one > most ? one : most;
    }
    return most;
}

static enum df_status refuse(struct df_error *err, struct row_shape shape,
                             struct bytes head, struct bytes tail,
                             const char *why)
{
    struct buf row_key = { 0 };
    struct buf room = { 0 };
    struct bytes key = head;
    struct bytes element = { 0 };
    enum df_status status;

    /* Without memory for more, the head is shown as it is. */
    if (!row_join(&row_key, head, tail) ||
        !row_decode(shape, buf_bytes(&row_key), &room, &key, &element)) {
        key = head;
        element.len = 0;
    }
    if (element.len != 0) {
        status = error_set(err, DF_INPUT, "key '%s', element '%s': %s",
                           shown(&(struct shown){ 0 }, key),
                           shown(&(struct shown){ 0 }, element), why);
    } else {
        status = error_set(err, DF_INPUT, "key '%s': %s",
                           shown(&(struct shown){ 0 }, key), why);
    }
    buf_fini(&room);
    buf_fini(&row_key);
    return status;
}

enum df_status row_overflow(struct df_error *err, struct row_shape shape,
                            struct bytes head, struct bytes tail)
{
    return refuse(err, shape, head, tail,
                  shape.wide == 0
                      ? "count beyond 64 bits"
                      : "count beyond 64 bits or sum beyond 128 bits");
}

enum df_status row_collision(struct df_error *err, struct row_shape shape,
                             struct bytes head, struct bytes tail)
{
    return refuse(err, shape, head, tail,
                  "another long key has the same 128-bit hash");
}
