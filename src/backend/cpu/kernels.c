#include "backend/cpu/kernels.h"

#include <stddef.h>

#include "core/cpu.h"

#if defined(__x86_64__)
static const cm_kernels *const best_first[] = {&cm_kernels_avx512, &cm_kernels_avx2, &cm_kernels_base};
static int first_usable(void) { return (int)cm_cpu_simd(); }

const cm_kernels *cm_kernels_bf16(void) {
    return cm_cpu_simd() == CM_SIMD_AVX512 && __builtin_cpu_supports("avx512bf16") ? &cm_kernels_avx512bf16 : NULL;
}
#else
static const cm_kernels *const best_first[] = {
#if defined(__aarch64__)
    &cm_kernels_neon, /* every such processor has it */
#endif
    &cm_kernels_base,
};
static int first_usable(void) { return 0; }

const cm_kernels *cm_kernels_bf16(void) { return NULL; }
#endif

const cm_kernels *const *cm_kernels_usable(int *count) {
    const int first = first_usable();
    *count = (int)(sizeof best_first / sizeof *best_first) - first;
    return best_first + first;
}
