#include "device/cuda/slabs.cuh"

#include "backend/cuda/fused/norm_grad.h"

#define CM_NORM_GRAD_LAUNCHER(name, args, channels, type) CM_WIDE_BLOCK_LAUNCHER(name, args)
CM_NORM_GRAD_KERNELS(CM_NORM_GRAD_LAUNCHER)
