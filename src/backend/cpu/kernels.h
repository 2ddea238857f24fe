/* The arithmetic kernels of the cpu backend: one table per instruction set, chosen once when the backend opens. */
#ifndef CM_BACKEND_CPU_KERNELS_H
#define CM_BACKEND_CPU_KERNELS_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_GEMM_PANEL = 16 };
/* n, rounded up to whole panels. */
static inline int cm_padded(int n) { return (n + CM_GEMM_PANEL - 1) / CM_GEMM_PANEL * CM_GEMM_PANEL; }

/* c[m, n] = act(a b + bias + rows), or c += that.
 *
 * b lies in panels of 16 columns: element (k, j) at b[j/16 * b_panel + k * b_step + j%16]. A product of rows reads a[m,
 * k] and whole panels (columns after n hold anything finite or not); a product across rows reads a as a[k, m] and of b
 * only the columns below n_load. In bfloat16 an element of a or b is a pair of them, and k counts pairs. */
typedef struct cm_gemm {
    int m, n, k;
    const float *a;
    int lda; /* elements from one row of a, as it lies in memory, to the next */
    const float *b;
    size_t b_panel, b_step;
    int n_load;
    float *c;
    int ldc;
    const float *bias;  /* [n] or NULL */
    const float *table; /* [actions, ldt], ldt a multiple of 16, or NULL: row action[i] is added to row i */
    int ldt;
    const int32_t *action;
    bool relu, accumulate;
} cm_gemm;

/* Transforms of tiles for winograd.h, for all channels of a tile; element k of a transformed tile (line k/6, column
 * k%6) stands `stride` floats after element k-1. */
typedef struct cm_winograd_kernels {
    void (*input)(float *v, size_t stride, const float *const d[36], int channels); /* v = B^T d B */
    /* y = or += act(A^T m A + bias); bias NULL: none. */
    void (*output)(float *const y[16], const float *m, size_t stride, int channels, const float *bias, bool relu,
                   bool accumulate);
    void (*output_gradient)(float *m, size_t stride, const float *const dy[16], int channels); /* m = A dy A^T */
    void (*filter)(float *u, size_t stride, const float *const g[9], int channels);            /* u = G g G^T */
    /* dg = or += G^T du G */
    void (*filter_gradient)(float *const dg[9], const float *du, size_t stride, int channels, bool accumulate);
} cm_winograd_kernels;

typedef struct cm_kernels {
    const char *name; /* "AVX-512" */
    void (*gemm)(const cm_gemm *g);
    void (*gemm_across)(const cm_gemm *g);
    /* sums[columns] = or += the sums over the rows of x. */
    void (*column_sums)(float *sums, const float *x, int stride, int rows, int columns, bool accumulate);
    /* One panel of 16 columns from up to 16 rows: out[k * 16 + r] = x[r][k], 0 for the rows that are not there. */
    void (*panel_of_rows)(float *out, const float *x, int stride, int rows, int columns);
    cm_winograd_kernels winograd;
    cm_op_run run[CM_OP_COUNT]; /* NULL where there is no kernel; they need no plan */
    /* bfloat16: NULL where the processor has no instructions for it */
    void (*gemm_bf16)(const cm_gemm *g);
    void (*gemm_bf16_across)(const cm_gemm *g);
    /* x[rows, columns] in pairs along the columns: out[rows, (columns+1)/2]. */
    void (*bf16_rows)(float *out, const float *x, int stride, int rows, int columns);
    /* In pairs along the rows: out[(rows+1)/2, width]; only the first `columns` are written. */
    void (*bf16_pairs)(float *out, int width, const float *x, int stride, int rows, int columns);
} cm_kernels;

/* Each is there where the compiler's target has the instructions, cm_kernels_base everywhere. */
extern const cm_kernels cm_kernels_base, cm_kernels_avx2, cm_kernels_avx512, cm_kernels_avx512bf16, cm_kernels_neon;

/* Those of bfloat16, with nothing else in them; NULL: this processor has no instructions for it. */
const cm_kernels *cm_kernels_bf16(void);

/* The kernels this processor can run, best first; count of them in *count. */
const cm_kernels *const *cm_kernels_usable(int *count);

#ifdef __cplusplus
}
#endif
#endif
