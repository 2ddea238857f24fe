/* Products in 8 bits with AVX-512 VNNI: vpdpbusd, which does not saturate. */
#include "backend/cpu/int8_zmm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) { return (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)a, (__m512i)b); }

#include "backend/cpu/gemm_int8.inc"

static inline __m128i bytes_of(vf x, vf inverse) {
    return _mm_xor_si128(_mm512_cvtepi32_epi8(sixteen_of(x, inverse)), _mm_set1_epi8((char)0x80));
}

static void int8_rows(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse) {
    const int words = (columns + 3) / 4;
    const vf by = vf_set(inverse);
    for (int r = 0; r < rows; r++, x += stride, out += words) {
        int k = 0;
        for (; k + VL <= columns; k += VL)
            _mm_storeu_si128((__m128i *)(void *)(out + k / 4), bytes_of(vf_load(x + k), by));
        if (k < columns)
            _mm_mask_storeu_epi32(out + k / 4, (__mmask8)((1u << ((columns - k + 3) / 4)) - 1u),
                                  bytes_of(vf_load_n(x + k, columns - k), by));
    }
}

const cm_int8_kernels cm_int8_avx512vnni = {
    .name = "AVX-512 VNNI", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_gemm};
