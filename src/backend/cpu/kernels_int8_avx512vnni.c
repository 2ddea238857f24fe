/* Products in 8 bits with AVX-512 VNNI: vpdpbusd, which does not saturate. */
#include "backend/cpu/int8_kernels.h"

#include "backend/cpu/simd_avx512.inc"

typedef __v16si vi;
static inline vi vi_zero(void) { return (vi)_mm512_setzero_si512(); }
static inline vi vi_load(const void *p) { return (vi)_mm512_loadu_si512(p); }
static inline void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, (__m512i)v); }
static inline vi vi_set(uint32_t word) { return (vi)_mm512_set1_epi32((int)word); }
static inline vf vf_of(vi v) { return _mm512_cvtepi32_ps((__m512i)v); }
static inline vi vi_dot(vi acc, vi a, vi b) { return (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)a, (__m512i)b); }

/* Tile extents for 32 registers of 16 numbers. */
enum { INT8_PANELS = 4 };
#define INT8_TILES(tile)                                                                                               \
    tile(6, 1) tile(6, 2) tile(6, 3) tile(6, 4) tile(2, 1) tile(2, 2) tile(2, 3) tile(2, 4) tile(1, 1) tile(1, 2)      \
        tile(1, 3) tile(1, 4)
#define INT8_HEIGHT(rows)                                                                                              \
    {                                                                                                                  \
        rows, { int8_tile_##rows##_1, int8_tile_##rows##_2, int8_tile_##rows##_3, int8_tile_##rows##_4 }               \
    }
#define INT8_HEIGHTS                                                                                                   \
    { INT8_HEIGHT(6), INT8_HEIGHT(2), INT8_HEIGHT(1) }

#include "backend/cpu/gemm_int8.inc"

static void int8_rows(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse) {
    const int words = (columns + 3) / 4;
    const vf by = vf_set(inverse), most = vf_set(127.0f);
    for (int r = 0; r < rows; r++, x += stride, out += words) {
        for (int k = 0; k < columns; k += VL) {
            const int n = columns - k < VL ? columns - k : VL;
            const vf y = vf_min(vf_max(vf_load_n(x + k, n) * by, -most), most);
            const __m128i byte = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(y));
            _mm_mask_storeu_epi32(out + k / 4, (__mmask8)((1u << ((n + 3) / 4)) - 1u),
                                  _mm_xor_si128(byte, _mm_set1_epi8((char)0x80)));
        }
    }
}

const cm_int8_kernels cm_int8_avx512vnni = {
    .name = "AVX-512 VNNI", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_gemm};
