/*
 * An entry is one MessagePack map. Numbers are listed in a table below, so
 * that what is written and what is read cannot drift apart; strings and
 * digests have their own lines.
 */
#include "state/ledger.h"

#include "base/codec.h"

const char *install_method_name(enum install_method m)
{
    switch (m) {
    case INSTALL_INCREMENT:
        return "increment";
    case INSTALL_OVERWRITE:
        return "overwrite";
    case INSTALL_REBUILD:
        return "rebuild";
    case INSTALL_DEFER:
        return "defer";
    case INSTALL_AUTO:
        return "auto";
    }
    return "unknown";
}

/* The unsigned numbers of an entry under their names on disk, in the order
 * in which they are written. */
struct number {
    const char *key;
    size_t offset;
};

#define NUMBER(key, field)                                                    \
    {                                                                         \
        key, offsetof(struct ledger_entry, field)                             \
    }
static const struct number numbers[] = {
    NUMBER("seq", seq),
    NUMBER("ins", inserted),
    NUMBER("del", deleted),
    NUMBER("quar", quarantined),
    NUMBER("bytes", input_bytes),
    NUMBER("pairs", pairs),
    NUMBER("run", run_rows),
    NUMBER("add", rows_added),
    NUMBER("chg", rows_changed),
    NUMBER("rem", rows_removed),
    NUMBER("rows", rows),
    NUMBER("spills", spills),
    NUMBER("pred", predicted_us),
    NUMBER("meas", measured_us),
    NUMBER("map", map_us),
    NUMBER("red", reduce_us),
    NUMBER("inst", install_us),
    NUMBER("mapc", map_cpu_us),
    NUMBER("redc", reduce_cpu_us),
    NUMBER("instc", install_cpu_us),
    NUMBER("thr", threads),
    NUMBER("recs", records),
    NUMBER("skip", records_skipped),
    NUMBER("unf", unfolded),
    NUMBER("model", model_us),
    NUMBER("mcom", model_commit_us),
    NUMBER("cmpct", compact_us),
};
enum {
    NUMBERS = sizeof numbers / sizeof numbers[0],
    OTHERS = 10, /* pairs that put_others writes */
    HISTORY = 6, /* and put_history */
    CLOCK_PARTS = 7,
    SURVIVORS_PARTS = 3
};

/* ---- effects ---- */

enum { EFFECT = 8 /* bytes: number and, in the last bit, whether minus */ };

size_t ledger_effects(const struct ledger_entry *e)
{
    if (!e->has_effects) {
        return e->kind == LEDGER_BATCH ? 1 : 0;
    }
    return e->effects.len / EFFECT;
}

struct ledger_effect ledger_effect(const struct ledger_entry *e, size_t i)
{
    uint64_t v =
        e->has_effects ? load_be64(e->effects.data + i * EFFECT) : e->seq << 1;

    return (struct ledger_effect){ .seq = v >> 1, .minus = (v & 1) != 0 };
}

bool ledger_effects_add(struct buf *effects, struct ledger_effect effect)
{
    return ledger_drops_add(effects, effect.seq << 1 | (effect.minus ? 1 : 0));
}

size_t ledger_drops(const struct ledger_entry *e)
{
    return e->drops.len / EFFECT;
}

uint64_t ledger_drop(const struct ledger_entry *e, size_t i)
{
    return load_be64(e->drops.data + i * EFFECT);
}

bool ledger_drops_add(struct buf *drops, uint64_t seq)
{
    uint8_t raw[EFFECT];

    store_be64(raw, seq);
    return buf_append(drops, raw, sizeof raw);
}

/* ---- entries ---- */

static bool has_history(const struct ledger_entry *e)
{
    return e->has_effects || e->kept || e->drops.len > 0 || e->note.len > 0 ||
           e->gap > 0;
}

static bool put_number(struct buf *out, const struct ledger_entry *e,
                       const struct number *number)
{
    uint64_t v;

    memcpy(&v, (const uint8_t *)e + number->offset, sizeof v);
    return codec_put_text(out, number->key) && codec_put_uint(out, v);
}

static bool put_counters(struct buf *out, const struct ledger_entry *e)
{
    bool ok = codec_put_array(out, DF_COUNTERS_MAX);

    for (size_t i = 0; ok && i < DF_COUNTERS_MAX; i++) {
        ok = codec_put_uint(out, e->counters[i]);
    }
    return ok;
}

static bool put_others(struct buf *out, const struct ledger_entry *e)
{
    return codec_put_text(out, "kind") && codec_put_uint(out, e->kind) &&
           codec_put_text(out, "name") && codec_put_bin(out, e->name) &&
           codec_put_text(out, "digest") && codec_put_hash(out, e->digest) &&
           codec_put_text(out, "method") && codec_put_uint(out, e->method) &&
           codec_put_text(out, "seen") && codec_put_bool(out, e->rows_seen) &&
           codec_put_text(out, "before") &&
           codec_put_hash(out, e->view_before) &&
           codec_put_text(out, "after") &&
           codec_put_hash(out, e->view_after) &&
           codec_put_text(out, "count") && put_counters(out, e) &&
           codec_put_text(out, "time") && codec_put_int(out, e->time) &&
           codec_put_text(out, "prog") && codec_put_bin(out, e->program);
}

/* Fold jobs alone have these; entries of others do not grow by them. */
static bool has_clock(const struct ledger_entry *e)
{
    return e->clock.is_set || e->clock.has_seen;
}

static bool put_clock(struct buf *out, const struct df_clock *c)
{
    return codec_put_text(out, "clock") && codec_put_array(out, CLOCK_PARTS) &&
           codec_put_bool(out, c->is_set) &&
           codec_put_bool(out, c->has_seen) && codec_put_int(out, c->origin) &&
           codec_put_int(out, c->start) && codec_put_int(out, c->end) &&
           codec_put_int(out, c->latest) && codec_put_int(out, c->earliest);
}

static bool put_outcomes(struct buf *out, const struct ledger_entry *e)
{
    return codec_put_text(out, "out") && codec_put_bin(out, e->outcomes) &&
           codec_put_text(out, "token") &&
           codec_put_uint(out, e->outcomes_token);
}

static bool put_survivors(struct buf *out, const struct ledger_survivors *s)
{
    return codec_put_text(out, "surv") &&
           codec_put_array(out, SURVIVORS_PARTS) &&
           codec_put_int(out, s->files) && codec_put_int(out, s->bytes) &&
           codec_put_hash(out, s->digest);
}

/* Written where there is something to say: a view that keeps no runs has
 * entries as short as ever. */
static bool put_history(struct buf *out, const struct ledger_entry *e)
{
    return codec_put_text(out, "kept") && codec_put_bool(out, e->kept) &&
           codec_put_text(out, e->has_effects ? "eff" : "noeff") &&
           codec_put_bin(out, e->effects) && codec_put_text(out, "drop") &&
           codec_put_bin(out, e->drops) && codec_put_text(out, "note") &&
           codec_put_bin(out, e->note) && codec_put_text(out, "wend") &&
           codec_put_int(out, e->window_end) && codec_put_text(out, "gap") &&
           codec_put_uint(out, e->gap);
}

bool ledger_entry_encode(const struct ledger_entry *e, struct buf *out)
{
    bool has_outcomes = e->outcomes.len > 0;
    unsigned more = has_history(e) ? HISTORY : 0;
    bool ok = codec_put_map(
        out, NUMBERS + OTHERS + more + (has_clock(e) ? 1u : 0u) +
                 (e->survivors.known ? 1u : 0u) + (has_outcomes ? 2u : 0u));

    for (size_t i = 0; ok && i < NUMBERS; i++) {
        ok = put_number(out, e, &numbers[i]);
    }
    return ok && put_others(out, e) && (more == 0 || put_history(out, e)) &&
           (!has_clock(e) || put_clock(out, &e->clock)) &&
           (!e->survivors.known || put_survivors(out, &e->survivors)) &&
           (!has_outcomes || put_outcomes(out, e));
}

/* `expected` is where the key stands if the entry is in our own order. */
static const struct number *find_number(struct bytes key, size_t expected)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct number *number = &numbers[(expected + i) % NUMBERS];

        if (bytes_equal(key, bytes_of_string(number->key))) {
            return number;
        }
    }
    return NULL;
}

static bool get_number(struct codec_reader *in, struct ledger_entry *e,
                       const struct number *number)
{
    uint64_t v;

    if (!codec_get_uint(in, &v)) {
        return false;
    }
    memcpy((uint8_t *)e + number->offset, &v, sizeof v);
    return true;
}

static bool get_kind(struct codec_reader *in, enum ledger_kind *kind)
{
    uint64_t v;

    if (!codec_get_uint(in, &v) || v < LEDGER_BATCH || v > LEDGER_REDO) {
        return false;
    }
    *kind = (enum ledger_kind)v;
    return true;
}

static bool get_method(struct codec_reader *in, enum install_method *method)
{
    uint64_t v;

    if (!codec_get_uint(in, &v) || v > INSTALL_AUTO) {
        return false;
    }
    *method = (enum install_method)v;
    return true;
}

/* A later version may have more counters; those are passed over. */
static bool get_counters(struct codec_reader *in, struct ledger_entry *e)
{
    uint32_t n;
    bool ok = codec_get_array(in, &n);

    for (uint32_t i = 0; ok && i < n; i++) {
        ok = i < DF_COUNTERS_MAX ? codec_get_uint(in, &e->counters[i])
                                 : codec_skip(in);
    }
    return ok;
}

static bool get_clock(struct codec_reader *in, struct df_clock *c)
{
    uint32_t n;

    return codec_get_array(in, &n) && n == CLOCK_PARTS &&
           codec_get_bool(in, &c->is_set) &&
           codec_get_bool(in, &c->has_seen) && codec_get_int(in, &c->origin) &&
           codec_get_int(in, &c->start) && codec_get_int(in, &c->end) &&
           codec_get_int(in, &c->latest) && codec_get_int(in, &c->earliest);
}

static bool get_survivors(struct codec_reader *in, struct ledger_survivors *s)
{
    uint32_t n;

    s->known = true;
    return codec_get_array(in, &n) && n == SURVIVORS_PARTS &&
           codec_get_int(in, &s->files) && codec_get_int(in, &s->bytes) &&
           codec_get_hash(in, &s->digest);
}

static bool key_is(struct bytes key, const char *text)
{
    return bytes_equal(key, bytes_of_string(text));
}

static bool get_numbers(struct codec_reader *in, struct bytes *numbers_of)
{
    return codec_get_bytes(in, numbers_of) && numbers_of->len % EFFECT == 0;
}

/* *known is false for what is of a later version. */
static bool get_history(struct codec_reader *in, struct bytes key,
                        struct ledger_entry *e, bool *known)
{
    *known = true;
    if (key_is(key, "kept")) {
        return codec_get_bool(in, &e->kept);
    }
    if (key_is(key, "eff")) {
        e->has_effects = true;
        return get_numbers(in, &e->effects);
    }
    if (key_is(key, "drop")) {
        return get_numbers(in, &e->drops);
    }
    if (key_is(key, "note")) {
        return codec_get_bytes(in, &e->note);
    }
    if (key_is(key, "gap")) {
        return codec_get_uint(in, &e->gap);
    }
    if (key_is(key, "wend")) {
        return codec_get_int(in, &e->window_end);
    }
    *known = false;
    return true;
}

static bool get_other(struct codec_reader *in, struct bytes key,
                      struct ledger_entry *e)
{
    bool known;

    if (key_is(key, "kind")) {
        return get_kind(in, &e->kind);
    }
    if (key_is(key, "name")) {
        return codec_get_bytes(in, &e->name);
    }
    if (key_is(key, "digest")) {
        return codec_get_hash(in, &e->digest);
    }
    if (key_is(key, "method")) {
        return get_method(in, &e->method);
    }
    if (key_is(key, "seen")) {
        return codec_get_bool(in, &e->rows_seen);
    }
    if (key_is(key, "before")) {
        return codec_get_hash(in, &e->view_before);
    }
    if (key_is(key, "after")) {
        return codec_get_hash(in, &e->view_after);
    }
    if (key_is(key, "count")) {
        return get_counters(in, e);
    }
    if (key_is(key, "time")) {
        return codec_get_int(in, &e->time);
    }
    if (key_is(key, "prog")) {
        return codec_get_bytes(in, &e->program);
    }
    if (key_is(key, "clock")) {
        return get_clock(in, &e->clock);
    }
    if (key_is(key, "surv")) {
        return get_survivors(in, &e->survivors);
    }
    if (key_is(key, "out")) {
        return codec_get_bytes(in, &e->outcomes);
    }
    if (key_is(key, "token")) {
        return codec_get_uint(in, &e->outcomes_token);
    }
    if (!get_history(in, key, e, &known)) {
        return false;
    }
    return known || codec_skip(in); /* of a later version */
}

bool ledger_entry_decode(struct bytes in, struct ledger_entry *e)
{
    struct codec_reader reader = codec_reader_of(in);
    uint32_t pairs;

    *e = (struct ledger_entry){ 0 };
    if (!codec_get_map(&reader, &pairs)) {
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        const struct number *number;
        struct bytes key;

        if (!codec_get_bytes(&reader, &key)) {
            return false;
        }
        number = find_number(key, i);
        if (!(number != NULL ? get_number(&reader, e, number)
                             : get_other(&reader, key, e))) {
            return false;
        }
    }
    return codec_reader_finished(&reader) && e->kind != 0;
}
