/* cumind export as a user meets it: what is written, what is refused, and that a run's folder stays as it is. */
#include <sys/stat.h>

#include "runs.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train CartPole-v1 --quiet --run ref" SMALL);
}

static void path_of(const char *name, char out[640]) { snprintf(out, 640, "%s/%s", cm_test_folder, name); }

static void expect_file(const char *name, bool is_there) {
    char path[640];
    path_of(name, path);
    ck_assert_msg(cm_file_exists(path) == is_there, "%s %s", name, is_there ? "is missing" : "is there");
}

/* A JSON file of the folder; the caller frees it. */
static cm_json_doc *read_json(const char *name) {
    char path[640];
    cm_json_doc *doc = NULL;
    path_of(name, path);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    return doc;
}

START_TEST(functions_are_files_and_the_policy_on_wish) {
    expect_ok("export --run ref --onnx plain");
    ck_assert_str_eq(result.out, "written to plain\n");
    expect_file("plain/initial_inference.onnx", true);
    expect_file("plain/recurrent_inference.onnx", true);
    expect_file("plain/policy.onnx", false);
    expect_file("plain/afterstate_inference.onnx", false);
    expect_file("plain/examples.safetensors", false);
    expect_ok("export --run ref --onnx deep/er --policy --examples 3");
    expect_file("deep/er/policy.onnx", true);
    expect_file("deep/er/examples.safetensors", true);
}
END_TEST

START_TEST(a_hub_folder_tells_what_the_network_is) {
    static char card[1 << 16], hash[64];
    expect_ok("export --run ref/ --hub hub --onnx hub/onnx --decode");
    expect_file("hub/onnx/initial_inference.onnx", true);
    expect_file("hub/model.safetensors", true);
    cm_json_doc *doc = read_json("hub/config.json");
    const cm_json *root = cm_json_root(doc), *functions = cm_json_get(root, "functions");
    hash_of("ref", hash);
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "run")), "ref");
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "environment")), "CartPole-v1");
    ck_assert_str_eq(cm_json_string(cm_json_first(cm_json_get(root, "action_names"))), "left");
    ck_assert_int_eq(cm_json_size(functions), 3);
    const cm_json *outputs = cm_json_get(cm_json_get(functions, "recurrent_inference"), "outputs");
    ck_assert_ptr_nonnull(cm_json_get(outputs, "reward"));
    ck_assert_ptr_null(cm_json_get(outputs, "reward_logits"));
    cm_program_file(cm_test_folder, "hub/README.md", card, sizeof card);
    ck_assert_ptr_nonnull(strstr(card, "\nlibrary_name: cumind\n"));
    ck_assert_ptr_nonnull(strstr(card, "type: mean_reward"));
    ck_assert_ptr_nonnull(strstr(card, cm_json_string(cm_json_get(root, "parameter_hash"))));
    ck_assert_ptr_null(strstr(card, cm_test_folder)); /* no path of the machine */
    cm_json_free(doc);
}
END_TEST

/* The last parameters are those of result.json, as they are not averaged. */
START_TEST(the_hash_is_that_of_the_run) {
    char hash[64];
    expect_ok("train CartPole-v1 --quiet --run raw --set ema_decay=0" SMALL);
    expect_ok("export --run raw --checkpoint latest --torch raw.torch");
    hash_of("raw", hash);
    cm_json_doc *doc = read_json("raw.torch/config.json");
    ck_assert_str_eq(cm_json_string(cm_json_get(cm_json_root(doc), "parameter_hash")), hash);
    cm_json_free(doc);
}
END_TEST

START_TEST(a_folder_with_files_is_refused_before_anything_is_written) {
    expect_ok("export --run ref --onnx full");
    run("export --run ref --hub fresh --onnx full");
    cm_program_expect_error(&result, 2, "full: the folder is not empty: choose another one, or add --overwrite");
    expect_file("fresh", false);
    expect_ok("export --run ref --onnx full --policy --overwrite");
    expect_file("full/policy.onnx", true);
    expect_file("full/initial_inference.onnx", true);
}
END_TEST

START_TEST(what_makes_no_sense_is_one_clear_line) {
    static const struct {
        const char *line, *part;
    } wrong[] = {
        {"export --run ref", "say what to write, with --onnx DIR, --torch DIR or --hub DIR"},
        {"export --run ref --torch t --policy", "--policy: goes together with --onnx"},
        {"export --run ref --torch t --check", "--check: goes together with --onnx"},
        {"export --run ref --onnx t --scale", "--scale: observations of CartPole-v1 are no bytes"},
        {"export --run ref --onnx t --examples 0", "--examples"},
        {"export --run none --onnx t", "none"},
        {"export --run ref --onnx ref/config.json", "is there, and no folder"},
        {"export --run ref --onnx t --checkpoint 77777", "77777"},
        {"export --run ref --onnx t --set hidden_dim=33", "shape"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        run(wrong[i].line);
        ck_assert_msg(result.status != 0 && result.out[0] == '\0', "%s: %s", wrong[i].line, result.out);
        ck_assert_msg(strstr(result.err, wrong[i].part) != NULL, "%s: %s", wrong[i].line, result.err);
        expect_file("t", false);
    }
}
END_TEST

START_TEST(bytes_are_scaled_where_an_environment_has_them) {
    expect_ok("train catch --quiet --run pixels --env-steps 128 --set min_memory_steps=64 --set hidden_dim=8"
              " --set final_evaluation_episodes=0 --set evaluation_interval=0");
    expect_ok("export --run pixels --onnx pixels.onnx --torch pixels.torch --scale");
    cm_json_doc *doc = read_json("pixels.torch/config.json");
    const cm_json *functions = cm_json_get(cm_json_root(doc), "functions");
    const cm_json *inputs = cm_json_get(cm_json_get(functions, "initial_inference"), "inputs");
    ck_assert_str_eq(cm_json_string(cm_json_first(cm_json_get(inputs, "observation"))), "uint8");
    ck_assert_double_eq(cm_json_number(cm_json_get(cm_json_root(doc), "observation_scale"), 0.0), 1.0);
    cm_json_free(doc);
}
END_TEST

/* python3 that has nothing, and none at all. */
START_TEST(a_check_without_its_programs_says_what_to_install) {
    static char before[4096], bin[640];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    path_of("bin/python3", bin);
    ck_assert_int_eq(cm_directory_make_parent(bin), CM_OK);
    ck_assert_int_eq(cm_file_write(bin, "#!/bin/sh\nexit 3\n", 17), CM_OK);
    ck_assert_int_eq(chmod(bin, 0755), 0);
    path_of("bin", bin);
    setenv("PATH", bin, 1);
    run("export --run ref --onnx checked --check");
    cm_program_expect_error(&result, 1, "pip install onnxruntime");
    setenv("PATH", "/nonexistent", 1);
    run("export --run ref --onnx checked --check --overwrite");
    cm_program_expect_error(&result, 1, "no python3 is on the path");
    setenv("PATH", before, 1);
    expect_file("checked/initial_inference.onnx", true);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/export");
    TCase *tests = tcase_create("export");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, functions_are_files_and_the_policy_on_wish);
    tcase_add_test(tests, a_hub_folder_tells_what_the_network_is);
    tcase_add_test(tests, the_hash_is_that_of_the_run);
    tcase_add_test(tests, a_folder_with_files_is_refused_before_anything_is_written);
    tcase_add_test(tests, what_makes_no_sense_is_one_clear_line);
    tcase_add_test(tests, bytes_are_scaled_where_an_environment_has_them);
    tcase_add_test(tests, a_check_without_its_programs_says_what_to_install);
    return cm_test_main(suite);
}
