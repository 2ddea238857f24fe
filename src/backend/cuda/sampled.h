/* The kernels of sample_actions and sampled_action. */
#ifndef CM_BACKEND_CUDA_SAMPLED_H
#define CM_BACKEND_CUDA_SAMPLED_H

#include "backend/cuda/rows.h"
#include "backend/sampling.h"
#include "device/cuda/launch.h"

typedef struct cm_sample_args {
    cm_rows memory, logits, p, seed; /* [B, draws + 2], [B, draws], [B, actions], [B, 2] */
    int actions, draws;
} cm_sample_args;

/* Item: a row; 1 lane. */
CM_KERNEL void cm_sample_rows(const cm_sample_args *k, int64_t item, const cm_lanes *lanes) {
    float *memory = cm_row(&k->memory, item);
    const float *seed = cm_row(&k->seed, item);
    (void)lanes;
    cm_sampling_draw(cm_row(&k->p, item), k->actions, seed, k->draws, memory, cm_row(&k->logits, item));
    for (int i = 0; i < CM_SAMPLING_SEED; i++) memory[k->draws + i] = seed[i];
}

typedef struct cm_sampled_args {
    cm_rows memory, seed; /* [B, draws + 2], [B, 2] */
    const int32_t *choice;
    int32_t *action; /* [B] */
    int draws;
} cm_sampled_args;

/* Item: a row; 1 lane. An unknown choice is the action -1, with which everybody makes NaN. */
CM_KERNEL void cm_sampled_each(const cm_sampled_args *k, int64_t item, const cm_lanes *lanes) {
    const float *memory = cm_row(&k->memory, item);
    const int choice = k->choice[item];
    (void)lanes;
    k->action[item] = choice >= 0 && choice < k->draws ? (int32_t)memory[choice] : -1;
    cm_sampling_below(memory + k->draws, choice, cm_row(&k->seed, item));
}

CM_KERNEL_ENTRY(cm_sample_rows, cm_sample_args)
CM_KERNEL_ENTRY(cm_sampled_each, cm_sampled_args)

#endif
