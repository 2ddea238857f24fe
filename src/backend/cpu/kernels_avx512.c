#include "backend/cpu/simd_avx512.inc"

#include "backend/cpu/gemm_avx512.inc"

#define KERNELS_TABLE cm_kernels_avx512
#define KERNELS_NAME  "AVX-512"
#include "backend/cpu/kernels.inc"
