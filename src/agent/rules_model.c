/* The rules of a game as the model of a search: each node has a copy of the rules' state. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/model.h"
#include "core/arena.h"
#include "network/predictor.h"

typedef struct rules {
    /* constant */
    const cm_env *env; /* borrowed */
    int slots_per_root;
    size_t actions, observation_size, rules_size;
    float gamma;
    cm_predictor *predictor; /* owned */
    cm_arena arena;          /* owned; of the arrays below */

    float *observations; /* [R, O] of the roots                                */
    char *roots;         /* [R, state_size] blocks of the roots                */
    char *states;        /* [slots, rules_size]                                */
    uint8_t *ended;      /* [slots]                                            */
    uint8_t *legal;      /* [A] scratch                                        */
    int32_t *waiting;    /* [R] rows of a call that the network evaluates      */
    int32_t *waiting_at; /* [R] their slots                                    */
} rules;

static char *state_at(const rules *m, int32_t slot) { return m->states + (size_t)slot * m->rules_size; }

static int mover_of(const rules *m, const void *state) {
    return m->env->def->to_play ? m->env->def->to_play(&m->env->params, state) : 0;
}

/* ---- evaluation ---- */

/* Puts a new state into the list of those that the network evaluates, or writes what an end is worth from here: 0. All
 * actions of an end are open, so that what the search adds below it spreads, and no legal one is there. */
static void enlist(rules *m, int *waiting, int row, int32_t slot, const float *observation, cm_model_out *out) {
    if (m->ended[slot]) {
        memset(out->prior_logits + (size_t)row * m->actions, 0, m->actions * sizeof(float));
        out->value[row] = 0.0f;
        return;
    }
    float *input = cm_predictor_observations(m->predictor) + (size_t)*waiting * m->observation_size;
    if (observation) {
        memcpy(input, observation, m->observation_size * sizeof(float));
    } else {
        cm_env_observe_rules(m->env, state_at(m, slot), input);
    }
    m->waiting[*waiting] = row;
    m->waiting_at[(*waiting)++] = slot;
}

static void mask(rules *m, const void *state, float *logits) {
    if (!m->env->def->legal) return;
    m->env->def->legal(&m->env->params, state, m->legal);
    for (size_t a = 0; a < m->actions; a++) {
        if (!m->legal[a]) logits[a] = -FLT_MAX;
    }
}

/* Values and masked logits of all that wait, in one pass. */
static cm_status evaluate(rules *m, int waiting, cm_model_out *out) {
    cm_predictions predicted;
    if (waiting == 0) return CM_OK;
    CM_TRY(cm_predictor_run(m->predictor, waiting, &predicted));
    for (int i = 0; i < waiting; i++) {
        float *logits = out->prior_logits + (size_t)m->waiting[i] * m->actions;
        memcpy(logits, predicted.policy + (size_t)i * m->actions, m->actions * sizeof(float));
        mask(m, state_at(m, m->waiting_at[i]), logits);
        out->value[m->waiting[i]] = predicted.value[i];
    }
    return CM_OK;
}

/* ---- what the search calls ---- */

static cm_status run_root(void *context, int n, const int32_t *slots, cm_model_out *out) {
    rules *m = context;
    int waiting = 0;
    for (int row = 0; row < n; row++) {
        size_t root = (size_t)(slots[row] / m->slots_per_root);
        const char *state = m->roots + root * m->env->spec.state_size;
        memcpy(state_at(m, slots[row]), cm_env_rules_of(state), m->rules_size);
        m->ended[slots[row]] = ((const cm_env_common *)(const void *)state)->terminated; /* a time limit ends no game */
        enlist(m, &waiting, row, slots[row], m->observations + root * m->observation_size, out);
    }
    return evaluate(m, waiting, out);
}

/* The root of a tree must be the position that was placed; one that was kept is wrong if another move was made. */
static cm_status check_root(const rules *m, int32_t slot) {
    int root = slot / m->slots_per_root;
    const char *placed = m->roots + (size_t)root * m->env->spec.state_size;
    if (slot % m->slots_per_root != 0 || memcmp(state_at(m, slot), cm_env_rules_of(placed), m->rules_size) == 0) {
        return CM_OK;
    }
    return cm_fail(CM_ERR_STATE, "%s: the tree of row %d stands on another position", m->env->spec.name, root);
}

/* One move: the state of `child` and the transition's reward and discount. Errors: CM_ERR_MODEL, CM_ERR_STATE. */
static cm_status play(const rules *m, int32_t parent, int32_t action, int32_t child, cm_model_out *out, int row) {
    void *state = state_at(m, child);
    cm_pcg64 random;
    CM_TRY(check_root(m, parent));
    memcpy(state, state_at(m, parent), m->rules_size);
    m->ended[child] = m->ended[parent];
    out->reward[row] = out->discount[row] = 0.0f;
    if (m->ended[parent]) return CM_OK;
    cm_pcg64_seed(&random, 0);
    const cm_pcg64 before = random;
    int mover = mover_of(m, state);
    cm_env_outcome outcome = cm_env_step_rules(m->env, state, action, &random);
    if (memcmp(&random, &before, sizeof random) != 0) {
        return cm_fail(CM_ERR_MODEL,
                       "%s: its moves draw random numbers; a search on true rules needs rules without chance",
                       m->env->spec.name);
    }
    m->ended[child] = outcome.terminated;
    out->reward[row] = (float)outcome.reward;
    if (!outcome.terminated) out->discount[row] = mover_of(m, state) == mover ? m->gamma : -m->gamma;
    return CM_OK;
}

static cm_status run_recurrent(void *context, int n, const int32_t *parents, const int32_t *actions,
                               const int32_t *children, cm_model_out *out) {
    rules *m = context;
    int waiting = 0;
    for (int row = 0; row < n; row++) {
        CM_TRY(play(m, parents[row], actions[row], children[row], out, row));
        enlist(m, &waiting, row, children[row], NULL, out);
    }
    return evaluate(m, waiting, out);
}

static cm_status run_move(void *context, int n, const int32_t *from, const int32_t *to) {
    rules *m = context;
    for (int i = 0; i < n; i++) {
        memmove(state_at(m, to[i]), state_at(m, from[i]), m->rules_size);
        m->ended[to[i]] = m->ended[from[i]];
    }
    return CM_OK;
}

/* ---- life ---- */

static void alloc_rows(rules *m, int rows, cm_arena *arena) {
    size_t r = (size_t)rows, slots = r * (size_t)m->slots_per_root;
    m->observations = cm_arena_alloc(arena, r * m->observation_size * sizeof(float));
    m->roots = cm_arena_alloc(arena, r * m->env->spec.state_size);
    m->states = cm_arena_alloc(arena, slots * m->rules_size);
    m->ended = cm_arena_alloc(arena, slots);
    m->legal = cm_arena_alloc(arena, m->actions);
    m->waiting = cm_arena_alloc(arena, r * sizeof(int32_t));
    m->waiting_at = cm_arena_alloc(arena, r * sizeof(int32_t));
}

static void destroy(void *context) {
    rules *m = context;
    cm_predictor_destroy(m->predictor);
    cm_arena_destroy(&m->arena);
    free(m);
}

static cm_status open_rules(rules *m, const cm_planner_config *c, cm_stream *stream) {
    const cm_env_spec *spec = &c->rules->spec;
    m->env = c->rules;
    m->slots_per_root = c->search.num_simulations + 1;
    m->actions = (size_t)spec->actions;
    m->observation_size = (size_t)spec->observation_size;
    m->rules_size = spec->rules_size;
    m->gamma = fabsf(c->discount);
    cm_arena measure = {.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_rows(m, c->rows, &measure);
    CM_TRY(cm_arena_create(&m->arena, measure.used, "states of a search on true rules"));
    alloc_rows(m, c->rows, &m->arena);
    const cm_network_use use = cm_planner_use(c, stream);
    return cm_predictor_create(&use, &m->predictor);
}

cm_status cm_rules_model_open(const cm_planner_config *c, cm_stream *stream, cm_planner_model *out) {
    rules *m = NULL;
    CM_TRY(cm_alloc(&m, 1, sizeof *m, "a model of rules"));
    cm_status status = open_rules(m, c, stream);
    if (status != CM_OK) {
        destroy(m);
        return status;
    }
    *out = (cm_planner_model){
        .search = {.ctx = m,
                   .num_actions = c->rules->spec.actions,
                   .root = run_root,
                   .recurrent = run_recurrent,
                   .move = run_move},
        .observations = m->observations,
        .states = m->roots,
        .bytes = m->arena.capacity + cm_predictor_bytes(m->predictor),
        .destroy = destroy,
    };
    return CM_OK;
}
