#include "backend/cuda/ops/frames.h"
#include "device/cuda/kernel.cuh"

CM_FRAMES_KERNELS(CM_LAUNCHER)
