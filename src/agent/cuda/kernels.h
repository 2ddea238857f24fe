/* The kernels for acting in the module of CUDA: their table (simulations.c), and what they work on (simulations.h). */
#ifndef CM_AGENT_CUDA_KERNELS_H
#define CM_AGENT_CUDA_KERNELS_H

#include "agent/kernels.h"
#include "backend/cuda/fused/row_step.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const cm_agent_kernels cm_cuda_agent_kernels;

typedef struct cm_simulations_args {
    uint32_t memory; /* bytes that a block shares */
    uint32_t used;   /* bytes of these arguments that say something, a multiple of 16 */
    int32_t count;   /* simulations */
    int32_t has_afterstate;
    cm_tree_args trees;
    cm_row_kernel_args recurrent, afterstate;
} cm_simulations_args;

#ifdef __cplusplus
}
#endif

CM_KERNEL_ENTRY(cm_simulations_run, cm_simulations_args)

#endif
