/* A session whose agent plays environments into a replay, for tests. */
#ifndef TESTS_AGENT_SCENE_H
#define TESTS_AGENT_SCENE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acting.h"
#include "run/session.h"

enum { SCENE_SETTINGS = 24 };

typedef struct scene {
    cm_configuration configuration;
    cm_config *config;
    cm_session *session;
    cm_agent *agent;
    cm_replay *replay; /* NULL, like the actor, until scene_plays */
    cm_actor *actor;
    /* of the replay, where scene_plays is to have them */
    int symmetries;
    const int32_t *symmetry_elements, *symmetry_actions;
} scene;

/* Random weights for an agent of the session. */
static inline void scene_weights(const cm_session *session, cm_agent *agent, uint64_t seed) {
    const cm_param_table *table = cm_network_parameters(session->network);
    float *weights = calloc(table->parameters + table->states + 1, sizeof *weights);
    cm_network_initialise(session->network, seed, weights, weights + table->parameters);
    ck_assert_int_eq(cm_agent_set_weights(agent, weights, weights + table->parameters), CM_OK);
    free(weights);
}

/* Opens a session of a small network; `settings` by blanks. */
static inline void scene_open(scene *s, const char *settings) {
    const char *list[SCENE_SETTINGS] = {"hidden_dim=16", "head_hidden=16"};
    char text[512];
    int count = 2;
    memset(s, 0, sizeof *s);
    ck_assert_uint_lt(strlen(settings), sizeof text);
    memcpy(text, settings, strlen(settings) + 1);
    for (char *rest = text, *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        list[count++] = word;
    ck_assert_msg(cm_configuration_load(NULL, list, count, &s->configuration, &s->config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_msg(cm_session_open(&s->configuration, NULL, &s->session) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_session_agent(s->session, &s->agent), CM_OK);
    scene_weights(s->session, s->agent, 5);
}

/* Opens replay and actor: how many environments, steps and what else is given; targets and limits for what is to be
 * drawn. */
static inline void scene_plays(scene *s, cm_actor_config actor, cm_target_rule targets) {
    const cm_env_spec *spec = &s->session->env.spec;
    const cm_replay_config replay = {.observation_size = spec->observation_size,
                                     .actions = spec->actions,
                                     .form = cm_network_policy(s->session->network),
                                     .environments = actor.environments,
                                     .bytes = (uint64_t)1 << 40,
                                     .max_steps = 10000,
                                     .segment_steps = 500,
                                     .commit_steps = actor.steps,
                                     .sample_open = true,
                                     .targets = targets,
                                     .symmetries = s->symmetries,
                                     .symmetry_elements = s->symmetry_elements,
                                     .symmetry_actions = s->symmetry_actions};
    ck_assert_msg(cm_replay_create(&replay, &s->replay) == CM_OK, "%s", cm_error_message());
    actor.agent = s->agent, actor.env = &s->session->env, actor.replay = s->replay, actor.pool = s->session->pool;
    actor.reuse_tree = cm_mcts_keeps_trees(&s->configuration.mcts), actor.seed = 9;
    ck_assert_msg(cm_actor_create(&actor, &s->actor) == CM_OK, "%s", cm_error_message());
}

/* An iteration, a tenth of whose moves are random. */
static inline void scene_act(scene *s) {
    ck_assert_msg(cm_actor_run(s->actor, 1.0, 0.1) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_replay_commit(s->replay), CM_OK);
}

static inline void scene_close(scene *s) {
    cm_actor_destroy(s->actor);
    cm_replay_destroy(s->replay);
    cm_agent_destroy(s->agent);
    cm_session_close(s->session);
    cm_config_destroy(s->config);
}

#endif
