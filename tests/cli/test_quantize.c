/* `cumind quantize`: runs of 8 bits play as their originals do, are smaller, and are refused where they do not belong.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "cli/runs.h"

#define PLANES                                                                                                         \
    " --set family=resnet --set num_blocks=1 --set conv_channels=16 --set head_channels=2 --set head_hidden=16"        \
    " --set norm=batch"
#define QUICK                                                                                                          \
    " --set env_steps=64 --set min_memory_steps=64 --set num_envs=8 --set final_evaluation_episodes=1 --threads 1"

static double bytes_of(const char *dir, const char *name) {
    char path[320];
    cm_dir folder;
    cm_dir_file file = {.bytes = 0};
    snprintf(path, sizeof path, "%s/%s/latest", cm_test_folder, dir);
    char *real = realpath(path, NULL);
    ck_assert_ptr_nonnull(real);
    ck_assert_msg(cm_dir_open(&folder, real) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_dir_measure(&folder, name, &file) == CM_OK, "%s", cm_error_message());
    cm_dir_close(&folder);
    free(real);
    return (double)file.bytes;
}

static void make_runs(void) {
    cm_test_folder_make();
    expect_ok("train cartpole --run a --quiet --threads 1 --set evaluation_interval=0" SMALL);
    expect_ok("quantize --run a --to b --positions 64");
}

START_TEST(a_quantised_run_is_evaluated_and_much_smaller) {
    expect_ok("quantize --run a --to again --positions 64 --tolerance 1");
    ck_assert_ptr_nonnull(strstr(result.out, "of  9 layers in 8 bits"));
    ck_assert_ptr_nonnull(strstr(result.out, "network          9 of  9 layers in 8 bits; policy 0."));
    ck_assert_ptr_null(strstr(result.out, "in float32  "));
    ck_assert_ptr_nonnull(strstr(result.out, "written to again\n"));
    ck_assert(bytes_of("again", "quantised.safetensors") < 0.5 * bytes_of("a", "parameters.safetensors"));
    expect_ok("eval --run again --episodes 2 --simulations 4 --json");
    ck_assert_double_ge(number_in("mean"), 8.0);
    expect_ok("inspect --run again");
    expect_ok("runs .");
}
END_TEST

static double onnx_bytes(const char *folder) {
    char path[640];
    struct stat file;
    snprintf(path, sizeof path, "%s/%s/policy.onnx", cm_test_folder, folder);
    ck_assert_int_eq(stat(path, &file), 0);
    return (double)file.st_size;
}

START_TEST(a_quantised_run_is_exported_in_8_bits_and_to_onnx_alone) {
    expect_ok("quantize --run a --to exported --positions 64 --tolerance 1");
    expect_ok("export --run a --onnx of_floats --policy");
    expect_ok("export --run exported --onnx of_bits --policy");
    ck_assert_double_lt(onnx_bytes("of_bits"), 0.6 * onnx_bytes("of_floats"));
    expect_exit("export --run exported --torch t --onnx t2", 2, "--torch: the weights of this run are of 8 bits");
    expect_exit("export --run exported --hub t", 2, "--hub: the weights of this run are of 8 bits");
    run("export --run exported --onnx t");
    ck_assert_int_eq(result.status, 0); /* nothing was left of the others */
}
END_TEST

START_TEST(a_run_that_trained_for_8_bits_keeps_its_ranges_and_layers) {
    expect_ok("train cartpole --run qat --quiet --threads 1 --set quantization=qat --set evaluation_interval=0" SMALL);
    expect_ok("quantize --run qat --to qat8 --positions 64 --tolerance 0");
    ck_assert_ptr_nonnull(
        strstr(result.out, "ranges of training (quantization=qat), that of observations raised to what they need"));
    ck_assert_ptr_null(strstr(result.out, "in float32  "));
    expect_ok("eval --run qat8 --episodes 1 --simulations 2 --json");
    expect_ok("export --run qat8 --onnx of_qat --policy");
}
END_TEST

/* All that a run plays in these games, which begin alike. */
static void play_of(const char *folder, char out[512]) {
    char line[256];
    snprintf(line, sizeof line, "eval --run %s --episodes 6 --simulations 4 --seed 5 --json", folder);
    expect_ok(line);
    const char *returns = strstr(result.out, "\"returns\": ");
    ck_assert_ptr_nonnull(returns);
    snprintf(out, 512, "%s", returns);
}

#define AS_IT_WAS                                                                                                      \
    " --quiet --threads 1 --set evaluation_interval=0 --set hidden_dim=32 --set batch_size=32 --set env_steps=1024"    \
    " --set min_memory_steps=256 --set replay_ratio=8 --set learning_rate=1e-12 --set weight_decay=0"                  \
    " --set final_evaluation_episodes=1"

START_TEST(training_for_8_bits_begins_with_weights_of_floats_and_the_other_way_round) {
    char wanted[512], found[512];
    play_of("a", wanted);
    expect_ok("train cartpole --run tuned --init-from a --set quantization=qat" AS_IT_WAS);
    play_of("tuned", found);
    ck_assert_str_eq(found, wanted);
    expect_ok("quantize --run tuned --to tuned8 --positions 64");
    ck_assert_ptr_nonnull(strstr(result.out, "ranges of training (quantization=qat)"));
    expect_ok("quantize --run tuned --to measured8 --positions 64 --set quantization=none");
    ck_assert_ptr_null(strstr(result.out, "ranges of training"));
    expect_ok("eval --run measured8 --episodes 1 --simulations 2");
    expect_ok("export --run measured8 --onnx of_measured --policy");
    expect_ok("train cartpole --run from_measured --init-from measured8" AS_IT_WAS);
    expect_ok("train cartpole --run floats --init-from tuned" AS_IT_WAS);
    play_of("floats", found);
    ck_assert_str_eq(found, wanted);
    expect_ok("train cartpole --run from_bits --init-from tuned8" AS_IT_WAS);
    expect_exit("train cartpole --run no --init-from a --set quantization=qat --set hidden_dim=48", 2,
                "hidden_dim 32 (not 48)");
}
END_TEST

/* Bins of an angle are fewer than the actions. */
START_TEST(a_policy_of_angles_is_quantised) {
    expect_ok("train aim --run angles --quiet --set preset=small --set num_sampled_actions=4 --set hidden_dim=16"
              " --set num_simulations=4 --set evaluation_interval=0" QUICK);
    expect_ok("quantize --run angles --to angles8 --positions 64");
}
END_TEST

/* A checkpoint's files of segments lose their last byte. */
static void wear_out(const char *run) {
    char path[320];
    snprintf(path, sizeof path, "%s/%s/latest", cm_test_folder, run);
    char *real = realpath(path, NULL);
    ck_assert_ptr_nonnull(real);
    DIR *folder = opendir(real);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat file;
        if (strncmp(entry->d_name, "replay-segment", 14) != 0) continue;
        ck_assert_int_eq(fstatat(dirfd(folder), entry->d_name, &file, 0), 0);
        snprintf(path, sizeof path, "%.200s/%.100s", real, entry->d_name);
        ck_assert_int_eq(truncate(path, file.st_size - 1), 0);
    }
    closedir(folder);
    free(real);
}

START_TEST(positions_are_of_the_memory_where_it_has_enough) {
    expect_ok("train cartpole --run worn --quiet --threads 1" SMALL);
    expect_ok("quantize --run worn --to drawn --positions 64");
    ck_assert_ptr_nonnull(strstr(result.out, "errors on 64 positions of the run's memory and 8 steps after each"));
    expect_ok("quantize --run worn --to played --positions 8192");
    ck_assert_ptr_nonnull(strstr(result.out, "errors on 8192 positions of games of the policy and 8 steps"));
    wear_out("worn");
    expect_ok("quantize --run worn --to worn8 --positions 64");
    ck_assert_ptr_nonnull(strstr(result.out, "errors on 64 positions of games of the policy and 8 steps"));
    ck_assert_ptr_nonnull(strstr(result.err, "warning: no positions of the run's memory: "));
}
END_TEST

START_TEST(what_is_sensitive_stays_in_floats) {
    expect_ok("quantize --run a --to careful --positions 64 --tolerance 0");
    ck_assert_ptr_nonnull(strstr(result.out, "\nin float32      "));
    expect_ok("eval --run careful --episodes 1 --simulations 2 --json");
}
END_TEST

START_TEST(a_quantised_run_begins_another_one_but_does_not_go_on) {
    expect_exit("train --resume b --env-steps 2048", 2, "its weights are of 8 bits, which plays and does not train");
    expect_ok("train --config b/config.json --init-from b --run c --quiet --threads 1 --set env_steps=256");
}
END_TEST

START_TEST(what_cannot_be_quantised_is_refused_in_a_line) {
    expect_exit("quantize --run a", 2, "say where the new run goes, with --to DIR");
    expect_exit("quantize --run a --to b", 2, "--to b: is there already; choose another folder");
    expect_exit("quantize --run nowhere --to d", 2, "nowhere");
    expect_exit("quantize --run b --to d", 2, "b: its weights are of 8 bits already");
    expect_exit("quantize --run a --to d --tolerance 2", 2, "--tolerance: must be a number in 0..1");
    expect_exit("quantize --run a --to d --positions 0", 2, "--positions: must be an integer in 1..");
    expect_exit("quantize --run a --to a/config.json/d", 1, "a/config.json: cannot make the folder: Not a directory");
    ck_assert_str_eq(result.out, "");
    ck_assert(!cm_file_exists("d"));
}
END_TEST

/* A byte is another one. */
START_TEST(a_damaged_file_of_8_bits_is_refused) {
    expect_ok("quantize --run a --to damaged --positions 64");
    char path[320];
    snprintf(path, sizeof path, "%s/damaged/latest/quantised.safetensors", cm_test_folder);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, -1, SEEK_END), 0);
    ck_assert_int_ne(fputc(1, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
    run("eval --run damaged --episodes 1");
    ck_assert_int_ne(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.err, "quantised.safetensors: its checksum differs"));
}
END_TEST

START_TEST(planes_and_boards_are_quantised) {
    expect_ok("train tictactoe --run board --quiet --set consistency_weight=1 --set consistency_hidden=64"
              " --set consistency_output=64 --set consistency_predictor=32" QUICK PLANES);
    expect_ok("quantize --run board --to board8 --positions 32");
    ck_assert_ptr_nonnull(strstr(result.out, "left out        "));
    ck_assert(bytes_of("board8", "quantised.safetensors") < 0.4 * bytes_of("board", "parameters.safetensors"));
    expect_ok("eval --run board8 --episodes 2 --simulations 4");
    expect_ok("eval --run board8 --opponent board --games 2 --simulations 4");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/quantize");
    TCase *tests = tcase_create("quantize");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, make_runs, cm_test_folder_remove);
    tcase_add_test(tests, a_quantised_run_is_evaluated_and_much_smaller);
    tcase_add_test(tests, a_quantised_run_is_exported_in_8_bits_and_to_onnx_alone);
    tcase_add_test(tests, a_run_that_trained_for_8_bits_keeps_its_ranges_and_layers);
    tcase_add_test(tests, training_for_8_bits_begins_with_weights_of_floats_and_the_other_way_round);
    tcase_add_test(tests, a_policy_of_angles_is_quantised);
    tcase_add_test(tests, positions_are_of_the_memory_where_it_has_enough);
    tcase_add_test(tests, what_is_sensitive_stays_in_floats);
    tcase_add_test(tests, a_quantised_run_begins_another_one_but_does_not_go_on);
    tcase_add_test(tests, what_cannot_be_quantised_is_refused_in_a_line);
    tcase_add_test(tests, a_damaged_file_of_8_bits_is_refused);
    tcase_add_test(tests, planes_and_boards_are_quantised);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
