#include "backend/cuda/kernel.cuh"
#include "backend/cuda/minmax.h"

CM_LAUNCHER(cm_minmax_groups, cm_minmax_args)
CM_LAUNCHER(cm_minmax_slopes, cm_minmax_args)
