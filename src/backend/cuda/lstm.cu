#include "backend/cuda/lstm.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_lstm_clear_each, cm_lstm_args)
CM_LAUNCHER(cm_lstm_enter_each, cm_lstm_args)
CM_LAUNCHER(cm_lstm_step_each, cm_lstm_args)
CM_LAUNCHER(cm_lstm_slope_each, cm_lstm_args)
