#include "backend/cuda/minmax.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_minmax_groups, cm_minmax_args)
CM_LAUNCHER(cm_minmax_fours, cm_minmax_args)
CM_LAUNCHER(cm_minmax_slopes, cm_minmax_args)
