#include "backend/cuda/optimizer.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_clip_all, cm_vector_args)
CM_LAUNCHER(cm_add_into_each, cm_vector_args)
CM_LAUNCHER(cm_copies_each, cm_vector_args)
CM_LAUNCHER(cm_adam_each, cm_vector_args)
CM_LAUNCHER(cm_sgd_each, cm_vector_args)
CM_LAUNCHER(cm_lerp_each, cm_vector_args)
CM_LAUNCHER(cm_sum_squares_blocks, cm_vector_args)
