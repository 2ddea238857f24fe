/* Products in 8 bits whose words are four bytes, as those of VNNI are, for any processor. */
#ifndef TESTS_BACKEND_CPU_INT8_BYTES_H
#define TESTS_BACKEND_CPU_INT8_BYTES_H

#include "backend/cpu/int8_kernels.h"

#include "backend/cpu/simd_base.inc"

static inline vi vi_zero(void) { return (vi){0, 0, 0, 0}; }
static inline vi vi_load(const void *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vi_store(int32_t *p, vi v) { memcpy(p, &v, sizeof v); }
static inline vi vi_set(uint32_t word) { return (vi){(int)word, (int)word, (int)word, (int)word}; }
static inline vf vf_of(vi v) { return __builtin_convertvector(v, vf); }

/* vpdpbusd: bytes of a have no sign, those of b have one. */
static inline vi vi_dot(vi acc, vi a, vi b) {
    uint8_t bytes[VL][4];
    int8_t numbers[VL][4];
    memcpy(bytes, &a, sizeof bytes);
    memcpy(numbers, &b, sizeof numbers);
    for (int i = 0; i < VL; i++)
        for (int k = 0; k < 4; k++) acc[i] += bytes[i][k] * numbers[i][k];
    return acc;
}

enum { INT8_PANELS = 1 };
#define INT8_TILES(tile) tile(1, 1)
#define INT8_HEIGHTS                                                                                                   \
    {                                                                                                                  \
        {                                                                                                              \
            1, { int8_tile_1_1 }                                                                                       \
        }                                                                                                              \
    }

#include "backend/cpu/gemm_int8.inc"

static void int8_rows(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse) {
    for (int r = 0; r < rows; r++, x += stride) {
        for (int k = 0; k < columns; k += 4) {
            uint8_t word[4] = {0x55, 0x55, 0x55, 0x55};
            for (int i = 0; i < 4 && k + i < columns; i++) word[i] = (uint8_t)(cm_int8_of(x[k + i], inverse) + 128);
            memcpy(out++, word, sizeof word);
        }
    }
}

static const cm_int8_kernels int8_bytes = {
    .name = "bytes", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_gemm};

#endif
