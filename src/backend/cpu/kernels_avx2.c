#include "backend/cpu/simd_avx2.inc"

#include "backend/cpu/gemm_six.inc"

#define KERNELS_TABLE cm_kernels_avx2
#define KERNELS_NAME  "AVX2"
#include "backend/cpu/kernels.inc"
