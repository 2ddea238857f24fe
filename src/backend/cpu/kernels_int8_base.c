/* Products in 8 bits for any processor: pairs of 16 bits. */
#include "backend/cpu/int8_kernels.h"

#include "backend/cpu/simd_base.inc"

static inline vi vi_zero(void) { return (vi){0, 0, 0, 0}; }
static inline vi vi_load(const void *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vi_store(int32_t *p, vi v) { memcpy(p, &v, sizeof v); }
static inline vi vi_set(uint32_t word) {
    const int32_t pair = (int32_t)word;
    return (vi){pair, pair, pair, pair};
}
static inline vf vf_of(vi v) { return __builtin_convertvector(v, vf); }

#if defined(__SSE2__)
#include <emmintrin.h>
static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)_mm_add_epi32((__m128i)acc, _mm_madd_epi16((__m128i)a, (__m128i)b));
}
#else
typedef uint32_t vu __attribute__((vector_size(16)));
static inline vi lower(vi pair) { return (vi)((vu)pair << 16) >> 16; }
static inline vi vi_dot(vi acc, vi a, vi b) {
    return (vi)((vu)acc + (vu)(lower(a) * lower(b)) + (vu)((a >> 16) * (b >> 16)));
}
#endif

enum { INT8_PANELS = 1 };
#define INT8_TILES(tile) tile(2, 1) tile(1, 1)
#define INT8_HEIGHTS                                                                                                   \
    {                                                                                                                  \
        {2, {int8_tile_2_1}}, {                                                                                        \
            1, { int8_tile_1_1 }                                                                                       \
        }                                                                                                              \
    }

#include "backend/cpu/gemm_int8.inc"

#include "backend/cpu/int8_winograd.inc"

static void int8_rows(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse) {
    const int words = (columns + 1) / 2;
    for (int r = 0; r < rows; r++, x += stride, out += words) {
        for (int k = 0; k < columns; k += 2) {
            const int16_t pair[2] = {(int16_t)cm_int8_of(x[k], inverse),
                                     (int16_t)(k + 1 < columns ? cm_int8_of(x[k + 1], inverse) : 0)};
            memcpy(out + k / 2, pair, sizeof pair);
        }
    }
}

const cm_int8_kernels cm_int8_base = {.name = "base",
                                      .numbers = 2,
                                      .zero = 0,
                                      .rows = int8_rows,
                                      .gemm = int8_gemm,
                                      .winograd = int8_winograd_tiles,
                                      .pairs = &cm_int8_base};
