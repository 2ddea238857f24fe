/* Products in 8 bits (backend/int8.h): the kernels, a table per instruction set, chosen when the backend opens.
 *
 * Numbers lie in words of 32 bits along k, as an instruction takes them: four bytes, those of x with 128 added, which
 * makes them unsigned (VNNI, AMX; the sums are then too large by what `excess` says), or a pair of 16 bits, of which no
 * product saturates (vpmaddwd, vpdpwssd; vpmaddubsw would). */
#ifndef CM_BACKEND_CPU_INT8_KERNELS_H
#define CM_BACKEND_CPU_INT8_KERNELS_H

#include "backend/cpu/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[m, n] = act((sum over k of a b - excess) scale + shift + rows of the table + residual).
 *
 * a: word k of tap t of row i is a[row[i] + tap[t] + k]. b lies in panels of 16 columns: word k of tap t of column j is
 * b[j/16 * b_panel + (t * depth + k) * 16 + j%16]. */
typedef struct cm_gemm_int8 {
    int m, n;
    int taps, depth; /* words of a tap */
    const uint32_t *a;
    const int32_t *row, *tap; /* [m], [taps] */
    const uint32_t *b;
    size_t b_panel;
    const int32_t *excess;      /* [n, padded] */
    const float *scale, *shift; /* [n, padded] */
    const float *table;         /* as in cm_gemm */
    int ldt;
    const int32_t *action;
    const float *residual; /* of c's layout, or NULL */
    bool relu;
    float *c;
    int ldc;
    int32_t *sums; /* NULL, or where the sums go as they are, rows ld_sums apart and padded; nothing comes after them */
    int ld_sums;
} cm_gemm_int8;

/* Transforms of int8_winograd.h, of tiles of `down` by `across` places of c: 3 or 4. */
typedef struct cm_int8_winograd_tile {
    int down, across;
    /* Place (r, q) of a tile of x[channels], a multiple of 16, is at d[r * line + q * channels], element k after the
     * transform at v[k * stride]. */
    void (*input)(int16_t *v, size_t stride, const int16_t *d, size_t line, int channels);
    /* down * across rows of c, -1: none, from the sums of all elements modulo 2^32, which are `stride` apart; of g what
     * comes after sums. */
    void (*output)(const cm_gemm_int8 *g, const int32_t *rows, const int32_t *m, size_t stride);
} cm_int8_winograd_tile;
enum { CM_INT8_WINOGRADS = 4 };

/* By what power of two, and 9, the sums are too large after the transform: sides of 3 make 6 of them, of 4, 24. */
static inline int cm_int8_bits(int down, int across) { return (down == 3 ? 1 : 3) + (across == 3 ? 1 : 3); }

typedef struct cm_int8_kernels {
    const char *name; /* "AVX-512 VNNI" */
    int numbers;      /* of a word: 4 or 2 */
    uint32_t zero;    /* the word of x that stands for zeros */
    /* Words of the numbers of x[rows, columns], a row's after another's; what fills the last one stands for anything.
     */
    void (*rows)(uint32_t *out, const float *x, int stride, int rows, int columns, float inverse);
    void (*gemm)(const cm_gemm_int8 *g);
    const cm_int8_winograd_tile *winograd; /* [CM_INT8_WINOGRADS] of pairs; NULL of bytes */
    const struct cm_int8_kernels *pairs;   /* what Winograd's convolutions use; NULL: direct sums are faster */
} cm_int8_kernels;

/* Each is there where the compiler's target has the instructions, cm_int8_base everywhere. */
extern const cm_int8_kernels cm_int8_base, cm_int8_avx2, cm_int8_avxvnni, cm_int8_avx512, cm_int8_avx512vnni,
    cm_int8_amx, cm_int8_pairs_avxvnni, cm_int8_pairs_avx512vnni;

/* Those that this processor can run, best first; *count of them are written to out[]. */
enum { CM_INT8_KERNELS = 6 };
void cm_int8_usable(const cm_int8_kernels *out[CM_INT8_KERNELS], int *count);

#ifdef __cplusplus
}
#endif
#endif
