/* Searches over drawn actions, as agents see them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/planner.h"
#include "arena/analyse.h"
#include "core/rng.h"
#include "network/inference.h"
#include "network/sampled.h"
#include "replay/batch.h"
#include "scene.h"
#include "support/main.h"
#include "support/network.h"

enum { O = 6, A = 16, K = 5, ROWS = 7, SIMULATIONS = 24 };

/* What a search gives of all its rows. */
typedef struct answer {
    int32_t visits[ROWS * A], action[ROWS];
    float weights[ROWS * A], probs[ROWS * A], q[ROWS * A], prior[ROWS * A], value[ROWS], raw[ROWS];
} answer;

static cm_test_network base;

static void open_network(bool zero) {
    cm_network_config network = cm_test_mlp(O, A, 16, 16, (cm_support){-2, 2, 9, true});
    network.zero_init = zero;
    cm_test_network_open(&base, &network, "ref", 5);
}

static void close_network(void) { cm_test_network_close(&base); }

static cm_planner *open_planner(cm_policy policy, int rows, int draws) {
    cm_planner *planner;
    cm_search_params params = cm_search_params_default(policy);
    params.num_simulations = SIMULATIONS;
    const cm_planner_config config = {.network = base.network,
                                      .backend = base.backend,
                                      .parameters = base.parameters,
                                      .state = base.state,
                                      .compute = CM_F32,
                                      .search = params,
                                      .discount = 0.9f,
                                      .draws = draws,
                                      .rows = rows};
    ck_assert_msg(cm_planner_create(&config, &planner) == CM_OK, "%s", cm_error_message());
    return planner;
}

/* Rows first .. first + count - 1 of ROWS positions. */
static void search(cm_planner *planner, const cm_roots *roots, int first, answer *out) {
    for (int b = 0; b < roots->count; b++) {
        cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, (uint64_t)(first + b)), 0);
        for (int i = 0; i < O; i++) cm_planner_observations(planner)[b * O + i] = cm_rng_normal(&rng);
    }
    const cm_search_result result = {out->visits, out->weights, out->probs, out->value, out->raw, out->q, out->action};
    ck_assert_msg(cm_planner_run(planner, roots, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_planner_priors(planner, roots->count, out->prior), CM_OK);
}

static void make_keys(cm_key *keys) {
    for (int b = 0; b < ROWS; b++) keys[b] = cm_key_make(3, CM_RNG_NOISE, (uint64_t)b);
}

/* Heads that start at 0 find all actions equal, and as many draws then are every action once: a search of all. */
START_TEST(where_all_are_drawn_the_search_is_that_of_all) {
    static answer drawn, all;
    open_network(true);
    cm_planner *of_drawn = open_planner(_i ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO, ROWS, A);
    cm_planner *of_all = open_planner(_i ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO, ROWS, 0);
    cm_key keys[ROWS];
    make_keys(keys);
    const cm_roots roots = {.count = ROWS, .keys = keys};
    search(of_drawn, &roots, 0, &drawn);
    search(of_all, &roots, 0, &all);
    ck_assert_mem_eq(drawn.visits, all.visits, sizeof all.visits);
    ck_assert_mem_eq(drawn.action, all.action, sizeof all.action);
    for (int i = 0; i < ROWS * A; i++) {
        ck_assert_float_eq_tol(drawn.weights[i], all.weights[i], 1e-5f);
        ck_assert_float_eq_tol(drawn.prior[i], all.prior[i], 1e-5f);
    }
    cm_planner_destroy(of_drawn);
    cm_planner_destroy(of_all);
    close_network();
}
END_TEST

/* Of either policy, with noise at the root and without. */
START_TEST(only_what_may_be_played_is_drawn) {
    const bool without_noise = _i / 2;
    static answer a;
    uint8_t legal[ROWS * A];
    cm_key keys[ROWS];
    open_network(false);
    cm_planner *planner = open_planner(_i % 2 ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO, ROWS, K);
    make_keys(keys);
    for (int i = 0; i < ROWS * A; i++) legal[i] = i % A % (1 + i / A) == i / A % 2; /* never all; two at least */
    const cm_roots roots = {.count = ROWS, .keys = keys, .legal = legal, .without_noise = without_noise};
    search(planner, &roots, 0, &a);
    for (int b = 0; b < ROWS; b++) {
        int visits = 0, drawn = 0;
        float weights = 0.0f, prior = 0.0f, probs = 0.0f;
        for (int i = b * A; i < (b + 1) * A; i++) {
            visits += a.visits[i], weights += a.weights[i], prior += a.prior[i], probs += a.probs[i];
            drawn += a.prior[i] > 0.0f;
            ck_assert(legal[i] || (a.visits[i] == 0 && a.weights[i] == 0.0f && a.prior[i] == 0.0f));
            ck_assert(a.visits[i] == 0 || a.prior[i] > 0.0f);
            if (without_noise)
                ck_assert_float_eq_tol(a.prior[i] * K, roundf(a.prior[i] * K), 1e-4f); /* shares of the draws */
        }
        ck_assert_int_eq(visits, SIMULATIONS);
        ck_assert(drawn >= 1 && drawn <= K);
        ck_assert_float_eq_tol(weights, 1.0f, 1e-5f);
        ck_assert_float_eq_tol(probs, 1.0f, 1e-5f);
        ck_assert_float_eq_tol(prior, 1.0f, 1e-5f);
        ck_assert(a.action[b] >= 0 && a.action[b] < A && legal[b * A + a.action[b]]);
        ck_assert_int_gt(a.visits[b * A + a.action[b]], 0);
    }
    cm_planner_destroy(planner);
    close_network();
}
END_TEST

/* A row by itself is drawn and searched as it is among others. */
START_TEST(a_row_depends_on_its_own_inputs_alone) {
    static answer together, alone;
    cm_key keys[ROWS];
    uint64_t steps[ROWS];
    open_network(false);
    make_keys(keys);
    for (int b = 0; b < ROWS; b++) steps[b] = 10 + (uint64_t)b;
    cm_planner *planner = open_planner(CM_POLICY_MUZERO, ROWS, K), *single = open_planner(CM_POLICY_MUZERO, 1, K);
    search(planner, &(cm_roots){.count = ROWS, .keys = keys, .steps = steps}, 0, &together);
    for (int b = 0; b < ROWS; b++) {
        search(single, &(cm_roots){.count = 1, .keys = keys + b, .steps = steps + b}, b, &alone);
        ck_assert_mem_eq(alone.visits, together.visits + b * A, A * sizeof(int32_t));
        ck_assert_mem_eq(alone.q, together.q + b * A, A * sizeof(float));
        ck_assert_int_eq(alone.action[0], together.action[b]);
        ck_assert(alone.value[0] == together.value[b] && alone.raw[0] == together.raw[b]);
    }
    cm_planner_destroy(planner);
    cm_planner_destroy(single);
    close_network();
}
END_TEST

/* Other steps and other keys draw other actions; without keys a position always has the same. */
START_TEST(draws_follow_from_key_and_step) {
    static answer first, again, later, greedy, silent;
    cm_key keys[ROWS];
    uint64_t steps[ROWS] = {0};
    open_network(false);
    make_keys(keys);
    cm_planner *planner = open_planner(CM_POLICY_MUZERO, ROWS, K);
    search(planner, &(cm_roots){.count = ROWS, .keys = keys, .steps = steps}, 0, &first);
    search(planner, &(cm_roots){.count = ROWS, .without_noise = true}, 0, &greedy);
    search(planner, &(cm_roots){.count = ROWS, .keys = keys, .steps = steps}, 0, &again);
    for (int b = 0; b < ROWS; b++) steps[b] = 1;
    search(planner, &(cm_roots){.count = ROWS, .keys = keys, .steps = steps}, 0, &later);
    search(planner, &(cm_roots){.count = ROWS, .without_noise = true}, 0, &silent);
    ck_assert_mem_eq(&first, &again, sizeof first);
    ck_assert_mem_eq(&greedy, &silent, sizeof greedy);
    ck_assert(memcmp(first.prior, later.prior, sizeof first.prior) != 0);
    ck_assert(memcmp(first.prior, greedy.prior, sizeof first.prior) != 0);
    cm_planner_destroy(planner);
    close_network();
}
END_TEST

/* Of a flat policy one seed for all would draw the same K actions everywhere. */
START_TEST(without_keys_each_position_has_draws_of_its_own) {
    static answer together, alone;
    int drawn = 0;
    open_network(true);
    cm_planner *planner = open_planner(CM_POLICY_MUZERO, ROWS, K), *single = open_planner(CM_POLICY_MUZERO, 1, K);
    search(planner, &(cm_roots){.count = ROWS, .without_noise = true}, 0, &together);
    for (int b = 0; b < ROWS; b++) {
        search(single, &(cm_roots){.count = 1, .without_noise = true}, b, &alone);
        ck_assert_mem_eq(alone.prior, together.prior + b * A, A * sizeof(float));
        ck_assert_mem_eq(alone.visits, together.visits + b * A, A * sizeof(int32_t));
    }
    for (int a = 0; a < A; a++) {
        bool anywhere = false;
        for (int b = 0; b < ROWS; b++) anywhere |= together.prior[b * A + a] > 0.0f;
        drawn += anywhere;
    }
    ck_assert_int_ge(drawn, 2 * K);
    cm_planner_destroy(planner);
    cm_planner_destroy(single);
    close_network();
}
END_TEST

START_TEST(given_noise_and_kept_trees_are_refused) {
    static const float noise[ROWS * A] = {0};
    const cm_search_result nothing = {0};
    open_network(false);
    cm_planner *planner = open_planner(CM_POLICY_MUZERO, ROWS, K);
    ck_assert_int_eq(cm_planner_run(planner, &(cm_roots){.count = ROWS, .noise = noise}, &nothing), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "take no given noise"));
    ck_assert_int_eq(cm_planner_run(planner, &(cm_roots){.count = ROWS + 1, .without_noise = true}, &nothing),
                     CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "made for 1 to 7 roots, got 8"));
    cm_planner_destroy(planner);
    close_network();
}
END_TEST

START_TEST(exact_rules_and_chance_draw_nothing) {
    cm_env env;
    cm_planner *planner;
    cm_network_config chance = cm_test_mlp(O, A, 16, 16, (cm_support){-2, 2, 9, true});
    open_network(false);
    cm_planner_config config = {.network = base.network,
                                .backend = base.backend,
                                .parameters = base.parameters,
                                .state = base.state,
                                .search = cm_search_params_default(CM_POLICY_MUZERO),
                                .draws = K,
                                .rows = ROWS};
    ck_assert_int_eq(cm_env_open(&env, "tictactoe", NULL), CM_OK);
    config.rules = &env;
    ck_assert_int_eq(cm_planner_create(&config, &planner), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "rules of tictactoe choose among all legal actions"));
    close_network();
    chance.model = CM_NETWORK_CHANCE, chance.codes = 3;
    cm_test_network_open(&base, &chance, "ref", 5);
    config.network = base.network, config.backend = base.backend, config.rules = NULL;
    config.parameters = base.parameters, config.state = base.state;
    ck_assert_int_eq(cm_planner_create(&config, &planner), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "chance has no inference with drawn actions"));
    close_network();
}
END_TEST

/* Below the root, too: the state after choice number k is that after the action which was drawn as number k. */
START_TEST(a_choice_leads_where_its_action_leads) {
    cm_inference *drawn, *all;
    cm_stream *stream;
    open_network(false);
    ck_assert_int_eq(cm_stream_open(base.backend, &stream), CM_OK);
    cm_network_use use = cm_test_network_use(&base, stream, ROWS);
    ck_assert_int_eq(cm_inference_create(&use, 3 * ROWS, &all), CM_OK);
    use.draws = K;
    ck_assert_int_eq(cm_inference_create(&use, 3 * ROWS, &drawn), CM_OK);
    const cm_inference_arrays *x = cm_inference_get(drawn), *y = cm_inference_get(all);
    ck_assert(y->root_drawn == NULL && y->root_legal == NULL && y->root_seed == NULL);
    cm_rng rng = cm_rng_init(cm_key_make(2, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < ROWS * O; i++) x->observation[i] = y->observation[i] = cm_rng_normal(&rng);
    for (int i = 0; i < ROWS * A; i++) x->root_legal[i] = 1.0f;
    for (int b = 0; b < ROWS; b++) {
        const cm_key key = cm_key_make(2, CM_RNG_TEST, 1 + (uint64_t)b);
        cm_sampled_seed(cm_key_fold_in(key, 9), x->root_seed + 2 * b);
        x->root_slots[b] = y->root_slots[b] = x->parent_slots[b] = y->parent_slots[b] = b;
        x->child_slots[b] = y->child_slots[b] = ROWS + b;
    }
    ck_assert_int_eq(cm_inference_root(drawn), CM_OK);
    ck_assert_int_eq(cm_inference_root(all), CM_OK);
    for (int b = 0; b < ROWS; b++) {
        int there = 0;
        while (there + 1 < K && x->root_policy[b * K + there + 1] > -FLT_MAX) there++;
        x->actions[b] = (int32_t)cm_rng_below(&rng, (uint32_t)there + 1);
        y->actions[b] = (int32_t)x->root_drawn[b * (K + 2) + x->actions[b]];
    }
    ck_assert_int_eq(cm_inference_recurrent(drawn), CM_OK);
    ck_assert_int_eq(cm_inference_recurrent(all), CM_OK);
    ck_assert_mem_eq(x->root_value, y->root_value, ROWS * sizeof(float));
    ck_assert_mem_eq(x->value, y->value, ROWS * sizeof(float));
    ck_assert_mem_eq(x->reward, y->reward, ROWS * sizeof(float));
    cm_inference_destroy(drawn);
    cm_inference_destroy(all);
    cm_stream_close(stream);
    close_network();
}
END_TEST

START_TEST(what_is_played_and_learnt_are_all_actions) {
    scene s;
    const cm_actor_config actor = {.environments = 6, .steps = 12, .random_move_steps = 1};
    const cm_target_rule targets = {.unroll = 1, .td_steps = 1, .discount = 1.0};
    const cm_batch_config config = {.rows = 32, .seed = 7};
    cm_batch *batch;
    scene_open(&s, "env_name=tictactoe num_sampled_actions=4 zero_init_heads=false");
    scene_plays(&s, actor, targets);
    scene_act(&s);
    ck_assert_int_eq(cm_batch_create(s.replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(s.replay, 0, 0.0, batch), CM_OK);
    for (int i = 0; i < 32 * 2; i++) {
        const float *policy = batch->target_policy + i * 9;
        int played = 0;
        for (int a = 0; a < 9; a++) {
            ck_assert(policy[a] == 0.0f || batch->legal[i * 9 + a]);
            played += policy[a] > 0.0f;
        }
        ck_assert_int_le(played, 4);
        ck_assert(played > 0 || batch->policy_mask[i] == 0.0f);
    }
    cm_batch_destroy(batch);
    scene_close(&s);
}
END_TEST

/* The draws of a node are actions, but what is learnt are marginals. With the network's actions 4 x 4, listed as well.
 */
START_TEST(policies_per_number_are_marginals_of_the_visits) {
    enum { N = 4 };
    static answer a;
    cm_key keys[ROWS];
    cm_network_config network = cm_test_mlp(O, A, 16, 16, (cm_support){-2, 2, 9, true});
    network.form = cm_policy_form_of(network.actions, 2), network.per_number = true, network.zero_init = false;
    cm_test_network_open(&base, &network, "ref", 5);
    cm_planner *planner = open_planner(CM_POLICY_MUZERO, ROWS, K);
    make_keys(keys);
    const cm_roots roots = {.count = ROWS, .keys = keys};
    search(planner, &roots, 0, &a);
    for (int b = 0; b < ROWS; b++) {
        const int32_t *visits = a.visits + b * A;
        int drawn = 0, sum = 0;
        for (int i = 0; i < A; i++) drawn += a.prior[b * A + i] > 0.0f, sum += visits[i];
        ck_assert(drawn >= 1 && drawn <= K && sum == SIMULATIONS);
        ck_assert_int_gt(visits[a.action[b]], 0);
        for (int v = 0; v < N; v++) {
            int first = 0, last = 0;
            for (int other = 0; other < N; other++) first += visits[v * N + other], last += visits[other * N + v];
            ck_assert_float_eq_tol(a.weights[b * 2 * N + v], (float)first / SIMULATIONS, 1e-6f);
            ck_assert_float_eq_tol(a.weights[b * 2 * N + N + v], (float)last / SIMULATIONS, 1e-6f);
        }
    }
    cm_planner_destroy(planner);
    close_network();
}
END_TEST

/* An angle of 4 bins in steps of a quarter of one. */
START_TEST(policies_of_angles_are_visits_by_the_nearest_bin) {
    enum { N = 4 };
    static answer a;
    cm_key keys[ROWS];
    int between = 0;
    cm_network_config network = cm_test_mlp(O, A, 16, 16, (cm_support){-2, 2, 9, true});
    network.form = (cm_policy_form){.numbers = 1, .values = N, .angles = 1, .steps = A / N, .spread = 0.5f};
    network.per_number = true, network.zero_init = false;
    cm_test_network_open(&base, &network, "ref", 5);
    cm_planner *planner = open_planner(CM_POLICY_GUMBEL_MUZERO, ROWS, K);
    make_keys(keys);
    search(planner, &(cm_roots){.count = ROWS, .keys = keys}, 0, &a);
    for (int b = 0; b < ROWS; b++) {
        const int32_t *visits = a.visits + b * A;
        const float *weights = a.weights + b * N;
        ck_assert_int_gt(visits[a.action[b]], 0);
        for (int i = 0; i < A; i++) between += visits[i] > 0 && i % N != 0;
        ck_assert_float_eq_tol(weights[0] + weights[1] + weights[2] + weights[3], 1.0f, 1e-5f);
        for (int v = 0; v < N; v++) {
            bool is_drawn = false;
            for (int k = -N / 2; k < N / 2; k++) is_drawn |= a.prior[b * A + (v * N + k + A) % A] > 0.0f;
            ck_assert_int_eq(is_drawn, weights[v] > 0.0f);
        }
    }
    ck_assert_int_gt(between, ROWS); /* of actions that are no bins */
    cm_planner_destroy(planner);
    close_network();
}
END_TEST

/* 14641 actions: what is learnt are 4 times 11 numbers. */
START_TEST(more_actions_than_can_be_listed_are_played_and_learnt) {
    enum { N = 11, D = 4 };
    scene s;
    const cm_actor_config actor = {.environments = 6, .steps = 60, .random_move_steps = 1};
    const cm_target_rule targets = {.unroll = 1, .td_steps = 1, .discount = 1.0};
    const cm_batch_config config = {.rows = 32, .seed = 7};
    cm_batch *batch;
    scene_open(&s, "env_name=glide4 action_bins=11 num_sampled_actions=6");
    scene_plays(&s, actor, targets);
    scene_act(&s);
    ck_assert_int_eq(cm_batch_create(s.replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(s.replay, 0, 0.0, batch), CM_OK);
    int most = 0;
    for (int i = 0; i < 32 * D; i++) {
        const float *policy = batch->target_policy + i / D * 2 * D * N + i % D * N;
        float sum = 0.0f;
        for (int v = 0; v < N; v++) sum += policy[v];
        ck_assert_float_eq_tol(sum, 1.0f, 1e-5f);
        most = batch->action[i / D] > most ? batch->action[i / D] : most;
    }
    ck_assert(most > 1024 && most < 14641);
    cm_batch_destroy(batch);
    cm_analyser *analyser;
    ck_assert_int_eq(cm_analyser_create(s.agent, &s.session->env, s.session->pool, 1, &analyser), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "an analysis lists all actions, but glide4 has 14641, more than 1024; take "
                                         "fewer action_bins");
    scene_close(&s);
}
END_TEST

/* Actions of one number have one distribution, so both forms are the same agent. */
START_TEST(of_one_number_per_number_is_joint) {
    static const char *const forms[] = {"joint", "per_number"};
    answer found[2];
    for (int i = 0; i < 2; i++) {
        scene s;
        cm_planner *planner;
        char settings[128];
        snprintf(settings, sizeof settings, "env_name=Pendulum-v1 num_sampled_actions=4 policy_distribution=%s",
                 forms[i]);
        scene_open(&s, settings);
        ck_assert_int_eq(cm_agent_planner(s.agent, 1, false, &planner), CM_OK);
        memcpy(cm_planner_observations(planner), (const float[]){0.6f, 0.8f, 1.0f}, 3 * sizeof(float));
        const cm_roots roots = {.count = 1};
        const cm_search_result result = {
            .action_weights = found[i].weights, .value = found[i].value, .action = found[i].action};
        ck_assert_int_eq(cm_planner_run(planner, &roots, &result), CM_OK);
        cm_planner_destroy(planner);
        scene_close(&s);
    }
    ck_assert_mem_eq(found[0].weights, found[1].weights, 11 * sizeof(float));
    ck_assert(found[0].value[0] == found[1].value[0] && found[0].action[0] == found[1].action[0]);
}
END_TEST

static void refuse_session(const char *const *settings, int count, const char *message) {
    cm_configuration configuration;
    cm_config *config;
    cm_session *session;
    ck_assert_int_eq(cm_configuration_load(NULL, settings, count, &configuration, &config), CM_OK);
    ck_assert_int_eq(cm_session_open(&configuration, NULL, &session), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), message);
    cm_config_destroy(config);
}

START_TEST(distributions_that_do_not_fit_are_refused) {
    refuse_session((const char *[]){"env_name=glide4", "action_bins=11", "policy_distribution=joint"}, 3,
                   "Network architecture.policy_distribution: joint is for at most 1024 actions, and glide4 has 14641; "
                   "take per_number or fewer action_bins");
    refuse_session((const char *[]){"env_name=glide2", "policy_distribution=per_number"}, 2,
                   "Network architecture.policy_distribution: the 121 actions of glide2 need a policy per number, "
                   "whose searches draw: set num_sampled_actions (such as 20) with policy muzero or gumbel_muzero");
    refuse_session((const char *[]){"env_name=glide4", "action_bins=11", "num_sampled_actions=5", "policy=alphazero"},
                   4,
                   "MCTS.policy: this one searches all actions, at most 1024, but glide4 has 14641; choose muzero or "
                   "gumbel_muzero, which draw some of them");
    refuse_session((const char *[]){"env_name=tictactoe", "num_sampled_actions=5", "policy_distribution=per_number"}, 3,
                   "Network architecture.policy_distribution: per_number is for actions that are numbers, not for "
                   "those of tictactoe");
    refuse_session((const char *[]){"env_name=glide3", "num_sampled_actions=5", "policy_distribution=per_number",
                                    "family=mlp", "action_encoding=board"},
                   5, "Network architecture.action_encoding: with a policy per number choose \"onehot\" or \"scaled\"");
}
END_TEST

/* Where it is not said how many. */
START_TEST(of_more_actions_than_are_searched_some_are_drawn) {
    static const struct {
        const char *settings;
        int draws;
        bool is_fitted;
    } rows[] = {{"env_name=glide4 action_bins=11", 32, true},
                {"env_name=glide4 action_bins=11 num_sampled_actions=7", 7, false},
                {"env_name=glide2 action_bins=32", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scene s;
        scene_open(&s, rows[i].settings);
        ck_assert_int_eq(s.session->configuration.mcts.num_sampled_actions, rows[i].draws);
        ck_assert(s.session->draws == rows[i].is_fitted);
        ck_assert_int_eq(cm_agent_get_config(s.agent)->draws, rows[i].draws);
        scene_close(&s);
    }
}
END_TEST

START_TEST(no_fewer_draws_than_actions_are_refused) {
    refuse_session((const char *[]){"env_name=tictactoe", "num_sampled_actions=9"}, 2,
                   "MCTS.num_sampled_actions: 9 draws are no fewer than the 9 actions of tictactoe; "
                   "0 searches all of them");
}
END_TEST

/* An analysis shows the shares of the draws as prior. */
START_TEST(an_analysis_is_of_all_actions) {
    scene s;
    cm_analyser *analyser;
    scene_open(&s, "env_name=tictactoe num_sampled_actions=4 zero_init_heads=false");
    ck_assert_int_eq(cm_analyser_create(s.agent, &s.session->env, s.session->pool, 1, &analyser), CM_OK);
    cm_env_reset(&s.session->env, cm_analyser_state(analyser, 0), 1);
    ck_assert_int_eq(cm_analyser_run(analyser, 1), CM_OK);
    const cm_analysis found = cm_analyser_get(analyser, 0);
    float sum = 0.0f;
    int drawn = 0;
    for (int a = 0; a < 9; a++) {
        drawn += cm_analysis_has(&found, a);
        ck_assert(cm_analysis_has(&found, a) == (found.prior[a] > 0.0f));
        ck_assert_float_eq_tol(found.prior[a] * 4.0f, roundf(found.prior[a] * 4.0f), 1e-4f);
        ck_assert(found.visits[a] == 0 || found.prior[a] > 0.0f);
        sum += found.prior[a];
    }
    ck_assert_float_eq_tol(sum, 1.0f, 1e-5f);
    ck_assert_int_eq(found.drawn, drawn);
    ck_assert(drawn >= 1 && drawn <= 4);
    ck_assert_int_gt(found.visits[found.action], 0);
    cm_analyser_destroy(analyser);
    scene_close(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/sampled");
    TCase *tests = tcase_create("drawn actions");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, where_all_are_drawn_the_search_is_that_of_all, 0, 2);
    tcase_add_loop_test(tests, only_what_may_be_played_is_drawn, 0, 4);
    tcase_add_test(tests, a_row_depends_on_its_own_inputs_alone);
    tcase_add_test(tests, draws_follow_from_key_and_step);
    tcase_add_test(tests, without_keys_each_position_has_draws_of_its_own);
    tcase_add_test(tests, given_noise_and_kept_trees_are_refused);
    tcase_add_test(tests, exact_rules_and_chance_draw_nothing);
    tcase_add_test(tests, a_choice_leads_where_its_action_leads);
    tcase_add_test(tests, what_is_played_and_learnt_are_all_actions);
    tcase_add_test(tests, policies_of_angles_are_visits_by_the_nearest_bin);
    tcase_add_test(tests, policies_per_number_are_marginals_of_the_visits);
    tcase_add_test(tests, more_actions_than_can_be_listed_are_played_and_learnt);
    tcase_add_test(tests, of_one_number_per_number_is_joint);
    tcase_add_test(tests, distributions_that_do_not_fit_are_refused);
    tcase_add_test(tests, of_more_actions_than_are_searched_some_are_drawn);
    tcase_add_test(tests, no_fewer_draws_than_actions_are_refused);
    tcase_add_test(tests, an_analysis_is_of_all_actions);
    return cm_test_main(suite);
}
