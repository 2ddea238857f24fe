#include "backend/cuda/ops/layer_norm.h"
#include "device/cuda/kernel.cuh"

CM_LAYER_NORM_KERNELS(CM_LAUNCHER)
