#include "agent/planner.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

struct cm_planner {
    /* constant */
    int rows, actions, slots_per_root;
    float discount;
    cm_model model;
    /* owned */
    cm_stream *stream;
    cm_inference *inference;
    cm_search *search;
};

/* Rows n .. R-1 of a pass run too: they read and write the first slots of their own roots. */
static void fill_idle(const cm_planner *p, int n, int32_t *slots, int offset) {
    for (int k = n; k < p->rows; k++) slots[k] = k * p->slots_per_root + offset;
}

static cm_status run_root(void *context, int n, const int32_t *slots, cm_model_out *out) {
    cm_planner *p = context;
    const cm_inference_arrays *io = cm_inference_get(p->inference);
    memcpy(io->root_slots, slots, (size_t)n * sizeof *slots);
    fill_idle(p, n, io->root_slots, 0);
    CM_TRY(cm_inference_root(p->inference));
    memcpy(out->prior_logits, io->root_policy, (size_t)n * (size_t)p->actions * sizeof(float));
    memcpy(out->value, io->root_value, (size_t)n * sizeof(float));
    return CM_OK;
}

static cm_status run_recurrent(void *context, int n, const int32_t *parents, const int32_t *actions,
                               const int32_t *children, cm_model_out *out) {
    cm_planner *p = context;
    const cm_inference_arrays *io = cm_inference_get(p->inference);
    memcpy(io->parent_slots, parents, (size_t)n * sizeof *parents);
    memcpy(io->actions, actions, (size_t)n * sizeof *actions);
    memcpy(io->child_slots, children, (size_t)n * sizeof *children);
    fill_idle(p, n, io->parent_slots, 0);
    fill_idle(p, n, io->child_slots, 1);
    for (int k = n; k < p->rows; k++) io->actions[k] = 0;
    CM_TRY(cm_inference_recurrent(p->inference));
    memcpy(out->prior_logits, io->policy, (size_t)n * (size_t)p->actions * sizeof(float));
    memcpy(out->value, io->value, (size_t)n * sizeof(float));
    memcpy(out->reward, io->reward, (size_t)n * sizeof(float));
    for (int k = 0; k < n; k++) out->discount[k] = p->discount;
    return CM_OK;
}

static cm_status open_planner(cm_planner *p, const cm_planner_config *c) {
    p->rows = c->rows;
    p->actions = cm_network_get_config(c->network)->actions;
    p->slots_per_root = c->search.num_simulations + 1;
    p->discount = c->discount;
    p->model = (cm_model){.ctx = p, .num_actions = p->actions, .root = run_root, .recurrent = run_recurrent};
    CM_TRY(cm_stream_open(c->backend, &p->stream));
    int slots = c->rows * (p->slots_per_root < 2 ? 2 : p->slots_per_root);
    CM_TRY(
        cm_inference_create(c->network, p->stream, c->rows, slots, c->compute, c->parameters, c->state, &p->inference));
    return cm_search_create(&c->search, c->rows, p->actions, 0, &p->search);
}

cm_status cm_planner_create(const cm_planner_config *config, cm_planner **out) {
    cm_planner *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a planner"));
    cm_status status = open_planner(p, config);
    if (status == CM_OK) {
        *out = p;
    } else {
        cm_planner_destroy(p);
    }
    return status;
}

void cm_planner_destroy(cm_planner *p) {
    if (!p) return;
    cm_search_destroy(p->search);
    cm_inference_destroy(p->inference);
    cm_stream_close(p->stream);
    free(p);
}

int cm_planner_rows(const cm_planner *p) { return p->rows; }

size_t cm_planner_bytes(const cm_planner_config *config, const cm_planner *p) {
    return cm_search_bytes(&config->search, p->rows, p->actions, 0) + cm_inference_bytes(p->inference);
}

float *cm_planner_observations(cm_planner *p) { return cm_inference_get(p->inference)->observation; }

cm_status cm_planner_run(cm_planner *p, const cm_roots *roots, const cm_search_result *result) {
    return cm_search_run(p->search, &p->model, roots, result);
}

const cm_search *cm_planner_search(const cm_planner *p) { return p->search; }

/* ---- options ---- */

static cm_qtransform_kind qtransform_of(const cm_mcts_options *options) {
    switch ((cm_mcts_qtransform)options->qtransform) {
    case CM_MCTS_Q_MIN_MAX: return CM_QTRANSFORM_MIN_MAX;
    case CM_MCTS_Q_PARENT_AND_SIBLINGS: return CM_QTRANSFORM_PARENT_AND_SIBLINGS;
    case CM_MCTS_Q_COMPLETED_BY_MIX_VALUE: return CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    case CM_MCTS_Q_AUTO: break;
    }
    return options->policy == CM_MCTS_GUMBEL_MUZERO ? CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE
                                                    : CM_QTRANSFORM_PARENT_AND_SIBLINGS;
}

cm_status cm_planner_search_params(const cm_mcts_options *options, bool training, int simulations,
                                   cm_search_params *out) {
    if (options->policy != CM_MCTS_MUZERO && options->policy != CM_MCTS_GUMBEL_MUZERO) {
        return cm_fail(CM_ERR_INPUT,
                       "MCTS.policy: %s needs another kind of model than this network is; choose muzero "
                       "or gumbel_muzero",
                       options->policy == CM_MCTS_ALPHAZERO ? "alphazero" : "stochastic_muzero");
    }
    bool gumbel = options->policy == CM_MCTS_GUMBEL_MUZERO;
    *out = cm_search_params_default(gumbel ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO);
    out->num_simulations = simulations > 0 ? simulations : options->num_simulations;
    out->max_depth = options->max_depth;
    out->qtransform.kind = qtransform_of(options);
    out->qtransform.min_value = (float)options->min_value;
    out->qtransform.max_value = (float)options->max_value;
    out->qtransform.epsilon = (float)options->qtransform_epsilon;
    out->qtransform.value_scale = (float)options->value_scale;
    out->qtransform.maxvisit_init = (float)options->maxvisit_init;
    out->qtransform.rescale_values = options->rescale_values;
    out->qtransform.use_mixed_value = options->use_mixed_value;
    out->pb_c_init = (float)options->c_puct;
    out->pb_c_base = (float)options->pb_c_base;
    out->dirichlet_alpha = (float)options->dirichlet_alpha;
    out->dirichlet_fraction = training ? (float)options->exploration_fraction : 0.0f;
    out->temperature = training ? 1.0f : 0.0f;
    out->max_num_considered_actions = options->max_num_considered_actions;
    out->gumbel_scale = training ? (float)options->gumbel_scale : 0.0f;
    return cm_search_params_check(out);
}
