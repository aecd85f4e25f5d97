/*
 * combine_give.c: what two workers have both, added up before it is sorted.
 *
 * Slots of every table are in the order of one hash. So a walk through one
 * table is a walk through the other as well, and memory is asked for in order.
 * Records, which are not, are looked at only where a tag was found again: a
 * few at a time, sent for before.
 */
#include "runtime/combine_internal.h"

/* Enough to hide a miss in memory, few enough to stay in the first cache. */
enum { MATCHES = 64 };

/* A slot and, in the table it is given to, the one with its tag. */
struct match {
    struct table_slot *from;
    struct table_slot *to;
};

struct giving {
    struct combine *from;
    struct combine *to;
    struct match matches[MATCHES];
    size_t count;
};

/* A row that is all zero is not taken when the table is sorted. */
static void give_row(struct giving *g, const struct match *m)
{
    unsigned components = g->from->plan.shape.components;
    int64_t *values = table_values(&g->from->table, m->from->ref);

    values[0] = m->from->value;
    if (combine_add_values(g->to, m->to, values)) {
        m->from->value = 0;
        memset(values, 0, components * sizeof *values);
    }
}

static void give_matches(struct giving *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct match *m = &g->matches[i];

        if (bytes_equal(table_stored_key(&g->from->table, m->from->ref),
                        table_stored_key(&g->to->table, m->to->ref))) {
            give_row(g, m);
        }
    }
    g->count = 0;
}

/* Two keys of one tag are rare: the second then stays where it is. */
static void give_slot(struct giving *g, struct table_slot *from)
{
    struct table_slot *to = table_find_tag(&g->to->table, from->tag);

    if (table_is_free(to)) {
        return;
    }
    __builtin_prefetch(table_record(&g->from->table, from->ref), 1);
    __builtin_prefetch(table_record(&g->to->table, to->ref), 1);
    g->matches[g->count++] = (struct match){ from, to };
    if (g->count == MATCHES) {
        give_matches(g);
    }
}

static bool can_give(const struct combine *c)
{
    return c->emitter.status == DF_OK && c->stats.spills == 0;
}

/* Tags are dealt out, not slots: a key's slots in two tables may lie on both
 * sides of any border between slots. */
struct tags {
    uint64_t begin;
    uint64_t end;
};

static struct tags tags_of(unsigned share, unsigned shares)
{
    const uint64_t all = (uint64_t)1 << 32;

    return (struct tags){ all * share / shares, all * (share + 1) / shares };
}

/* Behind the last home up to a free slot: some have been pushed there, from
 * the end of the table to its beginning. */
static void give_tags(struct giving *g, struct tags tags)
{
    struct table *t = &g->from->table;
    size_t last = (size_t)(tags.end - 1) >> t->shift;

    for (size_t i = (size_t)tags.begin >> t->shift;; i++) {
        struct table_slot *slot = &t->cells[i & (t->slots - 1)].slot;

        if (!table_is_free(slot) && slot->tag >= tags.begin &&
            slot->tag < tags.end) {
            give_slot(g, slot);
        } else if (table_is_free(slot) && i > last) {
            break;
        }
    }
    give_matches(g);
}

void combine_give(struct combine *from, struct combine *to, unsigned share,
                  unsigned shares)
{
    struct giving g = { .from = from, .to = to };

    assert(from != to && share < shares);
    if (can_give(from) && can_give(to)) {
        give_tags(&g, tags_of(share, shares));
    }
}
