/* The kernels of sample_actions, sampled_action and action_numbers. */
#ifndef CM_BACKEND_CUDA_OPS_SAMPLED_H
#define CM_BACKEND_CUDA_OPS_SAMPLED_H

#include "backend/cuda/ops/rows.h"
#include "backend/sampling.h"
#include "device/cuda/launch.h"

typedef struct cm_sample_args {
    cm_rows memory, logits, p, seed; /* [B, draws + 2], [B, draws], [B, P], [B, 2] */
    cm_policy_form form;
    int draws;
} cm_sample_args;

/* Item: a row; 1 lane. */
CM_KERNEL void cm_sample_rows(const cm_sample_args *k, int64_t item, const cm_lanes *lanes) {
    float *memory = cm_row(&k->memory, item);
    const float *seed = cm_row(&k->seed, item);
    (void)lanes;
    cm_sampling_draw(cm_row(&k->p, item), k->form, seed, k->draws, memory, cm_row(&k->logits, item));
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

typedef struct cm_numbers_args {
    cm_rows y; /* [B, P] */
    const int32_t *action;
    cm_policy_form form;
    int limit;   /* actions that there are */
    bool scaled; /* y is [B, scaled_size of the form] */
} cm_numbers_args;

/* Item: an element of y; 1 lane. 1 at each number of the action, or where it stands; of one that is unknown NaN. */
CM_KERNEL void cm_numbers_each(const cm_numbers_args *k, int64_t item, const cm_lanes *lanes) {
    const int n = k->form.values;
    const cm_place at = cm_place_of(item, k->scaled ? cm_policy_scaled_size(k->form) : cm_policy_size(k->form));
    const int action = k->action[at.row], column = (int)at.column;
    (void)lanes;
    float y = NAN;
    if (action >= 0 && action < k->limit)
        y = k->scaled ? cm_policy_scaled(k->form, action, column)
                      : (float)(cm_policy_entry(k->form, action, column / n) == column % n);
    *cm_at(&k->y, at) = y;
}

#define CM_SAMPLED_KERNELS(X)                                                                                          \
    X(cm_sample_rows, cm_sample_args)                                                                                  \
    X(cm_sampled_each, cm_sampled_args)                                                                                \
    X(cm_numbers_each, cm_numbers_args)
CM_SAMPLED_KERNELS(CM_KERNEL_ENTRY)

#endif
