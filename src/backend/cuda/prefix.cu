#include "backend/cuda/prefix.h"
#include "device/cuda/kernel.cuh"

CM_PREFIX_KERNELS(CM_LAUNCHER)
