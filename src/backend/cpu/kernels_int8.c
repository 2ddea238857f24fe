#include "backend/cpu/int8_kernels.h"

#include "core/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Compilers do not all know its name. */
static bool has_avxvnni(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1u);
}

/* Tiles are 8 KB more of each thread, for which Linux wants to be asked once per process (arch_prctl,
 * ARCH_REQ_XCOMP_PERM). */
static bool has_amx(void) {
    enum { REQUEST = 0x1023, TILES = 18 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool is_there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 1u) && (d >> 25 & 1u);
    return is_there && syscall(SYS_arch_prctl, REQUEST, TILES) == 0;
}

void cm_int8_usable(const cm_int8_kernels *out[CM_INT8_KERNELS], int *count) {
    const cm_simd simd = cm_cpu_simd();
    int n = 0;
    const bool has_vnni = simd == CM_SIMD_AVX512 && __builtin_cpu_supports("avx512vnni");
    if (has_vnni && has_amx()) out[n++] = &cm_int8_amx;
    if (has_vnni) out[n++] = &cm_int8_avx512vnni;
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
