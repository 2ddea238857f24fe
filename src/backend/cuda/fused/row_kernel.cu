#include "backend/cuda/fused/row_kernel.h"
#include "device/cuda/kernel.cuh"

#define CM_ROW_LAUNCHER(name, args) CM_BLOCK_LAUNCHER(name, args, 2)
CM_ROW_KERNELS(CM_ROW_LAUNCHER)
