#include "jobs/wordcount/characters.h"

#include <assert.h>
#include <utf8proc.h>

/* Beyond these there are no letters, marks or digits, nor will there be:
 * planes 4 to 13 are unassigned, 15 and 16 private. */
enum {
    ASSIGNED_END = 0x40000,
    SELECTORS_BEGIN = 0xe0000, /* plane 14: tags, variation selectors */
    SELECTORS_END = 0xe1000,
};

/* Code points that may not stand in a text in Form C, or not after every
 * other (the quick check's No and Maybe). */
struct unstable {
    uint64_t bits[ASSIGNED_END / 64];
};

static void unstable_set(struct unstable *u, utf8proc_int32_t c)
{
    u->bits[c / 64] |= UINT64_C(1) << (c % 64);
}

static bool unstable_has(const struct unstable *u, utf8proc_int32_t c)
{
    return c < ASSIGNED_END && (u->bits[c / 64] >> (c % 64) & 1) != 0;
}

static bool has_canonical_decomposition(utf8proc_int32_t c)
{
    const utf8proc_property_t *p = utf8proc_get_property(c);

    return p->decomp_seqindex != UINT16_MAX && p->decomp_type == 0;
}

/* A code point that does not survive composing is unstable; of one that
 * does, the last part is, because it joins what stands before it. */
static void unstable_add(struct unstable *u, utf8proc_int32_t c)
{
    utf8proc_int32_t parts[8];
    int boundary = 0;
    utf8proc_int32_t last;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        c, parts, 8, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &boundary);

    assert(n >= 1 && n <= 8);
    last = parts[n - 1];
    n = utf8proc_normalize_utf32(parts, n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    unstable_set(u, n == 1 && parts[0] == c ? last : c);
}

static void unstable_init(struct unstable *u)
{
    *u = (struct unstable){ 0 };
    for (utf8proc_int32_t c = 0xa0; c < ASSIGNED_END; c++) {
        if (has_canonical_decomposition(c)) {
            unstable_add(u, c);
        }
    }
    /* Hangul vowels and final consonants join by rule, not by table. */
    for (utf8proc_int32_t c = 0x1161; c <= 0x1175; c++) {
        unstable_set(u, c);
    }
    for (utf8proc_int32_t c = 0x11a8; c <= 0x11c2; c++) {
        unstable_set(u, c);
    }
}

static uint32_t class_of(utf8proc_int32_t c, const utf8proc_property_t *p)
{
    switch (c) {
    case 0x27:
    case 0x2019:
    case 0x02bc:
        return CHARACTER_APOSTROPHE;
    case 0xad:
    case 0x200c:
    case 0x200d:
    case 0x2060:
    case 0xfeff:
        return CHARACTER_IGNORED;
    default:
        break;
    }
    if (p->category >= UTF8PROC_CATEGORY_LU &&
        p->category <= UTF8PROC_CATEGORY_LO) {
        return CHARACTER_WORD;
    }
    if (p->category >= UTF8PROC_CATEGORY_MN &&
        p->category <= UTF8PROC_CATEGORY_ME) {
        return CHARACTER_MARK;
    }
    if (p->category >= UTF8PROC_CATEGORY_ND &&
        p->category <= UTF8PROC_CATEGORY_NO) {
        return CHARACTER_WORD;
    }
    return CHARACTER_SEPARATOR;
}

/* What c becomes alone; -1 where that is not one code point. */
static utf8proc_int32_t mapping_of(utf8proc_int32_t c,
                                   const utf8proc_property_t *p,
                                   enum letter_case letter_case)
{
    if (letter_case == CASE_LOWER && p->lowercase_seqindex != UINT16_MAX) {
        return utf8proc_tolower(c);
    }
    if (letter_case == CASE_FOLD && p->casefold_seqindex != UINT16_MAX) {
        utf8proc_int32_t folded[8];
        int boundary = 0;
        utf8proc_ssize_t n = utf8proc_decompose_char(
            c, folded, 8, UTF8PROC_CASEFOLD, &boundary);

        return n == 1 ? folded[0] : -1;
    }
    return c;
}

/* Flags, length and bytes of a mapping; CHARACTER_SLOW where the table
 * cannot hold it. */
static uint32_t mapped_share(utf8proc_int32_t c, utf8proc_int32_t to)
{
    utf8proc_uint8_t from[4];
    utf8proc_uint8_t bytes[4] = { 0 };
    utf8proc_ssize_t from_len = utf8proc_encode_char(c, from);
    utf8proc_ssize_t len = utf8proc_encode_char(to, bytes);
    const utf8proc_uint8_t *kept = len == 4 ? bytes + 1 : bytes;

    if (len == 4 && (from_len != 4 || from[0] != bytes[0])) {
        return CHARACTER_SLOW;
    }
    return CHARACTER_MAPPED | (uint32_t)(len - 1) << CHARACTER_LENGTH_SHIFT |
           (uint32_t)kept[0] << CHARACTER_BYTES_SHIFT |
           (uint32_t)kept[1] << (CHARACTER_BYTES_SHIFT + 8) |
           (uint32_t)kept[2] << (CHARACTER_BYTES_SHIFT + 16);
}

static uint32_t entry_of(utf8proc_int32_t c, enum letter_case letter_case,
                         const struct unstable *u)
{
    const utf8proc_property_t *p = utf8proc_get_property(c);
    uint32_t entry = class_of(c, p);
    utf8proc_int32_t to;

    if (entry != CHARACTER_WORD && entry != CHARACTER_MARK) {
        return entry;
    }
    if (p->combining_class != 0) {
        entry |= CHARACTER_COMBINING;
    }
    to = mapping_of(c, p, letter_case);
    if (to < 0 || unstable_has(u, c) || unstable_has(u, to)) {
        return entry | CHARACTER_SLOW;
    }
    return to == c ? entry : entry | mapped_share(c, to);
}

/* The number of a stored block equal to this one, after storing it if need
 * be; the latest are tried first, neighbours being alike. */
static bool store_block(struct characters *c, const uint32_t *entries,
                        uint16_t *number)
{
    const size_t size = CHARACTERS_BLOCK * sizeof *entries;
    size_t stored = c->entries.len / size;

    for (size_t i = stored; i-- > 0;) {
        if (memcmp(c->entries.data + i * size, entries, size) == 0) {
            *number = (uint16_t)i;
            return true;
        }
    }
    *number = (uint16_t)stored;
    return buf_append(&c->entries, entries, size);
}

static bool fill(struct characters *c, uint32_t begin, uint32_t end,
                 enum letter_case letter_case, const struct unstable *u)
{
    for (uint32_t at = begin; at < end; at += CHARACTERS_BLOCK) {
        uint32_t entries[CHARACTERS_BLOCK];

        for (uint32_t i = 0; i < CHARACTERS_BLOCK; i++) {
            entries[i] = entry_of((utf8proc_int32_t)(at + i), letter_case, u);
        }
        if (!store_block(c, entries, &c->block[at / CHARACTERS_BLOCK])) {
            return false;
        }
    }
    return true;
}

static bool is_plain(uint32_t entry)
{
    return (entry & (CHARACTER_CLASS | CHARACTER_SLOW |
                     CHARACTER_COMBINING)) == CHARACTER_WORD;
}

/* The share of a plain character of len bytes; 0 where it has another
 * length, or the character is not plain. */
static uint32_t plain_share(const struct characters *c, uint32_t point,
                            size_t len)
{
    uint32_t entry = characters_entry(c, point);
    utf8proc_uint8_t bytes[4] = { 0 };

    if (!is_plain(entry)) {
        return 0;
    }
    if ((entry & CHARACTER_MAPPED) == 0) {
        (void)utf8proc_encode_char((utf8proc_int32_t)point, bytes);
        return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
    }
    return (entry >> CHARACTER_LENGTH_SHIFT & 3) + 1 == len
               ? entry >> CHARACTER_BYTES_SHIFT
               : 0;
}

static void fill_plain(struct characters *c)
{
    for (uint32_t point = 0; point < CHARACTERS_ONE; point++) {
        c->one[point] = (uint8_t)plain_share(c, point, 1);
    }
    for (uint32_t point = CHARACTERS_ONE; point < CHARACTERS_TWO; point++) {
        c->two[point] = (uint16_t)plain_share(c, point, 2);
    }
}

bool characters_init(struct characters *c, enum letter_case letter_case)
{
    static const uint32_t separators[CHARACTERS_BLOCK];
    struct unstable u;
    uint16_t none;

    *c = (struct characters){ 0 };
    unstable_init(&u);
    /* Block 0 is what all others are that are not filled. */
    if (store_block(c, separators, &none) &&
        fill(c, 0, ASSIGNED_END, letter_case, &u) &&
        fill(c, SELECTORS_BEGIN, SELECTORS_END, letter_case, &u)) {
        fill_plain(c);
        return true;
    }
    characters_fini(c);
    return false;
}

void characters_fini(struct characters *c)
{
    buf_fini(&c->entries);
}
