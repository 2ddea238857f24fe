#include "backend/cuda/softmax.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_softmax_runs, cm_softmax_args)
CM_LAUNCHER(cm_log_softmax_runs, cm_softmax_args)
CM_LAUNCHER(cm_softmax_slopes, cm_softmax_args)
CM_LAUNCHER(cm_log_softmax_slopes, cm_softmax_args)
CM_LAUNCHER(cm_one_hot_rows, cm_softmax_args)
