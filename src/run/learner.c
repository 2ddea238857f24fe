#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "run/learner_internal.h"

/* Steps of an episode that are kept in one segment where the environment sets no limit. */
enum { LONG_EPISODE = 1000, LONGEST_PIECE = 65536, SHORT_PIECE = 128 };
#define UNLIMITED_BYTES ((uint64_t)1 << 46)

/* ---- creation ---- */

int cm_run_learner_segment(const cm_configuration *c, const cm_env_spec *spec) {
    const int limit = spec->max_steps > 0 ? spec->max_steps : spec->max_plies > 0 ? spec->max_plies : LONG_EPISODE;
    const int whole = limit < LONGEST_PIECE ? limit : LONGEST_PIECE;
    const int64_t drawn = c->replay.memory_steps / c->env.num_envs;
    if (spec->frames > 1 && c->replay.memory_steps > 0 && drawn < LONG_EPISODE && drawn < whole)
        return drawn > SHORT_PIECE ? (int)drawn : whole < SHORT_PIECE ? whole : SHORT_PIECE; /* frames are large */
    if (c->replay.memory_steps == 0 || whole <= LONG_EPISODE || whole <= drawn) return whole;
    return drawn > LONG_EPISODE ? (int)drawn : LONG_EPISODE;
}

/* Tables of the environment's symmetries as permutations of observation elements and actions; see replay.h. */
static cm_status make_symmetries(const cm_env *env, int32_t **elements, int32_t **actions) {
    const cm_env_spec *spec = &env->spec;
    const int size = spec->observation_size / spec->frames, planes = size / spec->cells; /* of a frame */
    size_t o = (size_t)size, a = (size_t)spec->actions, s = (size_t)spec->symmetries;
    int32_t *cell_map = NULL, *action_map = NULL;
    cm_status status = cm_alloc(elements, s * o, sizeof(int32_t), "symmetries");
    if (status == CM_OK) status = cm_alloc(actions, s * a, sizeof(int32_t), "symmetries");
    if (status == CM_OK) status = cm_alloc(&cell_map, (size_t)spec->cells, sizeof(int32_t), "symmetries");
    if (status == CM_OK) status = cm_alloc(&action_map, a, sizeof(int32_t), "symmetries");
    for (int k = 0; k < spec->symmetries && status == CM_OK; k++) {
        int32_t *element = *elements + (size_t)k * o, *action = *actions + (size_t)k * a;
        cm_env_symmetry(env, k, cell_map, action_map);
        for (int cell = 0; cell < spec->cells; cell++) {
            for (int p = 0; p < planes; p++) element[cell_map[cell] * planes + p] = cell * planes + p;
        }
        for (int i = 0; i < spec->actions; i++) action[action_map[i]] = i;
    }
    free(cell_map);
    free(action_map);
    return status;
}

/* Where all of a policy would fill the memory what was drawn is kept. */
static int policy_entries(const cm_session *s) {
    const cm_env_spec *spec = &s->env.spec;
    const bool is_wide = spec->action_size == 0 && spec->actions > CM_ENV_MAX_SEARCHED;
    return is_wide && spec->symmetries <= 1 ? cm_mcts_draws(&s->configuration.mcts) : 0;
}

cm_replay_config cm_run_learner_replay_config(const cm_session *s) {
    const cm_replay_options *o = &s->configuration.replay;
    const cm_env_spec *spec = &s->env.spec;
    cm_replay_config config = {
        .observation_size = spec->observation_size,
        .observation_unit = spec->observation_unit,
        .frames = spec->frames,
        .frame_channels = (spec->rank == 3 ? spec->shape[2] : spec->shape[0]) / spec->frames,
        .actions = spec->actions,
        .form = cm_network_policy(s->network),
        .entries = policy_entries(s),
        .environments = (int)cm_session_share(s, s->configuration.env.num_envs),
        .bytes = o->memory_bytes > 0 ? (uint64_t)cm_session_share(s, o->memory_bytes) : UNLIMITED_BYTES,
        .max_steps = cm_session_share(s, o->memory_steps),
        .max_episodes = cm_session_share(s, o->memory_capacity),
        .segment_steps = cm_run_learner_segment(&s->configuration, spec),
        .commit_steps = s->configuration.agent.steps_per_iteration,
        .sample_open = o->memory_capacity == 0,
        .prioritized = o->prioritized,
        .alpha = o->per_alpha,
        .epsilon = o->per_epsilon,
        .weight_min = o->per_weight_min,
        .targets = {.unroll = o->num_unroll_steps,
                    .td_steps = o->td_steps,
                    .discount = o->discount,
                    .value_prefix_horizon = cm_network_get_config(s->network)->prefix_horizon,
                    .policy_smoothing = o->policy_smoothing,
                    .td_interval = (o->td_interval + s->comm->size - 1) / s->comm->size}, /* ages are the shard's */
        .symmetries =
            o->symmetries && spec->cells > 0 && spec->observation_size % spec->cells == 0 ? spec->symmetries : 1,
    };
    return config;
}

/* Refuses a plan that is larger than the limit that the user set. */
static cm_status check_plan(const cm_session *s, const cm_replay_config *config) {
    cm_replay_plan plan;
    cm_status status = cm_replay_plan_make(config, &plan);
    const bool is_small = status == CM_ERR_MEMORY && s->configuration.replay.memory_bytes > 0;
    if (status != CM_OK) return cm_fail_in(status, is_small ? "Memory.memory_bytes" : "Memory");
    int64_t limit = s->configuration.run.memory_limit;
    const uint64_t bytes = plan.bytes * (uint64_t)s->comm->local_size;
    if (limit == 0 || bytes <= (uint64_t)limit) return CM_OK;
    char needed[16], allowed[16];
    cm_format_bytes((double)bytes, needed);
    cm_format_bytes((double)limit, allowed);
    return cm_fail(CM_ERR_MEMORY,
                   "Memory: the replay needs %s, Device.memory_limit is %s: set Memory.memory_bytes or lower "
                   "Memory.memory_steps",
                   needed, allowed);
}

static const cm_replay_place places[] = {CM_REPLAY_RAM, CM_REPLAY_PACKED, CM_REPLAY_FILE}; /* by cm_memory_store */
static const char *const place_names[] = {"ram", "compressed", "file"};
enum { PLACES = 3 };

/* What the memory of all ranks of this machine may take: 80 % of what there is, as rank 0 finds it. */
static cm_status ask_space(const cm_session *s, double *allowed, char text[96]) {
    cm_memory_space there = cm_memory_ask();
    const uint64_t limit = (uint64_t)s->configuration.run.memory_limit;
    cm_memory_describe(&there, text, 96);
    if (limit > 0 && limit < there.bytes) {
        there.bytes = limit;
        snprintf(text, 96, "memory_limit");
    }
    *allowed = 0.8 * (double)there.bytes;
    return s->comm->broadcast(s->comm, allowed, sizeof *allowed, 0);
}

/* The first place by which the memory takes no more than that; a file, where none does. */
static cm_status find_place(const cm_session *s, cm_replay_config *config) {
    char needed[PLACES][16], most[16], text[96];
    double allowed;
    int chosen = -1;
    CM_TRY(ask_space(s, &allowed, text));
    for (int i = 0; i < PLACES; i++) {
        cm_replay_plan plan = {.bytes = 0};
        config->place = places[i];
        const cm_status status = cm_replay_plan_make(config, &plan);
        const double bytes = (double)plan.bytes * s->comm->local_size;
        if (status != CM_OK && status != CM_ERR_MEMORY) return cm_fail_in(status, "Memory");
        if (chosen < 0 && status == CM_OK && bytes <= allowed) chosen = i;
        cm_format_bytes(bytes, needed[i]);
    }
    if (chosen < 0) chosen = PLACES - 1;
    config->place = places[chosen];
    cm_format_bytes(allowed, most);
    if (s->comm->rank == 0)
        cm_log(CM_INFO,
               "memory_store auto: %s; the memory takes %s of ram, %s compressed, %s with a file; it may take %s, 80 "
               "%% of "
               "what there is (%s)",
               place_names[chosen], needed[0], needed[1], needed[2], most, text);
    return CM_OK;
}

static cm_status choose_place(const cm_session *s, cm_replay_config *config) {
    const int wanted = s->configuration.replay.memory_store;
    if (wanted == CM_MEMORY_AUTO) return find_place(s, config);
    config->place = places[wanted];
    return CM_OK;
}

static cm_status open_replay(cm_run_learner *l, const cm_session *s) {
    cm_replay_config config = cm_run_learner_replay_config(s);
    int32_t *elements = NULL, *actions = NULL;
    cm_status status = config.symmetries > 1 ? make_symmetries(&s->env, &elements, &actions) : CM_OK;
    config.symmetry_elements = elements;
    config.symmetry_actions = actions;
    if (status == CM_OK) status = choose_place(s, &config);
    if (status == CM_OK) status = check_plan(s, &config);
    if (status == CM_OK) {
        status = cm_memory_advise(
            cm_replay_create(&config, &l->replay),
            "lower memory_steps, memory_capacity, num_envs or steps_per_iteration, or set memory_bytes");
    }
    free(elements);
    free(actions);
    return status;
}

static bool is_on_host(const cm_session *s) { return s->backend->device->is_host; }

/* Those that are prepared ahead and those that are learnt from: one, or where a device has the next one already, two.
 */
static int batches_at_a_time(const cm_session *s) {
    const int depth = s->configuration.replay.prefetch_depth;
    return depth == 0 || is_on_host(s) ? depth + 1 : depth + CM_TRAINER_LAUNCHED;
}

/* A GPU learns from a batch in less time than one thread draws it in. */
static int drawing_threads(const cm_session *s) {
    const int asked = s->configuration.replay.prefetch_threads;
    return asked > 0 ? asked : is_on_host(s) ? 1 : 4;
}

static const char for_training[] = "lower batch_size, num_unroll_steps, threads or the sizes of the network";

static bool is_looked_up(const cm_configuration *c) { return c->agent.reanalyse == CM_REANALYSE_BUFFER; }

static bool searches_batches(const cm_configuration *c) { return !is_looked_up(c) && c->agent.reanalyse_ratio > 0.0; }

cm_trainer_frames cm_run_learner_frames(const cm_configuration *c, const cm_env_spec *spec) {
    const bool has_frames = spec->rank == 3 && c->mcts.policy != CM_MCTS_STOCHASTIC_MUZERO;
    return (cm_trainer_frames){has_frames ? spec->frames : 0, spec->observation_unit};
}

static cm_batch_config batch_config(const cm_session *s) {
    const cm_configuration *c = &s->configuration;
    return (cm_batch_config){
        .rows = (int)cm_session_share(s, c->trainer.batch_size),
        .consistency =
            c->trainer.consistency_weight > 0.0 || searches_batches(c) || c->mcts.policy == CM_MCTS_STOCHASTIC_MUZERO,
        .bootstrap = !is_looked_up(c) && (c->trainer.ema_bootstraps || c->trainer.target_update_frequency > 0),
        .keys = is_looked_up(c),
        .frames = cm_run_learner_frames(c, &s->env.spec).count > 0,
        .augmentation = {c->replay.augmentation_shift, c->replay.augmentation_intensity},
        .seed = (uint64_t)c->run.seed,
        .first_row = (uint64_t)cm_session_first(s, c->trainer.batch_size),
    };
}

cm_trainer_config cm_run_trainer_config(cm_session *session, cm_pool *pool) {
    const cm_configuration *c = &session->configuration;
    return (cm_trainer_config){
        .network = session->network,
        .backend = session->backend,
        .pool = pool,
        .comm = session->comm,
        .options = &c->trainer,
        .batch = (int)cm_session_share(session, c->trainer.batch_size),
        .unroll = c->replay.num_unroll_steps,
        .compute = session->compute,
        .seed = (uint64_t)c->run.seed,
        .total_updates = cm_run_learner_plan(c),
        .priority_epsilon = c->replay.per_epsilon,
        .check_interval = c->run.rank_check_updates,
        .bucket_bytes = (int64_t)c->run.rank_bucket_kib * 1024,
        .bootstrap = batch_config(session).bootstrap,
        .frames = cm_run_learner_frames(c, &session->env.spec),
        .in_flight = batches_at_a_time(session),
    };
}

cm_status cm_run_reanalyser(cm_session *session, cm_agent *agent, cm_pool *pool, const cm_stop *stop,
                            cm_reanalyser **out) {
    const cm_configuration *c = &session->configuration;
    const cm_reanalyser_config config = {
        .agent = agent,
        .ratio = c->agent.reanalyse_ratio,
        .with_noise = c->agent.reanalyse_noise,
        .has_mask = session->env.def->legal != NULL,
        .whole = c->trainer.batch_size,
        .unroll = c->replay.num_unroll_steps,
        .mixed = cm_run_mixed_rule(session),
        .batch = batch_config(session),
        .rows_on_device = (int)cm_session_share(session, c->env.num_envs),
        .threads = cm_pool_size(pool),
        .stop = session->comm->size == 1 ? stop : NULL, /* else other ranks would wait for the batch */
    };
    *out = NULL;
    return searches_batches(c) ? cm_reanalyser_create(&config, out) : CM_OK;
}

static cm_status open_trainer(cm_run_learner *l, cm_session *s, cm_pool *pool) {
    cm_trainer_config config = cm_run_trainer_config(s, pool);
    config.stop = l->stop;
    CM_TRY(cm_memory_advise(cm_trainer_create(&config, &l->trainer), for_training));
    bool chance = l->c->mcts.policy == CM_MCTS_STOCHASTIC_MUZERO, learnt = l->c->network.chance_codes > 0;
    if (chance && !learnt) {
        const size_t batches = (size_t)batches_at_a_time(s);
        CM_TRY(cm_alloc(&l->codes, batches * (size_t)l->rows * (size_t)l->unroll, sizeof(int32_t), "chance codes"));
    }
    const cm_prefetch_config prefetch = {
        .batch = batch_config(s),
        .depth = batches_at_a_time(s) - 1,
        .threads = drawing_threads(s),
        .stage = {cm_run_learner_stage, l},
    };
    return cm_memory_advise(cm_prefetch_create(l->replay, &prefetch, &l->prefetch),
                            "lower batch_size, num_unroll_steps or prefetch_depth");
}

/* An update of vectors in milliseconds. */
static bool is_short(const cm_session *s) {
    const double rows = (double)s->configuration.trainer.batch_size * (s->configuration.replay.num_unroll_steps + 1);
    const double most = 1e8; /* products of a pass forward */
    return s->configuration.network.family != CM_FAMILY_RESNET &&
           rows * (double)cm_network_parameters(s->network)->parameters < most;
}

cm_status cm_run_learner_create(cm_session *session, cm_pool *pool, cm_agent *agent, const cm_stop *stop,
                                cm_run_learner **out) {
    cm_run_learner *l = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&l, 1, sizeof *l, "learning"));
    l->c = &session->configuration;
    l->comm = session->comm;
    l->stop = stop;
    l->ask_every = is_short(session) ? 4 : 1;
    l->rows = (int)cm_session_share(session, l->c->trainer.batch_size);
    l->unroll = l->c->replay.num_unroll_steps;
    l->observation_size = session->env.spec.observation_size;
    l->env = &session->env;
    cm_status status = open_replay(l, session);
    if (status == CM_OK) status = open_trainer(l, session, pool);
    if (status == CM_OK) status = cm_run_learner_open_rolling(l, session, pool, batches_at_a_time(session));
    if (status == CM_OK)
        status = cm_memory_advise(cm_run_reanalyser(session, agent, pool, stop, &l->reanalyser),
                                  "lower reanalyse_ratio, batch_size, num_unroll_steps or num_simulations");
    if (status == CM_OK) {
        *out = l;
    } else {
        cm_run_learner_destroy(l);
    }
    return status;
}

void cm_run_learner_destroy(cm_run_learner *l) {
    if (!l) return;
    cm_prefetch_destroy(l->prefetch);
    cm_reanalyser_destroy(l->reanalyser);
    cm_rolling_destroy(l->rolling);
    cm_agent_destroy(l->copy_agent);
    cm_trainer_destroy(l->trainer);
    cm_replay_destroy(l->replay);
    free(l->codes);
    free(l);
}

cm_replay *cm_run_learner_replay(cm_run_learner *l) { return l->replay; }
cm_trainer *cm_run_learner_trainer(cm_run_learner *l) { return l->trainer; }
cm_rolling *cm_run_learner_rolling(cm_run_learner *l) { return l->rolling; }

/* ---- memory ---- */

size_t cm_run_learner_memory(const cm_run_learner *l, cm_memory_row *rows, int capacity, int *count) {
    cm_replay_counts counts;
    cm_replay_count(l->replay, &counts);
    int n = cm_trainer_memory(l->trainer, rows, capacity);
    if (n < capacity) rows[n++] = (cm_memory_row){"replay", (size_t)counts.bytes};
    if (n < capacity) rows[n++] = (cm_memory_row){"batches", (size_t)cm_prefetch_bytes(l->prefetch)};
    const size_t again = cm_reanalyser_memory(l->reanalyser) + cm_rolling_memory(l->rolling);
    if (again > 0 && n < capacity) rows[n++] = (cm_memory_row){CM_ROW_REANALYSIS, again};
    size_t total = 0;
    for (int i = 0; i < n; i++) total += rows[i].bytes;
    *count = n;
    return total;
}
