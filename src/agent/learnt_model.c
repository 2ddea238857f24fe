/* A network's dynamics as the model of a search. */
#include <stdlib.h>
#include <string.h>

#include "agent/model.h"
#include "core/arena.h"

typedef struct learnt {
    int rows, actions, slots_per_root;
    float discount;
    cm_inference *inference; /* owned */
} learnt;

/* Rows n .. R-1 of a pass run too: they read and write the first slots of their own roots. */
static void fill_idle(const learnt *m, int n, int32_t *slots, int offset) {
    for (int k = n; k < m->rows; k++) slots[k] = k * m->slots_per_root + offset;
}

static cm_status run_root(void *context, int n, const int32_t *slots, cm_model_out *out) {
    learnt *m = context;
    const cm_inference_arrays *io = cm_inference_get(m->inference);
    memcpy(io->root_slots, slots, (size_t)n * sizeof *slots);
    fill_idle(m, n, io->root_slots, 0);
    CM_TRY(cm_inference_root(m->inference));
    memcpy(out->prior_logits, io->root_policy, (size_t)n * (size_t)m->actions * sizeof(float));
    memcpy(out->value, io->root_value, (size_t)n * sizeof(float));
    return CM_OK;
}

static cm_status run_recurrent(void *context, int n, const int32_t *parents, const int32_t *actions,
                               const int32_t *children, cm_model_out *out) {
    learnt *m = context;
    const cm_inference_arrays *io = cm_inference_get(m->inference);
    memcpy(io->parent_slots, parents, (size_t)n * sizeof *parents);
    memcpy(io->actions, actions, (size_t)n * sizeof *actions);
    memcpy(io->child_slots, children, (size_t)n * sizeof *children);
    fill_idle(m, n, io->parent_slots, 0);
    fill_idle(m, n, io->child_slots, 1);
    for (int k = n; k < m->rows; k++) io->actions[k] = 0;
    CM_TRY(cm_inference_recurrent(m->inference));
    memcpy(out->prior_logits, io->policy, (size_t)n * (size_t)m->actions * sizeof(float));
    memcpy(out->value, io->value, (size_t)n * sizeof(float));
    memcpy(out->reward, io->reward, (size_t)n * sizeof(float));
    for (int k = 0; k < n; k++) out->discount[k] = m->discount;
    return CM_OK;
}

static void destroy(void *context) {
    learnt *m = context;
    cm_inference_destroy(m->inference);
    free(m);
}

cm_status cm_learnt_model_open(const cm_planner_config *c, cm_stream *stream, cm_planner_model *out) {
    learnt *m = NULL;
    CM_TRY(cm_alloc(&m, 1, sizeof *m, "a learnt model"));
    m->rows = c->rows;
    m->actions = cm_network_get_config(c->network)->actions;
    m->slots_per_root = c->search.num_simulations + 1;
    m->discount = c->discount;
    int slots = c->rows * (m->slots_per_root < 2 ? 2 : m->slots_per_root);
    cm_status status =
        cm_inference_create(c->network, stream, c->rows, slots, c->compute, c->parameters, c->state, &m->inference);
    if (status != CM_OK) {
        destroy(m);
        return status;
    }
    *out = (cm_planner_model){
        .search = {.ctx = m, .num_actions = m->actions, .root = run_root, .recurrent = run_recurrent},
        .observations = cm_inference_get(m->inference)->observation,
        .bytes = cm_inference_bytes(m->inference),
        .destroy = destroy,
    };
    return CM_OK;
}
