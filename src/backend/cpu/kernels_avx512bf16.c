/* Products in bfloat16, and conversion to it. */
#include "backend/cpu/kernels.h"

#include "backend/cpu/simd_avx512.inc"

/* Sixteen sums of products of pairs of bfloat16. */
static inline vf vf_dot(vf acc, vf a, vf b) { return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b); }
#include "backend/cpu/gemm_avx512.inc"

#include "backend/cpu/gemm.inc"

static void gemm(const cm_gemm *g) { gemm_run(g, false); }
static void gemm_across(const cm_gemm *g) { gemm_run(g, true); }

static int lanes(int n, int i) { return n - i < VL ? n - i : VL; }

static void rows(float *out, const float *x, int stride, int row_count, int columns) {
    int pairs = (columns + 1) / 2;
    for (int r = 0; r < row_count; r++, x += stride, out += pairs) {
        int i = 0;
        for (; i + VL <= columns; i += VL)
            _mm256_storeu_si256((__m256i *)(void *)(out + i / 2), (__m256i)_mm512_cvtneps_pbh(vf_load(x + i)));
        if (i < columns) {
            int n = lanes(columns, i);
            __m256bh v = _mm512_cvtneps_pbh(vf_load_n(x + i, n));
            _mm256_mask_storeu_epi32(out + i / 2, (__mmask8)vf_mask((n + 1) / 2), (__m256i)v);
        }
    }
}

static void pairs(float *out, int width, const float *x, int stride, int row_count, int columns) {
    for (int r = 0; r < row_count; r += 2, x += 2 * (size_t)stride, out += width) {
        for (int i = 0; i < columns; i += VL) {
            int n = lanes(columns, i);
            __m256bh upper = _mm512_cvtneps_pbh(r + 1 < row_count ? vf_load_n(x + stride + i, n) : vf_set(0.0f));
            __m256bh lower = _mm512_cvtneps_pbh(vf_load_n(x + i, n));
            __m512i pair = _mm512_or_si512(_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)upper), 16),
                                           _mm512_cvtepu16_epi32((__m256i)lower));
            vf_store_n(out + i, _mm512_castsi512_ps(pair), n);
        }
    }
}

const cm_kernels cm_kernels_avx512bf16 = {
    .gemm_bf16 = gemm, .gemm_bf16_across = gemm_across, .bf16_rows = rows, .bf16_pairs = pairs};
