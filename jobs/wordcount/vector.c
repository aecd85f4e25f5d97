#include "jobs/wordcount/vector.h"

#include <string.h>

#include "base/cpu.h"

#if CPU_X86
#include <immintrin.h>
#endif

/*
 * Portable: eight bytes in a 64-bit register. The sums below stay inside
 * their bytes because the top bits are taken off first; the result of a
 * comparison is the top bit of each byte.
 */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOPS EACH(0x80)

static inline uint64_t load_8(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void store_8(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
}

/* Top bits of the bytes in low..high, both below 0x80. */
static inline uint64_t within(uint64_t v, uint8_t low, uint8_t high)
{
    uint64_t seven = v & ~TOPS;
    uint64_t from_low = seven + EACH((uint8_t)(0x80 - low));
    uint64_t above_high = seven + EACH((uint8_t)(0x7f - high));

    return from_low & ~above_high & ~v & TOPS;
}

/* The top bits of eight bytes as the low eight bits. */
static inline uint64_t gather(uint64_t tops)
{
    return ((tops >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

static void classify_portable(const uint8_t *src, size_t steps,
                              uint8_t *lowered,
                              const struct vector_masks *masks)
{
    for (size_t i = 0; i < steps; i++) {
        uint64_t word = 0;
        uint64_t high = 0;
        uint64_t apostrophe = 0;

        for (unsigned at = 0; at < VECTOR_STEP; at += 8) {
            uint64_t v = load_8(src + i * VECTOR_STEP + at);
            uint64_t upper = within(v, 'A', 'Z');
            uint64_t lower = within(v, 'a', 'z');
            uint64_t digit = within(v, '0', '9');

            word |= gather(upper | lower | digit) << at;
            high |= gather(v & TOPS) << at;
            apostrophe |= gather(within(v, '\'', '\'')) << at;
            if (lowered != NULL) {
                store_8(lowered + i * VECTOR_STEP + at, v | upper >> 2);
            }
        }
        masks->word[i] = word;
        masks->high[i] = high;
        masks->apostrophe[i] = apostrophe;
    }
}

static void nonblank_portable(const uint8_t *src, size_t steps, uint64_t *word)
{
    for (size_t i = 0; i < steps; i++) {
        uint64_t blank = 0;

        for (unsigned at = 0; at < VECTOR_STEP; at += 8) {
            uint64_t v = load_8(src + i * VECTOR_STEP + at);

            blank |= gather(within(v, '\t', '\r') | within(v, ' ', ' ')) << at;
        }
        word[i] = ~blank;
    }
}

/* Where runs begin or end: bits that differ from the one before. */
static inline uint64_t changes(uint64_t mask, uint64_t *carry)
{
    uint64_t before = mask << 1 | *carry;

    *carry = mask >> 63;
    return mask ^ before;
}

static size_t edges_portable(const uint64_t *masks, size_t steps,
                             uint32_t *edges)
{
    uint64_t carry = 0;
    size_t n = 0;

    for (size_t i = 0; i < steps; i++) {
        uint64_t bits = changes(masks[i], &carry);
        uint32_t *out = edges + n;

        n += (size_t)__builtin_popcountll(bits);
        /* Four at a time, the last ones beyond the count: a branch per edge
         * would be mispredicted once per step. */
        while (bits != 0) {
            for (unsigned k = 0; k < 4; k++) {
                uint64_t some = bits | UINT64_C(1) << 63;

                *out++ = (uint32_t)(i * VECTOR_STEP) +
                         (uint32_t)__builtin_ctzll(some);
                bits &= bits - 1;
            }
        }
    }
    if (carry != 0) {
        edges[n++] = (uint32_t)(steps * VECTOR_STEP);
    }
    return n;
}

static void keys_portable(const uint8_t *base, const uint32_t *edges, size_t n,
                          struct df_key *keys)
{
    for (size_t i = 0; i < n; i++) {
        keys[i].data = base + edges[2 * i];
        keys[i].len = edges[2 * i + 1] - edges[2 * i];
    }
}

static const struct vector_path portable = {
    .name = "portable",
    .classify = classify_portable,
    .nonblank = nonblank_portable,
    .edges = edges_portable,
    .keys = keys_portable,
};

#if CPU_X86

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define AVX512                                                                \
    __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,popcnt")))

AVX2 static inline __m256i load_32(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* 0xff in the bytes that are at least low and less than count above it. */
AVX2 static inline __m256i within_32(__m256i v, char low, char count)
{
    __m256i from = _mm256_sub_epi8(v, _mm256_set1_epi8(low));
    __m256i last = _mm256_set1_epi8((char)(count - 1));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(from, last), from);
}

AVX2 static inline uint64_t bits_32(__m256i v)
{
    return (uint32_t)_mm256_movemask_epi8(v);
}

AVX2 static void classify_avx2(const uint8_t *src, size_t steps,
                               uint8_t *lowered,
                               const struct vector_masks *masks)
{
    const __m256i space = _mm256_set1_epi8(0x20);
    const __m256i quote = _mm256_set1_epi8('\'');

    for (size_t i = 0; i < steps; i++) {
        uint64_t word = 0;
        uint64_t high = 0;
        uint64_t apostrophe = 0;

        for (unsigned at = 0; at < VECTOR_STEP; at += 32) {
            __m256i v = load_32(src + i * VECTOR_STEP + at);
            __m256i letter = within_32(_mm256_or_si256(v, space), 'a', 26);
            __m256i digit = within_32(v, '0', 10);

            word |= bits_32(_mm256_or_si256(letter, digit)) << at;
            high |= bits_32(v) << at;
            apostrophe |= bits_32(_mm256_cmpeq_epi8(v, quote)) << at;
            if (lowered != NULL) {
                /* Letters only: lower ones have the bit already. */
                __m256i bit = _mm256_and_si256(letter, space);

                _mm256_storeu_si256(
                    (__m256i *)(void *)(lowered + i * VECTOR_STEP + at),
                    _mm256_or_si256(v, bit));
            }
        }
        masks->word[i] = word;
        masks->high[i] = high;
        masks->apostrophe[i] = apostrophe;
    }
}

AVX2 static void nonblank_avx2(const uint8_t *src, size_t steps,
                               uint64_t *word)
{
    const __m256i space = _mm256_set1_epi8(' ');

    for (size_t i = 0; i < steps; i++) {
        uint64_t blank = 0;

        for (unsigned at = 0; at < VECTOR_STEP; at += 32) {
            __m256i v = load_32(src + i * VECTOR_STEP + at);
            __m256i b = _mm256_or_si256(within_32(v, '\t', 5),
                                        _mm256_cmpeq_epi8(v, space));

            blank |= bits_32(b) << at;
        }
        word[i] = ~blank;
    }
}

AVX2 static size_t edges_avx2(const uint64_t *masks, size_t steps,
                              uint32_t *edges)
{
    uint64_t carry = 0;
    size_t n = 0;

    for (size_t i = 0; i < steps; i++) {
        uint64_t bits = changes(masks[i], &carry);
        uint32_t *out = edges + n;

        n += (size_t)_mm_popcnt_u64(bits);
        /* As in edges_portable; tzcnt needs no bit set. */
        while (bits != 0) {
            for (unsigned k = 0; k < 8; k++) {
                *out++ =
                    (uint32_t)(i * VECTOR_STEP) + (uint32_t)_tzcnt_u64(bits);
                bits = _blsr_u64(bits);
            }
        }
    }
    if (carry != 0) {
        edges[n++] = (uint32_t)(steps * VECTOR_STEP);
    }
    return n;
}

static const struct vector_path avx2 = {
    .name = "avx2",
    .classify = classify_avx2,
    .nonblank = nonblank_avx2,
    .edges = edges_avx2,
    .keys = keys_portable,
};

AVX512 static inline uint64_t within_64(__m512i v, char low, char count)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(low)),
                                  _mm512_set1_epi8(count));
}

AVX512 static void classify_avx512(const uint8_t *src, size_t steps,
                                   uint8_t *lowered,
                                   const struct vector_masks *masks)
{
    const __m512i space = _mm512_set1_epi8(0x20);

    for (size_t i = 0; i < steps; i++) {
        __m512i v = _mm512_loadu_si512(src + i * VECTOR_STEP);
        uint64_t letter = within_64(_mm512_or_si512(v, space), 'a', 26);

        masks->word[i] = letter | within_64(v, '0', 10);
        masks->high[i] = _mm512_movepi8_mask(v);
        masks->apostrophe[i] =
            _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\''));
        if (lowered != NULL) {
            __m512i bit = _mm512_maskz_mov_epi8(letter, space);

            _mm512_storeu_si512(lowered + i * VECTOR_STEP,
                                _mm512_or_si512(v, bit));
        }
    }
}

AVX512 static void nonblank_avx512(const uint8_t *src, size_t steps,
                                   uint64_t *word)
{
    for (size_t i = 0; i < steps; i++) {
        __m512i v = _mm512_loadu_si512(src + i * VECTOR_STEP);

        word[i] = ~(within_64(v, '\t', 5) |
                    _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(' ')));
    }
}

/* Sixteen of the byte positions as edges. */
AVX512 static inline void widen_16(uint32_t *out, __m128i positions,
                                   __m512i base)
{
    _mm512_storeu_si512(
        out, _mm512_add_epi32(_mm512_cvtepu8_epi32(positions), base));
}

AVX512 static size_t edges_avx512(const uint64_t *masks, size_t steps,
                                  uint32_t *edges)
{
    static const uint8_t positions[VECTOR_STEP] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    const __m512i all = _mm512_loadu_si512(positions);
    uint64_t carry = 0;
    size_t n = 0;

    for (size_t i = 0; i < steps; i++) {
        uint64_t bits = changes(masks[i], &carry);
        __m512i base = _mm512_set1_epi32((int)(i * VECTOR_STEP));
        __m512i set = _mm512_maskz_compress_epi8(bits, all);
        size_t count = (size_t)_mm_popcnt_u64(bits);

        widen_16(edges + n, _mm512_castsi512_si128(set), base);
        if (count > 16) {
            widen_16(edges + n + 16, _mm512_extracti32x4_epi32(set, 1), base);
        }
        if (count > 32) {
            widen_16(edges + n + 32, _mm512_extracti32x4_epi32(set, 2), base);
            widen_16(edges + n + 48, _mm512_extracti32x4_epi32(set, 3), base);
        }
        n += count;
    }
    if (carry != 0) {
        edges[n++] = (uint32_t)(steps * VECTOR_STEP);
    }
    return n;
}

/* Four keys are one register: begin, length, begin, length ... */
AVX512 static void keys_avx512(const uint8_t *base, const uint32_t *edges,
                               size_t n, struct df_key *keys)
{
    const __m512i bases = _mm512_set1_epi64((long long)(uintptr_t)base);
    const __mmask8 begins = 0x55;
    const __mmask8 lengths = 0xaa;

    _Static_assert(sizeof(struct df_key) == 16, "pointer and length");
    for (size_t i = 0; i < n; i += 4) {
        __m512i v = _mm512_cvtepu32_epi64(_mm256_loadu_si256(
            (const __m256i *)(const void *)(edges + 2 * i)));
        __m512i begin = _mm512_unpacklo_epi64(v, v);

        v = _mm512_mask_sub_epi64(v, lengths, v, begin);
        v = _mm512_mask_add_epi64(v, begins, v, bases);
        _mm512_storeu_si512(keys + i, v);
    }
}

static const struct vector_path avx512 = {
    .name = "avx512",
    .classify = classify_avx512,
    .nonblank = nonblank_avx512,
    .edges = edges_avx512,
    .keys = keys_avx512,
};

#endif

static const struct cpu_path list[] = {
#if CPU_X86
    { CPU_AVX512_VBMI2, &avx512 },
    { CPU_AVX2, &avx2 },
#endif
    { CPU_PORTABLE, &portable },
};
static struct cpu_paths paths = { .list = list };

const struct vector_path *vector_path(size_t i)
{
    return cpu_path(&paths, i);
}

const struct vector_path *vector_best(void)
{
    return cpu_best(&paths);
}

void vector_prefer(const struct vector_path *path)
{
    paths.preferred = path;
}
