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

/* Adds the cold keys to the table: the slots have been sent for, now the
 * records are. */
static void drain_cold(struct combine *c)
{
    size_t n = c->cold_count;

    c->cold_count = 0;
    for (size_t i = 0; i < n; i++) {
        table_prefetch_record(&c->table, &c->cold[i].key);
    }
    for (size_t i = 0; i < n && c->emitter.status == DF_OK; i++) {
        const struct table_key *k = &c->cold[i].key;

        combine_add_stored(c, k, bytes_of(k->data, k->len), &c->cold[i].count);
    }
}

/* The next cold key, its slot sent for: the caller fills in what is left. */
static inline struct combine_cold *next_cold(struct combine *c, uint32_t tag)
{
    struct combine_cold *cold = &c->cold[c->cold_count++];

    cold->key.tag = tag;
    __builtin_prefetch(table_home(&c->table, &cold->key), 1);
    return cold;
}

static void add_long(struct combine *c, const struct df_key *key)
{
    struct table_key k;
    struct combine_cold *cold;

    table_key(&k, key->data, key->len);
    cold = next_cold(c, k.tag);
    cold->key = k;
    cold->count = c->sign;
}

/* A key that leaves its hot place brings its bytes along. */
static void add_replaced(struct combine *c, const struct hot_out *out)
{
    struct combine_cold *cold = next_cold(c, out->key.tag);

    cold->key = out->key;
    cold->key.data = (const uint8_t *)&cold->key.low;
    cold->count = out->count;
}

/* ---- hot keys ---- */

static void add_short(struct combine *c, const struct df_key *key,
                      struct hot_key k, uint64_t hash)
{
    struct hot_out out;
    struct combine_cold *cold;

    switch (hot_miss(&c->hot, k, key->len, hash, c->sign, &out)) {
    case HOT_COUNTED:
        break;
    case HOT_COLD:
        cold = next_cold(c, hot_tag(hash));
        cold->key = hot_table_key(k, key->len, hash);
        cold->key.data = key->data;
        cold->count = c->sign;
        break;
    case HOT_REPLACED:
        add_replaced(c, &out);
        break;
    }
}

/* A key that is not in its place. Not inline: the loop that comes here now
 * and then has more use for the registers. */
static __attribute__((noinline)) void add_missed(struct combine *c,
                                                 const struct df_key *key,
                                                 struct hot_key k,
                                                 uint64_t hash)
{
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
    } else {
        add_short(c, key, k, hash);
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
            add_missed(c, key, k, hash);
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
        drain_cold(c); /* while the long ones' bytes are there */
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

void combine_keys_end(struct combine *c)
{
    struct hot_out out;
    size_t at = 0;

    while (c->emitter.status == DF_OK && hot_take(&c->hot, &at, &out)) {
        if (c->cold_count == COMBINE_COLD) {
            drain_cold(c);
        }
        add_replaced(c, &out);
    }
    drain_cold(c);
}
