/* Analysis of positions: an answer depends on its position alone and says what greedy play does. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena/analyse.h"
#include "core/rng.h"
#include "run/session.h"
#include "support/main.h"

enum { POSITIONS = 100, SIMULATIONS = 12 };

typedef struct scene {
    cm_config *config;
    cm_session *session;
    cm_agent *agent;
    cm_analyser *analyser;
} scene;

static void open_scene(scene *s, const char *const *settings, int count, int positions) {
    cm_configuration configuration;
    memset(s, 0, sizeof *s);
    ck_assert_msg(cm_configuration_load(NULL, settings, count, &configuration, &s->config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_msg(cm_session_open(&configuration, NULL, &s->session) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_session_agent(s->session, &s->agent), CM_OK);
    const cm_param_table *table = cm_network_parameters(s->session->network);
    float *weights = calloc(table->parameters + table->states + 1, sizeof *weights);
    cm_network_initialise(s->session->network, 5, weights, weights + table->parameters);
    ck_assert_int_eq(cm_agent_set_weights(s->agent, weights, weights + table->parameters), CM_OK);
    free(weights);
    ck_assert_msg(cm_analyser_create(s->agent, &s->session->env, s->session->pool, positions, &s->analyser) == CM_OK,
                  "%s", cm_error_message());
}

static void open_game(scene *s, const char *game, const char *policy, const char *threads, int positions) {
    const char *const settings[] = {
        game, policy, threads, "evaluation_simulations=12", "hidden_dim=16", "head_hidden=16", "zero_init_heads=false"};
    open_scene(s, settings, 7, positions);
}

static void close_scene(scene *s) {
    cm_analyser_destroy(s->analyser);
    cm_agent_destroy(s->agent);
    cm_session_close(s->session);
    cm_config_destroy(s->config);
}

/* Position i of a fixed list: i % 8 random moves. */
static void set_position(const scene *s, void *state, int i) {
    const cm_env *env = &s->session->env;
    cm_rng random = cm_rng_init(cm_key_make(3, CM_RNG_EVALUATE, (uint64_t)i), 0);
    cm_env_reset(env, state, (uint64_t)i);
    for (int move = 0; move < i % 8 && !cm_env_ended(state); move++) {
        uint8_t legal[CM_ENV_MAX_ACTIONS];
        cm_env_outcome outcome;
        int action;
        cm_env_legal(env, state, legal);
        do action = (int)cm_rng_below(&random, (uint32_t)env->spec.actions);
        while (!legal[action]);
        ck_assert_int_eq(cm_env_step(env, state, action, &outcome), CM_OK);
    }
}

static void analyse(scene *s, int first, int count) {
    for (int i = 0; i < count; i++) set_position(s, cm_analyser_state(s->analyser, i), first + i);
    ck_assert_msg(cm_analyser_run(s->analyser, count) == CM_OK, "%s", cm_error_message());
}

static const char *const games[][2] = {{"env_name=tictactoe", "policy=gumbel_muzero"},
                                       {"env_name=tictactoe", "policy=muzero"},
                                       {"env_name=tictactoe", "policy=alphazero"},
                                       {"env_name=CartPole-v1", "policy=muzero"}};

START_TEST(answer_is_the_same_alone_and_among_a_hundred_on_three_threads) {
    scene many, one;
    open_game(&many, games[_i][0], games[_i][1], "threads=3", POSITIONS);
    open_game(&one, games[_i][0], games[_i][1], "threads=1", 1);
    size_t actions = (size_t)many.session->env.spec.actions;
    ck_assert_int_ge(cm_analyser_capacity(many.analyser), POSITIONS);
    ck_assert_int_eq(cm_analyser_capacity(one.analyser), 1);
    analyse(&many, 0, POSITIONS);
    for (int i = 0; i < POSITIONS; i++) {
        analyse(&one, i, 1);
        cm_analysis a = cm_analyser_get(many.analyser, i), b = cm_analyser_get(one.analyser, 0);
        ck_assert_int_eq(a.to_play, b.to_play);
        ck_assert_int_eq(a.action, b.action);
        ck_assert_float_eq(a.value, b.value);
        ck_assert_mem_eq(a.legal, b.legal, actions);
        ck_assert_mem_eq(a.prior, b.prior, actions * sizeof(float));
        ck_assert_mem_eq(a.visits, b.visits, actions * sizeof(int32_t));
        ck_assert_mem_eq(a.q, b.q, actions * sizeof(float));
    }
    close_scene(&many);
    close_scene(&one);
}
END_TEST

START_TEST(fewer_positions_than_the_capacity_give_the_same_answers) {
    scene s;
    open_game(&s, games[_i][0], games[_i][1], "threads=2", 10);
    analyse(&s, 20, 10);
    int32_t actions[10];
    for (int i = 0; i < 10; i++) actions[i] = cm_analyser_get(s.analyser, i).action;
    for (int count = 1; count < 10; count++) {
        analyse(&s, 20, count);
        for (int i = 0; i < count; i++) ck_assert_int_eq(cm_analyser_get(s.analyser, i).action, actions[i]);
    }
    close_scene(&s);
}
END_TEST

START_TEST(visits_prior_and_q_keep_to_the_legal_actions_and_add_up) {
    scene s;
    open_game(&s, games[_i][0], games[_i][1], "threads=2", POSITIONS);
    analyse(&s, 0, POSITIONS);
    for (int i = 0; i < POSITIONS; i++) {
        cm_analysis x = cm_analyser_get(s.analyser, i);
        double prior = 0.0;
        int visits = 0;
        if (x.action == CM_NO_ACTION) continue;
        for (int a = 0; a < s.session->env.spec.actions; a++) {
            prior += (double)x.prior[a];
            visits += x.visits[a];
            if (x.visits[a] == 0) ck_assert_float_eq(x.q[a], 0.0f);
            if (x.legal[a]) continue;
            ck_assert_float_eq(x.prior[a], 0.0f);
            ck_assert_int_eq(x.visits[a], 0);
        }
        ck_assert_double_eq_tol(prior, 1.0, 1e-5);
        ck_assert_int_eq(visits, SIMULATIONS);
        ck_assert_int_eq(x.legal[x.action], 1);
        for (int a = 0; a < s.session->env.spec.actions; a++) ck_assert_int_le(x.visits[a], x.visits[x.action]);
    }
    close_scene(&s);
}
END_TEST

START_TEST(action_and_value_are_those_of_greedy_play) {
    scene s;
    open_game(&s, games[_i][0], games[_i][1], "threads=2", POSITIONS);
    const cm_env *env = &s.session->env;
    analyse(&s, 0, POSITIONS);
    for (int i = 0; i < POSITIONS; i++) {
        cm_decision decision = {.policy = NULL};
        const void *state = cm_analyser_state(s.analyser, i);
        cm_analysis x = cm_analyser_get(s.analyser, i);
        if (cm_env_ended(state)) continue;
        ck_assert_int_eq(cm_agent_decide(s.agent, env, state, false, &decision), CM_OK);
        ck_assert_int_eq(x.action, decision.action);
        ck_assert_float_eq(x.value, decision.value);
    }
    close_scene(&s);
}
END_TEST

START_TEST(finished_game_has_zeros_and_no_action) {
    scene s;
    open_game(&s, games[_i][0], games[_i][1], "threads=1", 2);
    const cm_env *env = &s.session->env;
    const int line[] = {0, 3, 1, 4, 2};
    void *state = cm_analyser_state(s.analyser, 1);
    cm_env_outcome outcome;
    set_position(&s, cm_analyser_state(s.analyser, 0), 0);
    cm_env_reset(env, state, 1);
    for (int i = 0; !cm_env_ended(state); i++) { /* a pole that is always pushed to the left falls soon */
        int action = env->spec.players == 2 ? line[i] : 0;
        ck_assert_int_eq(cm_env_step(env, state, action, &outcome), CM_OK);
    }
    ck_assert_msg(cm_analyser_run(s.analyser, 2) == CM_OK, "%s", cm_error_message());
    cm_analysis x = cm_analyser_get(s.analyser, 1);
    ck_assert_int_eq(x.action, CM_NO_ACTION);
    ck_assert_float_eq(x.value, 0.0f);
    for (int a = 0; a < env->spec.actions; a++) {
        ck_assert_int_eq(x.legal[a] | x.visits[a], 0);
        ck_assert_float_eq(fabsf(x.q[a]) + x.prior[a], 0.0f);
    }
    ck_assert_int_ne(cm_analyser_get(s.analyser, 0).action, CM_NO_ACTION);
    close_scene(&s);
}
END_TEST

START_TEST(long_searches_have_fewer_rows) {
    scene s;
    /* 512 floats of a state times 4,001 nodes are 8 MB: 32 of them in 256 MiB, fewer with their trees */
    const char *const settings[] = {"env_name=CartPole-v1", "threads=1", "evaluation_simulations=4000",
                                    "hidden_dim=512"};
    open_scene(&s, settings, 4, POSITIONS);
    ck_assert_int_le(cm_analyser_capacity(s.analyser), 31);
    ck_assert_int_ge(cm_analyser_capacity(s.analyser), 24);
    close_scene(&s);
}
END_TEST

static int searched(const cm_analysis *a, int actions) {
    int sum = 0;
    for (int i = 0; i < actions; i++) sum += a->visits[i];
    return sum;
}

/* A time that is over at once, and one that is never over. */
START_TEST(limit_of_time_ends_a_search_and_a_long_one_changes_nothing) {
    scene limited, free_of_it;
    open_game(&limited, games[_i][0], games[_i][1], "threads=1", 1);
    open_game(&free_of_it, games[_i][0], games[_i][1], "threads=1", 1);
    const int actions = limited.session->env.spec.actions;
    for (int i = 0; i < 5; i++) {
        cm_analyser_limit(limited.analyser, 1e-9);
        analyse(&limited, i, 1);
        cm_analysis a = cm_analyser_get(limited.analyser, 0);
        ck_assert_int_eq(searched(&a, actions), 1);
        ck_assert(a.action >= 0 && a.legal[a.action]);
        cm_analyser_limit(limited.analyser, 1e6);
        analyse(&limited, i, 1);
        analyse(&free_of_it, i, 1);
        a = cm_analyser_get(limited.analyser, 0);
        const cm_analysis b = cm_analyser_get(free_of_it.analyser, 0);
        ck_assert_int_eq(searched(&a, actions), SIMULATIONS);
        ck_assert_int_eq(a.action, b.action);
        ck_assert_mem_eq(a.visits, b.visits, (size_t)actions * sizeof(int32_t));
    }
    close_scene(&limited);
    close_scene(&free_of_it);
}
END_TEST

START_TEST(moves_of_a_game_take_less_than_its_time_together) {
    static const int plies[] = {0, 9, 50, 162, 722};
    for (size_t i = 0; i < sizeof plies / sizeof *plies; i++) {
        const cm_env_spec spec = {.max_plies = plies[i]};
        const cm_time_control game = {.game = 30.0}, move = {.move = 2.0}, none = {0};
        double sum = 0.0;
        for (int k = 0; k < 1000; k++) {
            const double seconds = cm_time_of_move(&game, &spec, k);
            ck_assert(seconds > 0.0 && cm_time_of_search(seconds) < seconds);
            ck_assert_double_eq_tol(seconds, cm_time_of_rest(&spec, 30.0 - sum), 1e-9);
            sum += seconds;
        }
        ck_assert_double_le(sum, 30.0 + 1e-9);
        ck_assert_double_eq(cm_time_of_move(&move, &spec, 7), 2.0);
        ck_assert_double_eq(cm_time_of_move(&none, &spec, 7), 0.0);
    }
}
END_TEST

START_TEST(more_positions_than_the_capacity_are_refused) {
    scene s;
    cm_analyser *none;
    open_game(&s, games[0][0], games[0][1], "threads=2", 500);
    ck_assert_int_eq(cm_analyser_capacity(s.analyser), 128);
    ck_assert_int_eq(cm_analyser_run(s.analyser, 129), CM_ERR_INPUT);
    ck_assert_int_eq(cm_analyser_run(s.analyser, 0), CM_ERR_INPUT);
    ck_assert_int_eq(cm_analyser_create(s.agent, &s.session->env, s.session->pool, 0, &none), CM_ERR_INPUT);
    ck_assert_ptr_null(none);
    close_scene(&s);
}
END_TEST

START_TEST(lines_are_legal_have_falling_visits_and_begin_with_the_move) {
    const char *const settings[] = {
        games[_i][0],     games[_i][1],           "threads=2", "evaluation_simulations=200", "hidden_dim=16",
        "head_hidden=16", "zero_init_heads=false"};
    enum { LINES = 20, MOST = 12 };
    scene s;
    int longest = 0;
    open_scene(&s, settings, 7, LINES);
    const cm_env *env = &s.session->env;
    char *state = malloc(env->spec.state_size);
    analyse(&s, 0, LINES);
    for (int i = 0; i < LINES; i++) {
        const cm_analysis x = cm_analyser_get(s.analyser, i);
        for (int a = 0; a < env->spec.actions; a++) {
            cm_variation_move line[MOST];
            cm_env_outcome outcome;
            int count;
            ck_assert_int_eq(cm_analyser_line(s.analyser, i, a, MOST, line, &count), CM_OK);
            ck_assert_int_eq(count > 0, x.visits[a] > 0);
            set_position(&s, state, i);
            for (int k = 0; k < count; k++) {
                ck_assert_int_eq(line[k].visits, k ? line[k].visits : x.visits[a]);
                ck_assert(line[k].visits >= 1 && (k == 0 || line[k].visits < line[k - 1].visits));
                ck_assert_int_eq(cm_env_step(env, state, line[k].action, &outcome), CM_OK);
            }
            if (count > 0) ck_assert_int_eq(line[0].action, a);
            if (count > longest) longest = count;
        }
    }
    ck_assert_int_ge(longest, 2);
    free(state);
    close_scene(&s);
}
END_TEST

/* Of the children of `slot` that are legal, found by the parents of all nodes: the most visits, 0: there is none. */
static int most_visits_below(const cm_search *trees, int slot, const uint8_t *legal) {
    int most = 0;
    for (int k = 1; k <= 200; k++) {
        const cm_node_info node = cm_search_node(trees, 0, k);
        if (node.parent == slot && legal[node.action_from_parent] && node.visits > most) most = node.visits;
    }
    return most;
}

/* Ties may be broken either way, so a line is followed by its own actions. */
static int child_by(const cm_search *trees, int slot, int action) {
    for (int k = 1; k <= 200; k++) {
        const cm_node_info node = cm_search_node(trees, 0, k);
        if (node.parent == slot && node.action_from_parent == action) return k;
    }
    return -1;
}

START_TEST(lines_follow_the_most_visits_of_the_tree) {
    const char *const settings[] = {
        games[_i][0],     games[_i][1],           "threads=1", "evaluation_simulations=200", "hidden_dim=16",
        "head_hidden=16", "zero_init_heads=false"};
    scene s;
    cm_planner *planner;
    const cm_search *trees;
    cm_env_outcome outcome;
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    open_scene(&s, settings, 7, 1);
    analyse(&s, 0, 1);
    const cm_env *env = &s.session->env;
    char *state = malloc(env->spec.state_size);
    ck_assert_int_eq(cm_agent_planner(s.agent, 1, false, &planner), CM_OK);
    cm_planner_place(planner, 0, env, cm_analyser_state(s.analyser, 0));
    cm_env_legal(env, cm_analyser_state(s.analyser, 0), legal);
    const cm_roots roots = {.count = 1, .legal = env->def->legal ? legal : NULL};
    ck_assert_int_eq(cm_planner_run(planner, &roots, &(cm_search_result){0}), CM_OK);
    ck_assert_int_eq(cm_planner_trees(planner, &trees), CM_OK);
    for (int a = 0; a < env->spec.actions; a++) {
        cm_variation_move line[CM_VARIATION_MOST];
        int count, slot = 0;
        ck_assert_int_eq(cm_analyser_line(s.analyser, 0, a, CM_VARIATION_MOST, line, &count), CM_OK);
        set_position(&s, state, 0);
        for (int k = 0; k < count; k++) {
            cm_env_legal(env, state, legal);
            ck_assert_int_eq(line[k].visits, k ? most_visits_below(trees, slot, legal) : line[k].visits);
            ck_assert_int_eq(cm_env_step(env, state, line[k].action, &outcome), CM_OK);
            slot = child_by(trees, slot, line[k].action);
            ck_assert_int_ge(slot, 1);
            ck_assert_int_eq(line[k].visits, cm_search_node(trees, 0, slot).visits);
        }
        cm_env_legal(env, state, legal);
        if (count > 0) ck_assert_int_eq(most_visits_below(trees, slot, legal), 0);
    }
    free(state);
    cm_planner_destroy(planner);
    close_scene(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/analyse");
    TCase *tests = tcase_create("analyse");
    const int count = (int)(sizeof games / sizeof *games);
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, answer_is_the_same_alone_and_among_a_hundred_on_three_threads, 0, count);
    tcase_add_loop_test(tests, fewer_positions_than_the_capacity_give_the_same_answers, 0, count);
    tcase_add_loop_test(tests, visits_prior_and_q_keep_to_the_legal_actions_and_add_up, 0, count);
    tcase_add_loop_test(tests, action_and_value_are_those_of_greedy_play, 0, count);
    tcase_add_loop_test(tests, lines_are_legal_have_falling_visits_and_begin_with_the_move, 0, count);
    tcase_add_loop_test(tests, lines_follow_the_most_visits_of_the_tree, 0, count);
    tcase_add_loop_test(tests, finished_game_has_zeros_and_no_action, 0, count);
    tcase_add_test(tests, long_searches_have_fewer_rows);
    tcase_add_loop_test(tests, limit_of_time_ends_a_search_and_a_long_one_changes_nothing, 0, count);
    tcase_add_test(tests, moves_of_a_game_take_less_than_its_time_together);
    tcase_add_test(tests, more_positions_than_the_capacity_are_refused);
    return cm_test_main(suite);
}
