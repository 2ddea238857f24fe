#include "backend/cpu/simd_neon.inc"

#include "backend/cpu/gemm_six.inc"

#define KERNELS_TABLE cm_kernels_neon
#define KERNELS_NAME  "NEON"
#include "backend/cpu/kernels.inc"
