#include "backend/cpu/simd_base.inc"

#include "backend/cpu/gemm_base.inc"

#define KERNELS_TABLE cm_kernels_base
#define KERNELS_NAME  "plain C"
#include "backend/cpu/kernels.inc"
