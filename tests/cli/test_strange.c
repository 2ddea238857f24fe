/* Checkpoints of a stranger: their checksums are right, what they hold is not. */
#include "cli/runs.h"
#include "env/vector.h"
#include "run/manifest.h"

#define CATCH                                                                                                          \
    "train --quiet --set env_name=catch --set num_envs=2 --set env_steps=400 --set min_memory_steps=64 "               \
    "--set final_evaluation_episodes=0 --set evaluation_interval=0 --set hidden_dim=16 --set threads=1 --run "

static void file_of(const char *run, const char *name, char path[640]) {
    snprintf(path, 640, "%s/%s/latest/%s", cm_test_folder, run, name);
}

/* Puts data[size] in place of a file of the last checkpoint, and its checksum into the manifest. */
static void replace(const char *run, const char *name, const char *data, size_t size) {
    char path[640], folder[640];
    cm_manifest manifest = {0};
    cm_dir dir;
    file_of(run, name, path), file_of(run, "", folder);
    ck_assert_msg(cm_file_write(path, data, size) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_dir_open(&dir, folder) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_manifest_read(&manifest, &dir) == CM_OK, "%s", cm_error_message());
    cm_manifest_file *row = NULL;
    for (int i = 0; i < manifest.count; i++)
        if (strcmp(manifest.file[i].name, name) == 0) row = &manifest.file[i];
    ck_assert_ptr_nonnull(row);
    row->bytes = size;
    cm_hash_bytes(data, size, row->hash);
    ck_assert_msg(cm_manifest_write(&manifest, &dir) == CM_OK, "%s", cm_error_message());
    cm_manifest_reset(&manifest);
    cm_dir_close(&dir);
}

/* One line, that ends with `says`, and nothing else. */
static void expect_refused(const char *arguments, const char *says) {
    run(arguments);
    cm_program_expect_error(&result, 2, says);
}

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

/* Puts the text with `from` changed to `to` in place of state.json of the last checkpoint. */
static void change_state(const char *run, const char *text, const char *from, const char *to) {
    char changed[1 << 15];
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s", text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    replace(run, "state.json", changed, strlen(changed));
}

/* A number of many digits, in a shape that is said, had written behind the text that says it. */
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
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
