/* Agents of include/cumind.h: what they play is what `cumind search` says, however they are asked. */
#include <check.h>
#include <cumind.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

enum { ROWS = 70 };

static cm_output result;

#define SHORT " --set env_steps=512 --set min_memory_steps=128 --set final_evaluation_episodes=2 --set hidden_dim=32"

static void begin_all(void) {
    static const char *const runs[] = {
        "game --config default --set env_name=tictactoe --set policy=gumbel_muzero --set evaluation_simulations=9",
        "rules --config default --set env_name=tictactoe --set policy=alphazero --set evaluation_simulations=9",
        "pole --config default --set env_name=CartPole-v1 --set evaluation_simulations=9",
        "swing --config default --set env_name=Pendulum-v1 --set max_steps=40 --set evaluation_simulations=9",
        "tiles --config default --set env_name=2048 --set policy=stochastic_muzero",
        ("glides --config default --set env_name=glide2 --set action_bins=5 --set policy_distribution=per_number "
         "--set num_sampled_actions=6 --set max_steps=30")};
    cm_test_folder_make();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char line[512];
        snprintf(line, sizeof line, "train --quiet --run %s" SHORT, runs[i]);
        cm_program_run(cm_test_folder, line, &result);
        ck_assert_msg(result.status == 0, "%s: %s", runs[i], result.err);
    }
}

static cumind_agent *open_agent(const char *run) {
    char path[128];
    cumind_agent *agent;
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, run);
    ck_assert_msg(cumind_agent_open(path, CUMIND_PREFERRED, NULL, 0, &agent) == CUMIND_OK, "%s",
                  cumind_error_message());
    return agent;
}

static cumind_env *open_env(const char *name, int instances, const char *setting) {
    cumind_env *env;
    ck_assert_msg(cumind_env_open(name, instances, 3, &setting, setting != NULL, &env) == CUMIND_OK, "%s",
                  cumind_error_message());
    return env;
}

static void expect(cumind_status got, cumind_status want, const char *text) {
    ck_assert_msg(got == want && strstr(cumind_error_message(), text), "%d, not %d: %s", (int)got, (int)want,
                  cumind_error_message());
}

#define OK(call) ck_assert_msg((call) == CUMIND_OK, "%s", cumind_error_message())

/* Of the position after one move in cell i. */
static const cm_json *answer_of(cm_json_doc **doc, const char *run, int i) {
    char line[256], input[16];
    snprintf(line, sizeof line, "search --positions - --json --checkpoint best --run %s", run);
    snprintf(input, sizeof input, "%d\n", i);
    cm_program_run_with(cm_test_folder, line, input, &result);
    if (result.status != 0) { /* none was evaluated on the way */
        snprintf(line, sizeof line, "search --positions - --json --run %s", run);
        cm_program_run_with(cm_test_folder, line, input, &result);
    }
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_int_eq(cm_json_parse(result.out, strlen(result.out), "answer", doc), CM_OK);
    return cm_json_root(*doc);
}

static void expect_numbers(const cm_json *answer, const char *key, const float *got) {
    double want[9];
    ck_assert_int_eq(cm_json_doubles(cm_json_get(answer, key), key, 9, want), CM_OK);
    for (int a = 0; a < 9; a++) ck_assert_msg(got[a] == (float)want[a], "%s[%d]", key, a);
}

START_TEST(an_agent_says_what_the_program_says) {
    const char *run = _i == 0 ? "game" : "rules";
    cumind_agent *agent = open_agent(run);
    cumind_env *env = open_env("tictactoe", 9, NULL);
    const int32_t actions[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    int32_t action[9], visits[81];
    float prior[81], q[81], value[9];
    const cumind_analysis out = {.action = action, .visits = visits, .prior = prior, .q = q, .value = value};
    OK(cumind_env_step(env, actions));
    OK(cumind_agent_analyse_env(agent, env, 0, 9, &out));
    for (int i = 0; i < 9; i += 4) {
        cm_json_doc *doc;
        const cm_json *answer = answer_of(&doc, run, i);
        double most[9];
        ck_assert_int_eq(cm_json_doubles(cm_json_get(answer, "visits"), "visits", 9, most), CM_OK);
        for (int a = 0; a < 9; a++) ck_assert_int_eq(visits[9 * i + a], (int)most[a]);
        expect_numbers(answer, "prior", prior + 9 * i);
        expect_numbers(answer, "q", q + 9 * i);
        ck_assert_float_eq(value[i], (float)cm_json_number(cm_json_get(answer, "value"), NAN));
        ck_assert_int_eq(action[i], (int)cm_json_number(cm_json_get(answer, "action"), -1));
        cm_json_free(doc);
    }
    cumind_env_close(env);
    cumind_agent_close(agent);
}
END_TEST

/* Rows of observations of a game that is played at random. */
static void play_some(cumind_env *env, int steps) {
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    cumind_spec spec;
    int32_t actions[ROWS];
    cumind_env_get_spec(env, &spec);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < cumind_env_instances(env); i++) {
            int wanted = (i * 7 + t * 3) % spec.actions;
            while (a.legal[i * spec.actions + wanted] == 0 && !a.terminated[i] && !a.truncated[i])
                wanted = (wanted + 1) % spec.actions;
            actions[i] = wanted;
        }
        OK(cumind_env_step(env, actions));
    }
}

START_TEST(rows_do_not_depend_on_each_other_and_observations_suffice) {
    cumind_agent *agent = open_agent("game");
    cumind_env *env = open_env("tictactoe", ROWS, NULL);
    cumind_spec spec;
    play_some(env, 3);
    cumind_env_get_spec(env, &spec);
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    static int32_t all[ROWS], seen[ROWS], one;
    static float policy[ROWS * 9], same[ROWS * 9], raw[ROWS], alone[9];
    const cumind_analysis by_state = {.action = all, .policy = policy, .raw_value = raw};
    const cumind_analysis by_sight = {.action = seen, .policy = same}, single = {.action = &one, .policy = alone};
    OK(cumind_agent_analyse_env(agent, env, 0, ROWS, &by_state));
    OK(cumind_agent_analyse(agent, ROWS, a.observation, a.legal, &by_sight));
    ck_assert_mem_eq(all, seen, sizeof all);
    ck_assert_mem_eq(policy, same, sizeof policy);
    for (int i = 0; i < ROWS; i += 13) {
        OK(cumind_agent_analyse(agent, 1, a.observation + (size_t)i * (size_t)spec.observation_size, a.legal + i * 9,
                                &single));
        ck_assert_int_eq(one, all[i]);
        ck_assert_mem_eq(alone, policy + i * 9, sizeof alone);
        ck_assert_int_eq(a.legal[i * 9 + one], 1);
    }
    cumind_env_close(env);
    cumind_agent_close(agent);
}
END_TEST

START_TEST(the_network_answers_by_its_three_functions) {
    cumind_agent *agent = open_agent("pole");
    cumind_env *env = open_env("CartPole-v1", ROWS, NULL);
    cumind_agent_facts facts;
    play_some(env, 2);
    cumind_agent_get_facts(agent, &facts);
    ck_assert_int_eq(facts.hidden_size, 32);
    ck_assert_int_eq(facts.simulations, 9);
    ck_assert_int_gt(facts.updates, 0);
    ck_assert(!facts.needs_states);
    const float *observation = cumind_env_get_arrays(env).observation;
    static float hidden[ROWS * 32], logits[ROWS * 2], value[ROWS], raw[ROWS], next[ROWS * 32], reward[ROWS], one[32], r;
    static int32_t action[ROWS];
    const cumind_analysis out = {.raw_value = raw};
    OK(cumind_agent_initial_inference(agent, ROWS, observation, hidden, logits, value));
    OK(cumind_agent_analyse(agent, ROWS, observation, NULL, &out));
    ck_assert_mem_eq(raw, value, sizeof raw);
    for (int i = 0; i < ROWS; i++) action[i] = i % 2;
    OK(cumind_agent_recurrent_inference(agent, ROWS, hidden, action, next, reward, NULL, NULL));
    for (int i = 0; i < ROWS; i += 23) {
        OK(cumind_agent_recurrent_inference(agent, 1, hidden + (size_t)i * 32, &action[i], one, &r, NULL, NULL));
        ck_assert_mem_eq(one, next + (size_t)i * 32, sizeof one);
        ck_assert_float_eq(r, reward[i]);
    }
    ck_assert(memcmp(next, hidden, sizeof next) != 0);
    action[3] = 2;
    expect(cumind_agent_recurrent_inference(agent, ROWS, hidden, action, next, NULL, NULL, NULL), CUMIND_ERR_INPUT,
           "action: 2 in row 3 is not in [0, 2)");
    cumind_env_close(env);
    cumind_agent_close(agent);
}
END_TEST

START_TEST(agents_of_every_kind_act) {
    static const char *const names[] = {"swing", "tiles", "pole"};
    cumind_agent *agent = open_agent(names[_i]);
    cumind_env *env;
    OK(cumind_agent_open_env(agent, 3, 5, &env));
    int32_t action[3], again[3];
    const cumind_analysis out = {.action = action}, same = {.action = again};
    for (int t = 0; t < 4; t++) {
        const cumind_env_arrays a = cumind_env_get_arrays(env);
        OK(cumind_agent_analyse_env(agent, env, 0, 3, &out));
        OK(cumind_agent_analyse(agent, 3, a.observation, _i == 1 ? a.legal : NULL, &same));
        ck_assert_mem_eq(action, again, sizeof action);
        OK(cumind_env_step(env, action));
    }
    float value = 9.0f;
    if (_i == 0) {
        OK(cumind_agent_values(agent, action[0], &value));
        ck_assert(fabsf(value) <= 2.0f);
    } else {
        expect(cumind_agent_values(agent, 0, &value), CUMIND_ERR_INPUT, "is no continuous task");
    }
    cumind_env_close(env);
    cumind_agent_close(agent);
}
END_TEST

/* The search's own policy is of each number; asked for is one over actions. */
START_TEST(policies_of_single_numbers_are_told_as_visit_fractions) {
    cumind_agent *agent = open_agent("glides");
    cumind_env *env;
    int32_t visits[3 * 25];
    float policy[3 * 25], alone[3 * 25], prior[3 * 25];
    const cumind_analysis out = {.visits = visits, .policy = policy, .prior = prior}, same = {.policy = alone};
    OK(cumind_agent_open_env(agent, 3, 5, &env));
    OK(cumind_agent_analyse_env(agent, env, 0, 3, &out));
    OK(cumind_agent_analyse_env(agent, env, 0, 3, &same));
    ck_assert_mem_eq(policy, alone, sizeof policy);
    for (int k = 0; k < 3; k++) {
        int sum = 0;
        for (int a = 0; a < 25; a++) sum += visits[25 * k + a];
        ck_assert_int_gt(sum, 0);
        for (int a = 0; a < 25; a++) ck_assert_float_eq(policy[25 * k + a], (float)visits[25 * k + a] / (float)sum);
    }
    cumind_env_close(env);
    cumind_agent_close(agent);
}
END_TEST

START_TEST(what_an_agent_cannot_do_is_said) {
    float numbers[64] = {0}, bad[64] = {0};
    int32_t action[1] = {0};
    uint8_t none[9] = {0};
    const cumind_analysis out = {.action = action};
    cumind_agent *rules = open_agent("rules"), *tiles = open_agent("tiles"), *game = open_agent("game");
    cumind_env *env = open_env("tictactoe", 1, NULL), *other = open_env("catch", 1, NULL);
    expect(cumind_agent_analyse(rules, 1, numbers, NULL, &out), CUMIND_ERR_INPUT, "use cumind_agent_analyse_env");
    expect(cumind_agent_recurrent_inference(rules, 1, numbers, action, NULL, NULL, NULL, NULL), CUMIND_ERR_ABSENT,
           "it searches on the true rules");
    expect(cumind_agent_recurrent_inference(tiles, 1, numbers, action, NULL, NULL, NULL, NULL), CUMIND_ERR_ABSENT,
           "with chance");
    expect(cumind_agent_analyse_env(game, other, 0, 1, &out), CUMIND_ERR_INPUT,
           "the agent was trained on tictactoe, the environments are catch");
    cumind_env_close(other);
    expect(cumind_agent_analyse(game, 1, numbers, none, &out), CUMIND_ERR_INPUT, "legal: row 0 allows no action");
    cumind_agent *pole = open_agent("pole");
    static const uint8_t all[2] = {1, 1}, part[2] = {1, 0};
    OK(cumind_agent_analyse(pole, 1, numbers, all, &out));
    expect(cumind_agent_analyse(pole, 1, numbers, part, &out), CUMIND_ERR_INPUT,
           "every action of CartPole-v1 is always legal, but row 0 rules out action 1");
    cumind_agent_close(pole);
    bad[5] = NAN;
    expect(cumind_agent_recurrent_inference(game, 1, bad, action, NULL, NULL, NULL, NULL), CUMIND_ERR_INPUT,
           "hidden: number 5 of row 0 is not finite");
    expect(cumind_agent_recurrent_inference(game, 0, numbers, action, NULL, NULL, NULL, NULL), CUMIND_ERR_INPUT,
           "n must be at least 1, got 0");
    expect(cumind_agent_values(game, 0, numbers), CUMIND_ERR_INPUT, "tictactoe is no continuous task");
    expect(cumind_agent_analyse(game, 1, bad, NULL, &out), CUMIND_ERR_INPUT, "number 5 of row 0 is not finite");
    expect(cumind_agent_analyse(game, 0, numbers, NULL, &out), CUMIND_ERR_INPUT, "n must be at least 1, got 0");
    expect(cumind_agent_analyse(game, 1, NULL, NULL, &out), CUMIND_ERR_INPUT, "observation must not be NULL");
    expect(cumind_agent_analyse(game, 1, numbers, NULL, NULL), CUMIND_ERR_INPUT, "out must not be NULL");
    expect(cumind_agent_open_env(game, 0, 1, &other), CUMIND_ERR_INPUT, "instances must be at least 1, got 0");
    ck_assert_ptr_null(other);
    expect(cumind_agent_analyse_env(game, env, 0, 2, &out), CUMIND_ERR_INPUT, "instances 0 to 1 are asked for");
    expect(cumind_agent_analyse(NULL, 1, numbers, NULL, &out), CUMIND_ERR_INPUT, "the handle is NULL");
    cumind_env_close(env);
    cumind_agent_close(rules), cumind_agent_close(tiles), cumind_agent_close(game);
}
END_TEST

START_TEST(runs_that_cannot_be_opened_are_named) {
    char path[128], named[256];
    const char *wrong = "num_simulationz=3";
    cumind_agent *agent;
    snprintf(path, sizeof path, "%s/pole", cm_test_folder);
    expect(cumind_agent_open(NULL, CUMIND_LATEST, NULL, 0, &agent), CUMIND_ERR_INPUT, "run must not be NULL");
    expect(cumind_agent_open("/nowhere/at/all", CUMIND_LATEST, NULL, 0, &agent), CUMIND_ERR_IO,
           "/nowhere/at/all: there is no such folder");
    expect(cumind_agent_open(path, -9, NULL, 0, &agent), CUMIND_ERR_INPUT, "checkpoint must be a number of updates");
    expect(cumind_agent_open(path, 1, NULL, 0, &agent), CUMIND_ERR_INPUT, "1");
    expect(cumind_agent_open(path, CUMIND_LATEST, &wrong, 1, &agent), CUMIND_ERR_INPUT, "num_simulations");
    ck_assert_ptr_null(agent);
    const char *few = "evaluation_simulations=12";
    cumind_agent_facts facts;
    OK(cumind_agent_open(path, CUMIND_LATEST, &few, 1, &agent));
    cumind_agent_get_facts(agent, &facts);
    ck_assert_int_eq(facts.simulations, 12);
    cumind_agent_close(agent);
    /* A stranger's run names code that this user has not trained with. */
    snprintf(named, sizeof named, "sed -i 's/\"CartPole-v1\"/\".\\/stranger.py\"/' %s/config.json", path);
    ck_assert_int_eq(system(named), 0);
    expect(cumind_agent_open(path, CUMIND_LATEST, NULL, 0, &agent), CUMIND_ERR_INPUT, "stranger.py");
    cumind_agent_close(NULL);
}
END_TEST

START_TEST(episodes_are_evaluated_as_by_the_program) {
    double returns[6] = {0};
    char text[256], number[32];
    cumind_agent *game = open_agent("game");
    OK(cumind_agent_evaluate(game, 6, 5, returns));
    strcpy(text, "\"returns\": [");
    for (int i = 0; i < 6; i++) {
        snprintf(number, sizeof number, "%s%.1f", i ? ", " : "", returns[i]);
        strcat(text, number);
    }
    cm_program_run(cm_test_folder, "eval --run game --episodes 6 --seed 5 --json", &result);
    ck_assert_msg(strstr(result.out, text) != NULL, "%s is not in %s", text, result.out);
    expect(cumind_agent_evaluate(game, 0, 5, returns), CUMIND_ERR_INPUT, "episodes must be at least 1, got 0");
    expect(cumind_agent_evaluate(game, 1, 5, NULL), CUMIND_ERR_INPUT, "returns must not be NULL");
    cumind_agent_close(game);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("api/agent");
    TCase *tests = tcase_create("agents");
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_loop_test(tests, an_agent_says_what_the_program_says, 0, 2);
    tcase_add_test(tests, rows_do_not_depend_on_each_other_and_observations_suffice);
    tcase_add_test(tests, the_network_answers_by_its_three_functions);
    tcase_add_loop_test(tests, agents_of_every_kind_act, 0, 3);
    tcase_add_test(tests, policies_of_single_numbers_are_told_as_visit_fractions);
    tcase_add_test(tests, what_an_agent_cannot_do_is_said);
    tcase_add_test(tests, runs_that_cannot_be_opened_are_named);
    tcase_add_test(tests, episodes_are_evaluated_as_by_the_program);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
