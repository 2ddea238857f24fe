#include "run/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/log.h"
#include "core/text.h"
#include "device/cuda/driver.h"
#include "env/python.h"
#include "run/supports.h"

enum { TRIAL_STEPS = 256 }; /* of the environment, before anything stands on it */

/* ---- environment ---- */

cm_env_params cm_session_env_params(const cm_env_options *o) {
    cm_env_params params = cm_env_params_default();
    params.size = o->board_size;
    params.rows = o->rows;
    params.columns = o->columns;
    params.action_bins = o->action_bins;
    params.max_steps = o->max_steps;
    params.timeout = o->env_timeout;
    params.fresh = !o->reusable;
    params.komi = o->komi;
    params.low = o->reset_low;
    params.high = o->reset_high;
    params.x_init = o->x_init;
    params.y_init = o->y_init;
    params.goal_velocity = o->goal_velocity;
    params.swap = o->swap;
    params.exactly_five = o->exactly_five;
    params.sutton_barto_reward = o->sutton_barto_reward;
    params.sticky_actions = o->sticky_actions;
    params.ramping = o->ramping;
    params.minimal_actions = o->minimal_actions;
    params.frame_stack = o->frame_stack;
    params.picture_size = o->picture_size;
    params.picture_gray = o->picture_gray;
    params.full_actions = o->full_actions;
    params.life_ends = o->life_ends;
    params.clip_rewards = o->clip_rewards;
    return params;
}

cm_status cm_session_env(const cm_env_options *o, cm_env *out) {
    const cm_env_params params = cm_session_env_params(o);
    cm_status status = cm_env_open(out, o->env_name, &params);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "Environment.env_name");
}

/* What the configuration says about the environment, if anything, must be true. */
static cm_status check_environment(const cm_env_options *o, const cm_env_spec *spec) {
    if (o->action_space_size != 0 && o->action_space_size != spec->actions) {
        return cm_fail(CM_ERR_INPUT,
                       "Environment.action_space_size: %s has %d actions, not %d; correct it or leave it out",
                       spec->name, spec->actions, o->action_space_size);
    }
    const cm_option_shape *shape = &o->observation_shape;
    if (shape->rank == 0) return CM_OK;
    bool same = shape->rank == spec->rank;
    for (int i = 0; same && i < spec->rank; i++) same = shape->extent[i] == spec->shape[i];
    if (same) return CM_OK;
    char want[64] = "", got[64] = "";
    cm_text_shape(spec->shape, spec->rank, ", ", want, sizeof want);
    cm_text_shape(shape->extent, shape->rank, ", ", got, sizeof got);
    return cm_fail(
        CM_ERR_INPUT,
        "Environment.observation_shape: observations of %s have shape [%s], not [%s]; correct it or leave it out",
        spec->name, want, got);
}

/* ---- backend ---- */

static const char *backend_name(const cm_run_options *o) {
    static const char *const names[] = {"auto", "ref", "cpu", "cuda"};
    _Static_assert(sizeof names / sizeof *names == CM_BACKEND_CHOICES, "a name for each choice");
    if (o->backend != CM_BACKEND_AUTO) return names[o->backend];
    if (o->device_type == CM_DEVICE_TYPE_CPU) return "cpu";
    if (o->device_type == CM_DEVICE_TYPE_GPU) return "cuda";
    return "auto";
}

/* "auto" is the first backend of the build that opens; why the GPU was passed over is kept where one is expected. */
static cm_status open_backend(const char *name, int place, char no_gpu[CM_SESSION_WHY], cm_backend **out) {
    cm_status status = CM_ERR_ABSENT;
    no_gpu[0] = '\0';
    if (strcmp(name, "auto") != 0) {
        status = cm_backend_open_at(name, place, out);
        return status == CM_OK ? CM_OK : cm_fail_in(status, "backend %s", name);
    }
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        status = cm_backend_open_at((*kind)->name, place, out);
        if (status == CM_OK) return CM_OK;
        if (strcmp((*kind)->name, "cuda") != 0) continue;
        char why[CM_SESSION_WHY];
        snprintf(why, sizeof why, "%s", cm_error_message());
        if (cm_cuda_is_expected()) memcpy(no_gpu, why, sizeof why);
    }
    return status;
}

/* Where one rank finds a GPU and another none they would not sum in the same way. */
static cm_status check_same_backend(const cm_backend *backend, cm_comm *comm) {
    enum { NAME = 8 };
    char mine[NAME] = "", *all = NULL;
    int other = 0;
    snprintf(mine, sizeof mine, "%s", backend->kind->name);
    CM_TRY(cm_alloc(&all, (size_t)comm->size, NAME, "names of backends"));
    cm_status status = comm->all_gather(comm, mine, NAME, all);
    while (status == CM_OK && other < comm->size && strncmp(all + other * NAME, all, NAME) == 0) other++;
    if (status == CM_OK && other < comm->size) {
        status = cm_fail(CM_ERR_ABSENT,
                         "rank 0 has found backend %s, rank %d %s: choose one that all ranks have, with --backend", all,
                         other, all + other * NAME);
    }
    free(all);
    return status;
}

cm_status cm_session_check_devices(const cm_backend *backend, int ranks, bool oversubscribe) {
    const int devices = backend->devices;
    if (backend->device->is_host || ranks <= devices || ranks == 1 || oversubscribe) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%d ranks, but this machine has %d GPU%s for cumind (CUDA_VISIBLE_DEVICES may hide some): take "
                   "fewer ranks, add --oversubscribe, or use --backend cpu",
                   ranks, devices, devices == 1 ? "" : "s");
}

typedef unsigned char device_id[CM_DEVICE_ID_BYTES];

/* Another rank with the device of `rank`, -1: none. */
static int find_sharer(const device_id *ids, int ranks, int rank) {
    for (int r = 0; r < ranks; r++)
        if (r != rank && memcmp(ids[r], ids[rank], sizeof *ids) == 0) return r;
    return -1;
}

/* What counts is which devices ranks have, not how many there are: a launcher may show each rank its own alone. All
 * ranks see all, so they are refused alike. */
static cm_status check_sharing(const cm_backend *backend, const cm_comm *comm, const device_id *ids) {
    if (comm->oversubscribe) return CM_OK;
    for (int rank = 0; rank < comm->size; rank++) {
        const int other = find_sharer(ids, comm->size, rank);
        if (other < 0) continue;
        CM_TRY(cm_session_check_devices(backend, comm->local_size, false));
        return cm_fail(CM_ERR_INPUT,
                       "ranks %d and %d have the same GPU: show each rank one of its own (CUDA_VISIBLE_DEVICES), or "
                       "all of them all, take fewer ranks, add --oversubscribe, or use --backend cpu",
                       rank, other);
    }
    return CM_OK;
}

static cm_status join_devices(const cm_backend *backend, cm_comm *comm) {
    device_id *ids = NULL;
    if (comm->size == 1) return CM_OK;
    CM_TRY(check_same_backend(backend, comm));
    if (backend->device->is_host) return CM_OK;
    CM_TRY(cm_alloc(&ids, (size_t)comm->size, sizeof *ids, "which devices ranks have"));
    cm_status status = comm->all_gather(comm, backend->device_id, sizeof *ids, ids);
    if (status == CM_OK) status = check_sharing(backend, comm, (const device_id *)ids);
    const bool shared = find_sharer((const device_id *)ids, comm->size, comm->rank) >= 0;
    free(ids);
    return status == CM_OK ? cm_comm_join_devices(comm, shared) : status;
}

cm_status cm_session_backend(const cm_run_options *options, cm_comm *comm, char no_gpu[CM_SESSION_WHY],
                             cm_backend **out) {
    CM_TRY(open_backend(backend_name(options), comm->local_rank, no_gpu, out));
    return join_devices(*out, comm);
}

cm_status cm_session_dtype(const cm_run_options *o, const cm_backend *backend, cm_dtype *out) {
    static const cm_dtype types[] = {
        [CM_MODEL_FLOAT32] = CM_F32, [CM_MODEL_FLOAT16] = CM_F16, [CM_MODEL_BFLOAT16] = CM_BF16};
    *out = types[o->model_dtype];
    if (backend->native[*out]) return CM_OK;
    if (*out == CM_F16) {
        return cm_fail(CM_ERR_INPUT,
                       "Data Types.model_dtype: float16 is not possible on backend %s; use \"bfloat16\" or \"float32\"",
                       backend->kind->name);
    }
    cm_log(CM_WARNING, "this processor has no bfloat16 instructions: matrix work is done in float32%s",
           backend->native[CM_F16] ? "; it has them for float16" : "");
    *out = CM_F32;
    return CM_OK;
}

/* ---- threads ---- */

void cm_session_warn_of_threads(int threads) {
    const int processors = cm_cpu_count();
    if (threads <= processors) return;
    cm_log(CM_WARNING,
           "%d threads have to share the %d processor%s that this process may use; 0 takes as many as it has", threads,
           processors, processors == 1 ? "" : "s");
}

cm_status cm_session_pool(int threads, cm_pool **out) {
    cm_session_warn_of_threads(threads);
    return cm_pool_create(threads, out);
}

/* ---- session ---- */

/* One number is what a joint policy is of, too. */
static bool is_per_number(const cm_session *s) {
    const int wanted = s->configuration.network.policy_distribution;
    return wanted == CM_POLICY_AUTO ? !cm_env_is_listed(&s->env) : wanted == CM_POLICY_PER_NUMBER;
}

/* A search begins a new prefix only where training did: an unroll that ends before the horizon never began one. */
static int prefix_horizon(const cm_configuration *c) {
    const int horizon = c->network.value_prefix_horizon;
    return c->replay.num_unroll_steps > horizon ? horizon : CM_PREFIX_WHOLE;
}

static cm_status open_network(cm_session *s) {
    const cm_env_spec *spec = &s->env.spec;
    cm_network_config config;
    cm_network_config_from_options(&config, &s->configuration.network, spec->rank, spec->shape, spec->actions,
                                   s->configuration.trainer.consistency_weight > 0.0);
    if (spec->action_size > 0) config.form = cm_env_policy_form(spec);
    config.form.spread = (float)s->configuration.network.angle_spread;
    if (config.prefix_horizon > 0) config.prefix_horizon = prefix_horizon(&s->configuration);
    config.per_number = is_per_number(s) && (spec->action_size > 1 || spec->angles);
    if (s->configuration.mcts.policy == CM_MCTS_ALPHAZERO) config.model = CM_NETWORK_PREDICTION;
    if (s->configuration.mcts.policy == CM_MCTS_STOCHASTIC_MUZERO) {
        config.model = CM_NETWORK_CHANCE;
        config.encoder = config.codes > 0;
        if (!config.encoder) config.codes = spec->chance_outcomes;
    }
    return cm_network_create(&config, &s->network);
}

/* The policy must fit the game. */
static cm_status check_policy(const cm_session *s) {
    const cm_env_spec *spec = &s->env.spec;
    const int policy = s->configuration.mcts.policy, draws = cm_mcts_draws(&s->configuration.mcts);
    const bool per_number = is_per_number(s);
    CM_TRY(cm_mcts_check_draws(&s->configuration.mcts, spec->actions, spec->name));
#define REFUSE(when, ...)                                                                                              \
    if (when) return cm_fail(CM_ERR_INPUT, __VA_ARGS__);
#include "run/session_rules.def"
#undef REFUSE
    return CM_OK;
}

/* Where the model is learnt, players must alternate. */
static cm_status try_environment(cm_session *s) {
    CM_TRY(cm_env_try_out(&s->env, TRIAL_STEPS, &s->tried));
    if (s->tried.repeat_step == 0 || s->configuration.mcts.policy == CM_MCTS_ALPHAZERO) return CM_OK;
    return cm_env_fail_repeat(&s->env.spec, s->tried.repeat_player, s->tried.repeat_step);
}

/* As rank 0 has seen the task: a slow environment may have shown another rank fewer steps. */
static cm_status fit_supports(cm_session *s) {
    cm_env_tried seen = s->tried;
    CM_TRY(s->comm->broadcast(s->comm, &seen, sizeof seen, 0));
    const cm_replay_options *replay = &s->configuration.replay;
    cm_supports_fit(&s->env.spec, &seen, replay->discount, replay->num_unroll_steps, &s->configuration.network);
    return CM_OK;
}

static cm_status open_all(cm_session *s) {
    CM_TRY(cm_session_env(&s->configuration.env, &s->env));
    CM_TRY(check_environment(&s->configuration.env, &s->env.spec));
    if (s->comm->rank == 0) cm_env_warn_endless(&s->env, s->configuration.env.max_steps);
    cm_status tried = try_environment(s);
    if (tried != CM_OK) return cm_fail_in(tried, "Environment.env_name");
    s->draws = cm_mcts_fit_draws(&s->configuration.mcts, s->env.spec.actions, CM_ENV_MAX_SEARCHED);
    CM_TRY(check_policy(s));
    CM_TRY(fit_supports(s));
    CM_TRY(open_network(s));
    CM_TRY(cm_session_backend(&s->configuration.run, s->comm, s->no_gpu, &s->backend));
    CM_TRY(cm_session_dtype(&s->configuration.run, s->backend, &s->compute));
    return cm_session_pool(s->configuration.run.threads, &s->pool);
}

/* `spec`: of what is not opened; NULL: everything is. */
static cm_status open_session(const cm_configuration *configuration, cm_comm *comm, const cm_env_spec *spec,
                              cm_session **out) {
    cm_session *s = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "a session"));
    s->configuration = *configuration;
    cm_comm_single(&s->single);
    s->comm = comm ? comm : &s->single;
    if (spec) s->env.spec = *spec;
    cm_status status = spec ? open_network(s) : open_all(s);
    if (status == CM_OK) {
        *out = s;
    } else {
        cm_session_close(s);
    }
    return status;
}

cm_status cm_session_open(const cm_configuration *configuration, cm_comm *comm, cm_session **out) {
    return open_session(configuration, comm, NULL, out);
}

cm_status cm_session_open_network(const cm_configuration *configuration, const cm_env_spec *spec, cm_session **out) {
    return open_session(configuration, NULL, spec, out);
}

void cm_session_close(cm_session *s) {
    if (!s) return;
    cm_pool_destroy(s->pool);
    cm_network_destroy(s->network);
    cm_backend_close(s->backend);
    free(s);
}

int64_t cm_session_share(const cm_session *s, int64_t whole) { return whole / s->comm->size; }
int64_t cm_session_first(const cm_session *s, int64_t whole) { return cm_session_share(s, whole) * s->comm->rank; }

cm_status cm_session_agent_of(cm_session *s, const cm_network *network, cm_agent **out) {
    const cm_configuration *c = &s->configuration;
    float gamma = (float)c->replay.discount;
    cm_agent_config config = {
        .network = network,
        .rules = c->mcts.policy == CM_MCTS_ALPHAZERO ? &s->env : NULL,
        .task = s->env.spec.name,
        .backend = s->backend,
        .pool = s->pool,
        .compute = s->compute,
        .discount = s->env.spec.players == 2 ? -gamma : gamma,
        .draws = cm_mcts_draws(&c->mcts),
        .seed = (uint64_t)c->run.seed,
    };
    CM_TRY(cm_planner_search_params(&c->mcts, true, 0, &config.acting));
    int simulations = c->agent.evaluation_simulations > c->mcts.num_simulations ? c->agent.evaluation_simulations : 0;
    CM_TRY(cm_planner_search_params(&c->mcts, false, simulations, &config.evaluation));
    return cm_agent_create(&config, out);
}

cm_status cm_session_agent(cm_session *s, cm_agent **out) { return cm_session_agent_of(s, s->network, out); }

cm_status cm_session_check_acting(const cm_session *s) {
    const bool is_int8 = s->configuration.agent.acting_dtype == CM_ACTING_INT8;
    if (!is_int8 || s->backend->kind->takes_int8) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "Self-Play.acting_dtype: backend %s has no products in 8 bits; set it to \"same\", or backend to "
                   "\"cpu\"",
                   s->backend->kind->name);
}

void cm_session_describe(const cm_session *s, char *out, size_t size) {
    int threads = cm_pool_size(s->pool);
    snprintf(out, size, "%s, %d thread%s, %s", cm_backend_describe(s->backend), threads, threads == 1 ? "" : "s",
             cm_dtype_name(s->compute));
}
