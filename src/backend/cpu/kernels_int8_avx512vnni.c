/* Products in 8 bits with AVX-512 VNNI: vpdpbusd, which does not saturate. */
#include "backend/cpu/int8_zmm.inc"

static inline vi vi_dot(vi acc, vi a, vi b) { return (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)a, (__m512i)b); }

#include "backend/cpu/gemm_int8.inc"

static void int8_rows(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse) {
    const int words = (columns + 3) / 4;
    for (int r = 0; r < rows; r++, x += stride, out += words) {
        for (int k = 0; k < columns; k += VL) {
            const int n = columns - k < VL ? columns - k : VL;
            const __m128i byte = _mm512_cvtepi32_epi8(sixteen_of(x + k, n, vf_set(inverse)));
            _mm_mask_storeu_epi32(out + k / 4, (__mmask8)((1u << ((n + 3) / 4)) - 1u),
                                  _mm_xor_si128(byte, _mm_set1_epi8((char)0x80)));
        }
    }
}

const cm_int8_kernels cm_int8_avx512vnni = {
    .name = "AVX-512 VNNI", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_gemm};
