#include "backend/cuda/support.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_value_transform_each, cm_support_args)
CM_LAUNCHER(cm_two_hot_each, cm_support_args)
CM_LAUNCHER(cm_support_decode_rows, cm_support_args)
CM_LAUNCHER(cm_categorical_rows, cm_support_args)
