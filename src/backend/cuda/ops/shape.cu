#include "backend/cuda/ops/shape.h"
#include "device/cuda/kernel.cuh"

CM_SHAPE_KERNELS(CM_LAUNCHER)
