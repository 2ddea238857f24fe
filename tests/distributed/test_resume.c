/* Runs that other ranks go on with: the same number gives the unbroken run, any other loses nothing; and checkpoints
 * that one of several ranks cannot write, or not read. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "run/checkpoint.h"
#include "run/metrics.h"
#include "run/run.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"
#include "support/same_metrics.h"

enum { ENVIRONMENTS = 24, ITERATION = 8 * ENVIRONMENTS };

/* 24 environments are a share for 1, 2, 3 and 4 ranks; the memory is so large that no episode leaves it. */
#define SMALL                                                                                                          \
    "train --oversubscribe --threads 1 --set num_envs=24 --set batch_size=48 --set memory_steps=24000 "                \
    "--set min_memory_steps=192 --set updates_per_iteration=3 --set num_simulations=4 --set hidden_dim=32 "            \
    "--set final_evaluation_episodes=0 --set evaluation_interval=0 --set checkpoint_updates=6 --set log_interval=0 "

static cm_output output;

static void path_of(const char *run, const char *file, char path[256]) {
    snprintf(path, 256, "%s/%s%s%s", cm_test_folder, run, file[0] ? "/" : "", file);
}

/* ---- commands ---- */

static void run(int ranks, const char *text, const char *rest) {
    char line[2048], devices[32] = "";
    if (ranks > 1) snprintf(devices, sizeof devices, " --num-devices %d", ranks);
    snprintf(line, sizeof line, "%s %s%s", text, rest, devices);
    cm_program_run(cm_test_folder, line, &output);
}

static void train(int ranks, const char *rest) {
    run(ranks, SMALL "--quiet", rest);
    ck_assert_msg(output.status == 0, "%d ranks: %s", ranks, output.err);
    ck_assert_str_eq(output.err, "");
}

static void resume(int ranks, const char *rest) { run(ranks, "train --quiet --oversubscribe --resume", rest); }

static void copy(const char *from, const char *to) {
    char command[256];
    snprintf(command, sizeof command, "cp -a %s/%s %s/%s", cm_test_folder, from, cm_test_folder, to);
    ck_assert_int_eq(system(command), 0);
}

/* ---- what a run has ---- */

static int64_t state(const char *run, const char *key) {
    char path[256];
    cm_json_doc *doc;
    path_of(run, "latest/state.json", path);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    double value = cm_json_number(cm_json_get(cm_json_root(doc), key), -1.0);
    cm_json_free(doc);
    return (int64_t)value;
}

/* Segments of the replay in the newest checkpoint, by the names of its files. */
static int64_t segments(const char *run) {
    char path[256];
    long long sum = 0, first, count;
    path_of(run, "latest", path);
    DIR *files = opendir(path);
    ck_assert_ptr_nonnull(files);
    for (struct dirent *entry; (entry = readdir(files));) {
        const char *name = strstr(entry->d_name, "replay-segment-");
        if (name && sscanf(name, "replay-segment-%lld-%lld.bin", &first, &count) == 2) sum += count;
    }
    closedir(files);
    return sum;
}

static cm_checkpoint_store *open_store(const char *run) {
    char path[256];
    cm_checkpoint_store *store;
    path_of(run, "", path);
    ck_assert_int_eq(cm_checkpoint_store_create(path, 1, NULL, &store), CM_OK);
    return store;
}

/* Nothing is there but whole checkpoints. */
static void expect_intact(const char *run) {
    cm_checkpoint_store *store = open_store(run);
    char path[256];
    int64_t latest = cm_checkpoint_find(store, CM_CHECKPOINT_LATEST);
    ck_assert_int_ge(latest, 0);
    ck_assert_int_eq(cm_checkpoint_newest_intact(store, NULL), latest);
    cm_checkpoint_store_destroy(store);
    path_of(run, "checkpoints", path);
    DIR *all = opendir(path);
    for (struct dirent *entry; all && (entry = readdir(all));) ck_assert_ptr_null(strstr(entry->d_name, ".writing"));
    if (all) closedir(all);
}

/* The files of the newest checkpoints are the same, byte for byte, but for those that hold times or depend on which
 * segments were saved together. */
static void expect_same_files(const char *a, const char *b) {
    static const char *const names[] = {"parameters.safetensors",  "optimizer.safetensors", "environments.bin",
                                        "rank-1-environments.bin", "replay-state.bin",      "rank-1-replay-state.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256], file[64], *one, *two;
        size_t size, other;
        snprintf(file, sizeof file, "latest/%s", names[i]);
        path_of(a, file, path);
        ck_assert_msg(cm_file_read(path, 1 << 24, &one, &size) == CM_OK, "%s", cm_error_message());
        path_of(b, file, path);
        ck_assert_msg(cm_file_read(path, 1 << 24, &two, &other) == CM_OK, "%s", cm_error_message());
        ck_assert_msg(size == other && memcmp(one, two, size) == 0, "%s differs", names[i]);
        free(one);
        free(two);
    }
}

/* ---- tests ---- */

START_TEST(two_ranks_go_on_with_a_run_of_two_as_if_it_had_not_been_broken) {
    static const char *const kinds[] = {"--env-steps 1536 --run whole",
                                        "--env-steps 1536 --run whole --set value_prefix=true --set lstm_size=16"};
    int64_t numbers[8];
    char text[64];
    if (!cm_program_has_mpi()) return;
    train(2, kinds[_i]);
    copy("whole", "broken");
    cm_checkpoint_store *store = open_store("broken");
    ck_assert_int_eq(cm_checkpoint_list(store, numbers, 8), 3);
    cm_checkpoint_store_destroy(store);
    snprintf(text, sizeof text, "broken --checkpoint %lld --overwrite", (long long)numbers[0]);
    resume(2, text);
    ck_assert_msg(output.status == 0, "%s", output.err);
    expect_same_metrics("whole", "broken");
    expect_same_files("whole", "broken");
    expect_intact("broken");
}
END_TEST

/* Waits for a file of a run, or for a text in it. */
static void await_text(const char *run_name, const char *file, const char *text) {
    char name[64], seen[65536] = "";
    snprintf(name, sizeof name, "%s/%s", run_name, file);
    for (int i = 0; i < 3000 && !strstr(seen, text); i++, usleep(10000))
        cm_program_file(cm_test_folder, name, seen, sizeof seen);
    ck_assert_msg(strstr(seen, text) != NULL, "%s: %s", name, seen);
}

enum { BROKEN_OFF = 4 };

/* Wherever it is: most of the time it learns. */
START_TEST(two_ranks_that_are_broken_off_go_on_to_the_same_bits) {
    static const char *const kinds[BROKEN_OFF] = {"", " --set overlap=on", " --set reanalyse_ratio=0.5",
                                                  (" --set reanalyse=buffer --set target_update_frequency=15 --set "
                                                   "mixed_value_updates=20 --set mixed_value_steps=200")};
    char rest[256], command[1024];
    if (!cm_program_has_mpi()) return;
    snprintf(rest, sizeof rest, "--env-steps 768 --set updates_per_iteration=40%s", kinds[_i]);
    snprintf(command, sizeof command, "%s --run whole", rest);
    train(2, command);
    snprintf(command, sizeof command, SMALL "--quiet --num-devices 2 %s --run broken", rest);
    const pid_t job = cm_program_start(cm_test_folder, command);
    await_text("broken", "metrics.jsonl", "\"iteration\": 2,");
    kill(job, SIGTERM);
    ck_assert_int_eq(cm_program_wait(job), 0);
    resume(2, "broken");
    ck_assert_msg(output.status == 0, "%s", output.err);
    expect_same_metrics("whole", "broken");
    expect_same_files("whole", "broken");
}
END_TEST

/* One of the two hangs; neither is waited for. */
START_TEST(a_rank_whose_environment_hangs_is_left_when_all_are_asked_to_stop) {
    static const char text[] = "import os, time\n"
                               "class Walk:\n"
                               "  actions, max_steps = 2, 20\n"
                               "  def reset(self, seed): self.at = seed % 5; return [self.at / 9]\n"
                               "  def step(self, action):\n"
                               "    if os.path.exists('hang'):\n"
                               "      try: os.close(os.open('hanging', os.O_CREAT | os.O_EXCL))\n"
                               "      except FileExistsError: pass\n"
                               "      else: time.sleep(600)\n"
                               "    self.at += 1 if action else -1\n"
                               "    return [self.at / 9], float(self.at == 7), abs(self.at) > 8\n";
    char path[256];
    if (!cm_program_has_mpi()) return;
    path_of("walk.py", "", path);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    const pid_t job = cm_program_start(
        cm_test_folder, SMALL "--quiet --num-devices 2 --set env_name=./walk.py --env-steps 10000000 --run hung");
    await_text("hung", "metrics.jsonl", "\"iteration\": 2,");
    path_of("hang", "", path);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    path_of("hanging", "", path);
    for (int i = 0; i < 3000 && !cm_file_exists(path); i++) usleep(10000);
    kill(job, SIGTERM);
    ck_assert_int_eq(cm_program_wait(job), 0);
    expect_intact("hung");
    ck_assert_int_ge(state("hung", "iteration"), 2);
}
END_TEST

/* An environment that fails in the episode of this seed, as long as there is a file `fails`. */
static void write_falling(uint64_t seed) {
    static const char text[] = "import os\n"
                               "class Falls:\n"
                               "  actions, max_steps = 2, 20\n"
                               "  def reset(self, seed):\n"
                               "    if seed == %d and os.path.exists('fails'): raise OSError('connection lost')\n"
                               "    self.at = seed %% 5\n"
                               "    return [self.at / 9]\n"
                               "  def step(self, action):\n"
                               "    self.at += 1 if action else -1\n"
                               "    return [self.at / 9], float(self.at == 7), abs(self.at) > 8\n";
    char path[256], full[1024];
    const int size = snprintf(full, sizeof full, text, (int)seed);
    path_of("falls.py", "", path);
    ck_assert_int_eq(cm_file_write(path, full, (size_t)size), CM_OK);
    path_of("fails", "", path);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
}

/* It is the second of two that meets it, in the second evaluation on the way or in the final one: the run is saved as
 * it was before that, which is made when it goes on. */
START_TEST(an_environment_that_fails_in_an_evaluation_leaves_all_else_saved) {
    enum { SEED = 3, EPISODES = 4 };
    static const char kind[] = "--env-steps 1152 --seed 3 --set env_name=./falls.py --set evaluation_interval=384 "
                               "--set evaluation_episodes=4 --set final_evaluation_episodes=4 --set stop_at_goal=false "
                               "--set checkpoint_updates=0 --run ";
    const int ranks = 1 + _i % 2, number = _i < 2 ? 1 : -1;
    char path[256], rest[512];
    if (ranks > 1 && !cm_program_has_mpi()) return;
    write_falling(cm_run_evaluation_seed(SEED, number, EPISODES) + 1);
    snprintf(rest, sizeof rest, "%sfallen", kind);
    run(ranks, SMALL "--quiet", rest);
    cm_program_expect_error(&output, 2, "its reset raises OSError: connection lost (falls.py:5)");
    snprintf(rest, sizeof rest, "; update %d is saved: go on from it with --resume fallen", _i < 2 ? 6 : 12);
    ck_assert_msg(strstr(output.err, rest) != NULL, "%s", output.err);
    path_of("fails", "", path);
    ck_assert_int_eq(unlink(path), 0);
    resume(ranks, "fallen");
    ck_assert_msg(output.status == 0, "%s", output.err);
    snprintf(rest, sizeof rest, "%swhole", kind);
    train(ranks, rest);
    expect_same_metrics("whole", "fallen");
    if (ranks == 2) expect_same_files("whole", "fallen");
}
END_TEST

static void expect_goes_on(const char *run, int ranks, int64_t steps) {
    char path[256], rest[64];
    cm_metrics *rows;
    int count;
    ck_assert_int_eq(segments(run), state(run, "episodes"));
    const int64_t updates = state(run, "updates") + 3 * (steps - state(run, "env_steps")) / ITERATION;
    snprintf(rest, sizeof rest, "%s --env-steps %lld", run, (long long)steps);
    resume(ranks, rest);
    ck_assert_msg(output.status == 0, "%d ranks: %s", ranks, output.err);
    ck_assert_int_eq(state(run, "ranks"), ranks);
    ck_assert_int_eq(state(run, "env_steps"), steps);
    ck_assert_int_eq(state(run, "updates"), updates);
    ck_assert_int_eq(segments(run), state(run, "episodes"));
    path_of(run, "metrics.jsonl", path);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    ck_assert_int_eq(count, (int)(steps / ITERATION));
    for (int i = 0; i < count; i++) ck_assert_int_eq(rows[i].iteration, i + 1);
    for (int i = 1; i < count; i++) ck_assert_int_ge(rows[i].episodes, rows[i - 1].episodes);
    ck_assert_int_eq(rows[count - 1].episodes, state(run, "episodes"));
    free(rows);
    expect_intact(run);
}

START_TEST(a_run_of_four_ranks_goes_on_with_one_two_and_three) {
    char name[16];
    if (!cm_program_has_mpi()) return;
    train(4, "--env-steps 768 --run four");
    ck_assert_int_gt(state("four", "episodes"), 12);
    for (int ranks = 1; ranks <= 3; ranks++) {
        snprintf(name, sizeof name, "on-%d", ranks);
        copy("four", name);
        expect_goes_on(name, ranks, 1152);
    }
    expect_goes_on("on-3", 4, 1536);
}
END_TEST

/* The episodes that it began with are there for any number of ranks, and shared by them; the weights are the same. */
START_TEST(a_run_that_began_with_old_games_goes_on_with_other_numbers_of_ranks) {
    if (!cm_program_has_mpi()) return;
    train(2, "--env-steps 768 --run old");
    train(4, "--env-steps 768 --run fed --replay-from old --init-from old --set rank_check_updates=1");
    const int64_t begun = state("old", "episodes");
    ck_assert_int_eq(segments("fed"), begun + state("fed", "episodes"));
    for (int ranks = 3; ranks >= 1; ranks--) {
        char rest[64];
        snprintf(rest, sizeof rest, "fed --env-steps %d", 768 + (4 - ranks) * ITERATION);
        resume(ranks, rest);
        ck_assert_msg(output.status == 0, "%d ranks: %s", ranks, output.err);
        ck_assert_int_eq(segments("fed"), begun + state("fed", "episodes"));
    }
}
END_TEST

/* Games are shared, and the checkpoint of two is gone on with by two to the bit, by others with all of them. */
START_TEST(an_offline_run_goes_on_with_any_number_of_ranks) {
    if (!cm_program_has_mpi()) return;
    train(2, "--env-steps 1536 --run told");
    run(2, SMALL "--quiet", "--set collect=false --replay-from told --updates 18 --run heard --set keep_checkpoints=9");
    ck_assert_msg(output.status == 0, "%s", output.err);
    const int64_t begun = state("told", "episodes");
    ck_assert_int_eq(segments("heard"), begun);
    copy("heard", "broken");
    resume(2, "broken --checkpoint 6 --overwrite");
    ck_assert_msg(output.status == 0, "%s", output.err);
    expect_same_metrics("heard", "broken");
    for (int ranks = 4; ranks >= 1; ranks--) {
        char rest[64];
        snprintf(rest, sizeof rest, "heard --updates %d", 18 + 6 * (5 - ranks));
        resume(ranks, rest);
        ck_assert_msg(output.status == 0, "%d ranks: %s", ranks, output.err);
        ck_assert_int_eq(state("heard", "updates"), 18 + 6 * (5 - ranks));
        ck_assert_int_eq(segments("heard"), begun);
    }
}
END_TEST

START_TEST(ranks_that_have_no_games_to_learn_from_are_refused) {
    char message[128];
    if (!cm_program_has_mpi()) return;
    run(1, SMALL "--quiet", "--env-steps 48 --set num_envs=3 --run few");
    const int64_t games = state("few", "episodes");
    ck_assert(games > 0 && games < 4);
    run(4, SMALL "--quiet", "--set collect=false --replay-from few --updates 9 --run no");
    ck_assert_int_ne(output.status, 0);
    snprintf(message, sizeof message, "--num-devices: the games suffice for %d of 4 ranks", (int)games);
    ck_assert_msg(strstr(output.err, message) != NULL, "%s", output.err);
}
END_TEST

/* The first of two ranks has no row that is reanalysed. */
START_TEST(drift_of_policies_is_that_of_all_ranks) {
    char path[256];
    cm_metrics *rows;
    int count;
    if (!cm_program_has_mpi()) return;
    train(2, "--env-steps 768 --run drift --set batch_size=2 --set reanalyse_ratio=0.5");
    path_of("drift", "metrics.jsonl", path);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    ck_assert_int_eq(count, 4);
    ck_assert(rows[3].policy_drift > 0.0 && rows[3].policy_drift <= 1.0);
    free(rows);
}
END_TEST

START_TEST(a_finished_run_has_finished_for_any_number_of_ranks) {
    if (!cm_program_has_mpi()) return;
    train(1, "--env-steps 768 --run done");
    const int64_t updates = state("done", "updates");
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        run(ranks, "train --oversubscribe --resume", "done");
        ck_assert_msg(output.status == 0, "%s", output.err);
        ck_assert_ptr_nonnull(strstr(output.out, "this run has finished already"));
        ck_assert_int_eq(state("done", "updates"), updates);
    }
}
END_TEST

START_TEST(a_run_of_one_process_goes_on_with_two_ranks_and_back) {
    if (!cm_program_has_mpi()) return;
    train(1, "--env-steps 768 --run one");
    expect_goes_on("one", 2, 1152);
    expect_goes_on("one", 1, 1536);
}
END_TEST

/* Starts a long run of two ranks and waits for its first checkpoint. */
static pid_t start_long(void) {
    char path[256];
    pid_t job = cm_program_start(cm_test_folder, SMALL "--num-devices 2 --env-steps 10000000 --run long");
    path_of("long", "latest", path);
    for (int i = 0; i < 300 && !cm_file_exists(path); i++) usleep(100000);
    ck_assert_msg(cm_file_exists(path), "it did not begin");
    return job;
}

START_TEST(one_rank_without_space_leaves_the_checkpoint_before_and_is_named) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_long(), rank = cm_program_find_rank(job, 1);
    const struct rlimit few = {100, 100};
    ck_assert_int_gt(rank, 0);
    ck_assert_int_eq(prlimit(rank, RLIMIT_FSIZE, &few, NULL), 0);
    ck_assert_int_eq(cm_program_wait(job), 1);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_msg(strncmp(text, "cumind: rank 1: saving the replay: ", 35) == 0, "%s", text);
    ck_assert_msg(strstr(text, "rank-1-") && strstr(text, "File too large"), "%s", text);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    expect_intact("long");
    const int64_t steps = state("long", "env_steps");
    snprintf(text, sizeof text, "long --env-steps %lld", (long long)steps + 2 * ITERATION);
    resume(2, text);
    ck_assert_msg(output.status == 0, "%s", output.err);
    ck_assert_int_eq(state("long", "env_steps"), steps + 2 * ITERATION);
}
END_TEST

/* Goes on with the run of two ranks in vain. */
static void expect_refused(int ranks, const char *file, const char *says) {
    resume(ranks, "two --env-steps 3072");
    ck_assert_int_eq(output.status, 1);
    ck_assert_msg(strstr(output.err, file) && strstr(output.err, says), "%s", output.err);
    ck_assert_msg(strstr(output.err, "the newest intact checkpoint is "), "%s", output.err);
    ck_assert_ptr_eq(strchr(output.err, '\n'), output.err + strlen(output.err) - 1);
}

START_TEST(damage_in_the_files_of_one_rank_is_refused_in_one_line) {
    static const char state_file[] = "rank-1-replay-state.bin";
    char path[256];
    if (!cm_program_has_mpi()) return;
    train(2, "--env-steps 1536 --run two");
    path_of("two/latest", state_file, path);
    int file = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(file, "?", 1, 70), 1);
    for (int ranks = 1; ranks <= 3; ranks++) expect_refused(ranks, state_file, "its checksum differs");
    ck_assert_int_eq(ftruncate(file, 8), 0);
    close(file);
    expect_refused(2, state_file, "the file is truncated");
}
END_TEST

/* Damages the first segment file of rank 1 in the latest checkpoint. */
static void damage_segment(const char *run) {
    char path[256], command[512];
    path_of(run, "latest", path);
    snprintf(command, sizeof command, "f=$(ls %s/rank-1-replay-segment-* | head -n 1) && echo more >> $f", path);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(episodes_of_a_damaged_segment_are_dropped_by_any_number_of_ranks) {
    if (!cm_program_has_mpi()) return;
    train(2, "--env-steps 1536 --run hurt");
    damage_segment("hurt");
    for (int ranks = 1; ranks <= 2; ranks++) {
        char rest[64];
        snprintf(rest, sizeof rest, "hurt-%d --env-steps 3072 --drop-damaged", ranks);
        copy("hurt", ranks == 1 ? "hurt-1" : "hurt-2");
        resume(ranks, rest);
        ck_assert_msg(output.status == 0, "%s", output.err);
        ck_assert_msg(strstr(output.err, "the file was changed; its episodes are left out\n"), "%s", output.err);
        ck_assert_msg(strstr(output.err, "the replay goes on without "), "%s", output.err);
        ck_assert_int_eq(state(ranks == 1 ? "hurt-1" : "hurt-2", "env_steps"), 3072);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("resume");
    TCase *tc = tcase_create("resume");
    tcase_add_checked_fixture(tc, cm_program_folder_for_ranks, cm_test_folder_remove);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, two_ranks_go_on_with_a_run_of_two_as_if_it_had_not_been_broken, 0, 2);
    tcase_add_loop_test(tc, two_ranks_that_are_broken_off_go_on_to_the_same_bits, 0, BROKEN_OFF);
    tcase_add_test(tc, a_rank_whose_environment_hangs_is_left_when_all_are_asked_to_stop);
    tcase_add_loop_test(tc, an_environment_that_fails_in_an_evaluation_leaves_all_else_saved, 0, 4);
    tcase_add_test(tc, a_run_of_four_ranks_goes_on_with_one_two_and_three);
    tcase_add_test(tc, a_run_that_began_with_old_games_goes_on_with_other_numbers_of_ranks);
    tcase_add_test(tc, an_offline_run_goes_on_with_any_number_of_ranks);
    tcase_add_test(tc, ranks_that_have_no_games_to_learn_from_are_refused);
    tcase_add_test(tc, drift_of_policies_is_that_of_all_ranks);
    tcase_add_test(tc, a_finished_run_has_finished_for_any_number_of_ranks);
    tcase_add_test(tc, a_run_of_one_process_goes_on_with_two_ranks_and_back);
    tcase_add_test(tc, one_rank_without_space_leaves_the_checkpoint_before_and_is_named);
    tcase_add_test(tc, damage_in_the_files_of_one_rank_is_refused_in_one_line);
    tcase_add_test(tc, episodes_of_a_damaged_segment_are_dropped_by_any_number_of_ranks);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
