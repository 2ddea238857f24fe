/* Training by include/cumind.h: the run is that of `cumind train`, and a program follows and stops it. */
#include <check.h>
#include <cumind.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

#define OK(call) ck_assert_msg((call) == CUMIND_OK, "%s", cumind_error_message())

static const char *const settings[] = {
    "env_name=CartPole-v1", "env_steps=768",       "min_memory_steps=128",  "evaluation_interval=256",
    "hidden_dim=32",        "threads=1",           "evaluation_episodes=1", "final_evaluation_episodes=2",
    "stop_at_goal=false",   "checkpoint_updates=8"};
enum { SETTINGS = sizeof settings / sizeof *settings };

static char path[512];

static const char *in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    return path;
}

static void expect(cumind_status got, cumind_status want, const char *text) {
    ck_assert_msg(got == want && strstr(cumind_error_message(), text), "%d, not %d: %s", (int)got, (int)want,
                  cumind_error_message());
}

/* What a run ended with; owned by the caller. */
static char *hash_of(const char *run) {
    char file[600];
    cm_json_doc *doc;
    const char *hash;
    snprintf(file, sizeof file, "%s/%s/result.json", cm_test_folder, run);
    ck_assert_msg(cm_json_read(file, &doc) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_json_need_string(cm_json_root(doc), "parameter_hash", &hash), CM_OK);
    char *copy = strdup(hash);
    cm_json_free(doc);
    return copy;
}

static void check_same(const char *a, const char *b) {
    char *first = hash_of(a), *second = hash_of(b);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
}

typedef struct seen {
    int calls, evaluations, stop_at;
    int64_t last;
} seen;

static int follow(void *context, const cumind_iteration *now) {
    seen *s = context;
    cm_json_doc *doc;
    int64_t iteration = 0;
    s->calls++;
    s->evaluations += isfinite(now->eval_return) ? 1 : 0;
    ck_assert_int_eq(now->iteration, s->last + 1);
    ck_assert(now->share > 0.0 && now->share <= 1.0);
    ck_assert_int_eq(cm_json_parse(now->metrics, strlen(now->metrics), "metrics", &doc), CM_OK);
    ck_assert_int_eq(cm_json_need_int(cm_json_root(doc), "iteration", 0, 1000, &iteration), CM_OK);
    ck_assert_int_eq(iteration, now->iteration);
    cm_json_free(doc);
    s->last = now->iteration;
    return s->calls == s->stop_at;
}

/* ---- tests ---- */

static const char line[] =
    "train --quiet --config default --run program --set env_name=CartPole-v1 --set env_steps=768"
    " --set min_memory_steps=128 --set final_evaluation_episodes=2 --set evaluation_interval=256 --set hidden_dim=32"
    " --set threads=1 --set evaluation_episodes=1 --set stop_at_goal=false --set checkpoint_updates=8";

START_TEST(a_training_is_the_run_of_the_program) {
    cm_output output;
    cumind_train_result result;
    seen s = {0};
    cm_program_run(cm_test_folder, line, &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
    const cumind_training training = {
        .configuration = "default", .run = in_folder("library"), .iteration = follow, .context = &s};
    OK(cumind_train(&training, settings, SETTINGS, &result));
    ck_assert_int_eq(result.end, CUMIND_LIMIT);
    ck_assert_str_eq(result.run, path);
    ck_assert_int_ge(result.env_steps, 768);
    ck_assert_int_eq(result.iterations, s.calls);
    ck_assert_int_ge(s.evaluations, 2);
    ck_assert_int_eq(result.evaluation_episodes, 2);
    ck_assert(result.evaluation_low <= result.evaluation_mean && result.evaluation_mean <= result.evaluation_high);
    check_same("program", "library");
}
END_TEST

START_TEST(a_stopped_training_goes_on_to_the_same_bits) {
    cumind_train_result result;
    seen s = {.stop_at = 2};
    const cumind_training whole = {.configuration = "default", .run = in_folder("whole")};
    OK(cumind_train(&whole, settings, SETTINGS, NULL));
    const cumind_training begin = {
        .configuration = "default", .run = in_folder("broken"), .iteration = follow, .context = &s};
    OK(cumind_train(&begin, settings, SETTINGS, &result));
    ck_assert_int_eq(result.end, CUMIND_STOPPED);
    ck_assert_int_eq(s.calls, 2);
    s.stop_at = 0;
    const cumind_training rest = {.resume = in_folder("broken"), .iteration = follow, .context = &s};
    OK(cumind_train(&rest, NULL, 0, &result));
    ck_assert_int_eq(result.end, CUMIND_LIMIT);
    ck_assert_int_eq(result.iterations, s.last);
    check_same("whole", "broken");
}
END_TEST

static void *stop_soon(void *context) {
    (void)context;
    usleep(300000);
    cumind_train_stop();
    return NULL;
}

START_TEST(another_thread_stops_a_training) {
    static const char *const endless[] = {"env_name=CartPole-v1", "hidden_dim=32", "threads=1", "stop_at_goal=false",
                                          "env_steps=1000000000"};
    cumind_train_result result;
    pthread_t thread;
    const cumind_training training = {.configuration = "default", .run = in_folder("endless")};
    cumind_train_stop(); /* nothing goes on */
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    const cumind_status status = cumind_train(&training, endless, 5, &result);
    pthread_join(thread, NULL);
    if (status == CUMIND_OK) {
        ck_assert_int_eq(result.end, CUMIND_STOPPED);
    } else { /* on a slow machine it had not begun */
        expect(status, CUMIND_ERR_INTERRUPTED, "while the run began");
        ck_assert(!cm_file_exists(path));
    }
}
END_TEST

static int begin_another(void *context, const cumind_iteration *now) {
    (void)now;
    const cumind_training another = {.run = context};
    expect(cumind_train(&another, settings, SETTINGS, NULL), CUMIND_ERR_STATE, "a training goes on");
    return 1;
}

START_TEST(one_training_goes_on_at_a_time) {
    char other[512];
    snprintf(other, sizeof other, "%s/other", cm_test_folder);
    const cumind_training training = {
        .configuration = "default", .run = in_folder("one"), .iteration = begin_another, .context = other};
    OK(cumind_train(&training, settings, SETTINGS, NULL));
    ck_assert(!cm_file_exists(other));
}
END_TEST

static void count_line(void *context, cumind_log_level level, const char *text) {
    (void)level;
    *(int *)context += strstr(text, "machine ") != NULL;
}

START_TEST(lines_of_a_training_go_to_the_log_before_and_after_it) {
    int lines = 0;
    cumind_log_to(count_line, &lines);
    for (int i = 1; i <= 2; i++) {
        seen s = {.stop_at = 1};
        const cumind_training training = {
            .configuration = "default", .run = in_folder(i == 1 ? "one" : "two"), .iteration = follow, .context = &s};
        OK(cumind_train(&training, settings, SETTINGS, NULL));
        ck_assert_int_eq(lines, i);
    }
    cumind_log_to(NULL, NULL);
}
END_TEST

START_TEST(a_configuration_is_a_text_a_recipe_or_what_the_environment_has) {
    static const char *const few[] = {"env_name=catch", "env_steps=200", "evaluation_episodes=1",
                                      "final_evaluation_episodes=1"};
    const cumind_training text = {.configuration = "{\"MCTS\": {\"num_simulations\": 3}}", .run = in_folder("text")};
    OK(cumind_train(&text, few, 4, NULL));
    char file[600], *content;
    size_t size;
    snprintf(file, sizeof file, "%s/config.json", path);
    ck_assert_int_eq(cm_file_read(file, 1 << 20, &content, &size), CM_OK);
    ck_assert_ptr_nonnull(strstr(content, "\"num_simulations\": 3,"));
    free(content);
    const cumind_training recipe = {.run = in_folder("recipe")}; /* that of catch */
    OK(cumind_train(&recipe, few, 4, NULL));
    snprintf(file, sizeof file, "%s/config.json", path);
    ck_assert_int_eq(cm_file_read(file, 1 << 20, &content, &size), CM_OK);
    ck_assert_ptr_nonnull(strstr(content, "\"env_name\": \"catch\""));
    ck_assert_ptr_null(strstr(content, "\"num_simulations\": 3,"));
    free(content);
}
END_TEST

START_TEST(what_is_wrong_is_named) {
    static const char *const unknown[] = {"num_simulatons=3"}, *const fixed[] = {"hidden_dim=64"};
    seen s = {.stop_at = 1};
    cumind_training t = {.configuration = "conect4"};
    expect(cumind_train(NULL, NULL, 0, NULL), CUMIND_ERR_INPUT, "training must not be NULL");
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_INPUT,
           "configuration conect4: there is no such recipe; did you mean connect4?");
    t.configuration = "{\"MCTS\": {\"num_simulations\": 0}}";
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_INPUT, "configuration:1: MCTS.num_simulations: must be");
    t.configuration = "default";
    expect(cumind_train(&t, unknown, 1, NULL), CUMIND_ERR_INPUT, "settings: num_simulatons=3: unknown key");
    expect(cumind_train(&t, NULL, 1, NULL), CUMIND_ERR_INPUT, "settings must not be NULL");
    t.checkpoint = 3;
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_INPUT, "go together with resume");
    t = (cumind_training){.configuration = "default", .init_from = "nowhere"};
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_IO, "nowhere: there is no such folder");
    t = (cumind_training){.configuration = "default", .resume = cm_test_folder};
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_INPUT, "belong to new ones");
    t = (cumind_training){.resume = "nowhere"};
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_IO, "nowhere: there is no such folder");
    t = (cumind_training){.configuration = "default", .run = in_folder("fixed"), .iteration = follow, .context = &s};
    OK(cumind_train(&t, settings, SETTINGS, NULL));
    t = (cumind_training){.resume = path};
    expect(cumind_train(&t, fixed, 1, NULL), CUMIND_ERR_INPUT, "hidden_dim cannot change on resume");
    t.overwrite = true;
    expect(cumind_train(&t, NULL, 0, NULL), CUMIND_ERR_INPUT, "overwrite: goes together with checkpoint");
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("train");
    TCase *t = tcase_create("train");
    tcase_add_checked_fixture(t, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_training_is_the_run_of_the_program);
    tcase_add_test(t, a_stopped_training_goes_on_to_the_same_bits);
    tcase_add_test(t, another_thread_stops_a_training);
    tcase_add_test(t, one_training_goes_on_at_a_time);
    tcase_add_test(t, lines_of_a_training_go_to_the_log_before_and_after_it);
    tcase_add_test(t, a_configuration_is_a_text_a_recipe_or_what_the_environment_has);
    tcase_add_test(t, what_is_wrong_is_named);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return cm_test_main(suite()); }
