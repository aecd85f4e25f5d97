#include "state/settings.h"

#include "state/snapshot_internal.h"

enum df_status snapshot_setting(struct snapshot *s, const char *name,
                                struct bytes *text, struct df_error *err)
{
    return meta_text_load(s->txns[0], name, text, err);
}

static enum df_status store_setting(struct store *s, const char *name,
                                    struct bytes text, struct df_error *err)
{
    struct store_txn *t;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = meta_text_store(t, name, text, err);
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

enum df_status view_set(struct view *v, const char *name, struct bytes text,
                        struct df_error *err)
{
    enum df_status status;

    do {
        status = store_setting(v->stores[0], name, text, err);
    } while (status != DF_OK &&
             store_grow_if_full(v->stores[0], &status, err));
    return status;
}

enum df_status settings_copy(struct store_txn *to, struct store *from,
                             struct df_error *err)
{
    static const char *const names[] = { SETTING_KEEP, SETTING_BASE };
    struct store_txn *t;
    enum df_status status = store_begin(&t, from, STORE_READ, err);

    if (status != DF_OK) {
        return status;
    }
    for (size_t i = 0; status == DF_OK && i < 2; i++) {
        struct bytes text;

        status = meta_text_load(t, names[i], &text, err);
        if (status == DF_OK && text.len > 0) {
            status = meta_text_store(to, names[i], text, err);
        }
    }
    store_abort(t);
    return status;
}
