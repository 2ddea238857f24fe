/* Products in 8 bits with AVX-VNNI: vpdpbusd, which does not saturate. */
#include "backend/cpu/int8_ymm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)a, (__m256i)b);
}

static inline void store(unsigned char *out, __m256i sixteen, int bytes) {
    const __m128i narrow = _mm_packs_epi16(_mm256_castsi256_si128(sixteen), _mm256_extracti128_si256(sixteen, 1));
    const __m128i byte = _mm_xor_si128(narrow, _mm_set1_epi8((char)0x80));
    if (bytes == sizeof byte) {
        _mm_storeu_si128((__m128i *)(void *)out, byte);
    } else {
        memcpy(out, &byte, (size_t)bytes);
    }
}

#include "backend/cpu/gemm_int8.inc"

INT8_ROWS_OF(4, 1, store)

const cm_int8_kernels cm_int8_avxvnni = {.name = "AVX-VNNI",
                                         .numbers = 4,
                                         .zero = 0x80808080u,
                                         .rows = int8_rows,
                                         .gemm = int8_gemm,
                                         .pairs = &cm_int8_pairs_avxvnni};
