#include "agent/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/device_planner.h"
#include "agent/model.h"
#include "core/arena.h"
#include "mcts/numeric.h"

struct cm_planner {
    const char *task;                    /* borrowed */
    int rows, actions, simulations_each; /* R, A, N */
    int choices;                         /* what a search chooses from at a node: A, or K */
    int64_t simulations;                 /* of the last run */
    size_t observation_size, state_size; /* of a row; state_size 0 without rules */
    cm_roots roots, searched;            /* of the last run: its request, and that of its search */
    cm_search_result result, found;      /* of it: where results go, and where those of its search */
    /* owned */
    cm_stream *stream;
    cm_planner_model model;
    cm_search *search;
    cm_device_planner *on_device; /* in place of model and search; NULL: the trees lie on the host */
    cm_sampled *sampled;          /* NULL: searches choose among all actions */
};

static cm_status open_on_device(cm_planner *p, const cm_planner_config *c) {
    CM_TRY(cm_device_planner_open(c, p->stream, &p->on_device));
    p->model.observations = cm_device_planner_observations(p->on_device);
    p->model.roots = cm_device_planner_roots(p->on_device);
    p->model.bytes = cm_device_planner_model_bytes(p->on_device);
    return CM_OK;
}

static cm_status open_on_host(cm_planner *p, const cm_planner_config *c) {
    if (c->rules) {
        CM_TRY(cm_rules_model_open(c, p->stream, &p->model));
    } else {
        CM_TRY(cm_learnt_model_open(c, p->stream, &p->model));
    }
    return cm_search_create(&c->search, c->rows, p->choices, p->model.search.num_chance, &p->search);
}

static cm_status open_planner(cm_planner *p, const cm_planner_config *c) {
    p->task = c->task ? c->task : "the environment";
    p->rows = c->rows;
    p->actions = cm_network_get_config(c->network)->actions;
    p->choices = c->draws > 0 ? c->draws : p->actions;
    p->simulations_each = c->search.num_simulations;
    p->observation_size = (size_t)cm_network_observation_size(c->network);
    p->state_size = c->rules ? c->rules->spec.state_size : 0;
    CM_TRY(cm_stream_open(c->backend, &p->stream));
    CM_TRY(cm_device_planner_serves(c) ? open_on_device(p, c) : open_on_host(p, c));
    if (c->draws == 0) return CM_OK;
    const cm_sampled_sizes sizes = {p->rows, (int)p->observation_size, p->actions, c->draws,
                                    cm_network_policy(c->network)};
    return cm_sampled_create(&sizes, &p->model.roots, &p->sampled);
}

cm_status cm_planner_create(const cm_planner_config *config, cm_planner **out) {
    cm_planner *p = NULL;
    *out = NULL;
    if (config->rules && config->draws > 0)
        return cm_fail(CM_ERR_INPUT, "searches on the rules of %s choose among all legal actions, they draw none",
                       config->rules->spec.name);
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
    cm_sampled_destroy(p->sampled);
    cm_device_planner_close(p->on_device);
    cm_search_destroy(p->search);
    if (p->model.destroy) p->model.destroy(p->model.search.ctx);
    cm_stream_close(p->stream);
    free(p);
}

bool cm_planner_is_on_device(const cm_planner_config *config) { return cm_device_planner_serves(config); }

size_t cm_planner_bytes(const cm_planner_config *config, const cm_planner *p) {
    return cm_search_bytes(&config->search, p->rows, p->choices, p->model.search.num_chance) + p->model.bytes +
           cm_sampled_bytes(p->sampled);
}

float *cm_planner_observations(cm_planner *p) { return p->model.observations; }

void *cm_planner_state(cm_planner *p, int row) {
    return p->model.states ? p->model.states + (size_t)row * p->state_size : NULL;
}

void cm_planner_place(cm_planner *p, int row, const cm_env *env, const void *state) {
    cm_env_observe(env, state, p->model.observations + (size_t)row * p->observation_size);
    if (p->model.states) memcpy(cm_planner_state(p, row), state, p->state_size);
}

/* Where the model gave a number that is not finite: was it asked about one, or about one that is too large, or has its
 * learning diverged? */
static cm_status explain(const cm_planner *p, int rows, cm_status status) {
    const size_t n = (size_t)rows * p->observation_size;
    char advice[CM_NETWORK_ADVICE];
    if (status != CM_ERR_NOT_FINITE) return status;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(p->model.observations[i]))
            return cm_fail(status, "%s: its observe sets number %zu of %zu to %g", p->task, i % p->observation_size,
                           p->observation_size, (double)p->model.observations[i]);
    cm_network_advise(p->model.observations, n,
                      "its weights have become too large; learn again with a lower learning_rate", advice);
    return cm_fail(status, "%s: %s", cm_error_message(), advice);
}

void cm_planner_heed(cm_planner *p, const cm_stop *stop) { p->stream->stop = stop; }

cm_status cm_planner_begin(cm_planner *p, const cm_roots *roots, const cm_search_result *result) {
    p->simulations = 0;
    if (cm_stop_asked(p->stream->stop)) return cm_fail(CM_ERR_INTERRUPTED, "a search was broken off");
    p->roots = p->searched = *roots;
    p->result = p->found = *result;
    if (p->sampled) CM_TRY(cm_sampled_request(p->sampled, roots, result, &p->searched, &p->found));
    return p->on_device ? cm_device_planner_begin(p->on_device, &p->searched) : CM_OK;
}

static cm_status finish_search(cm_planner *p) {
    if (p->on_device) return cm_device_planner_end(p->on_device, &p->searched, &p->found);
    return cm_search_run(p->search, &p->model.search, &p->searched, &p->found);
}

cm_status cm_planner_end(cm_planner *p) {
    const cm_status status = explain(p, p->roots.count, finish_search(p));
    if (status != CM_OK && (status != CM_ERR_INTERRUPTED || p->on_device)) return status;
    p->simulations = p->on_device ? (int64_t)p->roots.count * p->simulations_each : cm_search_simulations(p->search);
    if (p->sampled && p->simulations > 0) cm_sampled_result(p->sampled, p->roots.count, &p->result);
    return status;
}

cm_status cm_planner_run(cm_planner *p, const cm_roots *roots, const cm_search_result *result) {
    CM_TRY(cm_planner_begin(p, roots, result));
    return cm_planner_end(p);
}

int64_t cm_planner_simulations(const cm_planner *p) { return p->simulations; }

cm_status cm_planner_trees(cm_planner *p, const cm_search **out) {
    if (p->on_device) return cm_device_planner_trees(p->on_device, out);
    *out = p->search;
    return CM_OK;
}

cm_status cm_planner_priors(cm_planner *p, int count, float *prior) {
    const cm_search *trees;
    CM_TRY(cm_planner_trees(p, &trees));
    for (int k = 0; k < count; k++) {
        float *row = prior + (size_t)k * (size_t)p->actions;
        const float *logits = cm_search_root_logits(trees, k);
        if (p->sampled) {
            cm_sampled_prior(p->sampled, k, logits, row);
        } else {
            (void)cm_softmax(row, logits, p->actions);
        }
    }
    return CM_OK;
}

int cm_planner_root_action(const cm_planner *p, int row, int choice) {
    return p->sampled ? cm_sampled_action(p->sampled, row, choice) : choice;
}

cm_status cm_planner_keep(cm_planner *p, const int32_t *actions) {
    if (p->on_device) return cm_fail(CM_ERR_INPUT, "search: no trees are kept on a device");
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
