#include "cli/bench_lists.h"

#include <stdlib.h>

static const char digits[] = "0123456789";

/* Digits with at most one point among them, and no more of them than a
 * double holds: not what strtod takes besides (signs, exponents, nan). */
static bool parse_percent(struct bytes word, double *percent)
{
    char text[16];
    size_t whole;
    size_t len;

    if (word.len == 0 || word.len >= sizeof text) {
        return false;
    }
    memcpy(text, word.data, word.len);
    text[word.len] = '\0';
    whole = strspn(text, digits);
    len = whole;
    if (text[len] == '.') {
        len += 1 + strspn(text + len + 1, digits);
    }
    if (whole == 0 || text[len] != '\0' || text[len - 1] == '.') {
        return false;
    }
    *percent = strtod(text, NULL);
    return *percent > 0 && *percent <= DELTAS_PERCENT_MAX;
}

/* The word up to the next comma; *rest is NULL behind the last. */
static struct bytes next_word(const char **rest)
{
    size_t len = strcspn(*rest, ",");
    struct bytes word = bytes_of(*rest, len);

    *rest = (*rest)[len] == ',' ? *rest + len + 1 : NULL;
    return word;
}

/* Keeps the list rising and without repeats; false where it is full. */
static bool insert(struct bench_lists *lists, double percent)
{
    size_t i = lists->percent_count;
    double *p = lists->percents;

    while (i > 0 && p[i - 1] > percent) {
        i--;
    }
    if (i > 0 && p[i - 1] >= percent) {
        return true;
    }
    if (lists->percent_count == DELTAS_MAX) {
        return false;
    }
    memmove(p + i + 1, p + i, (lists->percent_count - i) * sizeof *p);
    p[i] = percent;
    lists->percent_count++;
    return true;
}

static enum df_status parse_sizes(struct bench_lists *lists, const char *sizes,
                                  struct df_error *err)
{
    struct shown s;

    for (const char *rest = sizes; rest != NULL;) {
        struct bytes word = next_word(&rest);
        double percent;

        if (!parse_percent(word, &percent)) {
            return error_set(err, DF_USAGE,
                             "--sizes: '%s' is not a per cent above 0 and up "
                             "to %d, such as 0.01: see 'deltafold bench "
                             "--help'",
                             shown(&s, word), DELTAS_PERCENT_MAX);
        }
        if (!insert(lists, percent)) {
            return error_set(err, DF_USAGE, "--sizes: more than %d sizes",
                             DELTAS_MAX);
        }
    }
    return DF_OK;
}

static bool choose_method(struct bench_lists *lists, struct bytes word)
{
    for (size_t i = 0; crossover_method(i) != NULL; i++) {
        if (bytes_equal(word, bytes_of_string(crossover_method(i)->name))) {
            lists->methods[i] = true;
            return true;
        }
    }
    return false;
}

/* Names of all methods, for a message. */
static const char *method_names(char *room, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; crossover_method(i) != NULL; i++) {
        const char *name = crossover_method(i)->name;

        if (len + strlen(name) + 3 < size) {
            memcpy(room + len, i == 0 ? "" : ", ", i == 0 ? 0 : 2);
            len += i == 0 ? 0 : 2;
            memcpy(room + len, name, strlen(name));
            len += strlen(name);
        }
    }
    room[len] = '\0';
    return room;
}

static enum df_status parse_methods(struct bench_lists *lists,
                                    const char *methods, struct df_error *err)
{
    char names[120];
    struct shown s;

    for (size_t i = 0; methods == NULL && crossover_method(i) != NULL; i++) {
        lists->methods[i] = true;
    }
    for (const char *rest = methods; rest != NULL;) {
        struct bytes word = next_word(&rest);

        if (!choose_method(lists, word)) {
            return error_set(err, DF_USAGE,
                             "--methods: '%s' is none of %s: see 'deltafold "
                             "bench --help'",
                             shown(&s, word),
                             method_names(names, sizeof names));
        }
    }
    return DF_OK;
}

enum df_status bench_lists_parse(struct bench_lists *lists, const char *sizes,
                                 const char *methods, struct df_error *err)
{
    enum df_status status;

    *lists = (struct bench_lists){ 0 };
    status = parse_sizes(lists, sizes, err);
    return status == DF_OK ? parse_methods(lists, methods, err) : status;
}
