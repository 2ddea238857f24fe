#include "device/cuda/slabs.cuh"

#include "backend/cuda/fused/tower.h"

#define CM_TOWER_LAUNCHER(name, args, channels, type) CM_WIDE_BLOCK_LAUNCHER(name, args)
CM_TOWER_KERNELS(CM_TOWER_LAUNCHER)
