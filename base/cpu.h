/*
 * cpu.h: which vector instructions this processor has, asked at run time: one
 * binary serves all, and every vector path has a portable one beside it that
 * gives the same bytes.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define CPU_X86 1
#else
#define CPU_X86 0
#endif

enum cpu_level {
    CPU_PORTABLE,
    CPU_AVX2,        /* and the bit manipulation that goes with it */
    CPU_AVX512,      /* on bytes, registers of any width, bits moved by a
                        mask, and all of the above */
    CPU_AVX512_VBMI2 /* bytes compressed by a mask, and all of the above */
};

static inline bool cpu_has(enum cpu_level level)
{
#if CPU_X86
    bool avx2 = __builtin_cpu_supports("avx2") &&
                __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("popcnt");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("bmi2");

    switch (level) {
    case CPU_AVX2:
        return avx2;
    case CPU_AVX512:
        return avx512;
    case CPU_AVX512_VBMI2:
        return avx512 && __builtin_cpu_supports("avx512vbmi2");
    case CPU_PORTABLE:
        break;
    }
#endif
    return level == CPU_PORTABLE;
}

#if CPU_X86
/* Bits gathered by a mask. */
static inline bool cpu_has_bmi2(void)
{
    return __builtin_cpu_supports("bmi2");
}
#endif

/*
 * The paths of one module, fastest first, the last of them portable. What a
 * path is, is the module's: it hands out what is given here.
 */
struct cpu_path {
    enum cpu_level needs;
    const void *path;
};
struct cpu_paths {
    const struct cpu_path *list;
    const void *preferred; /* for tests; NULL: the first there is */
};

/* The i-th that this processor can take; NULL past the last. */
static inline const void *cpu_path(const struct cpu_paths *paths, size_t i)
{
    const struct cpu_path *at = paths->list;

    while (!cpu_has(at->needs) || i-- > 0) {
        if (at->needs == CPU_PORTABLE) {
            return NULL;
        }
        at++;
    }
    return at->path;
}

static inline const void *cpu_best(const struct cpu_paths *paths)
{
    return paths->preferred != NULL ? paths->preferred : cpu_path(paths, 0);
}

#endif
