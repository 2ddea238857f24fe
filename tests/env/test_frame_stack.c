/* Stacks of frames equal the frames that the same environment shows without them, whoever looks. */
#include "env/frame_stack.h"
#include "env/python_env.h"

enum { E = 6, ROUNDS = 520, MOST = 8, MOST_NUMBERS = 1024 };

static cm_env open_stacked(const char *name, int count) {
    cm_env_params params = cm_env_params_default();
    cm_env env;
    params.frame_stack = count;
    must_msg(cm_env_open(&env, name, &params) == CM_OK, "%s", cm_error_message());
    return env;
}

/* The newest frames of each instance, kept as a reader of the documentation would. */
typedef struct naive {
    int count, size, channels;
    float frame[E][MOST][MOST_NUMBERS];
} naive;

static void see(naive *n, int e, const float *frame, bool is_first) {
    const size_t bytes = (size_t)n->size * sizeof(float);
    memmove(n->frame[e][0], n->frame[e][1], (MOST - 1) * sizeof n->frame[e][0]);
    memcpy(n->frame[e][n->count - 1], frame, bytes);
    for (int k = 0; is_first && k < n->count; k++) memcpy(n->frame[e][k], frame, bytes);
}

static void must_equal_stack(const naive *n, int e, const float *stack) {
    for (int cell = 0; cell < n->size / n->channels; cell++)
        for (int k = 0; k < n->count; k++)
            for (int c = 0; c < n->channels; c++, stack++) must(*stack == n->frame[e][k][cell * n->channels + c]);
}

typedef struct side {
    cm_env env;
    cm_vector_env *vector;
    cm_env_rows rows;
    float *observation;
    uint8_t terminated[E], truncated[E];
    float reward[E];
} side;

static void open_side(side *s, const char *name, int count) {
    s->env = open_stacked(name, count);
    must_equal(cm_vector_env_create(&s->env, E, 11, 0, &s->vector), CM_OK);
    s->observation = calloc((size_t)E * (size_t)s->env.spec.observation_size, sizeof(float));
    s->rows = (cm_env_rows){
        .observation = s->observation, .reward = s->reward, .terminated = s->terminated, .truncated = s->truncated};
    cm_vector_env_show(s->vector, 0, E, &s->rows);
}

static void close_side(side *s) {
    cm_vector_env_destroy(s->vector);
    free(s->observation);
}

static void step_side(side *s, const int32_t *actions) {
    const float *values = s->env.spec.action_size > 0 ? (const float *)(const void *)actions : NULL;
    must_msg((values ? cm_vector_env_step_value(s->vector, 0, E, values, &s->rows)
                     : cm_vector_env_step(s->vector, 0, E, actions, &s->rows)) == CM_OK,
             "%s", cm_error_message());
}

static const float *row_of(const side *s, int e) { return s->observation + e * s->env.spec.observation_size; }

/* What is saved is loaded in the middle of episodes. */
static void reload(side *s) {
    void *bytes = malloc(cm_vector_env_bytes(s->vector));
    const size_t size = cm_vector_env_save(s->vector, bytes);
    cm_vector_env_destroy(s->vector);
    must_equal(cm_vector_env_create(&s->env, E, 11, 0, &s->vector), CM_OK);
    must_msg(cm_vector_env_load(s->vector, bytes, size) == CM_OK, "%s", cm_error_message());
    cm_vector_env_show(s->vector, 0, E, &s->rows);
    free(bytes);
}

/* A state that was taken out shows the same, and goes on alike. */
static void compare_state(const side *s, int e, int action) {
    char *state = malloc(s->env.spec.state_size);
    float *stack = malloc((size_t)s->env.spec.observation_size * sizeof *stack);
    cm_env_outcome out;
    cm_vector_env_get(s->vector, e, state);
    must_msg(cm_env_check_state(&s->env, state) == CM_OK, "%s", cm_error_message());
    cm_env_observe(&s->env, state, stack);
    must_equal(memcmp(stack, row_of(s, e), (size_t)s->env.spec.observation_size * sizeof *stack), 0);
    if (!cm_env_ended(state)) must_equal(cm_env_step(&s->env, state, action, &out), CM_OK);
    free(state);
    free(stack);
}

static void follow(const char *name, int count) {
    static naive n;
    side stacked, single;
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    int ends = 0;
    open_side(&stacked, name, count);
    open_side(&single, name, 1);
    const cm_env_spec *spec = &single.env.spec;
    n = (naive){.count = count, .size = spec->observation_size};
    n.channels = spec->shape[spec->rank == 3 ? 2 : 0];
    must_equal(stacked.env.spec.frames, count);
    must_equal(stacked.env.spec.shape[spec->rank == 3 ? 2 : 0], count * n.channels);
    must_equal(stacked.env.spec.observation_size, count * n.size);
    for (int e = 0; e < E; e++) see(&n, e, row_of(&single, e), true);
    for (int t = 0; t < ROUNDS; t++) {
        int32_t actions[E];
        for (int e = 0; e < E; e++) {
            must_equal_stack(&n, e, row_of(&stacked, e));
            actions[e] = (int32_t)cm_rng_below(&rng, (uint32_t)spec->actions);
        }
        step_side(&stacked, actions);
        step_side(&single, actions);
        must_equal(memcmp(stacked.reward, single.reward, sizeof single.reward), 0);
        must_equal(memcmp(stacked.terminated, single.terminated, sizeof single.terminated), 0);
        for (int e = 0; e < E; e++) see(&n, e, row_of(&single, e), false);
        for (int e = 0; e < E; e++) must_equal_stack(&n, e, row_of(&stacked, e)); /* at ends, too */
        if (t % 50 == 17) reload(&stacked);
        if (t % 20 == 3) compare_state(&stacked, t % E, 0);
        for (int e = 0; e < E; e++) ends += single.terminated[e] || single.truncated[e];
        cm_vector_env_reset_ended(stacked.vector, 0, E, &stacked.rows);
        for (int e = 0; e < E; e++) single.terminated[e] |= single.truncated[e];
        bool begins[E];
        for (int e = 0; e < E; e++) begins[e] = single.terminated[e];
        cm_vector_env_reset_ended(single.vector, 0, E, &single.rows);
        for (int e = 0; e < E; e++)
            if (begins[e]) see(&n, e, row_of(&single, e), true);
    }
    must(ends > 0);
    close_side(&stacked);
    close_side(&single);
}

static const struct {
    const char *name;
    int count;
} games[] = {{"minatar_breakout", 4}, {"minatar_asterix", 2}, {"catch", 3}, {"CartPole-v1", 8}, {"Acrobot-v1", 4}};

START_TEST(stacks_are_the_newest_frames_of_the_same_game) { follow(games[_i].name, games[_i].count); }
END_TEST

START_TEST(stacks_of_python_are_the_newest_frames_of_the_same_game) {
    follow(write_text("counts.py", COUNTS("Box()", "[float(s.t), float(s.t * s.t), 0.5]") "  Box.shape = (3,)\n"), 3);
}
END_TEST

/* A task may say how many of its frames are shown, and the user otherwise. */
START_TEST(python_says_how_many_frames_are_stacked) {
    const char *path =
        write_text("four.py", COUNTS("Box()", "[float(s.t), 1.0]") "  Box.shape = (2,)\n  frames_to_stack = 4\n");
    cm_env env;
    float stack[8];
    open_named(path, &env);
    must_equal(env.spec.frames, 4);
    observe_first(&env, stack);
    const float expected[8] = {0, 1, 0, 1, 0, 1, 1, 1};
    must_equal(memcmp(stack, expected, sizeof stack), 0);
    compare_with_single_states(&env);
    env = open_stacked(path, 1);
    must_equal(env.spec.frames, 1);
    must_equal(env.spec.observation_size, 2);
}
END_TEST

START_TEST(what_cannot_be_stacked_is_refused) {
    static const struct {
        const char *name, *said;
        int count;
    } rows[] = {
        {"connect4", "connect4: frame_stack is for tasks of one player without chance: leave it out", 2},
        {"2048", "2048: frame_stack is for tasks of one player without chance: leave it out", 4},
        {"CartPole-v1", "CartPole-v1: frame_stack is 33; must be in 1..32", 33},
        {"CartPole-v1", "CartPole-v1: frame_stack is -1; must be in 1..32", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_env_params params = cm_env_params_default();
        cm_env env;
        params.frame_stack = rows[i].count;
        must_equal(cm_env_open(&env, rows[i].name, &params), CM_ERR_INPUT);
        must_msg(strcmp(cm_error_message(), rows[i].said) == 0, "%s", cm_error_message());
    }
}
END_TEST

/* Bytes of a stranger's checkpoint. */
START_TEST(frames_of_a_state_that_are_no_numbers_are_refused) {
    const cm_env env = open_stacked("CartPole-v1", 4);
    const float nan = NAN;
    char *state = malloc(env.spec.state_size);
    cm_env_reset(&env, state, 5);
    must_equal(cm_env_check_state(&env, state), CM_OK);
    memcpy(cm_env_rules(state), &nan, sizeof nan);
    must_equal(cm_env_check_state(&env, state), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "a number of its frames is nan"), "%s", cm_error_message());
    free(state);
}
END_TEST

/* The row is tried as it is, and what stands around it is the same for every number of frames. */
START_TEST(the_row_itself_is_found_again) {
    const cm_env four = open_stacked("minatar_breakout", 4), two = open_stacked("minatar_breakout", 2);
    const cm_env one = open_stacked("minatar_breakout", 0), back = cm_env_single_frames(&four);
    must_equal(one.spec.frames, 1);
    must(!cm_env_is_same(&four, &two) && !cm_env_is_same(&four, &one));
    must(cm_env_is_same(&one, &back));
    must_equal(back.spec.observation_size, one.spec.observation_size);
    must_equal(back.spec.state_size, one.spec.state_size);
    must_msg(cm_env_try(&four, 300) == CM_OK, "%s", cm_error_message());
}
END_TEST

int main(void) {
    Suite *suite = suite_create("frame stacks");
    TCase *tc = tcase_create("frame stacks");
    tcase_add_checked_fixture(tc, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, stacks_are_the_newest_frames_of_the_same_game, 0, (int)(sizeof games / sizeof *games));
    tcase_add_test(tc, stacks_of_python_are_the_newest_frames_of_the_same_game);
    tcase_add_test(tc, python_says_how_many_frames_are_stacked);
    tcase_add_test(tc, what_cannot_be_stacked_is_refused);
    tcase_add_test(tc, frames_of_a_state_that_are_no_numbers_are_refused);
    tcase_add_test(tc, the_row_itself_is_found_again);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
