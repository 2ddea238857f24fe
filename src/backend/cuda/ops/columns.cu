#include "backend/cuda/ops/columns.h"
#include "device/cuda/kernel.cuh"

CM_COLUMNS_KERNELS(CM_LAUNCHER)
