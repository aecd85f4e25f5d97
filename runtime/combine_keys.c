/*
 * combine_keys.c: lists of keys that count one each into the table of
 * combine.c: what word count emits, by the hundred million.
 *
 * Most are counted where most of them are (hot.h). Those that are not are
 * added to the table in batches, so that its places have been sent for when
 * they are looked at.
 */
#include "base/cpu.h"
#include "runtime/combine_internal.h"

#if CPU_X86
#include <immintrin.h>
#endif

enum { HOT_SHARE = 16 }; /* one part in so many of the memory, at most */

static void add_key(struct combine *c, const struct df_key *key)
{
    static const int64_t one[DF_COMPONENTS_MAX] = { 1 };

    combine_add_pair(c, bytes_of(key->data, key->len), bytes_of(NULL, 0), one);
}

/* ---- cold keys ---- */

/* Adds to a row that is there already: most of them. */
static inline bool add_known(struct combine *c, const struct hot_count *cold)
{
    struct table_slot *slot = table_find(&c->table, &cold->key);
    int64_t sum;

    if (table_is_free(slot) ||
        __builtin_add_overflow(slot->value, cold->count, &sum)) {
        return false;
    }
    slot->value = sum;
    return true;
}

/* Adds the cold keys to the table: the slots have been sent for, now the
 * records are. */
static void drain_cold(struct combine *c)
{
    size_t n = c->cold_count;

    c->cold_count = 0;
    c->cold_borrows = false;
    if (c->emitter.status != DF_OK) {
        return; /* the table may not be one any more */
    }
    for (size_t i = 0; i < n; i++) {
        table_prefetch_record(&c->table, &c->cold[i].key);
    }
    for (size_t i = 0; i < n && c->emitter.status == DF_OK; i++) {
        const struct table_key *k = &c->cold[i].key;

        if (!add_known(c, &c->cold[i])) {
            combine_add_stored(c, k, bytes_of(k->data, k->len),
                               &c->cold[i].count);
        }
    }
}

/* The cold key that has been filled in is one of them; its slot is sent
 * for. */
static inline void take_cold(struct combine *c)
{
    const struct hot_count *cold = &c->cold[c->cold_count++];

    __builtin_prefetch(table_home(&c->table, &cold->key), 1);
}

static void add_long(struct combine *c, const struct df_key *key)
{
    struct hot_count *cold = &c->cold[c->cold_count];

    table_key(&cold->key, key->data, key->len);
    cold->count = c->sign;
    c->cold_borrows = true;
    take_cold(c);
}

/* ---- hot keys ---- */

/* A key that is not in its place. Not inline: the loop that comes here now
 * and then has more use for the registers; and two words, not a struct, which
 * gcc would put into memory and read back. */
static __attribute__((noinline)) void add_missed(struct combine *c,
                                                 const struct df_key *key,
                                                 uint64_t low, uint64_t high,
                                                 uint64_t hash)
{
    struct hot_key k = { low, high };

    if (c->emitter.status != DF_OK) {
        return;
    }
    if (!combine_is_plain_key(key->data, key->len)) {
        add_key(c, key);
        return;
    }
    if (c->cold_count == COMBINE_COLD) {
        drain_cold(c);
    }
    if (key->len > HOT_KEY_MAX) {
        add_long(c, key);
    } else if (hot_miss(&c->hot, k, key->len, hash, c->sign,
                        &c->cold[c->cold_count])) {
        take_cold(c);
    }
}

static inline struct hot_key load_portable(const uint8_t *data, size_t len)
{
    uint64_t low;
    uint64_t high;

    table_load_masked(data, len < 16 ? len : 16, &low, &high);
    return hot_salted(low, high);
}

#if CPU_X86

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,bmi,bmi2")))

/* The mask is made of the low eight bits of the length: right up to 16. */
AVX512 static inline struct hot_key load_avx512(const uint8_t *data,
                                                size_t len)
{
    __mmask16 mask = (__mmask16)_bzhi_u32(0xffff, (unsigned)len);
    __m128i salts =
        _mm_set_epi64x((long long)table_salt_high, (long long)table_salt_low);
    __m128i v = _mm_xor_si128(_mm_maskz_loadu_epi8(mask, data), salts);

    return (struct hot_key){ (uint64_t)_mm_cvtsi128_si64(v),
                             (uint64_t)_mm_extract_epi64(v, 1) };
}

#endif

/* The loop of both paths, inlined into each: no call is left in it but the
 * rare one. */
static inline __attribute__((always_inline)) void count_keys(
    struct combine *c, const struct df_key *keys, size_t n,
    struct hot_key (*load)(const uint8_t *data, size_t len))
{
    const struct hot hot = c->hot;
    const int64_t sign = c->sign;

    for (const struct df_key *key = keys; key < keys + n; key++) {
        struct hot_key k = load(key->data, key->len);
        uint64_t hash = hot_hash(k, key->len);

        if (!hot_hit(&hot, k, key->len, hash, sign)) {
            add_missed(c, key, k.low, k.high, hash);
        }
    }
}

static void count_portable(struct combine *c, const struct df_key *keys,
                           size_t n)
{
    count_keys(c, keys, n, load_portable);
}

static const struct combine_path portable = { "portable", count_portable };

#if CPU_X86

AVX512 static void count_avx512(struct combine *c, const struct df_key *keys,
                                size_t n)
{
    count_keys(c, keys, n, load_avx512);
}

static const struct combine_path avx512 = { "avx512", count_avx512 };

#endif

static const struct cpu_path list[] = {
#if CPU_X86
    { CPU_AVX512, &avx512 },
#endif
    { CPU_PORTABLE, &portable },
};
static struct cpu_paths paths = { .list = list };

const struct combine_path *combine_path(size_t i)
{
    return cpu_path(&paths, i);
}

void combine_prefer(const struct combine_path *path)
{
    paths.preferred = path;
}

/* ---- the list ---- */

/* Opened late, for jobs that emit pairs need none; without memory all keys
 * are cold. */
static bool open_hot(struct combine *c)
{
    size_t share = c->plan.memory / HOT_SHARE;

    if (c->hot.entries != NULL) {
        return true;
    }
    share = share < HOT_BYTES_MAX ? share : HOT_BYTES_MAX;
    return hot_open(&c->hot, share > PAGES_UNIT ? share : PAGES_UNIT);
}

static void emit_keys(struct df_emitter *e, const struct df_key *keys,
                      size_t n)
{
    struct combine *c = (struct combine *)e;

    assert(!c->plan.shape.has_element && c->plan.shape.components == 1);
    c->stats.pairs += n;
    if (c->plan.sample == 1 && open_hot(c)) {
        c->path->count(c, keys, n);
        if (c->cold_borrows) {
            drain_cold(c); /* while the long ones' bytes are there */
        }
        return;
    }
    for (size_t i = 0; i < n && c->emitter.status == DF_OK; i++) {
        add_key(c, &keys[i]);
    }
}

void combine_keys_init(struct combine *c)
{
    c->path = cpu_best(&paths);
    c->emitter.keys = emit_keys;
}

void combine_settle(struct combine *c)
{
    size_t at = 0;

    drain_cold(c);
    while (c->emitter.status == DF_OK &&
           hot_take(&c->hot, &at, &c->cold[c->cold_count])) {
        take_cold(c);
        if (c->cold_count == COMBINE_COLD) {
            drain_cold(c);
        }
    }
    drain_cold(c);
    hot_close(&c->hot); /* to settle once more is nothing */
}
