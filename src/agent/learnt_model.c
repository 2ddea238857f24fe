/* A network's dynamics, with or without chance, as the model of a search. */
#include <stdlib.h>
#include <string.h>

#include "agent/model.h"
#include "core/arena.h"

typedef struct learnt {
    int rows, actions, codes, slots_per_root; /* what a search chooses from: A, or K; codes: C, 0 without chance */
    float discount;
    cm_inference *inference; /* owned */
} learnt;

/* Rows n .. R-1 of a pass run too. They read slots of the trees and write slots of their own, after those. */
static void fill_idle(const learnt *m, int n, const int32_t *given, int32_t *slots, bool written) {
    memcpy(slots, given, (size_t)n * sizeof *slots);
    for (int k = n; k < m->rows; k++) slots[k] = written ? m->rows * m->slots_per_root + k : 0;
}

static void fill_actions(const learnt *m, int n, const int32_t *given, int32_t *actions) {
    memcpy(actions, given, (size_t)n * sizeof *actions);
    for (int k = n; k < m->rows; k++) actions[k] = 0;
}

static void fill_codes(const learnt *m, int n, const int32_t *given, float *codes) {
    size_t width = (size_t)m->codes;
    memset(codes, 0, (size_t)m->rows * width * sizeof *codes);
    for (int k = 0; k < n; k++) codes[(size_t)k * width + (size_t)given[k]] = 1.0f;
}

static cm_status run_root(void *context, int n, const int32_t *slots, cm_model_out *out) {
    learnt *m = context;
    const cm_inference_arrays *io = cm_inference_get(m->inference);
    fill_idle(m, n, slots, io->root_slots, true);
    CM_TRY(cm_inference_root(m->inference));
    memcpy(out->prior_logits, io->root_policy, (size_t)n * (size_t)m->actions * sizeof(float));
    memcpy(out->value, io->root_value, (size_t)n * sizeof(float));
    return CM_OK;
}

static cm_status run_recurrent(void *context, int n, const int32_t *parents, const int32_t *actions,
                               const int32_t *children, cm_model_out *out) {
    learnt *m = context;
    const cm_inference_arrays *io = cm_inference_get(m->inference);
    fill_idle(m, n, parents, io->parent_slots, false);
    fill_idle(m, n, children, io->child_slots, true);
    if (m->codes > 0) {
        fill_codes(m, n, actions, io->codes);
    } else {
        fill_actions(m, n, actions, io->actions);
    }
    CM_TRY(cm_inference_recurrent(m->inference));
    memcpy(out->prior_logits, io->policy, (size_t)n * (size_t)m->actions * sizeof(float));
    memcpy(out->value, io->value, (size_t)n * sizeof(float));
    memcpy(out->reward, io->reward, (size_t)n * sizeof(float));
    for (int k = 0; k < n; k++) out->discount[k] = m->discount;
    return CM_OK;
}

static cm_status run_afterstate(void *context, int n, const int32_t *parents, const int32_t *actions,
                                const int32_t *children, cm_model_out *out) {
    learnt *m = context;
    const cm_inference_arrays *io = cm_inference_get(m->inference);
    fill_idle(m, n, parents, io->after_parent_slots, false);
    fill_idle(m, n, children, io->after_child_slots, true);
    fill_actions(m, n, actions, io->after_actions);
    CM_TRY(cm_inference_afterstate(m->inference));
    memcpy(out->prior_logits, io->after_codes, (size_t)n * (size_t)m->codes * sizeof(float));
    memcpy(out->value, io->after_value, (size_t)n * sizeof(float));
    return CM_OK;
}

static void destroy(void *context) {
    learnt *m = context;
    cm_inference_destroy(m->inference);
    free(m);
}

cm_status cm_learnt_model_open(const cm_planner_config *c, cm_stream *stream, cm_planner_model *out) {
    const cm_network_config *network = cm_network_get_config(c->network);
    learnt *m = NULL;
    CM_TRY(cm_alloc(&m, 1, sizeof *m, "a learnt model"));
    m->rows = c->rows;
    m->actions = c->draws > 0 ? c->draws : network->actions;
    m->codes = network->model == CM_NETWORK_CHANCE ? network->codes : 0;
    m->slots_per_root = c->search.num_simulations + 1;
    m->discount = c->discount;
    int slots = c->rows * (m->slots_per_root + 1);
    const cm_network_use use = cm_planner_use(c, stream);
    cm_status status = cm_inference_create(&use, slots, &m->inference);
    if (status != CM_OK) {
        destroy(m);
        return status;
    }
    *out = (cm_planner_model){
        .search = {.ctx = m,
                   .num_actions = m->actions,
                   .num_chance = m->codes,
                   .root = run_root,
                   .recurrent = run_recurrent,
                   .afterstate = m->codes > 0 ? run_afterstate : NULL},
        .observations = cm_inference_get(m->inference)->observation,
        .roots = cm_sampled_roots_of(m->inference),
        .bytes = cm_inference_bytes(m->inference),
        .destroy = destroy,
    };
    return CM_OK;
}
