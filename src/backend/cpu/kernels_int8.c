#include "backend/cpu/int8_kernels.h"

#include "core/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Compilers do not all know its name. */
static bool has_avxvnni(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1u);
}

void cm_int8_usable(const cm_int8_kernels *out[CM_INT8_KERNELS], int *count) {
    const cm_simd simd = cm_cpu_simd();
    int n = 0;
    if (simd == CM_SIMD_AVX512 && __builtin_cpu_supports("avx512vnni")) out[n++] = &cm_int8_avx512vnni;
    if (simd <= CM_SIMD_AVX2 && has_avxvnni()) out[n++] = &cm_int8_avxvnni;
    if (simd == CM_SIMD_AVX512) out[n++] = &cm_int8_avx512;
    if (simd <= CM_SIMD_AVX2) out[n++] = &cm_int8_avx2;
    out[n++] = &cm_int8_base;
    *count = n;
}
#else
void cm_int8_usable(const cm_int8_kernels *out[CM_INT8_KERNELS], int *count) {
    out[0] = &cm_int8_base;
    *count = 1;
}
#endif
