/* Products in 8 bits with AVX2: pairs of 16 bits, of which vpmaddwd is exact. */
#include "backend/cpu/int8_ymm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)_mm256_add_epi32((__m256i)acc, _mm256_madd_epi16((__m256i)a, (__m256i)b));
}

#include "backend/cpu/int8_ymm_pairs.inc"

const cm_int8_kernels cm_int8_avx2 = {.name = "AVX2",
                                      .numbers = 2,
                                      .zero = 0,
                                      .rows = int8_rows,
                                      .gemm = int8_gemm,
                                      .winograd = int8_winograd_tiles,
                                      .pairs = &cm_int8_avx2};
