/* Pairs of 16 bits with AVX-VNNI: vpdpwssd, which does not saturate. */
#include "backend/cpu/int8_ymm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)_mm256_dpwssd_avx_epi32((__m256i)acc, (__m256i)a, (__m256i)b);
}

#include "backend/cpu/int8_ymm_pairs.inc"

const cm_int8_kernels cm_int8_pairs_avxvnni = {.name = "AVX-VNNI, pairs",
                                               .numbers = 2,
                                               .zero = 0,
                                               .rows = int8_rows,
                                               .gemm = int8_gemm,
                                               .winograd = int8_winograd_tiles,
                                               .pairs = &cm_int8_pairs_avxvnni};
