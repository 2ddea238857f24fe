#include "agent/cuda/simulations.h"

#include "device/cuda/kernel.cuh"

/* Weights in shared memory leave no space for a second block on a multiprocessor, and with as many registers as one
 * block can have next to nothing of the trees is spilled. */
CM_BLOCK_LAUNCHER(cm_simulations_run, cm_simulations_args, 1)
