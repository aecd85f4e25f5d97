/*
 * A radix sort from the first bits on, in place ("American flag"): count how
 * many entries have each value of up to eight bits, then swap every entry into
 * the stretch of its value. Bits that all entries of a range share are skipped
 * at once, and where eight bytes are used up the next eight are fetched, so
 * rows are touched once per eight bytes and not once per comparison:
 * identifiers of a large code base share long beginnings.
 *
 * A swap waits for the memory it goes to, and the next one for it; so where
 * there is room, the first two passes, whose stretches are longer than caches,
 * copy there and back.
 *
 * Bytes of text take a few of 256 values: a digit, ten. So where the processor
 * can, bits in which no two words differ are squeezed out of all of them
 * first, and a pass tells two digits apart and not one.
 *
 * Recursion goes into all stretches but the longest, which the loop goes on
 * with; so it is never deeper than log2(n), whatever the heads are.
 */
#include "runtime/sort.h"

#include <assert.h>

#include "base/cpu.h"

#if CPU_X86
#include <immintrin.h>
#endif

enum {
    WORD = 8,   /* bytes in sort_entry.word */
    SMALL = 24, /* as few are sorted by insertion */
    FEW = 512,  /* that their copies take 8 KiB of a first cache */
    BUCKETS_MAX = SORT_PARTS_MAX, /* by part, or by eight bits of a word */
    BY_PART = -1
};

/* What entries are told apart by: some bits of their words, as many as make
 * `buckets`, or their parts. */
struct digit {
    int shift; /* of the lowest; or BY_PART */
    unsigned buckets;
};

/* The stretch an entry belongs to. */
static inline unsigned bucket_of(const struct sort_entry *e, struct digit d)
{
    return d.shift == BY_PART
               ? e->part & 0xff
               : (unsigned)(e->word >> d.shift) & (d.buckets - 1);
}

/* Swaps entries into their buckets; begin[b] is where bucket b starts, for
 * b up to and including `buckets`. */
static void permute(struct sort_entry *e, struct digit d, const size_t *begin)
{
    size_t next[BUCKETS_MAX];

    memcpy(next, begin, d.buckets * sizeof *next);
    for (unsigned b = 0; b < d.buckets; b++) {
        while (next[b] < begin[b + 1]) {
            struct sort_entry moving = e[next[b]];
            unsigned to = bucket_of(&moving, d);

            while (to != b) {
                struct sort_entry displaced = e[next[to]];

                e[next[to]++] = moving;
                moving = displaced;
                to = bucket_of(&moving, d);
            }
            e[next[b]++] = moving;
        }
    }
}

/* Where each bucket begins, were they one behind the other. */
static void count(const struct sort_entry *e, size_t n, struct digit d,
                  size_t *begin)
{
    memset(begin, 0, (d.buckets + 1) * sizeof *begin);
    for (size_t i = 0; i < n; i++) {
        begin[bucket_of(&e[i], d) + 1]++;
    }
    for (unsigned b = 0; b < d.buckets; b++) {
        begin[b + 1] += begin[b];
    }
}

/* Copies entries to their buckets in the order they have. */
static void distribute_stably(const struct sort_entry *from,
                              struct sort_entry *to, size_t n, struct digit d,
                              size_t *begin)
{
    size_t next[BUCKETS_MAX];

    count(from, n, d, begin);
    memcpy(next, begin, d.buckets * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        to[next[bucket_of(&from[i], d)]++] = from[i];
    }
}

/* Few are copied away and come back in order: that is faster than to swap. */
static void distribute(struct sort_entry *e, size_t n, struct digit d,
                       size_t *begin)
{
    struct sort_entry copy[FEW];

    if (n > FEW) {
        count(e, n, d, begin);
        permute(e, d, begin);
    } else {
        memcpy(copy, e, n * sizeof *e);
        distribute_stably(copy, e, n, d, begin);
    }
}

/* Copies the entries of the first part to the front and the others to the
 * room, each behind those of its part, and all of these back. */
static void part_through(struct sort_entry *e, size_t n, struct digit d,
                         const size_t *begin, struct sort_entry *room)
{
    struct sort_entry *next[SORT_PARTS_MAX];

    next[0] = e;
    for (unsigned b = 1; b < d.buckets; b++) {
        next[b] = room + (begin[b] - begin[1]);
    }
    for (size_t i = 0; i < n; i++) {
        *next[bucket_of(&e[i], d)]++ = e[i];
    }
    memcpy(e + begin[1], room, (n - begin[1]) * sizeof *e);
}

void sort_by_part(struct sort_entry *entries, size_t n, unsigned parts,
                  size_t *begin, struct sort_room room)
{
    const struct digit part = { BY_PART, parts };

    assert(parts > 0 && parts <= SORT_PARTS_MAX);
    count(entries, n, part, begin);
    if (begin[1] == n) {
        return;
    }
    if (n - begin[1] <= room.n) {
        part_through(entries, n, part, begin, room.entries);
    } else {
        permute(entries, part, begin);
    }
}

/* Byte order of two heads that agree up to depth. */
static bool is_before(const struct sort_rows *rows, const struct sort_entry *a,
                      const struct sort_entry *b, size_t depth)
{
    struct bytes x;
    struct bytes y;

    if (a->word != b->word) {
        return a->word < b->word;
    }
    x = rows->head(rows->ctx, a->ref);
    y = rows->head(rows->ctx, b->ref);
    return bytes_compare(bytes_of(x.data + depth, x.len - depth),
                         bytes_of(y.data + depth, y.len - depth)) < 0;
}

static void sort_small(const struct sort_rows *rows, struct sort_entry *e,
                       size_t n, size_t depth)
{
    for (size_t i = 1; i < n; i++) {
        struct sort_entry moving = e[i];
        size_t to = i;

        while (to > 0 && is_before(rows, &moving, &e[to - 1], depth)) {
            e[to] = e[to - 1];
            to--;
        }
        e[to] = moving;
    }
}

/* Of entries whose words are all the same, moves those to the front whose
 * heads end in that word, in order, and fetches the next word of the others.
 * Returns how many have ended: few, for they differ in length alone. */
static size_t go_deeper(const struct sort_rows *rows, struct sort_entry *e,
                        size_t n, size_t depth)
{
    size_t ended = 0;

    for (size_t i = 0; i < n; i++) {
        struct bytes head = rows->head(rows->ctx, e[i].ref);

        if (head.len <= depth + WORD) {
            struct sort_entry swapped = e[ended];

            e[ended++] = e[i];
            e[i] = swapped;
        } else {
            e[i].word = sort_word(head, depth + WORD);
        }
    }
    sort_small(rows, e, ended, depth);
    return ended;
}

/* The bits in which words of the range differ. */
static uint64_t differing_bits(const struct sort_entry *e, size_t n)
{
    uint64_t bits = 0;

    for (size_t i = 1; i < n; i++) {
        bits |= e[i].word ^ e[0].word;
    }
    return bits;
}

/* The first of the bits, and some behind it: fewer for fewer entries, for a
 * bucket costs about as much as an entry, also when it is empty. */
static struct digit first_digit(uint64_t bits, size_t n)
{
    int width = n < 128 ? 4 : n < 1024 ? 6 : 8;
    int end = 64 - __builtin_clzll(bits);

    return (struct digit){ .shift = end > width ? end - width : 0,
                           .buckets = 1u << width };
}

static unsigned longest_bucket(const size_t *begin, unsigned buckets)
{
    unsigned longest = 0;

    for (unsigned b = 1; b < buckets; b++) {
        if (begin[b + 1] - begin[b] > begin[longest + 1] - begin[longest]) {
            longest = b;
        }
    }
    return longest;
}

static void sort_range(const struct sort_rows *rows, struct sort_entry *e,
                       size_t n, size_t depth)
{
    size_t begin[BUCKETS_MAX + 1];

    while (n > SMALL) {
        uint64_t bits = differing_bits(e, n);
        struct digit d;
        unsigned longest;

        if (bits == 0) {
            size_t ended = go_deeper(rows, e, n, depth);

            e += ended;
            n -= ended;
            depth += WORD;
            continue;
        }
        d = first_digit(bits, n);
        distribute(e, n, d, begin);
        longest = longest_bucket(begin, d.buckets);
        for (unsigned b = 0; b < d.buckets; b++) {
            if (b != longest && begin[b + 1] - begin[b] > 1) {
                sort_range(rows, e + begin[b], begin[b + 1] - begin[b], depth);
            }
        }
        n = begin[longest + 1] - begin[longest];
        e += begin[longest];
    }
    sort_small(rows, e, n, depth);
}

/* Sorts from one place to another. */
static void sort_across(const struct sort_rows *rows,
                        const struct sort_entry *from, struct sort_entry *to,
                        size_t n, size_t depth)
{
    uint64_t bits = n > SMALL ? differing_bits(from, n) : 0;
    size_t begin[BUCKETS_MAX + 1];
    struct digit d;

    if (bits == 0) {
        memcpy(to, from, n * sizeof *to);
        sort_range(rows, to, n, depth);
        return;
    }
    d = first_digit(bits, n);
    distribute_stably(from, to, n, d, begin);
    for (unsigned b = 0; b < d.buckets; b++) {
        sort_range(rows, to + begin[b], begin[b + 1] - begin[b], depth);
    }
}

/* Sorts there and back. */
static void sort_through(const struct sort_rows *rows, struct sort_entry *e,
                         size_t n, size_t depth, struct sort_entry *room)
{
    uint64_t bits = differing_bits(e, n);
    size_t begin[BUCKETS_MAX + 1];
    struct digit d;

    if (bits == 0) {
        sort_range(rows, e, n, depth);
        return;
    }
    d = first_digit(bits, n);
    distribute_stably(e, room, n, d, begin);
    for (unsigned b = 0; b < d.buckets; b++) {
        sort_across(rows, room + begin[b], e + begin[b],
                    begin[b + 1] - begin[b], depth);
    }
}

#if CPU_X86
__attribute__((target("bmi2"))) static void squeeze(struct sort_entry *e,
                                                    size_t n)
{
    uint64_t bits = differing_bits(e, n);
    int room = 64 - __builtin_popcountll(bits);

    for (size_t i = 0; bits != 0 && i < n; i++) {
        e[i].word = _pext_u64(e[i].word, bits) << room;
    }
}
#endif

void sort_by_head(struct sort_entry *entries, size_t n, size_t depth,
                  const struct sort_rows *rows, struct sort_room room)
{
#if CPU_X86
    if (n > SMALL && cpu_has_bmi2()) {
        squeeze(entries, n);
    }
#endif
    if (n > SMALL && n <= room.n) {
        sort_through(rows, entries, n, depth, room.entries);
    } else {
        sort_range(rows, entries, n, depth);
    }
}

/* ---- by word alone ---- */

/* From the last byte that differs to the first, and by part at the end. */
struct sort_entry *sort_by_word(struct sort_entry *entries,
                                struct sort_entry *room, size_t n,
                                unsigned parts, size_t *begin)
{
    uint64_t bits = differing_bits(entries, n);
    size_t ignored[BUCKETS_MAX + 1];
    struct sort_entry *from = entries;
    struct sort_entry *to = room;

    assert(parts <= SORT_PARTS_MAX);
    for (int shift = 0; shift < 64; shift += 8) {
        if ((bits >> shift & 0xff) != 0) {
            struct sort_entry *sorted = to;

            distribute_stably(from, to, n, (struct digit){ shift, 256 },
                              ignored);
            to = from;
            from = sorted;
        }
    }
    distribute_stably(from, to, n, (struct digit){ BY_PART, parts }, begin);
    return to;
}
