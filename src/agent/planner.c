#include "agent/planner.h"

#include <stdlib.h>
#include <string.h>

#include "agent/model.h"
#include "core/arena.h"

struct cm_planner {
    int rows, actions;
    size_t observation_size, state_size; /* of a row; state_size 0 without rules */
    /* owned */
    cm_stream *stream;
    cm_planner_model model;
    cm_search *search;
};

static cm_status open_planner(cm_planner *p, const cm_planner_config *c) {
    p->rows = c->rows;
    p->actions = cm_network_get_config(c->network)->actions;
    p->observation_size = (size_t)cm_network_observation_size(c->network);
    p->state_size = c->rules ? c->rules->spec.state_size : 0;
    CM_TRY(cm_stream_open(c->backend, &p->stream));
    if (c->rules) {
        CM_TRY(cm_rules_model_open(c, p->stream, &p->model));
    } else {
        CM_TRY(cm_learnt_model_open(c, p->stream, &p->model));
    }
    return cm_search_create(&c->search, c->rows, p->actions, p->model.search.num_chance, &p->search);
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
    if (p->model.destroy) p->model.destroy(p->model.search.ctx);
    cm_stream_close(p->stream);
    free(p);
}

int cm_planner_rows(const cm_planner *p) { return p->rows; }

size_t cm_planner_bytes(const cm_planner_config *config, const cm_planner *p) {
    return cm_search_bytes(&config->search, p->rows, p->actions, p->model.search.num_chance) + p->model.bytes;
}

float *cm_planner_observations(cm_planner *p) { return p->model.observations; }

void *cm_planner_state(cm_planner *p, int row) {
    return p->model.states ? p->model.states + (size_t)row * p->state_size : NULL;
}

void cm_planner_place(cm_planner *p, int row, const cm_env *env, const void *state) {
    cm_env_observe(env, state, p->model.observations + (size_t)row * p->observation_size);
    if (p->model.states) memcpy(cm_planner_state(p, row), state, p->state_size);
}

cm_status cm_planner_run(cm_planner *p, const cm_roots *roots, const cm_search_result *result) {
    return cm_search_run(p->search, &p->model.search, roots, result);
}

const cm_search *cm_planner_search(const cm_planner *p) { return p->search; }

int64_t cm_planner_simulations(const cm_planner *p) { return cm_search_simulations(p->search); }

cm_status cm_planner_keep(cm_planner *p, const int32_t *actions) {
    return cm_search_keep(p->search, &p->model.search, actions);
}

cm_status cm_planner_search_params(const cm_mcts_options *options, bool training, int simulations,
                                   cm_search_params *out) {
    *out = cm_search_params_from_options(options);
    if (simulations > 0) out->num_simulations = simulations;
    out->temperature = training ? 1.0f : 0.0f;
    if (!training) out->dirichlet_fraction = out->gumbel_scale = 0.0f;
    return cm_search_params_check(out);
}
