/* What the original CuMind's tests assert of its agent, its search and its self-play, restated for this library. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acting.h"
#include "arena/evaluate.h"
#include "support/main.h"
#include "support/network.h"

static const cm_support scalar = {0, 0, 1, false};

/* An agent on the family cumind, with weights. */
typedef struct fixture {
    cm_test_network base;
    cm_pool *pool;
    cm_agent *agent;
    int observation_size;
} fixture;

static cm_network_config config_of(int rank, const int *shape, int actions, int hidden) {
    cm_network_config c = {.family = CM_FAMILY_CUMIND,
                           .observation_ndim = rank,
                           .actions = actions,
                           .hidden = hidden,
                           .blocks = 2,
                           .channels = 8,
                           .norm = CM_NORM_NONE,
                           .value_support = scalar,
                           .reward_support = scalar,
                           .init = CM_INIT_LECUN_NORMAL};
    for (int i = 0; i < rank; i++) c.observation[i] = shape[i];
    return c;
}

static void open_fixture(fixture *f, const cm_network_config *c, int simulations) {
    cm_test_network_open(&f->base, c, "cpu", 42);
    f->observation_size = cm_network_observation_size(f->base.network);
    ck_assert(cm_pool_create(1, &f->pool) == CM_OK);
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.num_simulations = simulations;
    cm_agent_config config = {.network = f->base.network,
                              .backend = f->base.backend,
                              .pool = f->pool,
                              .acting = params,
                              .evaluation = params,
                              .discount = 0.997f,
                              .seed = 42};
    config.evaluation.dirichlet_fraction = 0.0f, config.evaluation.temperature = 0.0f;
    ck_assert_msg(cm_agent_create(&config, &f->agent) == CM_OK, "%s", cm_error_message());
    ck_assert(cm_agent_set_weights(f->agent, f->base.parameters, f->base.state) == CM_OK);
}

static void close_fixture(fixture *f) {
    cm_agent_destroy(f->agent);
    cm_test_network_close(&f->base);
    cm_pool_destroy(f->pool);
}

/* select_action on an observation of ones; checks the policy and the action's range. */
static int32_t select_on_ones(fixture *f, int actions, bool training) {
    float *ones = calloc((size_t)f->observation_size, sizeof *ones), *policy = calloc((size_t)actions, sizeof *policy);
    int32_t action = -1;
    double sum = 0.0;
    for (int i = 0; i < f->observation_size; i++) ones[i] = 1.0f;
    ck_assert_msg(cm_agent_select_action(f->agent, ones, training, &action, policy) == CM_OK, "%s", cm_error_message());
    for (int a = 0; a < actions; a++) {
        ck_assert_float_ge(policy[a], 0.0f);
        sum += (double)policy[a];
    }
    ck_assert_double_eq_tol(sum, 1.0, 1e-5);
    ck_assert(action >= 0 && action < actions);
    free(ones);
    free(policy);
    return action;
}

START_TEST(select_action_gives_an_action_and_a_policy_that_sums_to_1) {
    int four[1] = {4};
    cm_network_config c = config_of(1, four, 2, 128);
    fixture f;
    open_fixture(&f, &c, 5);
    select_on_ones(&f, 2, true);
    select_on_ones(&f, 2, false);
    ck_assert_ptr_eq(cm_agent_get_config(f.agent)->network, f.base.network);
    close_fixture(&f);
}
END_TEST

START_TEST(evaluation_gives_the_same_action_twice) {
    int four[1] = {4};
    cm_network_config c = config_of(1, four, 2, 128);
    fixture f;
    open_fixture(&f, &c, 5);
    ck_assert_int_eq(select_on_ones(&f, 2, false), select_on_ones(&f, 2, false));
    close_fixture(&f);
}
END_TEST

START_TEST(weights_of_one_agent_make_another_play_the_same) {
    int four[1] = {4};
    cm_network_config c = config_of(1, four, 2, 32);
    fixture one, two;
    open_fixture(&one, &c, 16);
    open_fixture(&two, &c, 16);
    cm_network_initialise(two.base.network, 7, two.base.parameters, two.base.state);
    ck_assert(cm_agent_set_weights(two.agent, two.base.parameters, two.base.state) == CM_OK);
    ck_assert(cm_agent_set_weights(two.agent, one.base.parameters, one.base.state) == CM_OK);
    float ones[4] = {1, 1, 1, 1}, a[2], b[2];
    int32_t x, y;
    ck_assert(cm_agent_select_action(one.agent, ones, false, &x, a) == CM_OK);
    ck_assert(cm_agent_select_action(two.agent, ones, false, &y, b) == CM_OK);
    ck_assert_int_eq(x, y);
    ck_assert_mem_eq(a, b, sizeof a);
    close_fixture(&one);
    close_fixture(&two);
}
END_TEST

START_TEST(observations_of_8_and_of_84x84x4_are_played) {
    int eight[1] = {8}, image[3] = {84, 84, 4};
    cm_network_config vector = config_of(1, eight, 2, 64), planes = config_of(3, image, 4, 64);
    fixture f;
    open_fixture(&f, &vector, 5);
    select_on_ones(&f, 2, true);
    close_fixture(&f);
    open_fixture(&f, &planes, 5);
    select_on_ones(&f, 4, true);
    close_fixture(&f);
}
END_TEST

START_TEST(a_search_of_100_simulations_gives_a_distribution_over_the_actions) {
    static const int actions[] = {1, 2, 3};
    int eight[1] = {8};
    for (int i = 0; i < 3; i++) {
        cm_network_config c = config_of(1, eight, actions[i], 16);
        fixture f;
        open_fixture(&f, &c, 100);
        select_on_ones(&f, actions[i], false);
        float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, policy[3];
        int32_t action;
        ck_assert(cm_agent_select_action(f.agent, ones, false, &action, policy) == CM_OK);
        if (actions[i] == 1) ck_assert_float_eq(policy[0], 1.0f);
        close_fixture(&f);
    }
}
END_TEST

/* ---- self-play ---- */

typedef struct play {
    fixture f;
    cm_env env;
    cm_replay *replay;
    cm_actor *actor;
} play;

static void open_play(play *p) {
    int four[1] = {4};
    cm_network_config c = config_of(1, four, 2, 32);
    open_fixture(&p->f, &c, 3);
    ck_assert(cm_env_open(&p->env, "CartPole-v1", NULL) == CM_OK);
    cm_replay_config r = {.observation_size = 4,
                          .actions = 2,
                          .environments = 2,
                          .bytes = 32 << 20,
                          .max_episodes = 100,
                          .segment_steps = 500,
                          .commit_steps = 64,
                          .targets = {.td_steps = 5, .discount = 0.997, .unroll = 3}};
    ck_assert_msg(cm_replay_create(&r, &p->replay) == CM_OK, "%s", cm_error_message());
    cm_actor_config a = {.agent = p->f.agent,
                         .env = &p->env,
                         .replay = p->replay,
                         .pool = p->f.pool,
                         .environments = 2,
                         .steps = 64,
                         .seed = 42};
    ck_assert_msg(cm_actor_create(&a, &p->actor) == CM_OK, "%s", cm_error_message());
}

static void close_play(play *p) {
    cm_actor_destroy(p->actor);
    cm_replay_destroy(p->replay);
    close_fixture(&p->f);
}

START_TEST(self_play_on_cartpole_fills_the_replay_with_whole_episodes) {
    play p;
    cm_actor_counts acted;
    cm_replay_counts kept;
    open_play(&p);
    cm_replay_count(p.replay, &kept);
    ck_assert_int_eq(kept.episodes, 0);
    for (int i = 0; i < 8; i++) {
        ck_assert_msg(cm_actor_run(p.actor, 1.0, 0.0) == CM_OK, "%s", cm_error_message());
        ck_assert(cm_replay_commit(p.replay) == CM_OK);
    }
    cm_actor_count(p.actor, &acted);
    cm_replay_count(p.replay, &kept);
    ck_assert_int_eq(acted.env_steps, 8 * 2 * 64);
    ck_assert_int_eq(acted.simulations, acted.env_steps * 3);
    ck_assert_int_gt(acted.episodes, 3);
    ck_assert_int_eq(kept.episodes, acted.episodes);
    ck_assert_double_gt(acted.mean_return, 5.0); /* CartPole falls after 8 steps at the earliest, mostly */
    close_play(&p);
}
END_TEST

START_TEST(self_play_with_one_and_three_workers_is_the_same) {
    cm_actor_counts counts[2];
    for (int i = 0; i < 2; i++) {
        play p;
        open_play(&p);
        cm_pool *pool;
        ck_assert(cm_pool_create(i ? 3 : 1, &pool) == CM_OK);
        cm_actor_config a = {.agent = p.f.agent,
                             .env = &p.env,
                             .replay = p.replay,
                             .pool = pool,
                             .environments = 2,
                             .steps = 64,
                             .seed = 9};
        cm_actor *actor;
        ck_assert(cm_actor_create(&a, &actor) == CM_OK);
        for (int j = 0; j < 3; j++) {
            ck_assert(cm_actor_run(actor, 1.0, 0.0) == CM_OK);
            ck_assert(cm_replay_commit(p.replay) == CM_OK);
        }
        cm_actor_count(actor, &counts[i]);
        cm_actor_destroy(actor);
        close_play(&p);
        cm_pool_destroy(pool);
    }
    ck_assert_int_eq(counts[0].episodes, counts[1].episodes);
    ck_assert_double_eq(counts[0].mean_return, counts[1].mean_return);
}
END_TEST

START_TEST(evaluation_reports_mean_deviation_and_interval) {
    play p;
    cm_evaluator *evaluator;
    cm_evaluation e;
    double returns[10], again[10];
    open_play(&p);
    const cm_evaluator_config config = {.agent = p.f.agent, .env = &p.env, .pool = p.f.pool, .episodes = 10};
    ck_assert_msg(cm_evaluator_create(&config, &evaluator) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_evaluator_run(evaluator, 10, 7, returns, &e) == CM_OK, "%s", cm_error_message());
    ck_assert(cm_evaluator_run(evaluator, 10, 7, again, &e) == CM_OK);
    ck_assert_mem_eq(returns, again, sizeof returns);
    double sum = 0.0;
    for (int i = 0; i < 10; i++) sum += returns[i];
    ck_assert_double_eq_tol(e.mean, sum / 10.0, 1e-9);
    ck_assert(e.min <= e.mean && e.mean <= e.max && e.low <= e.mean && e.mean <= e.high);
    cm_evaluator_destroy(evaluator);
    close_play(&p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent of the original");
    TCase *tc = tcase_create("agent");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, select_action_gives_an_action_and_a_policy_that_sums_to_1);
    tcase_add_test(tc, evaluation_gives_the_same_action_twice);
    tcase_add_test(tc, weights_of_one_agent_make_another_play_the_same);
    tcase_add_test(tc, observations_of_8_and_of_84x84x4_are_played);
    tcase_add_test(tc, a_search_of_100_simulations_gives_a_distribution_over_the_actions);
    tcase_add_test(tc, self_play_on_cartpole_fills_the_replay_with_whole_episodes);
    tcase_add_test(tc, self_play_with_one_and_three_workers_is_the_same);
    tcase_add_test(tc, evaluation_reports_mean_deviation_and_interval);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
