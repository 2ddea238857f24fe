/* Products in 8 bits with AVX-512 BW: pairs of 16 bits, of which vpmaddwd is exact. */
#include "backend/cpu/int8_zmm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)_mm512_add_epi32((__m512i)acc, _mm512_madd_epi16((__m512i)a, (__m512i)b));
}

#include "backend/cpu/int8_zmm_pairs.inc"

const cm_int8_kernels cm_int8_avx512 = {.name = "AVX-512",
                                        .numbers = 2,
                                        .zero = 0,
                                        .rows = int8_rows,
                                        .gemm = int8_gemm,
                                        .winograd = int8_winograd_tiles,
                                        .pairs = &cm_int8_avx512};
