#include "backend/cuda/ops/points.h"
#include "device/cuda/kernel.cuh"

CM_POINTS_KERNELS(CM_LAUNCHER)
