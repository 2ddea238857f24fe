/* What to measure, from flags, opened on this machine. */
#include <string.h>

#include "cli/benchmark.h"
#include "core/memory.h"
#include "run/learner.h"

static cm_status integer(const cm_arguments *a, const char *flag, int min, int max, int fallback, int *out) {
    int64_t value = fallback;
    CM_TRY(cm_argument_int(a, flag, min, max, &value));
    *out = (int)value;
    return CM_OK;
}

/* The network of the comparisons is a preset on vectors; a configured one meets what its environment shows. Heads do
 * not start at 0: a search of equal values is no search. */
static cm_status choose_network(const cm_arguments *a, cm_benchmark *b) {
    const char *name = cm_argument(a, "--network");
    cm_env env = {.spec = {.rank = 1, .shape = {4}, .actions = 2}};
    bool consistency = false;
    int hidden;
    b->network_name = name ? name : "plain";
    if (strcmp(b->network_name, "plain") == 0) {
        cm_network_options_apply(&b->configuration.network, CM_PRESET_PLAIN);
    } else if (strcmp(b->network_name, "configured") == 0) {
        CM_TRY(cm_session_env(&b->configuration.env, &env));
        consistency = b->configuration.trainer.consistency_weight > 0.0;
        if (!cm_argument_is_set(a, "--observation")) b->frames = cm_run_learner_frames(&b->configuration, &env.spec);
    } else {
        return cm_fail(CM_ERR_INPUT, "--network %s: must be plain or configured", name);
    }
    if (cm_argument_is_set(a, "--observation")) env.spec.rank = 1;
    CM_TRY(integer(a, "--observation", 1, 1 << 20, env.spec.shape[0], &env.spec.shape[0]));
    CM_TRY(integer(a, "--hidden", 1, 16384, b->configuration.network.hidden_dim, &hidden));
    CM_TRY(integer(a, "--actions", 1, 65536, env.spec.actions, &b->actions));
    b->configuration.network.hidden_dim = hidden;
    b->configuration.network.zero_init_heads = false;
    cm_network_config_from_options(&b->network, &b->configuration.network, env.spec.rank, env.spec.shape, b->actions,
                                   consistency);
    return CM_OK;
}

static cm_status choose_policy(const cm_arguments *a, cm_benchmark *b) {
    const char *policy = cm_argument(a, "--policy");
    if (!policy) return CM_OK;
    const char *const names[] = {"muzero", "gumbel_muzero"};
    for (int i = 0; i < 2; i++) {
        if (strcmp(policy, names[i]) == 0) {
            b->configuration.mcts.policy = i;
            return CM_OK;
        }
    }
    return cm_fail(CM_ERR_INPUT, "--policy %s: must be muzero or gumbel_muzero", policy);
}

/* What the flag names is looked for before anything is timed. */
static cm_status check_environment(const cm_arguments *a, const cm_benchmark *b) {
    const cm_env_params params = cm_session_env_params(&b->configuration.env);
    cm_env env;
    if (!cm_argument_is_set(a, "--env")) return CM_OK;
    cm_status status = cm_env_open(&env, b->configuration.env.env_name, &params);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "--env");
}

/* A part is measured on the CPU unless something else is asked for; ranks where a training of theirs would be. */
static cm_status open_backend(cm_benchmark *b, cm_comm *comm) {
    char no_gpu[CM_SESSION_WHY], backend[CM_OPTION_WORD];
    if (comm) return cm_session_backend(&b->configuration.run, comm, no_gpu, &b->backend);
    cm_config_word(b->config, "backend", backend);
    return cm_backend_open(strcmp(backend, "auto") == 0 ? "cpu" : backend, &b->backend);
}

static cm_status prepare(const cm_arguments *a, cm_comm *comm, cm_benchmark *b) {
    CM_TRY(check_environment(a, b));
    CM_TRY(choose_network(a, b));
    CM_TRY(choose_policy(a, b));
    CM_TRY(integer(a, "--batch", 1, 1 << 20, 256, &b->batch));
    CM_TRY(integer(a, "--simulations", 1, 65536, 50, &b->simulations));
    CM_TRY(integer(a, "--unroll", 0, 64, 5, &b->unroll));
    CM_TRY(cm_argument_seconds(a, "--seconds", &b->seconds));
    if (b->seconds <= 0.0) return cm_fail(CM_ERR_INPUT, "--seconds: must be more than 0");
    b->batch_given = cm_argument_is_set(a, "--batch");
    CM_TRY(cm_session_pool(b->configuration.run.threads, &b->pool));
    CM_TRY(open_backend(b, comm));
    return cm_session_dtype(&b->configuration.run, b->backend, &b->compute);
}

cm_status cm_benchmark_open(const cm_arguments *arguments, cm_comm *comm, cm_benchmark *out) {
    *out = (cm_benchmark){.seconds = 1.0};
    CM_TRY(cm_cli_configuration(arguments, &out->configuration, &out->config));
    cm_memory_limit((uint64_t)out->configuration.run.memory_limit);
    return prepare(arguments, comm, out);
}

void cm_benchmark_close(cm_benchmark *bench) {
    cm_backend_close(bench->backend);
    cm_pool_destroy(bench->pool);
    cm_config_destroy(bench->config);
}
