/* Files that ask for more memory than their run has a use for: one line, and no memory. */
#include "cli/strange.h"

static const char trained[] =
    "train --quiet --run small --set env_steps=256 --set min_memory_steps=64 --set hidden_dim=16 --set num_envs=2"
    " --set evaluation_interval=0 --set final_evaluation_episodes=0";

/* Reads a file of the run, that is to be freed. */
static char *text_of(const char *name) {
    char path[640], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/small/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_read(path, 1 << 14, &text, &size), CM_OK);
    return text;
}

/* Another value of hidden_dim, in the run's configuration and in what its checkpoint says of it. */
static void widen(const char *to) {
    static const char from[] = "\"hidden_dim\": 16";
    char path[640], changed[1 << 15], *config = text_of("config.json"), *state = text_of("latest/state.json");
    const char *at = strstr(config, from);
    ck_assert_msg(at != NULL, "%s", config);
    snprintf(path, sizeof path, "%s/small/config.json", cm_test_folder);
    snprintf(changed, sizeof changed, "%.*s\"hidden_dim\": %s%s", (int)(at - config), config, to, at + strlen(from));
    ck_assert_int_eq(cm_file_write(path, changed, strlen(changed)), CM_OK);
    snprintf(path, sizeof path, "\"hidden_dim\": \"%s\"", to);
    change_state("small", state, "\"hidden_dim\": \"16\"", path);
    free(config);
    free(state);
}

/* 8192 x 8192 numbers of a layer are 268 MB, and a run has several of them several times. */
START_TEST(a_configuration_of_a_wide_network_is_held_against_the_file_first) {
    static const char says[] = "has shape [16, 4], this network has [8192, 4]: ";
    expect_ok(trained);
    widen("8192");
    expect_refused("eval --run small --episodes 1", says);
    expect_refused("inspect --run small", says);
    expect_refused("train --quiet --resume small", says);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/memory");
    TCase *c = tcase_create("memory");
    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(c, a_configuration_of_a_wide_network_is_held_against_the_file_first);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
