/* Products in 8 bits whose words are four bytes, as those of VNNI are, for any processor; and those of AMX by tiles
 * that are computed in plain C. */
#ifndef TESTS_BACKEND_CPU_INT8_BYTES_H
#define TESTS_BACKEND_CPU_INT8_BYTES_H

#include "backend/cpu/int8_kernels.h"

#include <assert.h>

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

/* ---- tiles ---- */

typedef struct emulated_tiles {
    uint16_t bytes[8]; /* of a row */
    uint8_t rows[8];
    uint8_t data[8][16][64];
} emulated_tiles;

static emulated_tiles tiles;

/* A tile's shape, at bytes 16 to 63 of what LDTILECFG reads. */
static inline void tiles_configure(const void *shapes) {
    const uint8_t *from = shapes;
    memset(&tiles, 0, sizeof tiles);
    assert(from[0] == 1);
    memcpy(tiles.bytes, from + 16, sizeof tiles.bytes);
    memcpy(tiles.rows, from + 48, sizeof tiles.rows);
    for (int t = 0; t < 8; t++) assert(tiles.rows[t] <= 16 && tiles.bytes[t] <= 64);
}
static inline void tiles_release(void) { memset(&tiles, 0, sizeof tiles); }

static inline void tile_zero(int t) { memset(tiles.data[t], 0, sizeof tiles.data[t]); }

static inline void tile_load(int t, const void *from, long stride) {
    tile_zero(t);
    for (int r = 0; r < tiles.rows[t]; r++)
        memcpy(tiles.data[t][r], (const uint8_t *)from + r * stride, tiles.bytes[t]);
}

static inline void tile_store(int t, void *to, long stride) {
    for (int r = 0; r < tiles.rows[t]; r++) memcpy((uint8_t *)to + r * stride, tiles.data[t][r], tiles.bytes[t]);
}

/* TDPBUSD, which faults where shapes do not fit. */
static inline void tile_dot(int sums, int a, int b) {
    assert(tiles.rows[sums] == tiles.rows[a] && tiles.bytes[sums] == tiles.bytes[b]);
    assert(tiles.bytes[a] == 4 * tiles.rows[b]);
    for (int r = 0; r < tiles.rows[a]; r++)
        for (int c = 0; c < tiles.bytes[b] / 4; c++) {
            int32_t sum;
            memcpy(&sum, &tiles.data[sums][r][4 * c], sizeof sum);
            for (int k = 0; k < tiles.bytes[a]; k++)
                sum += tiles.data[a][r][k] * (int8_t)tiles.data[b][k / 4][4 * c + k % 4];
            memcpy(&tiles.data[sums][r][4 * c], &sum, sizeof sum);
        }
}

static inline void tile_row(uint32_t *to, const uint32_t *from, int words) {
    memset(to, 0x55, 16 * sizeof *to);
    memcpy(to, from, (size_t)words * sizeof *to);
}

#include "backend/cpu/int8_amx.inc"

static const cm_int8_kernels int8_tiled = {
    .name = "tiles", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_amx_gemm};
static const cm_int8_kernels int8_bytes = {
    .name = "bytes", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_gemm, .pairs = &cm_int8_base};

#endif
