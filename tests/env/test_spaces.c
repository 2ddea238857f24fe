/* Environments written in Python: what observations and masks of legal actions become. */
#include <math.h>

#include "env/python_env.h"

START_TEST(spaces_of_values_are_bytes_of_which_each_is_1) {
    static const float want[5] = {0, 1, 0, 0, 0}, both[6] = {0, 1, 0, 0, 1, 0};
    float observation[6];
    cm_env env;
    open_named(write_text("values.py", COUNTS("Discrete(5, 2)", "s.t % 5 + 2")), &env);
    must(env.spec.observation_size == 5 && env.spec.observation_unit == 1.0f);
    observe_first(&env, observation);
    must(memcmp(observation, want, sizeof want) == 0);
    compare_with_single_states(&env);
    open_named(write_text("both.py", COUNTS("Dict(a=Discrete(2), b=Discrete(4))", "{'a': s.t % 2, 'b': s.t % 3 + 1}")),
               &env);
    must(env.spec.observation_size == 6 && env.spec.observation_unit == 1.0f);
    observe_first(&env, observation);
    must(memcmp(observation, both, sizeof both) == 0);
    compare_with_single_states(&env);
}
END_TEST

START_TEST(parts_of_several_kinds_are_float32) {
    static const float want[3] = {0, 1, 2.5f};
    float observation[3];
    cm_env env;
    open_named(write_text("mixed.py", COUNTS("Dict(a=Discrete(2), b=Box())", "{'a': s.t % 2, 'b': [s.t + 1.5]}")),
               &env);
    must(env.spec.observation_size == 3 && !(env.spec.observation_unit > 0.0f));
    observe_first(&env, observation);
    must(memcmp(observation, want, sizeof want) == 0);
    compare_with_single_states(&env);
}
END_TEST

#define BYTES "type('Bytes', (Box,), {'dtype': 'uint8', 'low': 0, 'high': 255})()"

/* The numbers of cells that are seen next to a direction: bytes, of which hardly one is large. */
START_TEST(bytes_with_other_parts_are_told_apart_where_they_are_small) {
    const float want[5] = {0, 1, log2f(2) / 8, log2f(11) / 8, 1};
    float observation[5];
    cm_env env;
    if (!has_numpy("small bytes")) return;
    open_named(write_text("cells.py", "import numpy\n" COUNTS("Dict(a=Discrete(2), b=" BYTES ")",
                                                              "{'a': s.t % 2, 'b': numpy.uint8([[1, 10, 255]])}")),
               &env);
    must(env.spec.observation_size == 5 && !(env.spec.observation_unit > 0.0f));
    observe_first(&env, observation);
    for (int i = 0; i < 5; i++) must_msg(fabsf(observation[i] - want[i]) < 1e-6f, "%d: %g", i, observation[i]);
    compare_with_single_states(&env);
}
END_TEST

#define PICTURE                                                                                                        \
    "import numpy\n"                                                                                                   \
    "class E:\n  actions, max_steps = 2, 300\n"                                                                        \
    "  def reset(s):\n    s.t = 250\n    return numpy.full((2, 3), s.t, numpy.uint8)\n"                                \
    "  def step(s, a):\n    s.t += 1\n    return numpy.full((2, 3), s.t, "

START_TEST(pictures_of_bytes_are_bytes_of_which_255_are_1) {
    float observation[6];
    cm_env env;
    if (!has_numpy("bytes")) return;
    open_named(write_text("picture.py", PICTURE "numpy.uint8), 0.0, s.t == 255\n"), &env);
    must(env.spec.rank == 3 && env.spec.shape[0] == 2 && env.spec.shape[1] == 3 && env.spec.shape[2] == 1);
    must(env.spec.observation_unit == 1.0f / 255.0f);
    observe_first(&env, observation);
    for (int i = 0; i < 6; i++) must(observation[i] == 251.0f * (1.0f / 255.0f));
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    compare_with_single_states(&env);
    open_named(write_text("whole.py", PICTURE "int), 0.0, s.t == 255\n"), &env); /* of other numbers that are bytes */
    observe_first(&env, observation);
    must(observation[0] == 251.0f * (1.0f / 255.0f));
}
END_TEST

/* Channel c of row y and column x is 100 c + 10 y + x. */
START_TEST(pictures_get_their_channels_last) {
    float observation[24];
    cm_env env;
    if (!has_numpy("channels")) return;
    open_named(write_text("frames.py", "import numpy\nclass E:\n  actions, max_steps = 2, 9\n"
                                       "  now = numpy.add.outer([0, 100], numpy.add.outer([0, 10, 20], [0, 1, 2, 3])"
                                       ").astype(numpy.uint8)\n"
                                       "  def reset(s): return s.now\n"
                                       "  def step(s, a): return s.now, 0.0, False\n"),
               &env);
    must(env.spec.rank == 3 && env.spec.shape[0] == 3 && env.spec.shape[1] == 4 && env.spec.shape[2] == 2);
    observe_first(&env, observation);
    for (int y = 0, i = 0; y < 3; y++)
        for (int x = 0; x < 4; x++)
            for (int c = 0; c < 2; c++, i++) must(observation[i] == (float)(100 * c + 10 * y + x) * (1.0f / 255.0f));
}
END_TEST

START_TEST(numbers_that_are_no_bytes_are_refused_where_these_were_promised) {
    cm_env env;
    if (!has_numpy("no bytes")) return;
    open_named(write_text("late.py", PICTURE "int), 0.0, False\n"), &env);
    must_equal(cm_env_try(&env, 64), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "late: ") &&
                 strstr(cm_error_message(), "an observation of other numbers than 0"),
             "%s", cm_error_message());
}
END_TEST

/* Four actions, of which those from `first` on may be played, as `legal` says. */
static void expect_legal(const char *name, const char *members, const char *observation, int first) {
    char text[1024];
    uint8_t mask[4];
    cm_env env;
    snprintf(text, sizeof text,
             "%sclass E:\n  actions, max_steps = 4, 9\n%s  def reset(s): return %s\n"
             "  def step(s, a): return %s, (-1.0, -1.0, 0.0, 1.0)[a], True\n",
             strstr(members, "numpy") ? "import numpy\n" : "", members, observation, observation);
    open_named(write_text(name, text), &env);
    must(env.def->legal != NULL);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    cm_env_legal(&env, state, mask);
    for (int a = 0; a < 4; a++) must_msg(mask[a] == (a >= first), "%s: action %d", name, a);
    must_msg(cm_env_try(&env, 32) == CM_OK, "%s", cm_error_message());
    free(state);
}

START_TEST(legal_actions_are_numbers_or_flags) {
    expect_legal("numbers.py", "  def legal_actions(s): return {2, 3}\n", "[0.0]", 2);
    expect_legal("flags.py", "  legal_actions = [False, False, True, True]\n", "[0.0]", 2);
    expect_legal("ints.py", "  def legal_actions(s): return (0, 0, 1, 1)\n", "[0.0]", 2);
    expect_legal("all.py", "  def legal_actions(s): return [1, 1, 1, 1]\n", "[0.0]", 0);
    expect_legal("masks_too.py", "  def action_masks(s): return [0, 0, True, 1.0]\n", "[0.0]", 2);
    expect_legal("rows.py", "  def action_masks(s): return [[0, 0], [1, 1]]\n", "[0.0]", 2);
    expect_legal("reals.py", "  def legal_actions(s): return [2.0, 3.0]\n", "[0.0]", 2);
    if (!has_numpy("flags")) return;
    expect_legal("numpy_flags.py", "  legal_actions = numpy.array([False, False, True, True])\n", "[0.0]", 2);
    expect_legal("numpy_ints.py", "  legal_actions = numpy.array([0, 0, 1, 1], 'int8')\n", "[0.0]", 2);
}
END_TEST

START_TEST(masks_that_are_none_are_refused) {
    expect_tried("threes.py", "return [0.0], 0.0, False\n  def action_masks(s): return [0, 3]",
                 "a mask with another number than 0 and 1");
    expect_tried("short.py", "return [0.0], 0.0, False\n  def legal_actions(s): return [True]",
                 "a mask of 1 actions, not 2");
    expect_tried("either.py", "s.t = 1; return [0.0], 0.0, False\n  t = 0\n  def legal_actions(s): return [s.t, 1]",
                 "legal_actions of [1, 1], flags, where those of reset(seed=0) were numbers of actions; give bools");
    expect_tried("order.py", "return [0.0], 0.0, False\n  def legal_actions(s): return [1, 0]",
                 "legal_actions of [1, 0], numbers or flags; give bools, or numbers in their order");
    expect_tried("half.py", "return [0.0], 0.0, False\n  def legal_actions(s): return [0.5]",
                 "legal_actions with a number of 0.5; must be a whole number");
    expect_tried("none.py", "return [0.0], 0.0, False\n  def action_masks(s): return None",
                 "a mask of the kind NoneType, which is no list");
    expect_tried("longer.py", "return [0.0], 0.0, False\n  def reset(s): return {'a': 1.0, 'action_mask': [1] * 3}",
                 "a mask of 3 actions, not 2");
}
END_TEST

/* As PettingZoo and RLlib have it: the rest alone is the observation, with its shape. */
START_TEST(an_action_mask_in_the_observation_is_no_input) {
    static const char board[] = "{'observation': [[0.5, 1.0]], 'action_mask': [0, 0, 1, 1]}";
    float observation[2];
    char text[1024];
    cm_env env;
    expect_legal("masked.py", "", board, 2);
    snprintf(text, sizeof text,
             "class E:\n  actions, max_steps = 4, 9\n  def reset(s): return %s\n"
             "  def step(s, a): return %s, 0.0, False\n",
             board, board);
    open_and_listen(write_text("masked_too.py", text), &env);
    ck_assert_str_eq(said, "1 masked_too.py: action_mask of its observations is read as the mask of legal actions, and "
                           "is no input\n");
    must(env.spec.rank == 3 && env.spec.shape[0] == 1 && env.spec.shape[1] == 2 && env.def->legal != NULL);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    cm_env_observe(&env, state, observation);
    must(observation[0] == 0.5f && observation[1] == 1.0f);
    free(state);
}
END_TEST

START_TEST(what_looks_like_a_mask_and_is_not_read_is_told) {
    cm_env env;
    open_and_listen(write_text("valid.py", COUNTS("None", "[s.t]") "  def valid_action_mask(s): return [1, 0]\n"),
                    &env);
    ck_assert_str_eq(said,
                     "1 valid.py: its valid_action_mask is not read: where not all actions are legal, call the mask "
                     "action_mask, in its observation or info, or give it a method action_masks()\n");
    open_and_listen(write_text("worse.py", COUNTS("None", "[s.t]") "  illegal_action_reward = -1\n"), &env);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(observations_that_change_their_parts_or_shape_are_refused) {
    cm_env env;
    expect_tried("parts.py", "return {}, 0.0, False\n  def reset(s): return {'a': 1.0}",
                 "its step gives an observation without the part 'a' of its space");
    must(cm_env_open(&env,
                     write_text("nothing.py", "class E:\n  actions, max_steps = 2, 9\n"
                                              "  def reset(s): return {'action_mask': [1, 1]}\n"
                                              "  def step(s, a): pass\n"),
                     NULL) == CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "observations without a number; its action_mask is none of them"), "%s",
             cm_error_message());
    if (!has_numpy("shapes")) return;
    expect_tried("turned.py",
                 "import numpy; return numpy.zeros((3, 2)), 0.0, False\n  def reset(s): return [[0.0] * 3] * 2",
                 "an observation of 3 x 2, where that of reset(seed=0) was 2 x 3");
    expect_tried("days.py", "import numpy; return numpy.array(['2020-01-01'], 'datetime64[D]'), 0.0, False",
                 "an observation that is no array of numbers, but of the kind datetime64");
    expect_tried("complex.py", "import numpy; return numpy.array([1j]), 0.0, False",
                 "an observation that is no array of numbers, but of the kind complex128");
}
END_TEST

/* An environment with a Box of such a type and bounds that always observes the same. */
static void open_box(const char *name, const char *box, const char *value, cm_env *env) {
    char text[1024];
    snprintf(text, sizeof text,
             "import numpy as np\nclass Box:\n  def __init__(s, low, high, dtype):\n"
             "    s.low, s.high, s.dtype = np.array(low), np.array(high), np.dtype(dtype)\n"
             "class MultiBinary:\n  dtype = np.dtype('int8')\n"
             "class E:\n  actions, max_steps, observation_space = 2, 9, %s\n  def reset(s): return %s\n"
             "  def step(s, a): return s.reset(), 0.0, False\ndef make(): return E()\n",
             box, value);
    open_named(write_text(name, text), env);
}

START_TEST(whole_numbers_are_scaled_by_their_bounds) {
    static const struct {
        const char *name, *box, *value;
        float unit, want[2];
    } rows[] = {
        {"flags8.py", "Box([0, 0], [1, 1], 'uint8')", "np.array([0, 1], 'uint8')", 1.0f, {0, 1}},
        {"codes.py", "Box([0, 0], [10, 10], 'uint8')", "np.array([4, 10], 'uint8')", 0.1f, {0.4f, 1}},
        {"bytes.py", "Box([0, 0], [255, 255], 'uint8')", "np.array([51, 0], 'uint8')", 1 / 255.0f, {0.2f, 0}},
        {"each.py", "Box([0, 0], [10, 4], 'uint8')", "np.array([5, 4], 'uint8')", 0, {0.5f, 1}},
        {"signs.py", "Box([-2, -8], [2, 8], 'int8')", "np.array([-1, 8], 'int8')", 0, {-0.5f, 1}},
        {"ints32.py", "Box([0, 0], [20, 20], 'int32')", "np.array([10, 20])", 0, {0.5f, 1}},
        {"endless.py", "Box([-2**31] * 2, [2**31 - 1] * 2, 'int32')", "np.array([7, -3])", 0, {7, -3}},
        {"binary.py", "MultiBinary()", "np.array([1, 0], 'int8')", 1.0f, {1, 0}},
        {"bools.py", "None", "np.array([True, False])", 1.0f, {1, 0}},
        {"empty.py", "Box([0, 0], [0, 0], 'uint8')", "np.array([0, 0], 'uint8')", 1.0f, {0, 0}},
    };
    if (!has_numpy("bounds")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float observation[2];
        cm_env env;
        open_box(rows[i].name, rows[i].box, rows[i].value, &env);
        must_msg(env.spec.observation_unit == rows[i].unit, "%s: %g", rows[i].name, (double)env.spec.observation_unit);
        observe_first(&env, observation);
        for (int k = 0; k < 2; k++)
            must_msg(fabsf(observation[k] - rows[i].want[k]) < 1e-6f, "%s: %g", rows[i].name, (double)observation[k]);
    }
}
END_TEST

/* Channel c of row y and column x is 100 c + 10 y + x. */
#define CHANNELS                                                                                                       \
    "class E:\n  actions, max_steps = 2, 9\n%s"                                                                        \
    "  def reset(s): return [[[100.0 * c + 10 * y + x for x in range(4)] for y in range(3)] for c in range(2)]\n"      \
    "  def step(s, a): return s.reset(), 0.0, False\n"

START_TEST(pictures_of_floats_get_their_channels_last_and_it_is_said) {
    float observation[24];
    char text[1024];
    cm_env env;
    snprintf(text, sizeof text, CHANNELS, "");
    open_and_listen(write_text("planes.py", text), &env);
    ck_assert_str_eq(said,
                     "1 planes.py: its observations of 2 x 3 x 4 are read as channels first, and turned to 3 x 4 x "
                     "2; channels_last = True in its class if they are not\n");
    must(env.spec.shape[0] == 3 && env.spec.shape[1] == 4 && env.spec.shape[2] == 2);
    observe_first(&env, observation);
    for (int y = 0, i = 0; y < 3; y++)
        for (int x = 0; x < 4; x++)
            for (int c = 0; c < 2; c++, i++) must(observation[i] == (float)(100 * c + 10 * y + x));
    compare_with_single_states(&env);
    snprintf(text, sizeof text, CHANNELS, "  channels_last = True\n");
    open_and_listen(write_text("rows.py", text), &env);
    must(env.spec.shape[0] == 2 && env.spec.shape[1] == 3 && env.spec.shape[2] == 4 && said[0] == '\0');
}
END_TEST

/* A picture with channels first, one without channels, and numbers. */
#define SEEN                                                                                                           \
    "import numpy\n"                                                                                                   \
    "class E:\n  actions, max_steps, t = 2, 9, 0\n"                                                                    \
    "  def now(s): return {'eye': numpy.arange(3 * 10 * 12, dtype=numpy.float32).reshape(3, 10, 12),\n"                \
    "                      'depth': numpy.full((10, %d), 500 + s.t, numpy.float32), 'speed': [0.5, s.t]}\n"            \
    "  def reset(s):\n    s.t = 0\n    return s.now()\n"                                                               \
    "  def step(s, a):\n    s.t += 1\n    return s.now(), 0.0, False\n"

START_TEST(pictures_and_few_numbers_are_one_picture) {
    enum { CHANNELS_OF_ALL = 6 };
    static float observation[10 * 12 * CHANNELS_OF_ALL];
    char text[1024];
    cm_env env;
    if (!has_numpy("pictures")) return;
    snprintf(text, sizeof text, SEEN, 12);
    open_and_listen(write_text("sees.py", text), &env);
    must_msg(strstr(said, "its observations, eye and depth and speed, are read as one picture of 10 x 12 x 6, with "
                          "numbers as channels") != NULL,
             "%s", said);
    must(env.spec.shape[0] == 10 && env.spec.shape[1] == 12 && env.spec.shape[2] == CHANNELS_OF_ALL);
    observe_first(&env, observation);
    for (int i = 0; i < 10 * 12; i++) {
        const float *pixel = observation + (size_t)i * CHANNELS_OF_ALL;
        must(pixel[0] == (float)i && pixel[1] == (float)(i + 120) && pixel[2] == (float)(i + 240));
        must(pixel[3] == 501.0f && pixel[4] == 0.5f && pixel[5] == 1.0f);
    }
    compare_with_single_states(&env);
    snprintf(text, sizeof text, SEEN, 13); /* another size */
    open_named(write_text("apart.py", text), &env);
    must(env.spec.rank == 1 && env.spec.observation_size == 3 * 120 + 130 + 2);
}
END_TEST

/* As those are that packages bring along, to need no other one. */
START_TEST(spaces_of_other_classes_are_what_they_have) {
    cm_env env;
    open_named(write_text("alike.py", "class DiscreteSpace:\n  def __init__(s, n): s.n = n\n"
                                      "class E:\n  max_steps, action_space, observation_space = 9, DiscreteSpace(3), "
                                      "DiscreteSpace(4)\n"
                                      "  def reset(s): return 1\n"
                                      "  def step(s, a): return 2, 0.0, False\n"),
               &env);
    must(env.spec.actions == 3 && env.spec.observation_size == 4);
}
END_TEST

START_TEST(numbers_beyond_65536_are_refused_where_they_are_no_picture) {
    cm_env env;
    must(cm_env_open(&env, write_text("long.py", COUNTS("Dict(a=Box(), b=Box())", "{'a': [0.0] * 65536, 'b': [0.0]}")),
                     NULL) != CM_OK);
    must_msg(strstr(cm_error_message(), "observations of 65537 numbers; at most 65536 are possible where they are no "
                                        "picture: wrap it") != NULL,
             "%s", cm_error_message());
}
END_TEST

START_TEST(whole_numbers_that_float32_merges_are_told) {
    cm_env env;
    open_and_listen(write_text("large.py", COUNTS("None", "[0, 2**24 + s.t]")), &env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(said, "2 large.py: observations have numbers of 2^24 and more, where float32 merges whole ones: "
                           "scale or split them\n"); /* once, whatever the processes */
    open_and_listen(write_text("not_large.py", COUNTS("None", "[0, 2**24 - 10 + s.t]")), &env);
    must(cm_env_try(&env, 4) == CM_OK && said[0] == '\0');
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("spaces");
    TCase *tcase = tcase_create("spaces");
    tcase_add_checked_fixture(tcase, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, spaces_of_values_are_bytes_of_which_each_is_1);
    tcase_add_test(tcase, parts_of_several_kinds_are_float32);
    tcase_add_test(tcase, bytes_with_other_parts_are_told_apart_where_they_are_small);
    tcase_add_test(tcase, pictures_of_bytes_are_bytes_of_which_255_are_1);
    tcase_add_test(tcase, pictures_get_their_channels_last);
    tcase_add_test(tcase, numbers_that_are_no_bytes_are_refused_where_these_were_promised);
    tcase_add_test(tcase, masks_that_are_none_are_refused);
    tcase_add_test(tcase, legal_actions_are_numbers_or_flags);
    tcase_add_test(tcase, an_action_mask_in_the_observation_is_no_input);
    tcase_add_test(tcase, what_looks_like_a_mask_and_is_not_read_is_told);
    tcase_add_test(tcase, observations_that_change_their_parts_or_shape_are_refused);
    tcase_add_test(tcase, whole_numbers_are_scaled_by_their_bounds);
    tcase_add_test(tcase, pictures_of_floats_get_their_channels_last_and_it_is_said);
    tcase_add_test(tcase, pictures_and_few_numbers_are_one_picture);
    tcase_add_test(tcase, spaces_of_other_classes_are_what_they_have);
    tcase_add_test(tcase, numbers_beyond_65536_are_refused_where_they_are_no_picture);
    tcase_add_test(tcase, whole_numbers_that_float32_merges_are_told);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return cm_test_main(make_suite()); }
