#include <stdlib.h>
#include <string.h>

#include "api/env.h"
#include "arena/evaluate.h"
#include "network/inference.h"
#include "run/loaded.h"
#include "run/zoo.h"

enum { MOST_ROWS = 64 }; /* of one inference */

struct cumind_agent {
    cm_api_guard guard;
    cm_loaded loaded;
    cm_planner *planner;     /* owned; NULL until a search is asked for */
    int rows;                /* of it */
    uint8_t *legal;          /* [rows, A] */
    int32_t *visits;         /* [rows, A], with a policy per number: its searches know no policy over actions */
    void *state;             /* a state block */
    cm_stream *stream;       /* owned, as is `inference`; NULL until that is asked for */
    cm_inference *inference; /* of MOST_ROWS rows */
};

/* ---- opening ---- */

static cm_status open_loaded(const char *run, int64_t checkpoint, const char *const *settings, int count,
                             cm_loaded *out) {
    cm_configuration configuration;
    CM_TRY(cm_api_configure((cm_sources){.run = run}, settings, count, &configuration, &out->config));
    return cm_loaded_fill(&configuration, run, checkpoint, out);
}

static cm_status open_agent(const char *run, int64_t checkpoint, const char *const *settings, int count,
                            cumind_agent **out) {
    char folder[PATH_MAX];
    CM_TRY(cm_api_need(out, "out"));
    *out = NULL;
    if (run && cm_zoo_is_name(run)) {
        CM_TRY(cm_zoo_resolve(run, folder));
        run = folder;
    }
    CM_TRY(cm_api_check_folder(run, "run"));
    CM_TRY(cm_api_check_settings(settings, count));
    if (checkpoint < CUMIND_PREFERRED)
        return cm_fail(CM_ERR_INPUT,
                       "checkpoint must be a number of updates, CUMIND_LATEST, CUMIND_BEST or "
                       "CUMIND_PREFERRED, got %lld",
                       (long long)checkpoint);
    cumind_agent *a;
    CM_TRY(cm_alloc(&a, 1, sizeof *a, "an agent"));
    cm_api_guard_begin(&a->guard, "the agent");
    cm_api_begin_opening(NULL, settings, count);
    cm_status status = open_loaded(run, checkpoint, settings, count, &a->loaded);
    cm_api_end_opening();
    if (status == CM_OK) status = cm_alloc(&a->state, 1, a->loaded.session->env.spec.state_size, "a state");
    if (status == CM_OK) {
        *out = a;
    } else {
        cumind_agent_close(a);
    }
    return status;
}

cumind_status cumind_agent_open(const char *run, int64_t checkpoint, const char *const *settings, int settings_count,
                                cumind_agent **out) {
    return (cumind_status)open_agent(run, checkpoint, settings, settings_count, out);
}

void cumind_agent_close(cumind_agent *a) {
    if (!a || !cm_api_is_own(&a->guard)) return;
    cm_planner_destroy(a->planner);
    cm_inference_destroy(a->inference);
    cm_stream_close(a->stream);
    cm_loaded_close(&a->loaded);
    free(a->legal);
    free(a->visits);
    free(a->state);
    free(a);
}

/* ---- facts ---- */

static const cm_agent_config *config_of(const cumind_agent *a) { return cm_agent_get_config(a->loaded.agent); }

static const cm_env *env_of(const cumind_agent *a) { return &a->loaded.session->env; }

static int chance_of(const cumind_agent *a) {
    const cm_network_config *network = cm_network_get_config(config_of(a)->network);
    return network->model == CM_NETWORK_CHANCE ? network->codes : 0;
}

void cumind_agent_get_facts(const cumind_agent *a, cumind_agent_facts *out) {
    if (!out) return;
    *out = (cumind_agent_facts){0};
    if (!a) return;
    const cm_run_facts *facts = &a->loaded.facts;
    *out = (cumind_agent_facts){.updates = facts->updates,
                                .env_steps = facts->env_steps,
                                .episodes = facts->episodes,
                                .simulations = config_of(a)->evaluation.num_simulations,
                                .hidden_size = cm_network_state_size(config_of(a)->network),
                                .chance_codes = chance_of(a),
                                .needs_states = config_of(a)->rules != NULL};
}

void cumind_agent_get_spec(const cumind_agent *a, cumind_spec *out) { cm_api_spec(a ? env_of(a) : NULL, out); }

static cm_status open_env_of(cumind_agent *a, int instances, uint64_t seed, cumind_env **out) {
    CM_TRY(cm_api_need(out, "out"));
    *out = NULL;
    return cm_api_make_env(env_of(a), instances, seed, out);
}

cumind_status cumind_agent_open_env(cumind_agent *a, int instances, uint64_t seed, cumind_env **out) {
    const cm_status status = cm_api_enter(a ? &a->guard : NULL);
    return status == CM_OK ? cm_api_leave(&a->guard, open_env_of(a, instances, seed, out)) : (cumind_status)status;
}

cumind_status cumind_agent_values(const cumind_agent *a, int32_t action, float *values) {
    cm_status status = cm_api_need(a, "agent");
    if (status == CM_OK) status = cm_api_need(values, "values");
    if (status != CM_OK) return (cumind_status)status;
    const cm_env_spec *spec = &env_of(a)->spec;
    if (spec->action_size == 0) {
        status = cm_fail(CM_ERR_INPUT, "%s is no continuous task: its actions have no values", spec->name);
    } else if (action < 0 || action >= spec->actions) {
        status = cm_fail(CM_ERR_INPUT, "%s: action %d is not in [0, %d)", spec->name, action, spec->actions);
    } else {
        cm_env_action_values(env_of(a), action, values);
    }
    return (cumind_status)status;
}

/* ---- searches ---- */

static bool is_per_number(const cumind_agent *a) { return cm_network_get_config(config_of(a)->network)->per_number; }

/* A planner of as many rows as are wanted, or as fit. */
static cm_status need_planner(cumind_agent *a, int wanted) {
    const int rows = cm_agent_planner_rows(a->loaded.agent, wanted);
    if (rows <= a->rows) return CM_OK;
    cm_planner_destroy(a->planner);
    free(a->legal);
    free(a->visits);
    a->planner = NULL, a->legal = NULL, a->visits = NULL, a->rows = 0;
    const size_t entries = (size_t)rows * (size_t)env_of(a)->spec.actions;
    if (cm_env_is_listed(env_of(a))) CM_TRY(cm_alloc(&a->legal, entries, 1, "masks"));
    if (a->legal && is_per_number(a)) CM_TRY(cm_alloc(&a->visits, entries, sizeof *a->visits, "visits"));
    CM_TRY(cm_agent_planner(a->loaded.agent, rows, false, &a->planner));
    a->rows = rows;
    return CM_OK;
}

/* Row `first` of every array. */
static cumind_analysis from_row(const cumind_analysis *out, int first, size_t actions) {
    const size_t wide = (size_t)first * actions;
    return (cumind_analysis){.action = out->action ? out->action + first : NULL,
                             .visits = out->visits ? out->visits + wide : NULL,
                             .policy = out->policy ? out->policy + wide : NULL,
                             .prior = out->prior ? out->prior + wide : NULL,
                             .q = out->q ? out->q + wide : NULL,
                             .value = out->value ? out->value + first : NULL,
                             .raw_value = out->raw_value ? out->raw_value + first : NULL};
}

static void put_fractions(const int32_t *visits, int count, size_t actions, float *policy) {
    for (int k = 0; k < count; k++, visits += actions, policy += actions) {
        int sum = 0;
        for (size_t i = 0; i < actions; i++) sum += visits[i];
        for (size_t i = 0; i < actions; i++) policy[i] = (float)visits[i] / (float)(sum > 0 ? sum : 1);
    }
}

/* What lies in the first rows of the planner, masks in a->legal. */
static cm_status run_planner(cumind_agent *a, int count, const cumind_analysis *out) {
    const cm_roots roots = {.count = count, .legal = env_of(a)->def->legal ? a->legal : NULL};
    const size_t actions = (size_t)env_of(a)->spec.actions, entries = (size_t)count * actions;
    int32_t *visits = a->visits ? a->visits : out->visits;
    const cm_search_result result = {.visits = visits,
                                     .action_weights = a->visits ? NULL : out->policy,
                                     .value = out->value,
                                     .raw_value = out->raw_value,
                                     .qvalues = out->q,
                                     .action = out->action};
    CM_TRY(cm_planner_run(a->planner, &roots, &result));
    if (a->visits && out->visits) memcpy(out->visits, a->visits, entries * sizeof *a->visits);
    if (a->visits && out->policy) put_fractions(a->visits, count, actions, out->policy);
    return out->prior ? cm_planner_priors(a->planner, count, out->prior) : CM_OK;
}

static cm_status check_wanted(const cumind_agent *a, int n, const cumind_analysis *out) {
    const bool per_action = out->visits || out->policy || out->prior || out->q;
    if (n < 1) return cm_fail(CM_ERR_INPUT, "n must be at least 1, got %d", n);
    if (!per_action || cm_env_is_listed(env_of(a))) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s has %d actions, of which a search draws some: visits, policy, prior and q of all "
                   "of them must be NULL",
                   env_of(a)->spec.name, env_of(a)->spec.actions);
}

/* Where every action is always legal, a mask may say so. */
static cm_status check_needless(const cumind_agent *a, int n, const uint8_t *legal) {
    const uint8_t *ruled_out = memchr(legal, 0, (size_t)n * (size_t)env_of(a)->spec.actions);
    if (!ruled_out) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "legal: every action of %s is always legal, but row %d rules out action %d",
                   env_of(a)->spec.name, (int)((ruled_out - legal) / env_of(a)->spec.actions),
                   (int)((ruled_out - legal) % env_of(a)->spec.actions));
}

static cm_status put_mask(cumind_agent *a, int row, int k, const uint8_t *legal) {
    const size_t actions = (size_t)env_of(a)->spec.actions;
    uint8_t *mask = a->legal + (size_t)k * actions;
    if (!legal) {
        memset(mask, 1, actions);
        return CM_OK;
    }
    for (size_t i = 0; i < actions; i++) mask[i] = legal[(size_t)row * actions + i] != 0;
    if (memchr(mask, 1, actions)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "legal: row %d allows no action", row);
}

static cm_status analyse(cumind_agent *a, int n, const float *observation, const uint8_t *legal,
                         const cumind_analysis *out) {
    const cm_env_spec *spec = &env_of(a)->spec;
    const size_t size = (size_t)spec->observation_size;
    CM_TRY(cm_api_need(observation, "observation"));
    CM_TRY(cm_api_need(out, "out"));
    CM_TRY(check_wanted(a, n, out));
    if (config_of(a)->rules)
        return cm_fail(CM_ERR_INPUT,
                       "this agent searches on the true rules of %s: it needs states, not observations; "
                       "use cumind_agent_analyse_env",
                       spec->name);
    if (legal && !env_of(a)->def->legal) CM_TRY(check_needless(a, n, legal));
    CM_TRY(cm_api_check_finite("observation", "row", observation, n, size));
    CM_TRY(need_planner(a, n));
    for (int first = 0; first < n; first += a->rows) {
        const int count = n - first < a->rows ? n - first : a->rows;
        const cumind_analysis part = from_row(out, first, (size_t)spec->actions);
        memcpy(cm_planner_observations(a->planner), observation + (size_t)first * size,
               (size_t)count * size * sizeof(float));
        for (int k = 0; env_of(a)->def->legal && k < count; k++) CM_TRY(put_mask(a, first + k, k, legal));
        CM_TRY(run_planner(a, count, &part));
    }
    return CM_OK;
}

cumind_status cumind_agent_analyse(cumind_agent *a, int n, const float *observation, const uint8_t *legal,
                                   const cumind_analysis *out) {
    const cm_status status = cm_api_enter(a ? &a->guard : NULL);
    return status == CM_OK ? cm_api_leave(&a->guard, analyse(a, n, observation, legal, out)) : (cumind_status)status;
}

static cm_status place(cumind_agent *a, const cumind_env *env, int instance, int row) {
    const size_t actions = (size_t)env->env.spec.actions;
    if (env->ended[instance])
        return cm_fail(CM_ERR_STATE, "%s: the episode of instance %d has ended: there is nothing to choose",
                       env->env.spec.name, instance);
    cm_vector_env_get(env->vector, instance, a->state);
    cm_planner_place(a->planner, row, &env->env, a->state);
    if (env->env.def->legal) cm_env_legal(&env->env, a->state, a->legal + (size_t)row * actions);
    return CM_OK;
}

static cm_status analyse_env(cumind_agent *a, const cumind_env *env, int first, int n, const cumind_analysis *out) {
    CM_TRY(cm_api_need(out, "out"));
    CM_TRY(check_wanted(a, n, out));
    CM_TRY(cm_api_check_instances(env, first, n));
    if (!cm_env_is_same(&env->env, env_of(a)))
        return cm_fail(CM_ERR_INPUT, "the agent was trained on %s, the environments are %s, or have other settings",
                       env_of(a)->spec.name, env->env.spec.name);
    CM_TRY(need_planner(a, n));
    for (int at = 0; at < n; at += a->rows) {
        const int count = n - at < a->rows ? n - at : a->rows;
        const cumind_analysis part = from_row(out, at, (size_t)env->env.spec.actions);
        for (int k = 0; k < count; k++) CM_TRY(place(a, env, first + at + k, k));
        CM_TRY(run_planner(a, count, &part));
    }
    return CM_OK;
}

cumind_status cumind_agent_analyse_env(cumind_agent *a, cumind_env *env, int first, int n, const cumind_analysis *out) {
    cm_status status = cm_api_enter(a ? &a->guard : NULL);
    if (status != CM_OK) return (cumind_status)status;
    status = cm_api_enter(env ? &env->guard : NULL);
    if (status == CM_OK) status = (cm_status)cm_api_leave(&env->guard, analyse_env(a, env, first, n, out));
    return cm_api_leave(&a->guard, status);
}

/* ---- evaluation ---- */

static cm_status evaluate(cumind_agent *a, int episodes, uint64_t seed, double *returns) {
    cm_evaluator *evaluator = NULL;
    cm_evaluation all;
    CM_TRY(cm_api_need(returns, "returns"));
    if (episodes < 1) return cm_fail(CM_ERR_INPUT, "episodes must be at least 1, got %d", episodes);
    const cm_evaluator_config config = {
        .agent = a->loaded.agent, .env = env_of(a), .pool = a->loaded.session->pool, .episodes = episodes};
    CM_TRY(cm_evaluator_create(&config, &evaluator));
    const cm_status status = cm_evaluator_run(evaluator, episodes, seed, returns, &all);
    cm_evaluator_destroy(evaluator);
    return status;
}

cumind_status cumind_agent_evaluate(cumind_agent *a, int episodes, uint64_t seed, double *returns) {
    const cm_status status = cm_api_enter(a ? &a->guard : NULL);
    return status == CM_OK ? cm_api_leave(&a->guard, evaluate(a, episodes, seed, returns)) : (cumind_status)status;
}

/* ---- the network ---- */

static cm_status check_dynamics(const cumind_agent *a) {
    const char *why = config_of(a)->rules ? "it searches on the true rules"
                      : chance_of(a) > 0  ? "its dynamics are in two halves, with chance"
                      : cm_network_memory_size(config_of(a)->network) > 0 ? "its rewards are those of a value prefix"
                      : config_of(a)->draws > 0                           ? "its searches draw actions"
                                                                          : NULL;
    return why ? cm_fail(CM_ERR_ABSENT, "%s: this agent has no such dynamics: %s", env_of(a)->spec.name, why) : CM_OK;
}

/* Rows beyond those that are asked for compute on what is there, into slots of their own. */
static void fill_slots(cumind_agent *a) {
    const cm_inference_arrays *io = cm_inference_get(a->inference);
    for (int k = 0; k < MOST_ROWS; k++) {
        io->root_slots[k] = io->parent_slots[k] = k;
        io->child_slots[k] = k;
        io->actions[k] = 0;
    }
}

static cm_status need_inference(cumind_agent *a) {
    CM_TRY(check_dynamics(a));
    if (a->inference) return CM_OK;
    if (!a->stream) CM_TRY(cm_stream_open(config_of(a)->backend, &a->stream));
    const cm_network_use use = cm_agent_network_use(a->loaded.agent, a->stream, MOST_ROWS);
    return cm_inference_create(&use, MOST_ROWS, &a->inference);
}

/* Of a call of the network: what its rows are, and where its results go, each NULL where it is not wanted. */
typedef struct network_rows {
    int n;
    const float *observation, *hidden;
    const int32_t *action;
    float *next, *reward, *logits, *value;
} network_rows;

typedef cm_status network_part(cumind_agent *a, const network_rows *rows, int first, int count);

/* MOST_ROWS of them at a time. */
static cm_status for_each_part(cumind_agent *a, const network_rows *rows, network_part *part) {
    CM_TRY(need_inference(a));
    for (int first = 0; first < rows->n; first += MOST_ROWS) {
        fill_slots(a);
        CM_TRY(part(a, rows, first, rows->n - first < MOST_ROWS ? rows->n - first : MOST_ROWS));
    }
    return CM_OK;
}

/* Copies rows that are wanted. */
static void put_rows(float *to, const float *from, int first, int count, size_t width) {
    if (to) memcpy(to + (size_t)first * width, from, (size_t)count * width * sizeof(float));
}

static cm_status put_states(cumind_agent *a, float *to, int first, int count) {
    const size_t width = (size_t)cm_network_state_size(config_of(a)->network);
    return to ? cm_inference_read_states(a->inference, count, to + (size_t)first * width) : CM_OK;
}

static cm_status initial_part(cumind_agent *a, const network_rows *rows, int first, int count) {
    const size_t size = (size_t)env_of(a)->spec.observation_size, actions = (size_t)env_of(a)->spec.actions;
    const cm_inference_arrays *io = cm_inference_get(a->inference);
    memcpy(io->observation, rows->observation + (size_t)first * size, (size_t)count * size * sizeof(float));
    CM_TRY(cm_inference_root(a->inference));
    put_rows(rows->logits, io->root_policy, first, count, actions);
    put_rows(rows->value, io->root_value, first, count, 1);
    return put_states(a, rows->next, first, count);
}

static cm_status initial(cumind_agent *a, const network_rows *rows) {
    const size_t size = (size_t)env_of(a)->spec.observation_size;
    CM_TRY(cm_api_need(rows->observation, "observation"));
    if (rows->n < 1) return cm_fail(CM_ERR_INPUT, "n must be at least 1, got %d", rows->n);
    CM_TRY(cm_api_check_finite("observation", "row", rows->observation, rows->n, size));
    return for_each_part(a, rows, initial_part);
}

cumind_status cumind_agent_initial_inference(cumind_agent *a, int n, const float *observation, float *hidden,
                                             float *logits, float *value) {
    const network_rows rows = {.n = n, .observation = observation, .next = hidden, .logits = logits, .value = value};
    const cm_status status = cm_api_enter(a ? &a->guard : NULL);
    if (status != CM_OK) return (cumind_status)status;
    return cm_api_leave(&a->guard, initial(a, &rows));
}

static cm_status check_actions(const cumind_agent *a, int n, const int32_t *action) {
    const int actions = env_of(a)->spec.actions;
    for (int row = 0; row < n; row++)
        if (action[row] < 0 || action[row] >= actions)
            return cm_fail(CM_ERR_INPUT, "action: %d in row %d is not in [0, %d)", action[row], row, actions);
    return CM_OK;
}

static cm_status recurrent_part(cumind_agent *a, const network_rows *rows, int first, int count) {
    const size_t width = (size_t)cm_network_state_size(config_of(a)->network);
    const cm_inference_arrays *io = cm_inference_get(a->inference);
    memcpy(io->actions, rows->action + first, (size_t)count * sizeof *rows->action);
    CM_TRY(cm_inference_write_states(a->inference, count, rows->hidden + (size_t)first * width));
    CM_TRY(cm_inference_recurrent(a->inference));
    put_rows(rows->reward, io->reward, first, count, 1);
    put_rows(rows->logits, io->policy, first, count, (size_t)env_of(a)->spec.actions);
    put_rows(rows->value, io->value, first, count, 1);
    return put_states(a, rows->next, first, count);
}

static cm_status recurrent(cumind_agent *a, const network_rows *rows) {
    CM_TRY(cm_api_need(rows->hidden, "hidden"));
    CM_TRY(cm_api_need(rows->action, "action"));
    if (rows->n < 1) return cm_fail(CM_ERR_INPUT, "n must be at least 1, got %d", rows->n);
    CM_TRY(check_actions(a, rows->n, rows->action));
    CM_TRY(cm_api_check_finite("hidden", "row", rows->hidden, rows->n,
                               (size_t)cm_network_state_size(config_of(a)->network)));
    return for_each_part(a, rows, recurrent_part);
}

cumind_status cumind_agent_recurrent_inference(cumind_agent *a, int n, const float *hidden, const int32_t *action,
                                               float *next_hidden, float *reward, float *logits, float *value) {
    const network_rows rows = {n, NULL, hidden, action, next_hidden, reward, logits, value};
    const cm_status status = cm_api_enter(a ? &a->guard : NULL);
    return status == CM_OK ? cm_api_leave(&a->guard, recurrent(a, &rows)) : (cumind_status)status;
}
