#include "input/csv_index.h"

#include "base/cpu.h"

#if CPU_X86
#include <immintrin.h>
#endif

/* ---- what all paths share: masks in, positions out ---- */

struct masks {
    uint64_t delimiter;
    uint64_t quote;
    uint64_t lf;
};

/* Bit i: the XOR of bits 0 to i. */
static inline uint64_t prefix_xor(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    x ^= x << 32;
    return x;
}

static inline bool is_crlf(struct bytes b, size_t at)
{
    /* At the end of a stretch it cannot be known yet; the row is not whole
     * then, and will be looked at again. */
    return b.data[at] == '\r' && (at + 1 >= b.len || b.data[at + 1] == '\n');
}

/* Notes the first of the bad places that is no CRLF. */
static void judge(struct csv_index *x, struct bytes stretch, uint64_t bad)
{
    for (; bad != 0; bad &= bad - 1) {
        size_t at = x->at + (size_t)__builtin_ctzll(bad);

        if (!is_crlf(stretch, at)) {
            x->is_broken = true;
            x->broken_at = at;
            return;
        }
    }
}

/* The ends of one step that has quotes in it or lies between some; `valid`
 * are the bits of the stretch. */
static inline uint64_t unquote(struct csv_index *x, struct bytes stretch,
                               const struct masks *m, uint64_t valid)
{
    uint64_t inside = prefix_xor(m->quote) ^ x->inside;
    uint64_t ends = (m->delimiter | m->lf) & ~inside;
    uint64_t opening = m->quote & inside;
    uint64_t closing = m->quote & ~inside;
    uint64_t behind_end = ends << 1 | x->was_end;
    uint64_t behind_close = closing << 1 | x->was_close;
    uint64_t bad = (opening & ~(behind_end | behind_close)) |
                   (behind_close & ~(ends | m->quote) & valid);

    if (bad != 0) {
        judge(x, stretch, bad);
    }
    x->inside = (uint64_t)0 - (inside >> 63);
    x->was_end = ends >> 63;
    x->was_close = closing >> 63;
    return ends;
}

/* Writes the positions of the set bits; eight at a time, without a branch
 * for each: a row of 60 bytes has some eight. */
static inline uint32_t *write_ends(uint32_t *out, uint64_t bits, uint32_t base)
{
    uint32_t *next = out + __builtin_popcountll(bits);

    while (bits != 0) {
        for (unsigned k = 0; k < 8; k++) {
            /* Of no bits this is 64 and not undefined: it is written over. */
            out[k] = base + (uint32_t)(bits != 0 ? __builtin_ctzll(bits) : 64);
            bits &= bits - 1;
        }
        out += 8;
    }
    return next;
}

__attribute__((always_inline)) static inline uint64_t ends_of(
    struct csv_index *x, struct csv_index_kind kind, struct bytes stretch,
    struct masks *m)
{
    size_t left = stretch.len - x->at;
    uint64_t valid =
        left < CSV_INDEX_STEP ? ~(UINT64_MAX << left) : UINT64_MAX;
    uint64_t ends;

    m->delimiter &= valid;
    m->lf &= valid;
    m->quote = kind.has_quotes ? m->quote & valid : 0;
    if ((m->quote | x->inside | x->was_close) != 0) {
        return unquote(x, stretch, m, valid);
    }
    ends = m->delimiter | m->lf;
    x->was_end = ends >> 63;
    return ends;
}

static inline void advance(struct csv_index *x, struct bytes stretch)
{
    size_t left = stretch.len - x->at;

    x->at += left < CSV_INDEX_STEP ? left : CSV_INDEX_STEP;
}

/* The loop of every path: inlined, so that each is compiled for its
 * processor. */
__attribute__((always_inline)) static inline size_t run(
    struct csv_index *x, struct csv_index_kind kind, struct bytes stretch,
    size_t steps, uint32_t *ends,
    struct masks (*masks_of)(const uint8_t *p, uint8_t delimiter))
{
    uint32_t *out = ends;

    for (size_t i = 0; i < steps && x->at < stretch.len && !x->is_broken;
         i++) {
        struct masks m = masks_of(stretch.data + x->at, kind.delimiter);
        uint32_t base = (uint32_t)x->at;
        uint64_t bits = ends_of(x, kind, stretch, &m);

        out = write_ends(out, bits, base);
        advance(x, stretch);
    }
    return (size_t)(out - ends);
}

/* ---- portable ---- */

static inline struct masks masks_portable(const uint8_t *p, uint8_t delimiter)
{
    struct masks m = { 0 };

    for (unsigned i = 0; i < CSV_INDEX_STEP; i++) {
        m.delimiter |= (uint64_t)(p[i] == delimiter) << i;
        m.quote |= (uint64_t)(p[i] == '"') << i;
        m.lf |= (uint64_t)(p[i] == '\n') << i;
    }
    return m;
}

static size_t run_portable(struct csv_index *x, struct csv_index_kind kind,
                           struct bytes stretch, size_t steps, uint32_t *ends)
{
    return run(x, kind, stretch, steps, ends, masks_portable);
}

static bool parity_portable(struct bytes b)
{
    unsigned n = 0;

    for (size_t i = 0; i < b.len; i++) {
        n ^= b.data[i] == '"';
    }
    return n != 0;
}

static const struct csv_index_path portable = { "portable", run_portable,
                                                parity_portable };

#if CPU_X86

/* popcnt and bmi come with every processor that has AVX2. */
#define AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define AVX512 __attribute__((target("avx512f,avx512bw,bmi,popcnt")))

AVX2 static inline uint64_t equal_avx2(__m256i low, __m256i high, uint8_t byte)
{
    __m256i v = _mm256_set1_epi8((char)byte);
    uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, v));
    uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, v));

    return a | (uint64_t)b << 32;
}

AVX2 static inline struct masks masks_avx2(const uint8_t *p, uint8_t delimiter)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));

    return (struct masks){ .delimiter = equal_avx2(low, high, delimiter),
                           .quote = equal_avx2(low, high, '"'),
                           .lf = equal_avx2(low, high, '\n') };
}

AVX2 static size_t run_avx2(struct csv_index *x, struct csv_index_kind kind,
                            struct bytes stretch, size_t steps, uint32_t *ends)
{
    return run(x, kind, stretch, steps, ends, masks_avx2);
}

AVX2 static bool parity_avx2(struct bytes b)
{
    size_t whole = b.len / CSV_INDEX_STEP * CSV_INDEX_STEP;
    uint64_t n = 0;

    for (size_t i = 0; i < whole; i += CSV_INDEX_STEP) {
        n ^= masks_avx2(b.data + i, '"').quote;
    }
    return (__builtin_popcountll(n) & 1) !=
           (int)parity_portable(bytes_of(b.data + whole, b.len - whole));
}

static const struct csv_index_path avx2 = { "avx2", run_avx2, parity_avx2 };

AVX512 static inline struct masks masks_avx512(const uint8_t *p,
                                               uint8_t delimiter)
{
    __m512i v = _mm512_loadu_si512(p);

    return (struct masks){
        .delimiter =
            _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)delimiter)),
        .quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')),
        .lf = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n')),
    };
}

AVX512 static size_t run_avx512(struct csv_index *x,
                                struct csv_index_kind kind,
                                struct bytes stretch, size_t steps,
                                uint32_t *ends)
{
    return run(x, kind, stretch, steps, ends, masks_avx512);
}

AVX512 static bool parity_avx512(struct bytes b)
{
    size_t whole = b.len / CSV_INDEX_STEP * CSV_INDEX_STEP;
    uint64_t n = 0;

    for (size_t i = 0; i < whole; i += CSV_INDEX_STEP) {
        n ^= masks_avx512(b.data + i, '"').quote;
    }
    return (__builtin_popcountll(n) & 1) !=
           (int)parity_portable(bytes_of(b.data + whole, b.len - whole));
}

static const struct csv_index_path avx512 = { "avx512", run_avx512,
                                              parity_avx512 };

#endif

static const struct cpu_path list[] = {
#if CPU_X86
    { CPU_AVX512, &avx512 },
    { CPU_AVX2, &avx2 },
#endif
    { CPU_PORTABLE, &portable },
};
static struct cpu_paths paths = { .list = list };

const struct csv_index_path *csv_index_path(size_t i)
{
    return cpu_path(&paths, i);
}

const struct csv_index_path *csv_index_best(void)
{
    return cpu_best(&paths);
}

void csv_index_prefer(const struct csv_index_path *path)
{
    paths.preferred = path;
}
