#include "way.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "input/reader.h"
#include "state/cost.h"

const struct way way_plain = { 1, 1, 0, 0, WAY_INCREMENT };

struct way way_random(uint64_t *random)
{
    static const unsigned threads[] = { 1, 2, 8 };
    static const unsigned shards[] = { 1, 2, 3, 16 };
    static const size_t memory[] = { WAY_MEMORY_TINY, 8 << 20, 64 << 20, 0 };
    static const uint64_t units[] = { READER_HASH_BLOCK, 3 * READER_HASH_BLOCK,
                                      64 * READER_HASH_BLOCK, 0 };

    return (struct way){
        .threads = threads[random_below(random, 3)],
        .shards = shards[random_below(random, 4)],
        .memory = memory[random_below(random, 4)],
        .unit_size = units[random_below(random, 4)],
        .method = (enum way_method)random_below(random, WAY_METHODS),
    };
}

void way_show(const struct way *w)
{
    static const char *const methods[] = { "increment", "overwrite", "defer",
                                           "auto", "alternate" };

    print_message("  threads %u, shards %u, memory %zu, units %llu, %s\n",
                  w->threads, w->shards, w->memory,
                  (unsigned long long)w->unit_size, methods[w->method]);
}

bool way_sees_rows(const struct way *w)
{
    return w->method == WAY_INCREMENT || w->method == WAY_OVERWRITE;
}

/* Deferred ones come in rows, so that runs lie over runs. */
static enum install_method method_of(const struct way *w, unsigned batch)
{
    static const enum install_method methods[] = {
        INSTALL_INCREMENT, INSTALL_OVERWRITE, INSTALL_DEFER, INSTALL_AUTO
    };
    static const enum install_method turns[] = {
        INSTALL_DEFER,     INSTALL_DEFER, INSTALL_INCREMENT, INSTALL_DEFER,
        INSTALL_OVERWRITE, INSTALL_DEFER, INSTALL_AUTO
    };

    return w->method == WAY_ALTERNATE ? turns[batch % 7] : methods[w->method];
}

void way_take(struct kept_view *k, const struct way *w, unsigned batch)
{
    cost_set_stall(0); /* for else few rows are one thread's work */
    k->options.threads = w->threads;
    k->options.memory = w->memory;
    k->options.unit_size = w->unit_size;
    k->options.method = method_of(w, batch);
    /* A history may come by the same batch twice. */
    k->options.allow_repeat = true;
}

const char *const *words_given(struct words_given *g,
                               const struct oracle_rule *rule)
{
    (void)snprintf(g->text[0], HISTORY_NAME, "tokenizer=%s", rule->tokenizer);
    (void)snprintf(g->text[1], HISTORY_NAME, "case=%s", rule->letter_case);
    (void)snprintf(g->text[2], HISTORY_NAME, "ngram=%u", rule->ngram);
    for (unsigned i = 0; i < 3; i++) {
        g->list[i] = g->text[i];
    }
    return g->list;
}
