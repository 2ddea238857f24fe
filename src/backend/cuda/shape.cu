#include "backend/cuda/shape.h"
#include "device/cuda/kernel.cuh"

CM_SHAPE_KERNELS(CM_LAUNCHER)
