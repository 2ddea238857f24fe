#include "backend/cuda/points.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_points_each, cm_points_args)
