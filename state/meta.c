#include "state/meta.h"

#include "state/settings.h"

/* Where each member of a shard's state lies; big-endian. */
enum {
    AT_SEQ = 0,
    AT_PREPARED = 8,
    AT_DIGEST = 16,
    AT_PREPARED_DIGEST = AT_DIGEST + HASH128_SIZE,
    AT_ROWS = AT_PREPARED_DIGEST + HASH128_SIZE,
    AT_PREPARED_ROWS = AT_ROWS + 8,
    AT_ACTIVE = AT_PREPARED_ROWS + 8,
    /* What came later, for batches that are deferred: shards that were last
     * written before there were any do not have it. */
    AT_MAGNITUDE = AT_ACTIVE + 1,
    AT_PREPARED_MAGNITUDE = AT_MAGNITUDE + 8,
    AT_SETTLED = AT_PREPARED_MAGNITUDE + 8,
    SHARD_STATE_SIZE = AT_SETTLED + 8,
    SHARD_STATE_SHORT = AT_MAGNITUDE
};

/* components, has element, shards, shard, generation; the text follows. */
enum { DEFINITION_HEAD = 4 + 8 };

static enum df_status damaged(struct df_error *err)
{
    return error_set(err, DF_STATE,
                     "the view's own records are damaged: restore the view "
                     "from a copy, or make it anew");
}

enum df_status shard_state_load(struct store_txn *t, struct shard_state *s,
                                struct df_error *err)
{
    struct bytes v;
    bool found;
    enum df_status status =
        store_get(t, STORE_META, bytes_of_string("shard"), &v, &found, err);

    if (status != DF_OK) {
        return status;
    }
    if (!found || (v.len != SHARD_STATE_SIZE && v.len != SHARD_STATE_SHORT) ||
        v.data[AT_ACTIVE] > 1) {
        return damaged(err);
    }
    *s = (struct shard_state){
        .seq = load_be64(v.data + AT_SEQ),
        .prepared = load_be64(v.data + AT_PREPARED),
        .digest = hash128_load(v.data + AT_DIGEST),
        .prepared_digest = hash128_load(v.data + AT_PREPARED_DIGEST),
        .rows = load_be64(v.data + AT_ROWS),
        .prepared_rows = load_be64(v.data + AT_PREPARED_ROWS),
        .active = v.data[AT_ACTIVE],
        .magnitude = UINT64_MAX,
        .prepared_magnitude = UINT64_MAX,
        .settled = load_be64(v.data + AT_SEQ),
    };
    if (v.len == SHARD_STATE_SIZE) {
        s->magnitude = load_be64(v.data + AT_MAGNITUDE);
        s->prepared_magnitude = load_be64(v.data + AT_PREPARED_MAGNITUDE);
        s->settled = load_be64(v.data + AT_SETTLED);
    }
    return DF_OK;
}

enum df_status shard_state_store(struct store_txn *t,
                                 const struct shard_state *s,
                                 struct df_error *err)
{
    uint8_t v[SHARD_STATE_SIZE];

    store_be64(v + AT_SEQ, s->seq);
    store_be64(v + AT_PREPARED, s->prepared);
    hash128_store(v + AT_DIGEST, s->digest);
    hash128_store(v + AT_PREPARED_DIGEST, s->prepared_digest);
    store_be64(v + AT_ROWS, s->rows);
    store_be64(v + AT_PREPARED_ROWS, s->prepared_rows);
    v[AT_ACTIVE] = (uint8_t)s->active;
    store_be64(v + AT_MAGNITUDE, s->magnitude);
    store_be64(v + AT_PREPARED_MAGNITUDE, s->prepared_magnitude);
    store_be64(v + AT_SETTLED, s->settled);
    return store_put(t, STORE_META, bytes_of_string("shard"),
                     bytes_of(v, sizeof v), err);
}

enum df_status meta_text_load(struct store_txn *t, const char *name,
                              struct bytes *text, struct df_error *err)
{
    bool found;

    *text = bytes_of(NULL, 0);
    return store_get(t, STORE_META, bytes_of_string(name), text, &found, err);
}

enum df_status meta_text_store(struct store_txn *t, const char *name,
                               struct bytes text, struct df_error *err)
{
    return store_put(t, STORE_META, bytes_of_string(name), text, err);
}

enum df_status meta_number_load(struct store_txn *t, const char *name,
                                uint64_t *number, struct df_error *err)
{
    struct bytes text;
    enum df_status status = meta_text_load(t, name, &text, err);

    *number = status == DF_OK && text.len == 8 ? load_be64(text.data) : 0;
    return status;
}

enum df_status meta_number_store(struct store_txn *t, const char *name,
                                 uint64_t number, struct df_error *err)
{
    uint8_t raw[8];

    store_be64(raw, number);
    return meta_text_store(t, name, bytes_of(raw, sizeof raw), err);
}

/* The wide numbers of the shape; views made before there were any have no
 * such record. */
static enum df_status wide_load(struct store_txn *t, struct row_shape *shape,
                                struct df_error *err)
{
    struct bytes v;
    enum df_status status = meta_text_load(t, "wide", &v, err);

    if (status != DF_OK || v.len == 0) {
        return status;
    }
    if (v.len != 4) {
        return damaged(err);
    }
    shape->wide = load_be32(v.data);
    return row_shape_is_sound(*shape) ? DF_OK : damaged(err);
}

static enum df_status wide_store(struct store_txn *t, uint32_t wide,
                                 struct df_error *err)
{
    uint8_t v[4];

    if (wide == 0) {
        return DF_OK;
    }
    store_be32(v, wide);
    return meta_text_store(t, "wide", bytes_of(v, sizeof v), err);
}

enum { HAVING_SIZE = 1 + 8 };

static enum df_status having_load(struct store_txn *t, struct view_having *h,
                                  struct df_error *err)
{
    struct bytes v;
    enum df_status status = meta_text_load(t, "having", &v, err);

    *h = (struct view_having){ 0 };
    if (status == DF_OK && v.len == HAVING_SIZE) {
        *h = (struct view_having){ .is_set = true,
                                   .component = v.data[0],
                                   .least = (int64_t)load_be64(v.data + 1) };
    }
    return status;
}

static enum df_status having_store(struct store_txn *t,
                                   const struct view_having *h,
                                   struct df_error *err)
{
    uint8_t v[HAVING_SIZE];

    v[0] = (uint8_t)h->component;
    store_be64(v + 1, (uint64_t)h->least);
    return meta_text_store(t, "having", bytes_of(v, sizeof v), err);
}

/* What init says; later it is view_set that does. */
static enum df_status settings_store(struct store_txn *t,
                                     const struct view_definition *d,
                                     struct df_error *err)
{
    enum df_status status = DF_OK;
    uint8_t raw[8];

    store_be64(raw, d->keep);
    if (d->keep > 0) {
        status =
            meta_text_store(t, SETTING_KEEP, bytes_of(raw, sizeof raw), err);
    }
    if (status == DF_OK && d->base.len > 0) {
        status = meta_text_store(t, SETTING_BASE, d->base, err);
    }
    return status;
}

enum df_status definition_load(struct store_txn *t, struct view_definition *d,
                               uint64_t *generation, unsigned *shard,
                               struct df_error *err)
{
    struct bytes v;
    enum df_status status = meta_text_load(t, "definition", &v, err);

    if (status != DF_OK) {
        return status;
    }
    if (v.len < DEFINITION_HEAD || v.data[0] == 0 ||
        v.data[0] > DF_COMPONENTS_MAX || v.data[2] == 0 ||
        v.data[2] > VIEW_SHARDS_MAX || v.data[3] >= v.data[2]) {
        return damaged(err);
    }
    *d = (struct view_definition){
        .shape = { .components = v.data[0], .has_element = v.data[1] != 0 },
        .shards = v.data[2],
        .text = bytes_of(v.data + DEFINITION_HEAD, v.len - DEFINITION_HEAD),
    };
    *shard = v.data[3];
    *generation = load_be64(v.data + 4);
    status = wide_load(t, &d->shape, err);
    return status == DF_OK ? having_load(t, &d->having, err) : status;
}

enum df_status definition_store(struct store_txn *t,
                                const struct view_definition *d,
                                uint64_t generation, unsigned shard,
                                struct df_error *err)
{
    uint8_t head[DEFINITION_HEAD];
    struct buf v = { 0 };
    enum df_status status;

    head[0] = (uint8_t)d->shape.components;
    head[1] = d->shape.has_element ? 1 : 0;
    head[2] = (uint8_t)d->shards;
    head[3] = (uint8_t)shard;
    store_be64(head + 4, generation);
    if (!buf_append(&v, head, sizeof head) ||
        !buf_append(&v, d->text.data, d->text.len)) {
        status = error_no_memory(err);
        goto out;
    }
    status = meta_text_store(t, "definition", buf_bytes(&v), err);
    if (status == DF_OK) {
        status = wide_store(t, d->shape.wide, err);
    }
    if (status == DF_OK && shard == 0) {
        status = settings_store(t, d, err);
    }
    if (status == DF_OK && d->having.is_set) {
        status = having_store(t, &d->having, err);
    }
out:
    buf_fini(&v);
    return status;
}
