/* cumind sweep as a user meets it: a whole one killed on its way, what it prints, and what it refuses. */
#include <signal.h>
#include <sys/wait.h>

#include "runs.h"
#include "support/marking.h"

#define TINY                                                                                                           \
    " --trials 3 --env-steps 768 --set hidden_dim=16 --set batch_size=16 --set num_simulations=4"                      \
    " --set num_unroll_steps=2 --set td_steps=5 --set min_memory_steps=128 --set replay_ratio=1"                       \
    " --set head_hidden=16 --set reward_support_size=1 --set evaluation_episodes=2 --set evaluation_simulations=0"     \
    " --set final_evaluation_episodes=2 --set max_steps=32 --threads 1 --set tensorboard=false"

/* The ledger's lines without what differs from one time to another. */
static void read_ledger(const char *sweep, char *text, size_t size) {
    char name[64];
    size_t used = 0;
    snprintf(name, sizeof name, "%s/ledger.jsonl", sweep);
    cm_program_file(cm_test_folder, name, result.err, sizeof result.err);
    for (char *line = strtok(result.err, "\n"); line; line = strtok(NULL, "\n")) {
        char *end = strstr(line, ", \"seconds\"");
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        used += (size_t)snprintf(text + used, size - used, "%s\n", line);
        ck_assert_uint_lt(used, size);
    }
}

START_TEST(a_sweep_that_is_killed_goes_on_to_the_ledger_of_the_unbroken_one) {
    static char whole[1 << 16], killed[1 << 16];
    char path[160];
    expect_ok("sweep learning_rate optimizer=adam,sgd --run whole" TINY);
    ck_assert_ptr_nonnull(strstr(result.out, "rungs     3 trials to 256 steps, 1 to 768 steps"));
    ck_assert_ptr_nonnull(strstr(result.out, "job 1  rung 1/2  trial 2: score "));
    ck_assert_ptr_nonnull(strstr(result.out, "; 4 of 4 runs"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --config whole/best.json"));
    read_ledger("whole", whole, sizeof whole);
    const pid_t child = cm_program_start(cm_test_folder, "sweep learning_rate optimizer=adam,sgd --run killed" TINY);
    snprintf(path, sizeof path, "%s/killed/trials/001", cm_test_folder);
    for (int i = 0; i < 60000 && !cm_file_exists(path); i++) usleep(1000);
    ck_assert_int_eq(kill(child, SIGKILL), 0); /* its worker ends with it, saved or not */
    cm_program_wait(child);
    expect_ok("sweep --resume killed --jobs 2 --quiet");
    ck_assert_ptr_nonnull(strstr(result.err, "--jobs 2: at most 1 of them have work"));
    read_ledger("killed", killed, sizeof killed);
    ck_assert_str_eq(whole, killed);
    expect_ok("train --config killed/best.json --run best --quiet --env-steps 256");
}
END_TEST

/* A line for each of three trials, an axis for the key and one for the score; nothing is asked for. */
static void expect_page(const char *name) {
    static const struct {
        const char *part;
        int count;
    } parts[] = {
        {"<g class=\"trial", 3}, {"<g class=\"axis\"", 2}, {"<tr data-trial=", 3}, {"<svg class=\"importance\"", 1}};
    cm_program_file(cm_test_folder, name, result.err, sizeof result.err);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int count = 0;
        for (const char *at = result.err; (at = strstr(at, parts[i].part)) != NULL; at++) count++;
        ck_assert_msg(count == parts[i].count, "%s: %d times", parts[i].part, count);
    }
    ck_assert_ptr_null(strstr(result.err, "src="));
    ck_assert_ptr_null(strstr(result.err, "href="));
}

START_TEST(a_finished_sweep_is_shown_and_gone_on_with_at_once) {
    expect_ok("sweep learning_rate=1e-3,1e-2 --run s --seeds 2 --rungs 1 --json" TINY);
    ck_assert_ptr_nonnull(
        strstr(result.out, "{\"job\": 1, \"event\": \"trial\", \"rung\": 0, \"trial\": 0, \"score\": "));
    expect_ok("sweep --show s");
    ck_assert_ptr_nonnull(strstr(result.out, "  trial  rung  steps  score  learning_rate\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "  1/1    768  "));
    ck_assert_ptr_null(strstr(result.out, "unfinished"));
    expect_ok("sweep --show s --rows 1");
    ck_assert_ptr_nonnull(strstr(result.out, "2 more; --rows 3 shows all"));
    expect_ok("sweep --show s --json");
    cm_json_doc *doc;
    ck_assert(cm_json_parse(result.out, strlen(result.out), "stdout", &doc) == CM_OK);
    ck_assert(cm_json_is_true(cm_json_get(cm_json_root(doc), "finished")));
    ck_assert_int_eq(cm_json_size(cm_json_get(cm_json_root(doc), "importance")), 1);
    ck_assert_int_eq(cm_json_size(cm_json_get(cm_json_root(doc), "trials")), 3);
    cm_json_free(doc);
    expect_ok("sweep --show s --html page.html --quiet");
    ck_assert_str_eq(result.out, "");
    expect_page("page.html");
    expect_ok("sweep --resume s --quiet");
    ck_assert_str_eq(result.out, "");
    expect_exit("sweep c_puct --run s" TINY, 2, "s: holds a sweep already; go on with --resume s");
}
END_TEST

/* As a machine that died may leave it: made again it is the same, as the run is there. */
START_TEST(a_torn_result_is_made_again_as_its_message_says) {
    static char before[1 << 14], after[1 << 14];
    char result_path[128], ledger_path[128];
    expect_ok("sweep learning_rate=1e-3,1e-2 --run t --rungs 1 --seed 1" TINY);
    read_ledger("t", before, sizeof before);
    snprintf(result_path, sizeof result_path, "%s/t/trials/001/seed-1.rung-0.json", cm_test_folder);
    snprintf(ledger_path, sizeof ledger_path, "%s/t/ledger.jsonl", cm_test_folder);
    ck_assert_int_eq(unlink(ledger_path), 0);
    ck_assert_int_eq(truncate(result_path, 20), 0);
    expect_exit("sweep --resume t --quiet", 2,
                "; the file is damaged: remove it, and cumind sweep --resume t makes it again");
    cm_program_expect_line(result.err, "t/trials/001/seed-1.rung-0.json:");
    ck_assert_int_eq(unlink(result_path), 0);
    expect_ok("sweep --resume t --quiet");
    read_ledger("t", after, sizeof after);
    ck_assert_str_eq(after, before);
}
END_TEST

static void write_text(const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert(cm_file_write(path, text, strlen(text)) == CM_OK);
}

/* A sweep of an environment that leaves a mark where it is opened; its name is as long as CartPole-v1. */
static void make_strange_sweep(void) {
    static char text[1 << 16];
    char path[160];
    expect_ok("sweep learning_rate --run s" TINY);
    cm_program_file(cm_test_folder, "s/base.json", text, sizeof text);
    char *name = strstr(text, "CartPole-v1");
    ck_assert_ptr_nonnull(name);
    memcpy(name, "./strang.py", 11);
    write_text("s/base.json", text);
    write_text("strang.py", cm_test_marking_python);
    snprintf(path, sizeof path, "%s/s/trials", cm_test_folder);
    ck_assert(cm_directory_remove(path) == CM_OK);
    snprintf(path, sizeof path, "%s/s/ledger.jsonl", cm_test_folder);
    ck_assert_int_eq(remove(path), 0);
}

/* What lies in a folder may be a stranger's. That it is refused on a machine is no result of a trial. */
START_TEST(an_environment_that_is_code_is_opened_only_if_it_is_named) {
    char mark[160];
    cm_json_doc *doc;
    snprintf(mark, sizeof mark, "%s/mark", cm_test_folder);
    setenv("CUMIND_TEST_MARK", mark, 1);
    setenv("XDG_STATE_HOME", cm_test_folder, 1);
    make_strange_sweep();
    expect_exit("sweep --resume s --quiet", 2, "strang.py: is code, which could do all that you may");
    ck_assert(!cm_file_exists(mark));
    expect_ok("sweep --show s --json");
    ck_assert(cm_json_parse(result.out, strlen(result.out), "stdout", &doc) == CM_OK);
    ck_assert_int_eq(cm_json_size(cm_json_get(cm_json_root(doc), "trials")), 0);
    cm_json_free(doc);
    expect_exit("sweep --resume s --set learning_rate=1", 2, "the configuration of a sweep that is there stays");
    expect_ok("sweep --resume s --quiet --set env_name=./strang.py");
    ck_assert(cm_file_exists(mark));
}
END_TEST

/* One line each; nothing is left of it. */
START_TEST(what_cannot_be_is_one_line) {
    static const char *const cases[][2] = {
        {"sweep", "name the keys to vary"},
        {"sweep lr", "did you mean Training.learning_rate?"},
        {"sweep learning_rate=0.1..0.01", "the range \"0.1..0.01\" is empty"},
        {"sweep learning_rate --trials 0", "--trials: must be an integer in 1..9999"},
        {"sweep learning_rate --seeds 0", "--seeds: must be an integer in 1..64"},
        {"sweep learning_rate --trials 8 --rungs 3", "3 rungs are for at least 9 trials"},
        {"sweep learning_rate --workers 0", "--workers: must be an integer in 1..9999"},
        {"sweep learning_rate --synchronous --workers 2", "drop --workers"},
        {"sweep learning_rate --set updates=9", "--env-steps N"},
        {"sweep learning_rate --env nowhere", "nowhere: there is no such environment"},
        {"sweep --resume nowhere", "nowhere: holds no sweep"},
        {"sweep --show nowhere", "nowhere: holds no sweep"},
        {"sweep --show a --resume b", "give either --show or --resume"},
        {"sweep --resume a learning_rate", "learning_rate belongs to a new one"},
        {"sweep --resume a --workers 3", "--workers belongs to a new one"},
        {"sweep --resume a --trials 3", "--trials belongs to a new one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run(cases[i][0]);
        cm_program_expect_error(&result, 2, cases[i][1]);
    }
    expect_exit("sweep learning_rate --html nowhere/page.html", 1, "--html: nowhere/page.html: cannot write");
    char path[160];
    snprintf(path, sizeof path, "%s/checkpoints", cm_test_folder);
    ck_assert(!cm_file_exists(path));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sweep");
    TCase *cases = tcase_create("sweep");
    tcase_set_timeout(cases, 240);
    tcase_add_checked_fixture(cases, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(cases, a_sweep_that_is_killed_goes_on_to_the_ledger_of_the_unbroken_one);
    tcase_add_test(cases, a_torn_result_is_made_again_as_its_message_says);
    tcase_add_test(cases, a_finished_sweep_is_shown_and_gone_on_with_at_once);
    tcase_add_test(cases, an_environment_that_is_code_is_opened_only_if_it_is_named);
    tcase_add_test(cases, what_cannot_be_is_one_line);
    suite_add_tcase(suite, cases);
    return cm_test_main(suite);
}
