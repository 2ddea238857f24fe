/* The models that planners search with: a learnt one (network/inference.h) and the rules of the game themselves.
 * Internal to the folder; a planner owns one. */
#ifndef CM_AGENT_MODEL_H
#define CM_AGENT_MODEL_H

#include "agent/planner.h"
#include "agent/sampled.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_planner_model {
    cm_model search;                /* what the search calls; search.ctx is the model and owned by it        */
    float *observations;            /* [R, O] of the roots                                                    */
    char *states;                   /* [R, state_size] blocks of the roots; NULL: the model has no use for them */
    cm_sampled_roots roots;         /* with draws                                                              */
    size_t bytes;                   /* memory it took                                                         */
    void (*destroy)(void *context); /* of search.ctx; NULL: there is none                                     */
} cm_planner_model;

/* Hidden states of the network; its dynamics plays the moves. The stream is borrowed. After an error *out needs no
 * destroying. */
cm_status cm_learnt_model_open(const cm_planner_config *config, cm_stream *stream, cm_planner_model *out) CM_MUST_USE;

/* States of config->rules: legal moves and ends are exact at every node, the network evaluates what goes on. Reward and
 * value are from the view of the player to move; the discount is gamma, or -gamma where the mover changes, and 0 into
 * an end. A node at an end has value 0, and below it there is nothing but itself. Errors of a search: CM_ERR_MODEL if
 * the rules draw random numbers, or if a kept tree stands on another position than the one that was placed. */
cm_status cm_rules_model_open(const cm_planner_config *config, cm_stream *stream, cm_planner_model *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
