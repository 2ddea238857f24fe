/* Products in 8 bits with AVX-512 BW: pairs of 16 bits, of which vpmaddwd is exact. */
#include "backend/cpu/int8_zmm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)_mm512_add_epi32((__m512i)acc, _mm512_madd_epi16((__m512i)a, (__m512i)b));
}

#include "backend/cpu/gemm_int8.inc"

#include "backend/cpu/int8_winograd.inc"

static inline __m256i pairs_of(vf x, vf inverse) { return _mm512_cvtepi32_epi16(sixteen_of(x, inverse)); }

static void int8_rows(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse) {
    const int words = (columns + 1) / 2;
    const vf by = vf_set(inverse);
    for (int r = 0; r < rows; r++, x += stride, out += words) {
        int k = 0;
        for (; k + VL <= columns; k += VL)
            _mm256_storeu_si256((__m256i *)(void *)(out + k / 2), pairs_of(vf_load(x + k), by));
        if (k < columns)
            _mm256_mask_storeu_epi32(out + k / 2, (__mmask8)((1u << ((columns - k + 1) / 2)) - 1u),
                                     pairs_of(vf_load_n(x + k, columns - k), by));
    }
}

const cm_int8_kernels cm_int8_avx512 = {
    .name = "AVX-512", .numbers = 2, .zero = 0, .rows = int8_rows, .gemm = int8_gemm, .winograd = int8_winograd_tiles};
