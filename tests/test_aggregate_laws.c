/*
 * The laws of CONTRIBUTING.md for aggregate, over random histories of
 * csv records that come and go: after every batch export shows what a slow
 * and obvious oracle makes of the records that are left, whatever threads,
 * shards, memory, split sizes and ways to install there were; a second run
 * changes nothing; and when all records are deleted nothing is left.
 *
 * DELTAFOLD_SEED repeats a run, DELTAFOLD_HISTORIES=N does N times as much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/lines.h"
#include "input/reader.h"
#include "way.h"
#include "workplace.h"

enum { BATCHES = 8, RECORDS_MAX = 4000, NEW_MAX = 400, GROUPS = 24, TOP = 3 };

/* ---- records ---- */

/* Values are kept as what they are, and written in one of many forms. */
struct sale {
    unsigned group;
    bool has_price;
    int64_t price; /* in thousandths */
    char price_text[40];
    unsigned city; /* 0: none */
    unsigned day;  /* 0: none */
    bool alive;
};

struct sales {
    struct sale list[RECORDS_MAX];
    size_t n;
    unsigned batches;
    uint64_t random;
    char root[INPUT_TREE_PATH];
    char deltas[INPUT_TREE_PATH];
    char batch[INPUT_TREE_PATH]; /* the last */
};

static const char *const regions[] = { "north",      "",     "a\tb",
                                       "x,\"y\"\nz", "\x01", "s\\t" };
static const char *const shops[] = { "1", "", "1\x01", "long" };
static const char *const cities[] = {
    "", "Ulm", "ulm", "\xc3\x96hringen", "a\\b", "\x07", "\xff", "Ulm,\"1\""
};
enum { REGIONS = 6, SHOPS = 4, CITIES = 8, DAYS = 300 };

/* A shop whose name makes the row key longer than a head holds. */
static const char *shop_of(unsigned group, char room[700])
{
    const char *shop = shops[group / REGIONS % SHOPS];

    if (strcmp(shop, "long") != 0) {
        return shop;
    }
    memset(room, 'w', 600);
    (void)snprintf(room + 600, 100, "%u", group % 2);
    return room;
}

/* The same number in one of several forms. */
static void write_price(struct sale *s, uint64_t *random)
{
    long long v = s->price;
    const char *sign = v < 0 ? "-" : random_below(random, 9) == 0 ? "+" : "";
    long long whole = llabs(v) / 1000;
    long long behind = llabs(v) % 1000;

    switch (random_below(random, 4)) {
    case 0:
        (void)snprintf(s->price_text, sizeof s->price_text, "%s%lld.%03lld0",
                       sign, whole, behind);
        break;
    case 1:
        (void)snprintf(s->price_text, sizeof s->price_text, "%s%llde-3", sign,
                       llabs(v));
        break;
    case 2:
        (void)snprintf(s->price_text, sizeof s->price_text, "%s00%lld.%03lld",
                       sign, whole, behind);
        break;
    default:
        (void)snprintf(s->price_text, sizeof s->price_text,
                       behind == 0 ? "%s%lld" : "%s%lld.%03lld", sign, whole,
                       behind);
        break;
    }
}

static struct sale random_sale(uint64_t *random)
{
    uint64_t kind = random_below(random, 10);
    struct sale s = { .group = (unsigned)random_below(random, GROUPS),
                      .city = (unsigned)random_below(random, CITIES),
                      .day = (unsigned)random_below(random, DAYS),
                      .has_price = kind > 0,
                      .alive = true };

    if (s.group % 7 == 3) {
        s.has_price = false; /* a group of no values */
    }
    if (s.has_price) {
        s.price = (int64_t)random_below(random, 4001) - 2000;
        s.price *= kind == 1 ? 1000003 : 1;
        write_price(&s, random);
    }
    return s;
}

static void add_quoted(struct buf *out, const char *text)
{
    assert_true(buf_append_byte(out, '"'));
    for (const char *p = text; *p != '\0'; p++) {
        assert_true((*p != '"' || buf_append_byte(out, '"')) &&
                    buf_append_byte(out, (uint8_t)*p));
    }
    assert_true(buf_append_byte(out, '"'));
}

/* Columns in an order of their own, one more than are asked for. */
static void add_line(struct buf *out, const struct sale *s, unsigned turn)
{
    char room[700] = { 0 };
    char day[40] = { 0 };

    if (s->day > 0) {
        (void)snprintf(day, sizeof day, "2026-%03u", s->day);
    }
    for (unsigned i = 0; i < 6; i++) {
        switch ((i + turn) % 6) {
        case 0:
            add_quoted(out, regions[s->group % REGIONS]);
            break;
        case 1:
            add_quoted(out, shop_of(s->group, room));
            break;
        case 2:
            assert_true(buf_append_string(out, s->price_text));
            break;
        case 3:
            add_quoted(out, cities[s->city]);
            break;
        case 4:
            assert_true(buf_append_string(out, day));
            break;
        default:
            assert_true(buf_append_string(out, "no matter"));
            break;
        }
        assert_true(buf_append_byte(out, i < 5 ? ',' : '\n'));
    }
}

static void add_header(struct buf *out, unsigned turn)
{
    static const char *const names[] = { "region", "shop", "price",
                                         "city",   "day",  "note" };

    for (unsigned i = 0; i < 6; i++) {
        assert_true(buf_append_string(out, names[(i + turn) % 6]) &&
                    buf_append_byte(out, i < 5 ? ',' : '\n'));
    }
}

/* A file of records, put where it belongs. */
struct sheet {
    struct buf text;
    unsigned turn;
};

static void sheet_open(struct sheet *f, uint64_t *random)
{
    *f = (struct sheet){ .turn = (unsigned)random_below(random, 6) };
    add_header(&f->text, f->turn);
}

static void sheet_close(struct sheet *f, const char *directory,
                        const char *name)
{
    input_tree_file(directory, name, f->text.data, f->text.len);
    buf_fini(&f->text);
}

static void begin_batch(struct sales *s)
{
    (void)snprintf(s->batch, sizeof s->batch, "%.4000s/batch_%u", s->deltas,
                   ++s->batches);
    input_tree_directory(s->batch, ".");
}

/* Deletes each record that is there with a chance of one in `one_in`. */
static void delete_some(struct sales *s, uint64_t one_in)
{
    struct sheet f;

    sheet_open(&f, &s->random);
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].alive && random_below(&s->random, one_in) == 0) {
            s->list[i].alive = false;
            add_line(&f.text, &s->list[i], f.turn);
        }
    }
    sheet_close(&f, s->batch, "deleted/gone.csv");
}

static void insert_some(struct sales *s)
{
    size_t n = random_below(&s->random, NEW_MAX);
    struct sheet f[2];

    sheet_open(&f[0], &s->random);
    sheet_open(&f[1], &s->random);
    for (size_t i = 0; i < n && s->n < RECORDS_MAX; i++) {
        struct sheet *one = &f[random_below(&s->random, 2)];

        s->list[s->n] = random_sale(&s->random);
        add_line(&one->text, &s->list[s->n++], one->turn);
    }
    sheet_close(&f[0], s->batch, "inserted/some.csv");
    sheet_close(&f[1], s->batch, "inserted/more.csv");
}

static void write_survivors(struct sales *s, const char *directory)
{
    struct sheet f;

    sheet_open(&f, &s->random);
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].alive) {
            add_line(&f.text, &s->list[i], f.turn);
        }
    }
    sheet_close(&f, directory, "all.csv");
}

/* ---- the oracle: lines from the records that are left ---- */

struct expected {
    int64_t count;
    int64_t prices;
    int64_t sum;
    int64_t min;
    int64_t max;
    unsigned first_day;
    unsigned last_day;
    int64_t cities[CITIES];
};

static struct expected add_up(const struct sales *s, unsigned group)
{
    struct expected e = { 0 };

    for (size_t i = 0; i < s->n; i++) {
        const struct sale *one = &s->list[i];

        if (!one->alive || one->group != group) {
            continue;
        }
        e.count++;
        e.cities[one->city]++;
        if (one->has_price) {
            e.min = e.prices == 0 || one->price < e.min ? one->price : e.min;
            e.max = e.prices == 0 || one->price > e.max ? one->price : e.max;
            e.prices++;
            e.sum += one->price;
        }
        if (one->day > 0) {
            e.first_day = e.first_day == 0 || one->day < e.first_day
                              ? one->day
                              : e.first_day;
            e.last_day = one->day > e.last_day ? one->day : e.last_day;
        }
    }
    return e;
}

/* v / 10^digits without zeros behind; NULL is \N. */
static void add_number(struct buf *out, bool is_null, int64_t v,
                       unsigned digits)
{
    char text[40];
    size_t len;

    if (is_null) {
        assert_true(buf_append_string(out, "\t\\N"));
        return;
    }
    (void)snprintf(text, sizeof text, "%0*lld", (int)digits + 1,
                   (long long)llabs(v));
    len = strlen(text);
    while (digits > 0 && text[len - 1] == '0') {
        text[--len] = '\0';
        digits--;
    }
    assert_true(buf_printf(out, "\t%s%.*s%s%s", v < 0 ? "-" : "",
                           (int)(len - digits), text, digits > 0 ? "." : "",
                           text + len - digits));
}

static void add_average(struct buf *out, const struct expected *e)
{
    row_wide twice = (row_wide)e->sum * 2000000;
    int64_t n = e->prices;

    if (n == 0) {
        add_number(out, true, 0, 0);
        return;
    }
    twice += e->sum < 0 ? -n : n; /* half away from zero; / truncates */
    add_number(out, false, (int64_t)(twice / ((row_wide)2 * n)), 9);
}

static void add_day(struct buf *out, unsigned day)
{
    assert_true(day == 0 ? buf_append_string(out, "\t\\N")
                         : buf_printf(out, "\t2026-%03u", day));
}

/* Cities that are the most frequent, ties in byte order. */
static unsigned best_city(const struct expected *e)
{
    unsigned best = 0;

    for (unsigned i = 1; i < CITIES; i++) {
        bool more = best == 0 || e->cities[i] > e->cities[best];
        bool before = best != 0 && e->cities[i] == e->cities[best] &&
                      strcmp(cities[i], cities[best]) < 0;

        if (e->cities[i] > 0 && (more || before)) {
            best = i;
        }
    }
    return best;
}

static void add_top(struct buf *out, struct expected e)
{
    /* As JSON, and that with the escapes of TSV. */
    static const char *const shown_as[CITIES] = {
        "",
        "\"Ulm\"",
        "\"ulm\"",
        "\"\xc3\x96hringen\"",
        "\"a\\\\\\\\b\"",
        "\"\\\\u0007\"",
        "{\"base64\":\"/w==\"}",
        "\"Ulm,\\\\\"1\\\\\"\"",
    };
    unsigned city;

    assert_true(buf_append_string(out, "\t["));
    for (unsigned i = 0; i < TOP && (city = best_city(&e)) != 0; i++) {
        assert_true(buf_printf(out, "%s[%s,%lld]", i > 0 ? "," : "",
                               shown_as[city], (long long)e.cities[city]));
        e.cities[city] = 0;
    }
    assert_true(buf_append_byte(out, ']'));
}

static int64_t distinct_cities(const struct expected *e)
{
    int64_t n = 0;

    for (unsigned i = 1; i < CITIES; i++) {
        n += e->cities[i] > 0;
    }
    return n;
}

static void add_escaped(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *at = strchr("\tt\nn\rr\\\\", *text);

        assert_true(at != NULL && (at - "\tt\nn\rr\\\\") % 2 == 0
                        ? buf_printf(out, "\\%c", at[1])
                        : buf_append_byte(out, (uint8_t)*text));
    }
}

static void add_group(struct buf *out, const struct sales *s, unsigned group)
{
    struct expected e = add_up(s, group);
    char room[700] = { 0 };

    if (e.count == 0) {
        return;
    }
    add_escaped(out, regions[group % REGIONS]);
    assert_true(buf_append_byte(out, '\t'));
    add_escaped(out, shop_of(group, room));
    add_number(out, false, e.count, 0);
    add_number(out, false, e.prices, 0);
    add_number(out, e.prices == 0, e.sum, 3);
    add_average(out, &e);
    add_number(out, e.prices == 0, e.min, 3);
    add_day(out, e.first_day);
    add_number(out, e.prices == 0, e.max, 3);
    add_day(out, e.last_day);
    add_number(out, false, distinct_cities(&e), 0);
    add_top(out, e);
    assert_true(buf_append_byte(out, '\n'));
}

/* Groups in the order of region and shop. */
static int compare_groups(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a;
    unsigned y = *(const unsigned *)b;
    char rooms[2][700] = { { 0 }, { 0 } };
    int order = strcmp(regions[x % REGIONS], regions[y % REGIONS]);

    return order != 0 ? order
                      : strcmp(shop_of(x, rooms[0]), shop_of(y, rooms[1]));
}

static void expected_lines(const struct sales *s, struct buf *out)
{
    unsigned groups[GROUPS];

    for (unsigned i = 0; i < GROUPS; i++) {
        groups[i] = i;
    }
    qsort(groups, GROUPS, sizeof *groups, compare_groups);
    buf_reset(out);
    for (unsigned i = 0; i < GROUPS; i++) {
        add_group(out, s, groups[i]);
    }
}

/* ---- what the view shows ---- */

static void add_cell(struct buf *out, const struct df_cell *cell)
{
    char *text = calloc(1, cell->len + 1);

    assert_non_null(text);
    if (cell->len > 0) {
        memcpy(text, cell->data, cell->len);
    }
    if (cell->kind == DF_CELL_NULL) {
        assert_true(buf_append_string(out, "\\N"));
    } else {
        assert_int_equal(strlen(text), cell->len);
        add_escaped(out, text);
    }
    free(text);
}

static void shown_lines(const struct kept_view *k, struct buf *out)
{
    const struct df_cell *cells = NULL;
    struct df_error err = { { 0 } };
    struct opened o;
    struct lines *l;

    buf_reset(out);
    assert_int_equal(opened_read(&o, k->path, &err), DF_OK);
    assert_non_null(o.present);
    assert_int_equal(lines_open(&l, &o, &err), DF_OK);
    assert_int_equal(lines_select(l, SNAPSHOT_ALL, bytes_of(NULL, 0), &err),
                     DF_OK);
    for (;;) {
        assert_int_equal(lines_next(l, &cells, &err), DF_OK);
        if (cells == NULL) {
            break;
        }
        for (unsigned i = 0; i < lines_cells(l); i++) {
            assert_true(i == 0 || buf_append_byte(out, '\t'));
            add_cell(out, &cells[i]);
        }
        assert_true(buf_append_byte(out, '\n'));
    }
    lines_close(l);
    opened_close(&o);
}

/* ---- the laws ---- */

static const char *const given[] = {
    "by=region,shop", "count",      "count=price",  "sum=price:3",
    "avg=price",      "min=price",  "max=price",    "min=day:text",
    "max=day:text",   "top=3:city", "distinct=city"
};
enum { GIVEN = sizeof given / sizeof *given };

struct trial {
    struct sales *sales;
    struct kept_view k;
    struct buf expected;
    struct buf found;
    struct buf rows;
};

static void check_lines(struct trial *t)
{
    expected_lines(t->sales, &t->expected);
    shown_lines(&t->k, &t->found);
    assert_same_rows(&t->expected, &t->found);
    kept_rows(&t->k, &t->rows);
}

static void check_verify(struct trial *t)
{
    char survivors[INPUT_TREE_PATH];

    (void)snprintf(survivors, sizeof survivors, "%.4000s/survivors",
                   t->sales->root);
    write_survivors(t->sales, survivors);
    kept_must(kept_verify(&t->k, survivors, false), &t->k);
    kept_must(kept_verify(&t->k, t->sales->deltas, true), &t->k);
}

static void apply(struct trial *t)
{
    struct way way = way_random(&t->sales->random);

    way_take(&t->k, &way, t->sales->batches);
    kept_must(kept_run(&t->k, t->sales->batch), &t->k);
    assert_int_equal(t->k.outcomes[ENGINE_APPLIED], 1);
    check_lines(t);
}

static void check_second_run(struct trial *t)
{
    struct snapshot_state before = kept_state(&t->k);
    struct snapshot_state after;

    kept_must(kept_run(&t->k, t->sales->deltas), &t->k);
    after = kept_state(&t->k);
    assert_memory_equal(&after, &before, sizeof after);
}

static void sales_open(struct sales *s, uint64_t seed)
{
    *s = (struct sales){ .random = seed };
    (void)workplace_new(s->root);
    (void)snprintf(s->deltas, sizeof s->deltas, "%.4000s/deltas", s->root);
}

static void live_through(struct trial *t, unsigned batches)
{
    for (unsigned i = 0; i < batches; i++) {
        begin_batch(t->sales);
        delete_some(t->sales, 1 + random_below(&t->sales->random, 8));
        insert_some(t->sales);
        apply(t);
    }
    check_verify(t);
    check_second_run(t);
    begin_batch(t->sales);
    delete_some(t->sales, 1);
    apply(t);
    assert_int_equal(t->found.len, 0);
    kept_check_empty(&t->k);
}

static void trial_close(struct trial *t)
{
    kept_close(&t->k);
    buf_fini(&t->expected);
    buf_fini(&t->found);
    buf_fini(&t->rows);
}

static void lines_are_what_the_oracle_adds_up(void **state)
{
    struct sales *sales = malloc(sizeof *sales);
    uint64_t seed = history_seed();

    (void)state;
    assert_non_null(sales);
    for (unsigned n = 0; n < history_times(4); n++) {
        struct trial t = { .sales = sales };

        sales_open(sales, seed + n);
        kept_open(&t.k, sales->root, "view", registry_find("aggregate"), given,
                  GIVEN, n % 2 == 0 ? 1 : 3);
        live_through(&t, BATCHES);
        trial_close(&t);
    }
    free(sales);
}

/* One history in every way: the same rows, digests and ledgers. */
static void every_way_gives_the_same_bytes(void **state)
{
    static const struct way ways[] = {
        { 1, 1, 0, 0, WAY_INCREMENT },
        { 2, 3, 0, 0, WAY_OVERWRITE },
        { 8, 1, WAY_MEMORY_TINY, READER_HASH_BLOCK, WAY_ALTERNATE },
        { 8, 3, WAY_MEMORY_TINY, READER_HASH_BLOCK, WAY_INCREMENT },
        { 1, 3, WAY_MEMORY_TINY, 0, WAY_OVERWRITE },
    };
    struct sales *s = malloc(sizeof *s);
    struct buf first = { 0 };
    struct buf rows = { 0 };

    (void)state;
    assert_non_null(s);
    sales_open(s, history_seed());
    for (unsigned i = 0; i < BATCHES / 2; i++) {
        begin_batch(s);
        delete_some(s, 4);
        insert_some(s);
    }
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct kept_view k;
        char name[20];

        (void)snprintf(name, sizeof name, "view%u", i);
        kept_open(&k, s->root, name, registry_find("aggregate"), given, GIVEN,
                  ways[i].shards);
        way_show(&ways[i]);
        way_take(&k, &ways[i], i);
        kept_must(kept_run(&k, s->deltas), &k);
        kept_rows(&k, i == 0 ? &first : &rows);
        if (i > 0) {
            assert_same_rows(&first, &rows);
        }
        kept_close(&k);
    }
    buf_fini(&first);
    buf_fini(&rows);
    free(s);
}

/* Records whose sums leave 128 bits on the way and do not in the end are
 * taken, whatever the order; those whose sums do are refused. */
static void batches_are_refused_for_sums_alone(void **state)
{
    static const char most[] = "170141183460469231731687303715884105727";
    struct kept_view k;
    char root[INPUT_TREE_PATH];
    char text[400];
    struct buf shown = { 0 };
    static const char *const sum[] = { "by=g", "sum=v", "scale=0" };

    (void)state;
    (void)workplace_new(root);
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        char name[20];

        (void)snprintf(name, sizeof name, "view%u", threads);
        kept_open(&k, root, name, registry_find("aggregate"), sum, 3, 1);
        k.options.threads = threads;
        (void)snprintf(text, sizeof text,
                       "g,v\na,%s\na,%s\na,5\na,-%s\na,-5\na,-%s\na,%s\n",
                       most, most, most, most, most);
        input_tree_text(root, "b1/inserted/r.csv", text);
        kept_must(kept_run(&k, input_tree_path(root, "b1")), &k);
        shown_lines(&k, &shown);
        assert_int_equal(shown.len, strlen(most) + 3);
        assert_memory_equal(shown.data + 2, most, strlen(most));
        input_tree_text(root, "b2/inserted/r.csv", "g,v\nb,1\na,1\n");
        assert_int_equal(kept_run(&k, input_tree_path(root, "b2")), DF_INPUT);
        assert_non_null(strstr(k.err.text, "key 'a'"));
        assert_non_null(strstr(k.err.text, "sum beyond 128 bits"));
        input_tree_text(root, "b3/inserted/r.csv", "g,v\na,-1\n");
        kept_must(kept_run(&k, input_tree_path(root, "b3")), &k);
        kept_close(&k);
    }
    buf_fini(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_the_oracle_adds_up),
        cmocka_unit_test(every_way_gives_the_same_bytes),
        cmocka_unit_test(batches_are_refused_for_sums_alone),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
