/* Greedy evaluation of a run's checkpoint. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/evaluate.h"
#include "cli/output.h"
#include "core/arena.h"
#include "run/weights.h"

static void write_result(const cm_evaluation *e, const double *returns, const cm_run_facts *facts, int64_t seed,
                         cm_json_writer *json) {
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "episodes", e->episodes);
    cm_json_put_double(json, "mean", e->mean);
    cm_json_put_double(json, "std", e->std);
    cm_json_put_double(json, "min", e->min);
    cm_json_put_double(json, "max", e->max);
    cm_json_begin_array(json, "ci95");
    cm_json_put_double(json, NULL, e->low);
    cm_json_put_double(json, NULL, e->high);
    cm_json_end_array(json);
    cm_json_put_double(json, "mean_length", e->mean_length);
    cm_json_put_int(json, "wins", e->wins);
    cm_json_put_int(json, "draws", e->draws);
    cm_json_put_int(json, "losses", e->losses);
    cm_json_put_int(json, "seed", seed);
    cm_json_put_int(json, "updates", facts->updates);
    cm_json_put_int(json, "env_steps", facts->env_steps);
    cm_json_begin_array(json, "returns");
    for (int i = 0; i < e->episodes; i++) cm_json_put_double(json, NULL, returns[i]);
    cm_json_end_array(json);
    cm_json_end_object(json);
}

static cm_status print_json(const cm_evaluation *e, const double *returns, const cm_run_facts *facts, int64_t seed) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    write_result(e, returns, facts, seed, json);
    cm_status status = cm_cli_print(json);
    cm_json_writer_destroy(json);
    return status;
}

static void print_text(const cm_evaluation *e, const cm_run_facts *facts, int players) {
    printf("%d greedy episodes after %lld updates, %lld env steps\n", e->episodes, (long long)facts->updates,
           (long long)facts->env_steps);
    printf("mean return %.2f, std %.2f, 95 %% interval [%.2f, %.2f], min %g, max %g\n", e->mean, e->std, e->low,
           e->high, e->min, e->max);
    if (players == 2) printf("against a random player: %d won, %d drawn, %d lost\n", e->wins, e->draws, e->losses);
}

static cm_status evaluate(cm_arguments *arguments, cm_session *session, const char *run, int episodes, int64_t seed) {
    cm_agent *agent = NULL;
    cm_evaluator *evaluator = NULL;
    double *returns = NULL;
    cm_evaluation result;
    cm_run_facts facts = {0};
    int64_t checkpoint = 0;
    CM_TRY(cm_cli_checkpoint(arguments, &checkpoint));
    CM_TRY(cm_session_agent(session, &agent));
    cm_status status = cm_run_load_agent(run, checkpoint, session, agent, &facts);
    if (status == CM_OK) status = cm_alloc(&returns, (size_t)episodes, sizeof *returns, "returns");
    if (status == CM_OK) status = cm_evaluator_create(agent, &session->env, session->pool, episodes, &evaluator);
    if (status == CM_OK) status = cm_evaluator_run(evaluator, episodes, (uint64_t)seed, returns, &result);
    if (status == CM_OK && cm_argument_given(arguments, "--json")) {
        status = print_json(&result, returns, &facts, seed);
    } else if (status == CM_OK) {
        print_text(&result, &facts, session->env.spec.players);
    }
    cm_evaluator_destroy(evaluator);
    cm_agent_destroy(agent);
    free(returns);
    return status;
}

static cm_status run_eval(cm_arguments *arguments) {
    const char *run = NULL;
    int64_t episodes = 100, seed = 0;
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_session *session = NULL;
    CM_TRY(cm_cli_need_run(arguments, &run));
    CM_TRY(cm_argument_int(arguments, "--episodes", 1, 1000000, &episodes));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &seed));
    CM_TRY(cm_cli_run_configuration(arguments, run, &configuration, &config));
    cm_status status = cm_session_open(&configuration, &session);
    if (status == CM_OK) status = evaluate(arguments, session, run, (int)episodes, seed);
    cm_session_close(session);
    cm_config_destroy(config);
    return status;
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    CM_FLAG_CHECKPOINT,
    {"--episodes", "N", "Episodes; 100."},
    {"--seed", "S", "Episode i resets with seed S + i; 0."},
    {"--set", "KEY=VALUE", "Set one key on top of the run's configuration; may be repeated."},
    CM_FLAGS_MACHINE,
    CM_FLAG_JSON,
    CM_FLAGS_END,
};

const cm_command cm_command_eval = {
    .name = "eval",
    .about = "evaluate a run greedily",
    .positional = "",
    .details =
        "Plays episodes without noise and prints mean, sample standard deviation and the 95 % interval of the mean "
        "return. In a game of two players the agent meets one that moves at random, going first in every other "
        "episode.",
    .flags = flags,
    .examples = "  cumind eval --run checkpoints/CartPole-v1/20251121-073900 --episodes 100 --seed 7 --json\n",
    .run = run_eval,
};
