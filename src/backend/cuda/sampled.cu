#include "backend/cuda/sampled.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_sample_rows, cm_sample_args)
CM_LAUNCHER(cm_sampled_each, cm_sampled_args)
CM_LAUNCHER(cm_numbers_each, cm_numbers_args)
