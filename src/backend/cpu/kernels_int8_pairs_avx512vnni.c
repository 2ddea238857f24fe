/* Pairs of 16 bits with AVX-512 VNNI: vpdpwssd, which does not saturate. */
#include "backend/cpu/int8_zmm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) { return (vi)_mm512_dpwssd_epi32((__m512i)acc, (__m512i)a, (__m512i)b); }

#include "backend/cpu/int8_zmm_pairs.inc"

const cm_int8_kernels cm_int8_pairs_avx512vnni = {.name = "AVX-512 VNNI, pairs",
                                                  .numbers = 2,
                                                  .zero = 0,
                                                  .rows = int8_rows,
                                                  .gemm = int8_gemm,
                                                  .winograd = int8_winograd_tiles,
                                                  .pairs = &cm_int8_pairs_avx512vnni};
