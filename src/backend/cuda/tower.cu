#include "device/cuda/slabs.cuh"

#include "backend/cuda/tower.h"

#define CM_TOWER_LAUNCHERS(channels)                                                                                   \
    CM_WIDE_BLOCK_LAUNCHER(cm_tower_bf16_##channels, cm_tower_args)                                                    \
    CM_WIDE_BLOCK_LAUNCHER(cm_tower_f16_##channels, cm_tower_args)
CM_TOWERS(CM_TOWER_LAUNCHERS)
