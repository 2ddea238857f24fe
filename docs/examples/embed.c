/* Plays one episode with a trained agent, from a program of your own:
 *
 *     cc embed.c $(pkg-config --cflags --libs cumind) -o embed
 *     ./embed RUN [SEED]
 *
 * RUN is the directory of a run of `cumind train`. Every function that can fail returns a cm_status; the reason is then
 * in cm_error_message(). */
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "env/env.h"
#include "run/checkpoint.h"
#include "run/session.h"
#include "run/weights.h"

/* The agent decides, the environment answers, until the episode ends; its return in *total. */
static cm_status play(cm_agent *agent, const cm_env *env, uint64_t seed, double *total, int *steps) {
    void *state = calloc(1, env->spec.state_size);
    float *observation = calloc((size_t)env->spec.observation_size, sizeof *observation);
    cm_status status = state && observation ? CM_OK : cm_fail(CM_ERR_MEMORY, "one state does not fit into memory");
    *total = 0.0;
    *steps = 0;
    if (status == CM_OK) cm_env_reset(env, state, seed);
    while (status == CM_OK && !cm_env_ended(state)) {
        int32_t action;
        cm_env_outcome outcome;
        cm_env_observe(env, state, observation);
        status = cm_agent_select_action(agent, observation, false, &action, NULL);
        if (status == CM_OK) status = cm_env_step(env, state, action, &outcome);
        if (status == CM_OK) *total += outcome.reward, ++*steps;
    }
    free(observation);
    free(state);
    return status;
}

/* Opens what the run was trained with, and gives the agent its newest weights. */
static cm_status play_run(const char *run, uint64_t seed) {
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_session *session = NULL;
    cm_agent *agent = NULL;
    cm_run_facts facts;
    double total;
    int steps;
    cm_status status = cm_run_configuration(run, NULL, 0, &configuration, &config);
    if (status == CM_OK) status = cm_session_open(&configuration, NULL, &session);
    if (status == CM_OK) status = cm_session_agent(session, &agent);
    if (status == CM_OK) status = cm_run_load_agent(run, CM_CHECKPOINT_LATEST, session, agent, &facts);
    if (status == CM_OK) status = play(agent, &session->env, seed, &total, &steps);
    if (status == CM_OK)
        printf("%s, seed %llu: return %g in %d steps, after %lld updates\n", session->env.spec.name,
               (unsigned long long)seed, total, steps, (long long)facts.updates);
    cm_agent_destroy(agent);
    cm_session_close(session);
    cm_config_destroy(config);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: embed RUN [SEED]\n");
        return 2;
    }
    if (play_run(argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : 1) != CM_OK) {
        fprintf(stderr, "embed: %s\n", cm_error_message());
        return 1;
    }
    return 0;
}
