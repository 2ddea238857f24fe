/* The ledger: the order of its lines, who goes on, what a crash leaves, and the best configuration. Results of trials
 * are files that the tests write; nothing is trained. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "run/configuration.h"
#include "support/folder.h"
#include "support/main.h"
#include "sweep/ledger.h"

enum { TRIALS = 9, SEED = 5 };
static cm_sweep_plan plan;

/* A synchronous sweep of nine trials with two seeds, in three rungs of 100, 300 and 900 steps. */
static void begin(void) {
    cm_configuration configuration, scratch;
    cm_config *config;
    char path[PATH_MAX];
    plan = (cm_sweep_plan){.trials = TRIALS, .seeds = 2, .rungs = 3, .seed = SEED};
    ck_assert(cm_configuration_create(&scratch, &config) == CM_OK);
    ck_assert(cm_sweep_space_add(&plan.space, config, "learning_rate") == CM_OK);
    ck_assert(cm_sweep_space_add(&plan.space, config, "optimizer") == CM_OK);
    cm_config_destroy(config);
    ck_assert(cm_sweep_plan_divide(&plan, 900, 50) == CM_OK);
    ck_assert(cm_configuration_load(NULL, NULL, 0, &configuration, &config) == CM_OK);
    snprintf(path, sizeof path, "%s/base.json", cm_test_folder);
    ck_assert(cm_config_save(config, path) == CM_OK);
    cm_config_destroy(config);
    ck_assert(cm_sweep_plan_save(&plan, cm_test_folder) == CM_OK);
}

static void write_result(int rung, int trial, int64_t seed, double score) {
    char path[PATH_MAX], text[160], number[40] = "null, \"error\": \"update 3: not finite\"";
    snprintf(path, sizeof path, "%s/trials/%03d/seed-%lld.rung-%d.json", cm_test_folder, trial, (long long)seed, rung);
    if (isfinite(score)) cm_json_format_double(score, number);
    const int n =
        snprintf(text, sizeof text, "{\"score\": %s, \"env_steps\": %d, \"seconds\": 0.5}\n", number, 100 + rung);
    ck_assert(cm_directory_make_parent(path) == CM_OK);
    ck_assert(cm_file_write(path, text, (size_t)n) == CM_OK);
}

/* Both seeds: their mean is the score. */
static void reach(int rung, int trial, double score) {
    write_result(rung, trial, SEED, score - 1.0);
    write_result(rung, trial, SEED + 1, score + 1.0);
}

static cm_sweep_ledger extend(int fresh) {
    cm_sweep_ledger ledger;
    int first;
    ck_assert_msg(cm_sweep_ledger_extend(cm_test_folder, &plan, false, &ledger, &first) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_int_eq(ledger.count - first, fresh);
    return ledger;
}

static void expect_trials(const cm_sweep_ledger *ledger, const int *trials, int count) {
    ck_assert_int_eq(ledger->count, count);
    for (int i = 0; i < count; i++) ck_assert_int_eq(ledger->line[i].trial, trials[i]);
}

static char *read_text(const char *name) {
    char path[PATH_MAX], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert(cm_file_read(path, 1 << 20, &data, &size) == CM_OK);
    return data;
}

static void append_text(const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/ledger.jsonl", cm_test_folder);
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* Of rung 0: 0 3 6 2 5 1 4 0 3, of which 2, 4 and 6 are the best three. */
static double score_of(int trial) { return (10 * trial) % 7; }

START_TEST(rungs_divide_the_steps_by_three_at_multiples_of_the_interval) {
    cm_sweep_plan p = {.trials = 27, .rungs = 3};
    ck_assert(cm_sweep_plan_divide(&p, 15872, 2048) == CM_OK);
    ck_assert_int_eq(p.steps[0], 1763);
    ck_assert_int_eq(p.steps[1], 5289);
    ck_assert_int_eq(p.steps[2], 15872);
    ck_assert_int_eq(p.interval, 1763);
    ck_assert(cm_sweep_plan_divide(&p, 15872, 500) == CM_OK);
    ck_assert_int_eq(p.interval, 440);
    ck_assert_int_eq(p.steps[0], 1760);
    ck_assert_int_eq(p.steps[1] % p.interval, 0);
    ck_assert_int_eq(cm_sweep_plan_width(&p, 1), 9);
    ck_assert_int_eq(cm_sweep_plan_width(&p, 2), 3);
    ck_assert(cm_sweep_plan_divide(&p, 8, 0) == CM_ERR_INPUT);
    p.trials = 8;
    ck_assert(cm_sweep_plan_divide(&p, 15872, 0) == CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "3 rungs are for at least 9 trials, there are 8"));
}
END_TEST

START_TEST(a_plan_is_read_as_it_was_written) {
    cm_sweep_plan back;
    begin();
    ck_assert_msg(cm_sweep_plan_load(cm_test_folder, &back) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(back.trials, TRIALS);
    ck_assert_int_eq(back.seeds, 2);
    ck_assert_int_eq(back.rungs, 3);
    ck_assert_int_eq(back.seed, SEED);
    ck_assert_int_eq(back.interval, 50);
    ck_assert_int_eq(back.steps[1], 300);
    ck_assert_str_eq(back.space.row[1].key, "optimizer");
    ck_assert(cm_sweep_plan_load("/nowhere", &back) == CM_ERR_INPUT);
}
END_TEST

/* Results come in any order; lines wait for those before them, and the best go on, best first. */
START_TEST(lines_stand_in_the_order_of_the_sweep_however_results_come) {
    static const int backwards[] = {8, 7, 6, 5, 4, 3, 2, 1};
    const int expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 6, 6};
    cm_sweep_ledger ledger;
    begin();
    for (int i = 0; i < TRIALS - 1; i++) reach(0, backwards[i], score_of(backwards[i]));
    ledger = extend(0);
    cm_sweep_ledger_free(&ledger);
    write_result(0, 0, SEED, 0.0);
    ledger = extend(0);
    cm_sweep_ledger_free(&ledger);
    write_result(0, 0, SEED + 1, 0.0);
    ledger = extend(9);
    ck_assert(ledger.line[8].score == score_of(8) && ledger.line[8].env_steps == 100 && ledger.line[8].seconds == 1.0);
    cm_sweep_ledger_free(&ledger);
    reach(1, 4, 1.0), reach(1, 6, 3.0), reach(1, 2, 2.0);
    ledger = extend(3);
    ck_assert(!cm_sweep_ledger_is_whole(&ledger));
    cm_sweep_ledger_free(&ledger);
    reach(2, 6, 9.0);
    ledger = extend(1);
    expect_trials(&ledger, expected, 13);
    ck_assert(cm_sweep_ledger_is_whole(&ledger));
    cm_sweep_ledger_free(&ledger);
}
END_TEST

/* Every third result sends one on at once; equal scores go by number. */
START_TEST(lines_of_an_asynchronous_sweep_follow_from_those_before_them) {
    cm_sweep_ledger ledger;
    begin();
    plan.workers = 1;
    for (int t = 0; t < TRIALS; t++) reach(0, t, 1.0);
    ledger = extend(3);
    expect_trials(&ledger, (const int[]){0, 1, 2}, 3);
    cm_sweep_ledger_free(&ledger);
    reach(1, 0, 5.0);
    ledger = extend(4);
    expect_trials(&ledger, (const int[]){0, 1, 2, 0, 3, 4, 5}, 7);
    ck_assert(cm_sweep_schedule_next(ledger.schedule)->trial == 1);
    cm_sweep_ledger_free(&ledger);
}
END_TEST

START_TEST(a_sweep_of_format_1_is_synchronous) {
    char path[PATH_MAX];
    cm_sweep_plan back;
    begin();
    plan.workers = 3;
    ck_assert(cm_sweep_plan_save(&plan, cm_test_folder) == CM_OK);
    ck_assert(cm_sweep_plan_load(cm_test_folder, &back) == CM_OK);
    ck_assert_int_eq(back.workers, 3);
    char *text = read_text("sweep.json"), *format = strstr(text, "\"format\": 2");
    ck_assert_ptr_nonnull(format);
    format[strlen("\"format\": ")] = '1';
    snprintf(path, sizeof path, "%s/sweep.json", cm_test_folder);
    ck_assert(cm_file_write(path, text, strlen(text)) == CM_OK);
    free(text);
    ck_assert(cm_sweep_plan_load(cm_test_folder, &back) == CM_OK);
    ck_assert_int_eq(back.workers, 0);
}
END_TEST

START_TEST(a_torn_line_is_cut_and_written_again) {
    cm_sweep_ledger ledger;
    begin();
    reach(0, 0, 1.0), reach(0, 1, 2.0);
    ledger = extend(2);
    cm_sweep_ledger_free(&ledger);
    append_text("{\"rung\": 0, \"trial\": 2, \"val");
    ck_assert(cm_sweep_ledger_read(cm_test_folder, &plan, &ledger) == CM_OK);
    ck_assert_int_eq(ledger.count, 2);
    cm_sweep_ledger_free(&ledger);
    reach(0, 2, 3.0);
    ledger = extend(1);
    cm_sweep_ledger_free(&ledger);
    ck_assert(cm_sweep_ledger_read(cm_test_folder, &plan, &ledger) == CM_OK);
    expect_trials(&ledger, (const int[]){0, 1, 2}, 3);
    cm_sweep_ledger_free(&ledger);
}
END_TEST

START_TEST(a_line_that_does_not_belong_there_is_refused) {
    cm_sweep_ledger ledger;
    begin();
    append_text("{\"rung\": 0, \"trial\": 1, \"env_steps\": 1, \"score\": 1.0, \"seconds\": 1.0}\n");
    ck_assert(cm_sweep_ledger_read(cm_test_folder, &plan, &ledger) == CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "ledger.jsonl:1: trial 1 at rung 0 does not belong here"));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "; remove the file, and cumind sweep --resume /"));
    cm_sweep_ledger_free(&ledger);
}
END_TEST

/* What is wrong, where, and what to do, in one line. */
START_TEST(a_damaged_file_is_named_with_what_to_do) {
    static const struct {
        const char *name, *text, *says, *advice;
    } cases[] = {
        {"trials/000/seed-5.rung-0.json", "", "seed-5.rung-0.json:1: ", "; the file is damaged: remove it, and "},
        {"trials/000/seed-5.rung-0.json", "{\"score\": 1.5, \"env_",
         "seed-5.rung-0.json:1: ", "; the file is damaged: remove it, and cumind sweep --resume /"},
        {"trials/000/seed-5.rung-0.json", "{\"score\": \"1\", \"env_steps\": 1, \"seconds\": 1}",
         "seed-5.rung-0.json: score: must be a number, got a string", "; the file is damaged: remove it, and "},
        {"trials/000/seed-5.rung-0.json", "{\"env_steps\": 1, \"seconds\": 1}", "seed-5.rung-0.json: score: missing",
         "; the file is damaged: remove it, and "},
        {"trials/000/seed-5.rung-0.json", "{\"score\": 1}", "seed-5.rung-0.json: env_steps: missing",
         "; the file is damaged: remove it, and "},
        {"ledger.jsonl", "{\"rung\": 0, \"tri\n", "ledger.jsonl:1: ", "; remove the file, and cumind sweep --resume /"},
        {"ledger.jsonl", "{\"rung\": 0, \"trial\": 0, \"env_steps\": 1, \"score\": true, \"seconds\": 1.0}\n",
         "ledger.jsonl:1: score: must be a number, got ", "; remove the file, and cumind sweep --resume /"},
    };
    char path[PATH_MAX];
    cm_sweep_ledger ledger;
    int fresh;
    begin();
    reach(0, 0, 1.0);
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, cases[_i].name);
    ck_assert(cm_file_write(path, cases[_i].text, strlen(cases[_i].text)) == CM_OK);
    ck_assert(cm_sweep_ledger_extend(cm_test_folder, &plan, false, &ledger, &fresh) == CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), cases[_i].says) != NULL, "%s", cm_error_message());
    ck_assert_msg(strstr(cm_error_message(), cases[_i].advice) != NULL, "%s", cm_error_message());
    cm_sweep_ledger_free(&ledger);
    ck_assert_int_eq(remove(path), 0);
    write_result(0, 0, SEED, 0.0);
    ledger = extend(1);
    cm_sweep_ledger_free(&ledger);
}
END_TEST

START_TEST(a_damaged_plan_is_named_with_what_to_do) {
    static const char *const texts[] = {"", "{\"format\": 2", "[]", "{\"format\": 3}"};
    char path[PATH_MAX];
    cm_sweep_plan back;
    begin();
    snprintf(path, sizeof path, "%s/sweep.json", cm_test_folder);
    ck_assert(cm_file_write(path, texts[_i], strlen(texts[_i])) == CM_OK);
    ck_assert(cm_sweep_plan_load(cm_test_folder, &back) == CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), "/sweep.json:") != NULL, "%s", cm_error_message());
    ck_assert_msg(strstr(cm_error_message(), "; mend the file, or bring back a copy of it") != NULL, "%s",
                  cm_error_message());
}
END_TEST

/* Of the others as many go on as the rung has places. */
START_TEST(what_has_failed_counts_as_worst) {
    const cm_sweep_line *order[TRIALS];
    cm_sweep_ledger ledger;
    int count;
    begin();
    for (int t = 0; t < TRIALS; t++) reach(0, t, t == 3 || t == 8 ? -50.0 : (double)NAN);
    write_result(0, 5, SEED, 100.0);
    ledger = extend(9);
    ck_assert_str_eq(ledger.line[5].error, "seed 6: update 3: not finite");
    ck_assert(isnan(ledger.line[5].score));
    const cm_sweep_place *place = cm_sweep_schedule_open(ledger.schedule, &count);
    ck_assert_int_eq(count, 2);
    ck_assert(place[0].trial == 3 && place[0].rung == 1 && place[1].trial == 8 && place[1].rung == 1);
    ck_assert_int_eq(cm_sweep_ledger_rank(&plan, &ledger, order), TRIALS);
    ck_assert(order[0]->trial == 3 && order[1]->trial == 8 && order[2]->trial == 0);
    cm_sweep_ledger_free(&ledger);
}
END_TEST

/* A rung further counts more than any score before it. */
START_TEST(the_best_is_one_of_the_last_rung_and_its_file_is_a_configuration) {
    const cm_sweep_line *order[TRIALS];
    char path[PATH_MAX], drawn[CM_SWEEP_TEXT], value[CM_OPTION_JSON];
    cm_sweep_ledger ledger;
    cm_configuration configuration;
    cm_config *config;
    const cm_option *row = NULL;
    begin();
    for (int t = 0; t < TRIALS; t++) reach(0, t, t);
    reach(1, 8, 5.0), reach(1, 7, 6.0), reach(1, 6, 4.0);
    reach(2, 7, 1.0);
    ledger = extend(13);
    ck_assert_int_eq(cm_sweep_ledger_rank(&plan, &ledger, order), TRIALS);
    ck_assert(order[0]->trial == 7 && order[0]->score == 1.0 && order[1]->trial == 8 && order[2]->trial == 6 &&
              order[3]->trial == 5);
    cm_sweep_ledger_free(&ledger);
    snprintf(path, sizeof path, "%s/best.json", cm_test_folder);
    ck_assert(cm_configuration_load(path, NULL, 0, &configuration, &config) == CM_OK);
    for (int i = 0; (row = cm_config_row(config, i)) != NULL; i++)
        if (strcmp(row->key, "learning_rate") == 0) break;
    ck_assert_ptr_nonnull(row);
    cm_config_value_text(config, row, value);
    cm_sweep_space_draw(&plan.space, SEED, 7, 0, drawn);
    ck_assert_str_eq(value, drawn);
    ck_assert_int_eq(configuration.run.evaluation_interval, 2048);
    ck_assert(configuration.run.stop_at_goal);
    cm_config_destroy(config);
}
END_TEST

/* Where best.json was lost after the line, it comes with the next look. */
START_TEST(the_best_configuration_is_written_again_when_a_worker_begins) {
    char path[PATH_MAX];
    cm_sweep_ledger ledger;
    int fresh;
    begin();
    reach(0, 0, 1.0);
    ledger = extend(1);
    cm_sweep_ledger_free(&ledger);
    char *before = read_text("best.json");
    snprintf(path, sizeof path, "%s/best.json", cm_test_folder);
    ck_assert_int_eq(remove(path), 0);
    ck_assert(cm_sweep_ledger_extend(cm_test_folder, &plan, true, &ledger, &fresh) == CM_OK);
    cm_sweep_ledger_free(&ledger);
    char *after = read_text("best.json");
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ledger");
    TCase *cases = tcase_create("ledger");
    tcase_add_checked_fixture(cases, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(cases, rungs_divide_the_steps_by_three_at_multiples_of_the_interval);
    tcase_add_test(cases, a_plan_is_read_as_it_was_written);
    tcase_add_test(cases, lines_stand_in_the_order_of_the_sweep_however_results_come);
    tcase_add_test(cases, lines_of_an_asynchronous_sweep_follow_from_those_before_them);
    tcase_add_test(cases, a_sweep_of_format_1_is_synchronous);
    tcase_add_test(cases, a_torn_line_is_cut_and_written_again);
    tcase_add_test(cases, a_line_that_does_not_belong_there_is_refused);
    tcase_add_loop_test(cases, a_damaged_file_is_named_with_what_to_do, 0, 7);
    tcase_add_loop_test(cases, a_damaged_plan_is_named_with_what_to_do, 0, 4);
    tcase_add_test(cases, what_has_failed_counts_as_worst);
    tcase_add_test(cases, the_best_is_one_of_the_last_rung_and_its_file_is_a_configuration);
    tcase_add_test(cases, the_best_configuration_is_written_again_when_a_worker_begins);
    suite_add_tcase(suite, cases);
    return cm_test_main(suite);
}
