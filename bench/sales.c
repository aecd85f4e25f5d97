/*
 * sales.c: csv records to be added up, 60 bytes each with their newline.
 *
 *     bench_sales SEED COUNT GROUPS
 *
 *     id,day,customer,price,note
 *     00000000,2026-03-17,c0482511,1234.56,lorem ipsum dolor
 *
 * Groups, days and prices are at random (splitmix64) and the same for the
 * same SEED everywhere; prices have two digits behind the point, and one in
 * 16 is negative. Nothing is quoted, so that programs that only split at
 * commas read the same.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_BYTES = 60, PIECE = 16384, GROUPS_MAX = 10000000 };

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* n digits of v at p, zeros in front; returns the end. */
static char *put_digits(char *p, uint64_t v, unsigned n)
{
    for (unsigned i = n; i > 0; i--) {
        p[i - 1] = (char)('0' + v % 10);
        v /= 10;
    }
    return p + n;
}

static char *put_text(char *p, const char *text)
{
    size_t len = strlen(text);

    memcpy(p, text, len);
    return p + len;
}

static char *put_record(char *record, uint64_t id, uint64_t groups,
                        uint64_t *random)
{
    static const char note[] = "lorem ipsum dolor sit amet consectetur";
    char *end = record + RECORD_BYTES - 1;
    char *p = put_digits(record, id % 100000000, 8);
    uint64_t day = next_random(random) % 336;
    uint64_t price = next_random(random);

    p = put_text(p, ",2026-");
    p = put_digits(p, 1 + day / 28, 2);
    p = put_text(p, "-");
    p = put_digits(p, 1 + day % 28, 2);
    p = put_text(p, ",c");
    p = put_digits(p, next_random(random) % groups, 7);
    p = put_text(p, price % 16 == 0 ? ",-" : ",");
    p = put_digits(p, price / 16 % 10000, price / 16 % 10000 < 1000 ? 3 : 4);
    p = put_text(p, ".");
    p = put_digits(p, price >> 40, 2);
    p = put_text(p, ",");
    memcpy(p, note, (size_t)(end - p));
    *end = '\n';
    return record + RECORD_BYTES;
}

static bool parse(const char *text, uint64_t most, uint64_t *value)
{
    char *end;

    *value = strtoumax(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *value <= most;
}

int main(int argc, char **argv)
{
    static char piece[PIECE][RECORD_BYTES];
    uint64_t random;
    uint64_t count;
    uint64_t groups;

    if (argc != 4 || !parse(argv[1], UINT64_MAX, &random) ||
        !parse(argv[2], UINT64_MAX, &count) ||
        !parse(argv[3], GROUPS_MAX, &groups) || groups == 0) {
        (void)fputs("usage: bench_sales SEED COUNT GROUPS\n", stderr);
        return EXIT_FAILURE;
    }
    (void)puts("id,day,customer,price,note");
    for (uint64_t done = 0; done < count;) {
        size_t n = count - done < PIECE ? (size_t)(count - done) : PIECE;

        for (size_t i = 0; i < n; i++) {
            (void)put_record(piece[i], done + i, groups, &random);
        }
        (void)fwrite(piece, RECORD_BYTES, n, stdout);
        done += n;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fputs("bench_sales: standard output cannot be written\n",
                    stderr);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
