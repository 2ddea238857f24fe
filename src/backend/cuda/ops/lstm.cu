#include "backend/cuda/ops/lstm.h"
#include "device/cuda/kernel.cuh"

CM_LSTM_KERNELS(CM_LAUNCHER)
