/* Searches on the rules of a game: the model by itself, forced wins, exact ends, legal moves everywhere, sub-trees that
 * are kept. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/model.h"
#include "support/main.h"
#include "support/network.h"

enum { MOST_ACTIONS = 9 };

/* A game with a small network of random weights. */
typedef struct scene {
    cm_env env;
    cm_test_network base;
    cm_stream *stream;
    cm_planner_config config;
} scene;

static cm_network_config network_of(const cm_env_spec *spec) {
    cm_network_config c = {.family = CM_FAMILY_MLP,
                           .model = CM_NETWORK_PREDICTION,
                           .observation_ndim = spec->rank,
                           .observation = {spec->shape[0], spec->shape[1], spec->shape[2]},
                           .actions = spec->actions,
                           .hidden = 16,
                           .head_hidden = 8,
                           .body = CM_BODY_PLAIN,
                           .norm = CM_NORM_LAYER,
                           .value_support = {-1, 1, 3, false},
                           .reward_support = {-1, 1, 3, false},
                           .init = CM_INIT_LECUN_NORMAL};
    return c;
}

static void open_scene(scene *s, const cm_env *env, int simulations, int rows) {
    memset(s, 0, sizeof *s);
    s->env = *env;
    cm_network_config network = network_of(&s->env.spec);
    cm_test_network_open(&s->base, &network, "cpu", 3);
    ck_assert_int_eq(cm_stream_open(s->base.backend, &s->stream), CM_OK);
    s->config = (cm_planner_config){.network = s->base.network,
                                    .rules = &s->env,
                                    .backend = s->base.backend,
                                    .parameters = s->base.parameters,
                                    .state = s->base.state,
                                    .search = cm_search_params_default(CM_POLICY_MUZERO),
                                    .discount = -1.0f,
                                    .rows = rows};
    s->config.search.num_simulations = simulations;
    s->config.search.dirichlet_fraction = 0.0f;
    s->config.search.temperature = 0.0f;
    s->config.search.qtransform.kind = CM_QTRANSFORM_MIN_MAX;
    s->config.search.check = true;
}

static void open_named(scene *s, const char *name, int simulations, int rows) {
    cm_env env;
    ck_assert_msg(cm_env_open(&env, name, NULL) == CM_OK, "%s", cm_error_message());
    open_scene(s, &env, simulations, rows);
}

static void close_scene(scene *s) {
    cm_stream_close(s->stream);
    cm_test_network_close(&s->base);
}

/* The position after the moves, given as digits. The caller frees it. */
static void *position(const cm_env *env, const char *moves) {
    cm_env_outcome outcome;
    void *state = calloc(1, env->spec.state_size);
    cm_env_reset(env, state, 0);
    for (const char *m = moves; *m; m++) {
        ck_assert_msg(cm_env_step(env, state, *m - '0', &outcome) == CM_OK, "%s", cm_error_message());
    }
    return state;
}

/* What a search of one position finds. */
typedef struct found {
    int32_t action, visits[MOST_ACTIONS];
    float value, raw_value, q[MOST_ACTIONS], weights[MOST_ACTIONS];
} found;

static cm_search_result result_of(found *f) {
    return (cm_search_result){.visits = f->visits,
                              .action_weights = f->weights,
                              .value = &f->value,
                              .raw_value = &f->raw_value,
                              .qvalues = f->q,
                              .action = &f->action};
}

static void run(cm_planner *planner, const cm_env *env, const void *state, bool kept, found *f) {
    uint8_t legal[MOST_ACTIONS];
    cm_planner_place(planner, 0, env, state);
    cm_env_legal(env, state, legal);
    cm_roots roots = {.count = 1, .legal = legal, .is_kept = kept};
    cm_search_result result = result_of(f);
    ck_assert_msg(cm_planner_run(planner, &roots, &result) == CM_OK, "%s", cm_error_message());
}

static found search(scene *s, const char *moves) {
    cm_planner *planner;
    found f;
    void *state = position(&s->env, moves);
    ck_assert_msg(cm_planner_create(&s->config, &planner) == CM_OK, "%s", cm_error_message());
    run(planner, &s->env, state, false, &f);
    cm_planner_destroy(planner);
    free(state);
    return f;
}

/* ---- the model ---- */

START_TEST(the_model_knows_legal_moves_ends_and_whose_reward_it_is) {
    scene s;
    cm_planner_model m;
    float reward[2], discount[2], logits[18], value[2];
    cm_model_out out = {.reward = reward, .discount = discount, .prior_logits = logits, .value = value};
    open_named(&s, "tictactoe", 4, 1);
    ck_assert_msg(cm_rules_model_open(&s.config, s.stream, &m) == CM_OK, "%s", cm_error_message());
    void *state = position(&s.env, "0314"); /* x on 0, 1; o on 3, 4; x to move */
    memcpy(m.states, state, s.env.spec.state_size);
    cm_env_observe(&s.env, state, m.observations);
    const int32_t root = 0, one = 1, two = 2, three = 3;
    ck_assert_int_eq(m.search.root(m.search.ctx, 1, &root, &out), CM_OK);
    for (int a = 0; a < 9; a++) {
        bool is_taken = a == 0 || a == 1 || a == 3 || a == 4;
        ck_assert_msg(is_taken == (logits[a] == -FLT_MAX), "cell %d: %g", a, (double)logits[a]);
    }
    ck_assert(fabsf(value[0]) < 1.0f && value[0] != 0.0f);
    int32_t action = 2; /* wins */
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &root, &action, &one, &out), CM_OK);
    ck_assert(reward[0] == 1.0f && discount[0] == 0.0f && value[0] == 0.0f);
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &one, &action, &two, &out), CM_OK);
    ck_assert(reward[0] == 0.0f && discount[0] == 0.0f && value[0] == 0.0f); /* nothing after the end */
    action = 8;                                                              /* goes on, and the other player moves */
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &root, &action, &three, &out), CM_OK);
    ck_assert(reward[0] == 0.0f && discount[0] == -1.0f && value[0] != 0.0f);
    ck_assert(logits[8] == -FLT_MAX && logits[2] > -FLT_MAX);
    ck_assert_int_eq(m.search.move(m.search.ctx, 1, &one, &root), CM_OK); /* an end that is moved is an end */
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &root, &action, &two, &out), CM_ERR_STATE);
    ck_assert_msg(strstr(cm_error_message(), "another position") != NULL, "%s", cm_error_message());
    ck_assert_int_eq(m.search.move(m.search.ctx, 1, &two, &one), CM_OK);
    ck_assert_int_eq(m.search.move(m.search.ctx, 1, &three, &two), CM_OK);
    action = 7;
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &two, &action, &three, &out), CM_OK);
    ck_assert(reward[0] == 0.0f && discount[0] == -1.0f);
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &one, &action, &three, &out), CM_OK);
    ck_assert(reward[0] == 0.0f && discount[0] == 0.0f);
    m.destroy(m.search.ctx);
    free(state);
    close_scene(&s);
}
END_TEST

START_TEST(discounts_follow_the_mover_not_the_number_of_players) {
    scene s;
    cm_planner_model m;
    float reward, discount, logits[4], value;
    cm_model_out out = {.reward = &reward, .discount = &discount, .prior_logits = logits, .value = &value};
    const int32_t root = 0, child = 1, action = 1;
    open_named(&s, "CartPole-v1", 2, 1);
    s.config.discount = 0.5f;
    ck_assert_msg(cm_rules_model_open(&s.config, s.stream, &m) == CM_OK, "%s", cm_error_message());
    cm_env_reset(&s.env, m.states, 7);
    ((cm_env_common *)(void *)m.states)->truncated = 1; /* a time limit is no end */
    ck_assert_int_eq(m.search.root(m.search.ctx, 1, &root, &out), CM_OK);
    ck_assert_int_eq(m.search.recurrent(m.search.ctx, 1, &root, &action, &child, &out), CM_OK);
    ck_assert(reward == 1.0f && discount == 0.5f && value != 0.0f);
    m.destroy(m.search.ctx);
    close_scene(&s);
}
END_TEST

/* A row that throws a coin in its step and does not say so. */
static cm_env_outcome step_by_chance(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)action;
    *(double *)rules += cm_pcg64_double(random);
    return (cm_env_outcome){0.0, false, false};
}

START_TEST(rules_that_draw_random_numbers_are_refused) {
    cm_env env;
    scene s;
    ck_assert_int_eq(cm_env_open(&env, "CartPole-v1", NULL), CM_OK);
    cm_env_def def = *env.def;
    def.step = step_by_chance;
    env.def = &def;
    open_scene(&s, &env, 2, 1);
    cm_planner *planner;
    void *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    ck_assert_int_eq(cm_planner_create(&s.config, &planner), CM_OK);
    cm_planner_place(planner, 0, &env, state);
    cm_roots roots = {.count = 1};
    cm_search_result result = {0};
    ck_assert_int_eq(cm_planner_run(planner, &roots, &result), CM_ERR_MODEL);
    ck_assert_msg(strstr(cm_error_message(), "without chance") != NULL, "%s", cm_error_message());
    cm_planner_destroy(planner);
    free(state);
    close_scene(&s);
}
END_TEST

/* ---- searches ---- */

START_TEST(forced_wins_are_found_and_ends_are_worth_exactly_their_result) {
    scene s;
    open_named(&s, "tictactoe", 800, 1);
    found win = search(&s, "0314"); /* x: 0 1, o: 3 4; 2 wins */
    ck_assert_int_eq(win.action, 2);
    ck_assert_float_eq(win.q[2], 1.0f);
    ck_assert_float_gt(win.value, 0.4f);
    found fork = search(&s, "0482"); /* x: 0 8, o: 4 2; 6 stops 2-4-6 and makes two threats */
    ck_assert_int_eq(fork.action, 6);
    ck_assert_float_gt(fork.value, 0.2f);
    found block = search(&s, "043"); /* x: 0 3, o: 4; all but 6 lose at once */
    ck_assert_int_eq(block.action, 6);
    found last = search(&s, "04217358"); /* one cell is left; its game is drawn */
    ck_assert_int_eq(last.action, 6);
    ck_assert_int_eq(last.visits[6], 800);
    ck_assert_float_eq(last.q[6], 0.0f);
    close_scene(&s);
}
END_TEST

START_TEST(connect4_wins_in_three_plies_are_found_by_both_selections) {
    scene s;
    open_named(&s, "connect4", 800, 1);
    /* x on the bottom of c and d with b, a, e, f empty: b or e makes three with both ends open */
    found puct = search(&s, "2233");
    ck_assert_msg(puct.action == 1 || puct.action == 4, "plays %d", puct.action);
    ck_assert_float_gt(puct.value, 0.5f);
    s.config.search = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    s.config.search.num_simulations = 800;
    s.config.search.gumbel_scale = 0.0f;
    s.config.search.qtransform.rescale_values = false;
    found gumbel = search(&s, "2233");
    ck_assert_msg(gumbel.action == 1 || gumbel.action == 4, "plays %d", gumbel.action);
    ck_assert_float_gt(gumbel.q[gumbel.action], 0.5f);
    close_scene(&s);
}
END_TEST

START_TEST(a_position_gets_the_same_search_alone_and_among_others) {
    static const char *const games[] = {"", "4", "0314", "0185", "04", "04217358", "8", "84", "842", "043"};
    enum { GAMES = (int)(sizeof games / sizeof *games) };
    scene s, one;
    cm_planner *planner;
    int32_t visits[GAMES * 9];
    float value[GAMES];
    uint8_t legal[GAMES * 9];
    open_named(&s, "tictactoe", 60, GAMES);
    open_named(&one, "tictactoe", 60, 1);
    ck_assert_int_eq(cm_planner_create(&s.config, &planner), CM_OK);
    for (int i = 0; i < GAMES; i++) {
        void *state = position(&s.env, games[i]);
        cm_planner_place(planner, i, &s.env, state);
        cm_env_legal(&s.env, state, legal + 9 * i);
        free(state);
    }
    cm_roots roots = {.count = GAMES, .legal = legal};
    cm_search_result result = {.visits = visits, .value = value};
    ck_assert_msg(cm_planner_run(planner, &roots, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_planner_simulations(planner), GAMES * 60);
    for (int i = 0; i < GAMES; i++) {
        found alone = search(&one, games[i]);
        ck_assert_mem_eq(alone.visits, visits + 9 * i, sizeof alone.visits);
        ck_assert_float_eq(alone.value, value[i]);
    }
    cm_planner_destroy(planner);
    close_scene(&s);
    close_scene(&one);
}
END_TEST

/* A game played with kept trees: each search adds only what is missing, begins with what was found below the move, and
 * stands on the position that the environment is in (else an illegal move would be chosen or refused). */
START_TEST(kept_trees_keep_their_numbers_and_save_simulations) {
    scene s;
    cm_planner *planner;
    cm_env_outcome outcome;
    found f;
    open_named(&s, "tictactoe", 100, 1);
    ck_assert_int_eq(cm_planner_create(&s.config, &planner), CM_OK);
    void *state = position(&s.env, "");
    run(planner, &s.env, state, false, &f);
    ck_assert_int_eq(cm_planner_simulations(planner), 100);
    for (int move = 0; move < 6 && !cm_env_ended(state); move++) {
        int32_t played = f.action, expected = f.visits[played];
        ck_assert_int_eq(cm_planner_keep(planner, &played), CM_OK);
        ck_assert_int_eq(cm_env_step(&s.env, state, played, &outcome), CM_OK);
        if (cm_env_ended(state)) break;
        run(planner, &s.env, state, true, &f);
        int sum = 0;
        for (int a = 0; a < 9; a++) sum += f.visits[a];
        ck_assert_int_eq(sum, 100);
        ck_assert_int_eq(cm_planner_simulations(planner), 101 - expected);
        uint8_t legal[9];
        cm_env_legal(&s.env, state, legal);
        for (int a = 0; a < 9; a++) ck_assert(legal[a] || f.visits[a] == 0);
    }
    cm_planner_destroy(planner);
    free(state);
    close_scene(&s);
}
END_TEST

/* ---- agents ---- */

START_TEST(an_agent_decides_from_states_and_refuses_observations) {
    scene s;
    cm_agent *agent;
    int32_t action;
    float policy[9], observation[36] = {0};
    open_named(&s, "tictactoe", 400, 1);
    cm_agent_config config = {.network = s.base.network,
                              .rules = &s.env,
                              .backend = s.base.backend,
                              .acting = s.config.search,
                              .evaluation = s.config.search,
                              .discount = -1.0f};
    ck_assert_int_eq(cm_agent_create(&config, &agent), CM_OK);
    ck_assert_int_eq(cm_agent_set_weights(agent, s.base.parameters, s.base.state), CM_OK);
    void *state = position(&s.env, "0314");
    cm_decision decision = {.policy = policy};
    ck_assert_int_eq(cm_agent_decide(agent, &s.env, state, false, &decision), CM_OK);
    ck_assert_int_eq(decision.action, 2);
    ck_assert_float_gt(decision.value, 0.5f);
    ck_assert(policy[2] > 0.5f && policy[0] == 0.0f);
    ck_assert_int_eq(cm_agent_select_action(agent, observation, false, &action, NULL), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), "tictactoe") != NULL, "%s", cm_error_message());
    free(state);
    cm_agent_destroy(agent);
    close_scene(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/rules");
    TCase *tests = tcase_create("rules");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, the_model_knows_legal_moves_ends_and_whose_reward_it_is);
    tcase_add_test(tests, discounts_follow_the_mover_not_the_number_of_players);
    tcase_add_test(tests, rules_that_draw_random_numbers_are_refused);
    tcase_add_test(tests, forced_wins_are_found_and_ends_are_worth_exactly_their_result);
    tcase_add_test(tests, connect4_wins_in_three_plies_are_found_by_both_selections);
    tcase_add_test(tests, a_position_gets_the_same_search_alone_and_among_others);
    tcase_add_test(tests, kept_trees_keep_their_numbers_and_save_simulations);
    tcase_add_test(tests, an_agent_decides_from_states_and_refuses_observations);
    return cm_test_main(suite);
}
