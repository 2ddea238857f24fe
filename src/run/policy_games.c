#include "run/policy_games.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rng.h"
#include "env/vector.h"

enum { GAP = 8 /* steps from batch to batch */ };
static const double random_moves = 0.1;
_Static_assert((int)GAP >= (int)CM_ROLLOUT_STEPS, "the actions of a batch end before the next one");

/* A game of every row. */
typedef struct table {
    cm_positions *out;
    const cm_network *network;
    cm_vector_env *vector;
    cm_rollout *policy; /* of the root alone */
    cm_env_rows rows;
    int32_t *action; /* [rows] */
    bool *has_ended; /* [rows] since the last batch */
    int actions;
    cm_rng rng;
} table;

static void close_games(table *g) {
    cm_vector_env_destroy(g->vector);
    cm_rollout_destroy(g->policy);
    free(g->rows.legal);
    free(g->rows.reward);
    free(g->rows.to_play);
    free(g->rows.terminated);
    free(g->rows.truncated);
    free(g->action);
    free(g->has_ended);
}

static cm_status open_games(table *g, const cm_network_use *use, const cm_env *env, uint64_t seed) {
    const size_t rows = (size_t)g->out->rows;
    cm_network_use of_rows = *use;
    of_rows.rows = g->out->rows;
    CM_TRY(cm_vector_env_create(env, g->out->rows, seed, 0, &g->vector));
    CM_TRY(cm_rollout_create(&of_rows, 0, &g->policy));
    if (env->def->legal) CM_TRY(cm_alloc(&g->rows.legal, rows * (size_t)g->actions, 1, "games of a policy"));
    CM_TRY(cm_alloc(&g->rows.reward, rows, sizeof *g->rows.reward, "games of a policy"));
    CM_TRY(cm_alloc(&g->rows.to_play, rows, sizeof *g->rows.to_play, "games of a policy"));
    CM_TRY(cm_alloc(&g->rows.terminated, rows, 1, "games of a policy"));
    CM_TRY(cm_alloc(&g->rows.truncated, rows, 1, "games of a policy"));
    CM_TRY(cm_alloc(&g->action, rows, sizeof *g->action, "games of a policy"));
    CM_TRY(cm_alloc(&g->has_ended, rows, sizeof *g->has_ended, "games of a policy"));
    g->rows.observation = cm_rollout_observations(g->policy);
    return CM_OK;
}

/* ---- moves ---- */

static int32_t random_legal(table *g, const uint8_t *legal) {
    return legal ? cm_rng_pick(&g->rng, legal, g->actions) : (int32_t)cm_rng_below(&g->rng, (uint32_t)g->actions);
}

/* One of n entries by the softmax of their logits, of the legal ones where there is a mask. */
static int32_t sample_entry(table *g, const float *logits, const uint8_t *legal, int n) {
    double most = -INFINITY, sum = 0.0;
    int32_t last = 0;
    for (int a = 0; a < n; a++)
        if (!legal || legal[a]) most = fmax(most, (double)logits[a]);
    for (int a = 0; a < n; a++)
        if (!legal || legal[a]) sum += exp((double)logits[a] - most);
    double left = (double)cm_rng_uniform(&g->rng) * sum;
    for (int a = 0; a < n && left >= 0.0; a++) {
        if (legal && !legal[a]) continue;
        left -= exp((double)logits[a] - most);
        last = a;
    }
    return last;
}

/* By the policy, each number by its own; an angle is in the middle of its bin. Policies per number have no mask
 * (agent/sampled.h). */
static int32_t sample(table *g, const float *logits, const uint8_t *legal) {
    const cm_policy_form form = cm_network_policy(g->network);
    int32_t action = 0;
    for (int d = 0; d < form.numbers; d++) {
        const int32_t entry = sample_entry(g, logits + (size_t)d * (size_t)form.values, legal, form.values);
        action = action * cm_policy_values(form, d) + entry * (cm_policy_is_angle(form, d) ? form.steps : 1);
    }
    return action;
}

static void choose_moves(table *g) {
    const float *logits = cm_rollout_policy(g->policy, 0);
    const size_t entries = (size_t)cm_policy_size(cm_network_policy(g->network));
    for (int i = 0; i < g->out->rows; i++) {
        const uint8_t *legal = g->rows.legal ? g->rows.legal + (size_t)i * (size_t)g->actions : NULL;
        const bool is_random = (double)cm_rng_uniform(&g->rng) < random_moves;
        g->action[i] = is_random ? random_legal(g, legal) : sample(g, logits + (size_t)i * entries, legal);
    }
}

/* ---- positions ---- */

static void keep_observations(table *g, int batch) {
    cm_positions_observe(g->out, batch, g->rows.observation);
    memset(g->has_ended, 0, (size_t)g->out->rows * sizeof *g->has_ended);
}

static void keep_moves(table *g, int batch, int k) {
    for (int i = 0; i < g->out->rows; i++) {
        const int32_t random = (int32_t)cm_rng_below(&g->rng, (uint32_t)g->actions);
        const int32_t code = g->out->codes ? (int32_t)cm_rng_below(&g->rng, (uint32_t)g->out->codes) : 0;
        cm_positions_act(g->out, batch, k, i, g->has_ended[i] ? random : g->action[i], code);
    }
}

static cm_status step(table *g, int t) {
    const int rows = g->out->rows, batch = t / GAP, k = t % GAP;
    if (k == 0) keep_observations(g, batch);
    CM_TRY(cm_rollout_run(g->policy));
    choose_moves(g);
    if (k < g->out->steps) keep_moves(g, batch, k);
    CM_TRY(cm_vector_env_step(g->vector, 0, rows, g->action, &g->rows));
    for (int i = 0; i < rows; i++) g->has_ended[i] |= g->rows.terminated[i] || g->rows.truncated[i];
    if (cm_vector_env_reset_ended(g->vector, 0, rows, &g->rows) == 0) return CM_OK;
    return cm_vector_env_check_begun(g->vector, 0, rows);
}

static cm_status play(table *g, const cm_network_use *use, const cm_env *env, uint64_t seed) {
    CM_TRY(open_games(g, use, env, seed));
    cm_vector_env_reset(g->vector, 0, g->out->rows, &g->rows);
    CM_TRY(cm_vector_env_check_begun(g->vector, 0, g->out->rows));
    for (int t = 0; t < GAP * g->out->batches; t++) CM_TRY(step(g, t));
    return CM_OK;
}

cm_status cm_policy_games_play(const cm_network_use *use, const cm_env *env, int positions, uint64_t seed,
                               cm_positions *out) {
    CM_TRY(cm_positions_create(use->network, positions, out));
    table g = {.out = out, .network = use->network, .actions = env->spec.actions};
    g.rng = cm_rng_init(cm_key_make(seed, CM_RNG_ACTION, 0), 0);
    cm_status status = play(&g, use, env, seed);
    close_games(&g);
    return status;
}
