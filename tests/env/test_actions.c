/* Environments written in Python: how numbers become actions of several parts, and masks of parts one of the numbers.
 */
#include "env/python_env.h"

#define KINDS                                                                                                          \
    "import sys\n"                                                                                                     \
    "class Discrete:\n  def __init__(s, n, start=0): s.n, s.start = n, start\n"                                        \
    "class Dict:\n  def __init__(s, **spaces): s.spaces = spaces\n"                                                    \
    "class Tuple:\n  def __init__(s, *spaces): s.spaces = spaces\n"

#define ARRAYS                                                                                                         \
    "import numpy\n"                                                                                                   \
    "class MultiDiscrete:\n  dtype = 'int64'\n"                                                                        \
    "  def __init__(s, nvec, start=0): s.nvec = numpy.array(nvec); s.shape, s.start = s.nvec.shape, start\n"           \
    "class MultiBinary:\n  dtype = 'int8'\n  def __init__(s, *shape): s.shape = shape\n"                               \
    "class Box:\n  def __init__(s, low, high, dtype='float32'):\n"                                                     \
    "    s.low, s.high = numpy.array(low, dtype), numpy.array(high, dtype)\n"                                          \
    "    s.shape, s.dtype = s.low.shape, s.low.dtype\n"

/* Episodes of one step, whose reward is `reward` of the action `a`. `members`: other lines of the class. */
static const char *write_actions(const char *space, const char *reward, const char *members) {
    static int number; /* of a file: one that was opened stays open */
    char name[32], text[4096];
    const bool has_arrays = strstr(space, "Multi") || strstr(space, "Box");
    snprintf(text, sizeof text,
             "%s%sdef make(): return E()\nclass E:\n  max_steps, action_space = 9, %s\n%s"
             "  def reset(s): return [0.0]\n  def step(s, a): return [0.0], float(%s), True\n",
             KINDS, has_arrays ? ARRAYS : "", space, members, reward);
    snprintf(name, sizeof name, "parts%d.py", number++);
    return write_text(name, text);
}

static void open_actions(const char *space, const char *reward, const char *members, cm_env *env) {
    open_and_listen(write_actions(space, reward, members), env);
}

static double reward_of(const cm_env *env, int action) {
    cm_env_outcome out;
    char *state = calloc(1, env->spec.state_size);
    cm_env_reset(env, state, 5);
    must_msg(cm_env_step(env, state, action, &out) == CM_OK, "%s", cm_error_message());
    free(state);
    return out.reward;
}

/* `rewards`[count] of all numbers in their order. */
static void expect_actions(const char *space, const char *reward, const char *told, int count, const double *rewards) {
    cm_env env;
    open_actions(space, reward, "", &env);
    must_msg(env.spec.actions == count && env.spec.action_size == 0, "%s: %d actions", space, env.spec.actions);
    must_msg(strstr(said, told) != NULL, "%s: %s", space, said);
    for (int a = 0; a < count; a++)
        must_msg(fabs(reward_of(&env, a) - rewards[a]) < 1e-6, "%s: action %d has %g", space, a, reward_of(&env, a));
    must_msg(cm_env_try(&env, 32) == CM_OK, "%s: %s", space, cm_error_message());
}

START_TEST(parts_of_a_dict_or_a_tuple_are_numbers_of_their_combinations) {
    static const double dict[6] = {-10, -9, 0, 1, 10, 11}, tuple[4] = {0, 1, 10, 11};
    expect_actions("Dict(x=Discrete(3, -1), y=Discrete(2))", "10 * a['x'] + a['y']",
                   "its actions, Dict of 3 x 2, are read as 6 numbers, one for each combination, the last part fastest",
                   6, dict);
    expect_actions("Tuple(Discrete(2), Dict(z=Discrete(2)))", "10 * a[0] + a[1]['z']", "Tuple of 2 x 2, are read as 4 ",
                   4, tuple);
}
END_TEST

START_TEST(arrays_of_numbers_are_numbers_of_their_combinations) {
    static const double discrete[6] = {0, 1, 10, 11, 20, 21}, grid[4] = {5, 6, 105, 106}, binary[4] = {0, 1, 10, 11};
    if (!has_numpy("combinations")) return;
    expect_actions("MultiDiscrete([3, 2])", "a @ [10, 1] if a.dtype == 'int64' else -1", "MultiDiscrete of 3 x 2,", 6,
                   discrete);
    expect_actions("MultiDiscrete([[1, 2], [1, 2]], 1)", "100 * a[0, 1] + a[1, 1] + 4 - 100 * a[0, 0]",
                   "MultiDiscrete of 1 x 2 x 1 x 2, ", 4, grid);
    expect_actions("MultiBinary(2)", "a @ [10, 1] if a.dtype == 'int8' else -1", "MultiBinary of 2 x 2, ", 4, binary);
}
END_TEST

START_TEST(a_box_with_others_has_some_values) {
    static const double all[6] = {0, 1, 2, 10, 11, 12};
    double eleven[11];
    if (!has_numpy("boxes with others")) return;
    for (int k = 0; k < 11; k++) eleven[k] = -2.0 + 0.4 * k;
    expect_actions("Tuple(Discrete(1), Box([-2], [2]))", "a[1][0]", "Tuple of 1 x 11, ", 11, eleven);
    expect_actions("Tuple(Discrete(2), Box([3], [5], 'int32'))", "10 * a[0] + a[1][0] - 3", "Tuple of 2 x 3, ", 6, all);
}
END_TEST

START_TEST(a_box_may_have_24_numbers_at_once) {
    static const struct { int numbers, bins; } rows[] = {{8, 3}, {15, 3}, {16, 2}, {24, 2}};
    if (!has_numpy("boxes of many numbers")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char space[64];
        cm_env env;
        snprintf(space, sizeof space, "Box([-2.0] * %d, [4.0] * %d)", rows[i].numbers, rows[i].numbers);
        open_actions(space, "a[0] + 10 * a[-1]", "", &env);
        must(env.spec.action_size == rows[i].numbers && env.spec.action_bins == rows[i].bins);
        must(fabs(reward_of(&env, 0) + 22.0) < 1e-5 && fabs(reward_of(&env, rows[i].bins - 1) - 38.0) < 1e-5);
        must_msg(cm_env_try(&env, 16) == CM_OK, "%s", cm_error_message());
    }
}
END_TEST

/* The bounds are a turn; the other number has its bins at both. */
START_TEST(a_box_may_have_angles) {
    cm_env env;
    if (!has_numpy("boxes with angles")) return;
    open_actions("Box([0.0, 0.0], [360.0, 1.0])", "a[0] + 1000 * a[1]", "  action_angles = [0]\n", &env);
    must(env.spec.angles == 1 && env.spec.action_bins == 5 && env.spec.actions == 5 * 5 * env.spec.angle_steps);
    const int turn = 5 * env.spec.angle_steps;
    for (int k = 0; k < turn; k += turn / 5)
        must(fabs(reward_of(&env, 5 * k + 4) - (1000.0 + 360.0 * k / turn)) < 1e-3);
    must(fabs(reward_of(&env, 5 * (turn - 1)) - 360.0 * (turn - 1) / turn) < 1e-3);
    must_msg(cm_env_try(&env, 16) == CM_OK, "%s", cm_error_message());
}
END_TEST

START_TEST(angles_that_are_none_are_refused) {
    cm_env env;
    if (!has_numpy("boxes without angles")) return;
    must_equal(cm_env_open(&env, write_actions("Box([0.0], [1.0])", "0", "  action_angles = [1]\n"), NULL),
               CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "action_angles of [1]; must be places of numbers") != NULL, "%s",
             cm_error_message());
}
END_TEST

/* Two steps make one of the environment; the first pays nothing, and what it chose is seen by the second. */
START_TEST(more_numbers_are_chosen_in_two_steps) {
    enum { NUMBERS = 31, HALF = 16 };
    cm_env env;
    cm_env_outcome out;
    float value[2][HALF], seen[1 + HALF + 1];
    if (!has_numpy("boxes of more numbers")) return;
    open_actions("Box([-1.0] * 31, [1.0] * 31)", "a @ [2.0 ** -i for i in range(31)]", "", &env);
    must_msg(strstr(said, "its actions of 31 numbers are chosen in 2 steps of 16, those chosen first stand behind the "
                          "observation") != NULL,
             "%s", said);
    must(env.spec.action_size == HALF && env.spec.observation_size == 1 + HALF + 1 && env.spec.max_steps == 18);
    char *state = calloc(1, env.spec.state_size), *copy = calloc(1, env.spec.state_size);
    double wanted = 0.0;
    for (int i = 0; i < 2 * HALF; i++) {
        value[i / HALF][i % HALF] = i % 3 == 0 ? -1.0f : 0.5f;
        if (i < NUMBERS) wanted += (double)value[i / HALF][i % HALF] * pow(2.0, -i);
    }
    cm_env_reset(&env, state, 1);
    cm_env_observe(&env, state, seen);
    for (int i = 0; i < 1 + HALF + 1; i++) must(seen[i] == 0.0f);
    must_msg(cm_env_step_value(&env, state, value[0], &out) == CM_OK, "%s", cm_error_message());
    must(out.reward == 0.0 && !out.terminated);
    cm_env_observe(&env, state, seen);
    must(seen[0] == 0.0f && memcmp(seen + 1, value[0], sizeof value[0]) == 0 && seen[1 + HALF] == 1.0f);
    memcpy(copy, state, env.spec.state_size); /* played again in the middle of an action */
    must_msg(cm_env_step_value(&env, state, value[1], &out) == CM_OK, "%s", cm_error_message());
    must(out.terminated && fabs(out.reward - wanted) < 1e-6);
    must_msg(cm_env_step_value(&env, copy, value[1], &out) == CM_OK, "%s", cm_error_message());
    must(out.terminated && fabs(out.reward - wanted) < 1e-6);
    must_msg(cm_env_try(&env, 16) == CM_OK, "%s", cm_error_message());
    free(copy);
    free(state);
}
END_TEST

START_TEST(a_combination_is_named_by_its_parts) {
    char name[16];
    cm_env env;
    open_actions("Tuple(Discrete(3, -1), Discrete(2))", "0", "", &env);
    cm_env_action_name(&env, 1, name, sizeof name);
    must_msg(strcmp(name, "-1/1") == 0, "%s", name);
    must_equal(cm_env_action_parse(&env, "1/0"), 4);
    open_actions("Tuple(*[Discrete(2)] * 10)", "0", "", &env); /* 19 characters with signs between */
    cm_env_action_name(&env, 5, name, sizeof name);
    must_msg(strcmp(name, "0000000101") == 0, "%s", name);
    must_msg(cm_env_try(&env, 8) == CM_OK, "%s", cm_error_message());
    open_actions("Tuple(Discrete(2), Discrete(1))", "0", "  action_names = ['stay', 'go']\n", &env);
    cm_env_action_name(&env, 1, name, sizeof name);
    must_msg(strcmp(name, "go") == 0, "%s", name);
}
END_TEST

/* The mask of what `members` of the class say, "101010". */
static void expect_mask(const char *space, const char *members, const char *wanted) {
    uint8_t mask[64];
    cm_env env;
    open_actions(space, "0", members, &env);
    must_msg(env.def->legal != NULL && env.spec.actions == (int)strlen(wanted), "%s", space);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    cm_env_legal(&env, state, mask);
    for (int a = 0; a < env.spec.actions; a++)
        must_msg(mask[a] == wanted[a] - '0', "%s with %s: action %d", space, members, a);
    free(state);
}

START_TEST(there_may_be_65536_actions) {
    cm_env env;
    uint8_t *mask = calloc(1, CM_ENV_MAX_ACTIONS);
    open_actions("Discrete(65536)", "a", "  def legal_actions(s): return [3, 65535]\n", &env);
    must(env.spec.actions == 65536 && cm_env_is_listed(&env) && reward_of(&env, 65535) == 65535.0);
    must_msg(cm_env_try(&env, 32) == CM_OK, "%s", cm_error_message());
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    cm_env_legal(&env, state, mask);
    for (int a = 0; a < 65536; a++) must(mask[a] == (a == 3 || a == 65535));
    open_actions("Tuple(*[Discrete(2)] * 16)", "sum(a)", "", &env);
    must(env.spec.actions == 65536 && reward_of(&env, 65535) == 16.0 && reward_of(&env, 0x8001) == 2.0);
    must_msg(cm_env_try(&env, 8) == CM_OK, "%s", cm_error_message());
    free(state);
    free(mask);
}
END_TEST

START_TEST(masks_of_parts_make_one_of_combinations) {
    static const char dict[] = "Dict(x=Discrete(3, -1), y=Discrete(2))";
    expect_mask(dict, "  action_masks = dict(x=[1, 0, 1], y=[0, 1])\n", "010001");
    expect_mask(dict, "  action_masks = dict(x=None, y=[0, 1])\n", "010101");
    expect_mask(dict, "  action_masks = [1, 0, 1, 0, 1]\n", "010001");
    expect_mask(dict, "  action_masks = [0, 1, 1, 0, 1, 1]\n", "011011"); /* a flag for each combination */
    expect_mask("Tuple(Discrete(2), Discrete(2))", "  action_masks = [[0, 1], [1, 1]]\n", "0011");
    expect_mask("Tuple(Discrete(2), Discrete(2))", "  action_masks = [0, 1, 1, 1]\n", "0011");
    expect_mask(dict, "  def legal_actions(s): return [dict(x=-1, y=1), dict(x=1, y=0)]\n", "010010");
    expect_mask(dict, "  def legal_actions(s): return [1, 4]\n", "010010");
    if (!has_numpy("masks of parts")) return;
    expect_mask("MultiDiscrete([3, 1, 2])",
                "  action_masks = (numpy.array([1, 0, 1], 'int8'), numpy.array([1]), numpy.array([0, 1], 'int8'))\n",
                "010001");
    expect_mask("MultiDiscrete([3, 2])", "  legal_actions = numpy.array([[0, 1], [2, 0]])\n", "010010");
    expect_mask("MultiBinary(3)", "  action_masks = numpy.array([2, 0, 1], 'int8')\n", "01000100");
    expect_mask("MultiBinary(3)", "  action_masks = [1, 1, 1, 0, 0, 1]\n", "01000100");
    expect_mask("Tuple(MultiBinary(2), Discrete(2))", "  action_masks = (numpy.array([2, 1]), None)\n", "00110011");
}
END_TEST

static void expect_refused(const char *space, const char *members, const char *says) {
    cm_env env;
    cm_status status = cm_env_open(&env, write_actions(space, "0", members), NULL);
    if (status == CM_OK) status = cm_env_try(&env, 8);
    must_equal(status, CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), says) != NULL, "%s: %s", space, cm_error_message());
}

START_TEST(actions_that_are_none_are_refused) {
    expect_refused("Tuple(Discrete(400), Discrete(500))", "",
                   "Tuple of 400 x 500, 200000 actions; at most 65536 are possible: wrap it so that there are fewer");
    expect_refused("Tuple(*[Discrete(2)] * 70)", "",
                   "Tuple of 2 x 2 x 2 x 2 x 2 x 2 x 2 x 2 x ..., 11805916207174113034");
    expect_refused("Discrete(65537)", "", "65537 actions; at most 65536 are possible");
    expect_refused("Tuple()", "", "no action: action_space has none");
    expect_refused("Tuple(Discrete(2), make)", "",
                   "actions of the kind function; must be Box, Discrete, MultiDiscrete");
    if (has_numpy("boxes that are none")) {
        cm_env env; /* there is no place after a picture */
        must_equal(cm_env_open(&env,
                               write_text("picture.py",
                                          ARRAYS "class E:\n  max_steps, action_space = 9, Box([0] * 25, [1] * 25)\n"
                                                 "  def reset(s): return numpy.zeros((4, 4, 3))\n"
                                                 "  def step(s, a): return numpy.zeros((4, 4, 3)), 0.0, True\n"
                                                 "def make(): return E()\n"),
                               NULL),
                   CM_ERR_INPUT);
        must_msg(strstr(cm_error_message(), "a Box of more than 24 numbers as action_space, and pictures: wrap it") !=
                     NULL,
                 "%s", cm_error_message());
        expect_refused("Box([0] * 33, [1] * 33)", "",
                       "a Box of 33 numbers as action_space; at most 32 are possible: wrap it so that there are fewer");
    }
    expect_refused("Dict(x=Discrete(3), y=Discrete(2))", "  action_masks = dict(x=[1, 1, 1])\n",
                   "a mask without the part 'y' of its action_space");
    expect_refused("Dict(x=Discrete(3), y=Discrete(2))", "  action_masks = [1] * 4\n",
                   "a mask of 4 flags, where the parts of an action have 5");
    expect_refused("Dict(x=Discrete(3), y=Discrete(2))", "  def legal_actions(s): return [dict(x=3, y=0)]\n",
                   "legal_actions with 3; they are from 0 to 2");
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("actions");
    TCase *tcase = tcase_create("actions");
    tcase_add_checked_fixture(tcase, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, parts_of_a_dict_or_a_tuple_are_numbers_of_their_combinations);
    tcase_add_test(tcase, arrays_of_numbers_are_numbers_of_their_combinations);
    tcase_add_test(tcase, a_box_with_others_has_some_values);
    tcase_add_test(tcase, a_box_may_have_24_numbers_at_once);
    tcase_add_test(tcase, a_box_may_have_angles);
    tcase_add_test(tcase, angles_that_are_none_are_refused);
    tcase_add_test(tcase, more_numbers_are_chosen_in_two_steps);
    tcase_add_test(tcase, a_combination_is_named_by_its_parts);
    tcase_add_test(tcase, there_may_be_65536_actions);
    tcase_add_test(tcase, masks_of_parts_make_one_of_combinations);
    tcase_add_test(tcase, actions_that_are_none_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return cm_test_main(make_suite()); }
