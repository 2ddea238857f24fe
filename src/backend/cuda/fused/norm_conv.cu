#include "device/cuda/slabs.cuh"

#include "backend/cuda/fused/norm_conv.h"

#define CM_NORM_CONV_LAUNCHER(name, args, channels, type) CM_WIDE_BLOCK_LAUNCHER(name, args)
CM_NORM_CONV_KERNELS(CM_NORM_CONV_LAUNCHER)
