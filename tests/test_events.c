/*
 * Events come back as they were added, in arrival order: whatever the keys'
 * lengths, gaps between records and jumps in time, from memory and from the
 * file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history.h"
#include "job_conformance.h"
#include "runtime/events.h"
#include "workplace.h"

enum {
    WORKERS = 2,
    PARTS = 3,
    UNITS = 40,
    UNIT_EVENTS = 300,
    KEY_LONGEST = 3000,
    SLACK = 64
};

/* An event as it was added. */
struct told {
    unsigned part;
    struct event event; /* its key is the filler's first bytes but one */
    uint8_t first;      /* byte of the key */
};

struct tale {
    struct told *told;
    size_t count;
};

static uint8_t filler[KEY_LONGEST + SLACK];

static void must(enum df_status status, const struct df_error *err)
{
    if (status != DF_OK) {
        fail_msg("%s", err->text);
    }
}

/* Most are as usual, some as far from it as can be. */
static struct event random_event(uint64_t *random, const struct event *last)
{
    static const uint32_t gaps[] = { 1, 1, 1, 65535, 65536, 1 << 24 };
    static const int64_t times[] = {
        0,         1,         -1,
        INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1,
        INT64_MAX, 0,         INT64_MIN + 1
    };
    static const size_t lengths[] = { 1,   9,   15,  16,  17, 253,
                                      254, 255, 256, 400, 11, KEY_LONGEST };
    struct event e = *last;

    e.index += gaps[random_below(random, sizeof gaps / sizeof gaps[0])];
    e.time = random_below(random, 4) == 0
                 ? times[random_below(random, sizeof times / sizeof times[0])]
                 : 1700000000 + (int64_t)random_below(random, 1000);
    e.tag = (uint32_t)random_below(random, UINT32_MAX);
    e.key = bytes_of(
        filler,
        lengths[random_below(random, sizeof lengths / sizeof lengths[0])]);
    return e;
}

static void add(struct events *e, struct tale *tale, uint64_t *random,
                const struct event *event)
{
    struct told *told = &tale->told[tale->count++];
    struct df_error err;

    *told = (struct told){ .part = (unsigned)random_below(random, PARTS),
                           .event = *event,
                           .first = (uint8_t)random_below(random, 256) };
    filler[0] = told->first;
    must(events_add(e, told->part, event, &err), &err);
}

/* Units go to workers as they like, each in ascending order. */
static void tell(struct events **workers, struct tale *tale, uint64_t *random)
{
    for (unsigned unit = 0; unit < UNITS; unit++) {
        unsigned worker = (unsigned)random_below(random, WORKERS);
        struct event event = { .unit = unit,
                               .is_deleted = random_below(random, 4) == 0 };

        for (unsigned i = 0; i < UNIT_EVENTS; i++) {
            event = random_event(random, &event);
            add(workers[worker], tale, random, &event);
        }
    }
    for (unsigned i = 0; i < PARTS; i++) {
        struct event event =
            random_event(random, &(struct event){ .unit = EVENTS_UNIT_TOUCH });

        event.index = 0;
        add(workers[0], tale, random, &event);
    }
}

static void expect(const struct told *told, const struct event *event)
{
    const struct event *e = &told->event;

    assert_int_equal(event->unit, e->unit);
    assert_int_equal(event->index, e->index);
    assert_int_equal(event->is_deleted, e->is_deleted);
    assert_int_equal(event->tag, e->tag);
    assert_true(event->time == e->time);
    assert_int_equal(event->key.len, e->key.len);
    assert_int_equal(event->key.data[0], told->first);
    assert_memory_equal(event->key.data + 1, filler + 1, e->key.len - 1);
}

static void read_part(struct events **workers, const struct tale *tale,
                      unsigned part)
{
    struct events_reader *r;
    struct event event;
    struct df_error err;

    must(events_reader_open(&r, workers, WORKERS, part, &err), &err);
    for (size_t i = 0; i < tale->count; i++) {
        if (tale->told[i].part == part) {
            must(events_reader_next(r, &event, &err), &err);
            assert_non_null(event.key.data);
            expect(&tale->told[i], &event);
        }
    }
    must(events_reader_next(r, &event, &err), &err);
    assert_null(event.key.data);
    events_reader_close(r);
}

static void go(size_t memory, bool is_spilled)
{
    char root[INPUT_TREE_PATH];
    struct events_plan plan = { .parts = PARTS, .memory = memory };
    struct events *workers[WORKERS];
    struct tale tale = { 0 };
    uint64_t random = history_seed();
    struct df_error err;

    plan.spill_directory = workplace_new(root);
    tale.told = calloc(UNITS * UNIT_EVENTS + PARTS, sizeof *tale.told);
    assert_non_null(tale.told);
    for (size_t i = 0; i < sizeof filler; i++) {
        filler[i] = (uint8_t)(i * 7);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        must(events_open(&workers[i], &plan, &err), &err);
    }
    tell(workers, &tale, &random);
    for (unsigned part = 0; part < PARTS; part++) {
        struct events_reader *r;

        must(events_reader_open(&r, workers, WORKERS, part, &err), &err);
        assert_int_equal(events_reader_keeps_keys(r), !is_spilled);
        events_reader_close(r);
        read_part(workers, &tale, part);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        events_close(workers[i]);
    }
    free(tale.told);
}

static void events_come_back_from_memory(void **state)
{
    (void)state;
    go((size_t)64 << 20, false);
}

static void events_come_back_from_a_file(void **state)
{
    (void)state;
    go(EVENTS_MEMORY_MIN, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back_from_memory),
        cmocka_unit_test(events_come_back_from_a_file),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
