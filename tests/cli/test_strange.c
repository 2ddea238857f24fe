/* Checkpoints of a stranger: their checksums are right, what they hold is not. */
#include "cli/strange.h"
#include "env/vector.h"

#define CATCH                                                                                                          \
    "train --quiet --config default --set env_name=catch --set num_envs=2 --set env_steps=400 --set "                  \
    "min_memory_steps=64 "                                                                                             \
    "--set final_evaluation_episodes=0 --set evaluation_interval=0 --set hidden_dim=16 --set threads=1 --run "

/* The states lie first in the arrays of the vector, whose bytes are the last of the file. */
START_TEST(states_of_environments_are_checked) {
    enum { PADDLE = 8, HEADER = 184 };
    const int32_t far = 1 << 28;
    char path[640], *data;
    size_t size;
    cm_env env;
    expect_ok(CATCH "c");
    ck_assert_int_eq(cm_env_open(&env, "catch", NULL), CM_OK);
    file_of("c", "environments.bin", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &data, &size), CM_OK);
    const size_t rules = size - cm_vector_env_bytes_of(&env, 2) + HEADER;
    memcpy(data + rules + env.spec.rules_size + PADDLE, &far, sizeof far);
    replace("c", "environments.bin", data, size);
    expect_refused("train --resume c",
                   "environments.bin: catch: environment 1: its paddle's column is 268435456; must be 0..4\n");
    free(data);
}
END_TEST

static void shell(const char *line) {
    char command[256];
    snprintf(command, sizeof command, "cd %s && %s", cm_test_folder, line);
    ck_assert_msg(system(command) == 0, "%s", line);
}

/* Its log and `latest` would be made, and its configuration be another one. */
START_TEST(a_run_that_is_refused_is_left_as_it_is) {
    static const struct {
        const char *from, *to, *says;
    } wrong[] = {
        {"\"credit\": ", "\"credit\": 1e9, \"was\": ", "state.json: credit: must be in [0, 1], got 1"},
        {"\"env_steps\": 400", "\"env_steps\": 800", "state.json: its 800 env_steps and 44 episodes are not the 400 "},
    };
    char path[640], *text;
    size_t size;
    shell("rm -rf r was");
    expect_ok(CATCH "r");
    file_of("r", "state.json", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 14, &text, &size), CM_OK);
    change_state("r", text, wrong[_i].from, wrong[_i].to);
    free(text);
    shell("rm r/log.txt r/latest && cp -a r was");
    expect_refused("train --resume r --env-steps 500", wrong[_i].says);
    shell("diff -r --no-dereference was r");
}
END_TEST

/* A number of many digits, in a shape that is said, had written after the text that says it. */
START_TEST(counters_are_checked) {
    static const struct {
        const char *from, *to, *says;
    } wrong[] = {
        {"\"evaluations\": 0", "\"evaluations\": -1", "state.json: evaluations: must be an integer in [0, "},
        {"\"credit\": ", "\"credit\": 1e9, \"was\": ", "state.json: credit: must be in [0, 1], got 1"},
        {"\"fresh_steps\": 0", "\"fresh_steps\": 300", "state.json: fresh_steps: is 300, more than the 16 of an it"},
        {"\"env_steps\": 400", "\"env_steps\": 800", "state.json: its 800 env_steps and 44 episodes are not the 400 "},
        {"\"observation_shape\": [", "\"observation_shape\": [1e300, 3, 4,", "observation_shape: must have at most 3"},
        {"\"actions\": 3", "\"actions\": 1e300", "number of actions is 3, was 1"},
        {"\"rewards\": [", "\"rewards\": [1, 2, ", "rewards: must have 48 numbers, got more"},
    };
    char path[640], *text;
    size_t size;
    expect_ok(CATCH "s");
    file_of("s", "state.json", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 14, &text, &size), CM_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        change_state("s", text, wrong[i].from, wrong[i].to);
        expect_refused("train --resume s", wrong[i].says);
    }
    free(text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/strange");
    TCase *c = tcase_create("strange");
    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(c, states_of_environments_are_checked);
    tcase_add_test(c, counters_are_checked);
    tcase_add_loop_test(c, a_run_that_is_refused_is_left_as_it_is, 0, 2);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
