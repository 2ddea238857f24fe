#include "agent/cuda/simulations.h"

#include "device/cuda/kernel.cuh"

CM_BLOCK_LAUNCHER(cm_simulations_run, cm_simulations_args)
