/* The kernels of a search whose trees lie on a device, as a table: a module has them (mcts/cuda/), tests have others.
 *
 * Kernels launch in the order of a queue and wait for nothing; the host neither reads nor writes what they work on. All
 * roots 0 .. B-1 of the trees are worked on, whatever the request is: what a root gets depends on its own inputs. */
#ifndef CM_MCTS_KERNELS_H
#define CM_MCTS_KERNELS_H

#include "device/device.h"
#include "mcts/step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the model's passes read and write, on the device; rows of B. What the passes are to play the kernels write.
 *
 * With chance there are two passes per simulation, and a root is in one of them: in the other its row plays action 0 in
 * slot 0 into a slot of its own after the trees, idle_slots + row. */
typedef struct cm_device_model {
    int num_actions, num_chance;                   /* A; C, 0: no chance nodes                             */
    const float *root_logits;                      /* [B, A] of the root pass                              */
    const float *root_value;                       /* [B]                                                  */
    const float *prior_logits;                     /* [B, A] of the recurrent pass                         */
    const float *value, *reward, *discount;        /* [B]                                                  */
    int32_t *parent_slots, *actions, *child_slots; /* [B] of it; actions NULL: not wanted                  */
    float *codes;                                  /* [B, C] with chance: outcomes, one-hot; NULL: actions */
    const float *after_logits, *after_value;       /* [B, C], [B] with chance: of the afterstate pass      */
    int32_t *after_parent_slots, *after_actions, *after_child_slots; /* [B] of it                          */
    int32_t idle_slots;                                              /* with chance                        */
} cm_device_model;

/* The request of a run; noise and legal follow it in memory. */
typedef struct cm_search_request {
    int32_t has_legal, has_noise;
    float share; /* of the noise */
} cm_search_request;

/* All that a kernel works on. Addresses are the device's. */
typedef struct cm_tree_args {
    cm_tree tree;        /* its scratch: [B, scratch_step] */
    size_t scratch_step; /* floats */
    cm_leaf *leaf;       /* [B] what each root expands */
    const cm_search_request *request;
    const float *noise;   /* [B, A] */
    const uint8_t *legal; /* [B, A] */
    cm_device_model model;
} cm_tree_args;

/* Launches one kernel over all roots. Errors: CM_ERR_DEVICE. */
typedef cm_status (*cm_tree_launch)(const cm_device *device, const cm_tree_args *args, void *queue);

typedef struct cm_search_kernels {
    size_t args_bytes;    /* sizeof(cm_tree_args) where the kernels were compiled */
    cm_tree_launch begin; /* from the root pass's results to the first leaves */
    cm_tree_launch grow;  /* from the recurrent pass's results to the next leaves */
    cm_tree_launch end;   /* root_visits, root_q and summary of the finished trees */
} cm_search_kernels;

#ifdef __cplusplus
}
#endif
#endif
