#include "jobs/links/html_index.h"

#include "base/cpu.h"

#if CPU_X86
#include <immintrin.h>
#endif

/* ---- portable: a table ---- */

enum { LESS = 1 << HTML_LESS, STOP = 1 << HTML_STOP, CLOSE = 1 << HTML_CLOSE };

static const uint8_t marks_of[256] = {
    ['<'] = LESS,  ['>'] = STOP | CLOSE, ['"'] = CLOSE, ['\''] = CLOSE,
    ['/'] = STOP,  ['='] = STOP,         [' '] = STOP,  ['\t'] = STOP,
    ['\n'] = STOP, ['\f'] = STOP,        ['\r'] = STOP,
};

static void fill_portable(const uint8_t *src, size_t steps,
                          struct html_index *x)
{
    for (size_t i = 0; i < steps; i++, src += HTML_INDEX_STEP) {
        uint64_t masks[HTML_MARKS] = { 0 };

        for (unsigned at = 0; at < HTML_INDEX_STEP; at++) {
            uint64_t marks = marks_of[src[at]];

            masks[HTML_LESS] |= (marks >> HTML_LESS & 1) << at;
            masks[HTML_STOP] |= (marks >> HTML_STOP & 1) << at;
            masks[HTML_CLOSE] |= (marks >> HTML_CLOSE & 1) << at;
        }
        for (unsigned mark = 0; mark < HTML_MARKS; mark++) {
            x->masks[mark][i] = masks[mark];
        }
    }
}

static const struct html_index_path portable = { "portable", fill_portable };

#if CPU_X86

/*
 * A byte is looked up by its low half in one table and by its high half in
 * another; what both say is its class. Classes by high half:
 *     0: \t \n \f \r    2: blank " ' /    3: < = >
 */
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))

enum {
    IS_LESS = 0x01,
    IS_GREATER = 0x02,
    IS_QUOTE = 0x04,
    IS_SLASH_BLANK = 0x08, /* / and space */
    IS_EQUALS = 0x10,
    IS_CONTROL = 0x20, /* the blanks that are control characters */
    OF_STOP = IS_GREATER | IS_SLASH_BLANK | IS_EQUALS | IS_CONTROL,
    OF_CLOSE = IS_GREATER | IS_QUOTE
};

static const uint8_t low_halves[16] = {
    [0x0] = IS_SLASH_BLANK,
    [0x2] = IS_QUOTE,
    [0x7] = IS_QUOTE,
    [0x9] = IS_CONTROL,
    [0xa] = IS_CONTROL,
    [0xc] = IS_CONTROL | IS_LESS,
    [0xd] = IS_CONTROL | IS_EQUALS,
    [0xe] = IS_GREATER,
    [0xf] = IS_SLASH_BLANK,
};

static const uint8_t high_halves[16] = {
    [0x0] = IS_CONTROL,
    [0x2] = IS_QUOTE | IS_SLASH_BLANK,
    [0x3] = IS_LESS | IS_GREATER | IS_EQUALS,
};

AVX2 static inline __m256i table_32(const uint8_t *table)
{
    return _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)(const void *)table));
}

/* Bits of the bytes that are of some of the classes. */
AVX2 static inline uint64_t of_32(__m256i classes, char some)
{
    __m256i none =
        _mm256_cmpeq_epi8(_mm256_and_si256(classes, _mm256_set1_epi8(some)),
                          _mm256_setzero_si256());

    return (uint32_t)~_mm256_movemask_epi8(none);
}

AVX2 static void fill_avx2(const uint8_t *src, size_t steps,
                           struct html_index *x)
{
    const __m256i low = table_32(low_halves);
    const __m256i high = table_32(high_halves);
    const __m256i half = _mm256_set1_epi8(0x0f);

    for (size_t i = 0; i < steps; i++, src += HTML_INDEX_STEP) {
        uint64_t masks[HTML_MARKS] = { 0 };

        for (unsigned at = 0; at < HTML_INDEX_STEP; at += 32) {
            __m256i v =
                _mm256_loadu_si256((const __m256i *)(const void *)(src + at));
            __m256i top = _mm256_and_si256(_mm256_srli_epi16(v, 4), half);
            __m256i classes = _mm256_and_si256(
                _mm256_shuffle_epi8(low, _mm256_and_si256(v, half)),
                _mm256_shuffle_epi8(high, top));

            masks[HTML_LESS] |= of_32(classes, IS_LESS) << at;
            masks[HTML_STOP] |= of_32(classes, OF_STOP) << at;
            masks[HTML_CLOSE] |= of_32(classes, OF_CLOSE) << at;
        }
        x->masks[HTML_LESS][i] = masks[HTML_LESS];
        x->masks[HTML_STOP][i] = masks[HTML_STOP];
        x->masks[HTML_CLOSE][i] = masks[HTML_CLOSE];
    }
}

static const struct html_index_path avx2 = { "avx2", fill_avx2 };

AVX512 static inline __m512i table_64(const uint8_t *table)
{
    return _mm512_broadcast_i32x4(
        _mm_loadu_si128((const __m128i *)(const void *)table));
}

AVX512 static void fill_avx512(const uint8_t *src, size_t steps,
                               struct html_index *x)
{
    const __m512i low = table_64(low_halves);
    const __m512i high = table_64(high_halves);
    const __m512i half = _mm512_set1_epi8(0x0f);

    for (size_t i = 0; i < steps; i++, src += HTML_INDEX_STEP) {
        __m512i v = _mm512_loadu_si512(src);
        __m512i top = _mm512_and_si512(_mm512_srli_epi16(v, 4), half);
        __m512i classes = _mm512_and_si512(
            _mm512_shuffle_epi8(low, _mm512_and_si512(v, half)),
            _mm512_shuffle_epi8(high, top));

        x->masks[HTML_LESS][i] =
            _mm512_test_epi8_mask(classes, _mm512_set1_epi8(IS_LESS));
        x->masks[HTML_STOP][i] =
            _mm512_test_epi8_mask(classes, _mm512_set1_epi8(OF_STOP));
        x->masks[HTML_CLOSE][i] =
            _mm512_test_epi8_mask(classes, _mm512_set1_epi8(OF_CLOSE));
    }
}

static const struct html_index_path avx512 = { "avx512", fill_avx512 };

#endif

static const struct cpu_path list[] = {
#if CPU_X86
    { CPU_AVX512, &avx512 },
    { CPU_AVX2, &avx2 },
#endif
    { CPU_PORTABLE, &portable },
};
static struct cpu_paths paths = { .list = list };

const struct html_index_path *html_index_path(size_t i)
{
    return cpu_path(&paths, i);
}

void html_index_prefer(const struct html_index_path *path)
{
    paths.preferred = path;
}

void html_index_open(struct html_index *x, struct bytes page)
{
    x->page = page;
    if (page.len > 0) {
        html_index_move(x, 0);
    } else {
        x->begin = 0;
        memset(x->masks, 0, sizeof x->masks);
    }
}

void html_index_move(struct html_index *x, size_t at)
{
    const struct html_index_path *path = cpu_best(&paths);
    size_t left = x->page.len - at;
    size_t steps = left < HTML_INDEX_SPAN
                       ? (left + HTML_INDEX_STEP - 1) / HTML_INDEX_STEP
                       : HTML_INDEX_STEPS;

    x->begin = at;
    path->fill(x->page.data + at, steps, x);
    for (unsigned mark = 0; mark < HTML_MARKS; mark++) {
        uint64_t *masks = x->masks[mark];

        memset(masks + steps, 0,
               (HTML_INDEX_STEPS + 1 - steps) * sizeof *masks);
        if (left < steps * HTML_INDEX_STEP) {
            masks[steps - 1] &= ~(UINT64_MAX << left % HTML_INDEX_STEP);
        }
    }
}
