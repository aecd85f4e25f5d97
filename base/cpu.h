/*
 * cpu.h: which vector instructions this processor has, asked at run time: one
 * binary serves all, and every vector path has a portable one beside it that
 * gives the same bytes.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define CPU_X86 1
#else
#define CPU_X86 0
#endif

#if CPU_X86
/* AVX2, and the bit manipulation that goes with it. */
static inline bool cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}

/* AVX-512 on bytes, and all of the above. */
static inline bool cpu_has_avx512(void)
{
    return cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw");
}

/* Bytes compressed by a mask, and all of the above. */
static inline bool cpu_has_avx512_vbmi2(void)
{
    return cpu_has_avx512() && __builtin_cpu_supports("avx512vbmi2");
}
#endif

#endif
