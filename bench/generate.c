/*
 * generate.c: text of random words of which everything is known beforehand.
 *
 *     bench_generate SEED FIRST COUNT
 *
 * Every seed has its own sequence of 2^40 words of letters a to z, no two of
 * them equal, in no order: most have 8 or 9 letters, as in the vocabulary of
 * a large collection. Prints words FIRST to FIRST + COUNT - 1 of it, ten to
 * a line. So a text of COUNT words has COUNT rows with the value 1, and two
 * texts share the words whose numbers they share.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BITS = 40, WORDS_PER_LINE = 10, WORD_ROOM = 16 };

#define WORDS ((uint64_t)1 << BITS)
#define MASK (WORDS - 1)

/*
 * A permutation of the numbers below 2^40: multiplying by an odd number,
 * adding, and folding the upper half onto the lower one can each be undone,
 * so no two numbers meet. Two rounds of it leave no visible order.
 */
static uint64_t permute(uint64_t x, uint64_t seed)
{
    x = (x + seed * 0x9e3779b97f4a7c15u) & MASK;
    for (unsigned round = 0; round < 2; round++) {
        x ^= x >> (BITS / 2);
        x = (x * 0xd1342543de82ef95u) & MASK;
        x = (x + seed) & MASK;
    }
    return x ^ (x >> (BITS / 2));
}

static void print_word(uint64_t number)
{
    char room[WORD_ROOM];
    char *p = room + sizeof room;

    *--p = '\0';
    do {
        *--p = (char)('a' + number % 26);
        number /= 26;
    } while (number > 0);
    (void)fputs(p, stdout);
}

static bool parse(const char *text, uint64_t *value)
{
    char *end;

    *value = strtoumax(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *value <= WORDS;
}

int main(int argc, char **argv)
{
    uint64_t seed;
    uint64_t first;
    uint64_t count;

    if (argc != 4 || !parse(argv[1], &seed) || !parse(argv[2], &first) ||
        !parse(argv[3], &count) || count > WORDS - first) {
        (void)fputs("usage: bench_generate SEED FIRST COUNT\n", stderr);
        return EXIT_FAILURE;
    }
    for (uint64_t i = 0; i < count; i++) {
        bool line_ends = (i + 1) % WORDS_PER_LINE == 0 || i + 1 == count;

        print_word(permute(first + i, seed));
        (void)putchar(line_ends ? '\n' : ' ');
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fputs("bench_generate: standard output cannot be written\n",
                    stderr);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
