/* Every recorded run under tests/cases/environments is reproduced. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/env.h"
#include "env/silent_check.h"
#include "support/main.h"

#define FOLDER CM_TEST_CASES "/environments"

static int is_json(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static void run_one(const char *name, cm_env_case_report *report) {
    char path[512];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    cm_json_doc *doc;
    must_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    cm_status status = cm_env_case_run(cm_json_root(doc), name, report);
    must_msg(status == CM_OK, "%s", cm_error_message());
    must_msg(report->ok, "%s", report->message);
    cm_json_free(doc);
}

START_TEST(all_21_recorded_files_are_reproduced) {
    struct dirent **entries;
    int count = scandir(FOLDER, &entries, is_json, alphasort), files = 0;
    for (int i = 0; i < count; i++) {
        cm_env_case_report report;
        run_one(entries[i]->d_name, &report);
        printf("%-34s %4d %s %8lld steps, worst error %.1e\n", entries[i]->d_name, report.items,
               report.games ? "games   " : "episodes", (long long)report.steps, report.worst);
        must(report.items > 0);
        free(entries[i]);
        files++;
    }
    free(entries);
    must_equal(files, 21);
}
END_TEST

static cm_status run_text(const char *text, cm_env_case_report *report) {
    cm_json_doc *doc;
    must_msg(cm_json_parse(text, strlen(text), "case", &doc) == CM_OK, "%s", cm_error_message());
    cm_status status = cm_env_case_run(cm_json_root(doc), "case", report);
    cm_json_free(doc);
    return status;
}

#define HEAD "{\"format\":\"cumind-environment-case-1\",\"environment\":\"tictactoe\",\"games\":["
#define GAME(legal, board, finals, end)                                                                                \
    HEAD "{\"actions\":[0,3,1,4,2],\"legal\":[[4," legal "]],\"boards\":[[5,\"" board "\"]],\"rewards_final\":" finals \
         ",\"end_ply\":" end "}]}"

START_TEST(a_wrong_case_is_named_with_game_step_expected_and_found) {
    const struct {
        const char *text, *message;
    } wrong[] = {
        {GAME("[2,5,6,7]", "xxxoo....", "[1,-1]", "5"), "step 4: legal: expected 8 forbidden"},
        {GAME("[2,4,5,6,7,8]", "xxxoo....", "[1,-1]", "5"), "step 4: legal: expected 4 among them"},
        {GAME("[2,5,6,7,8]", "xxxoo...o", "[1,-1]", "5"), "step 5: cell 8: expected 2, found 0"},
        {GAME("[2,5,6,7,8]", "xxxoo....", "[-1,1]", "5"), "step 4: reward: expected -1, found 1"},
        {GAME("[2,5,6,7,8]", "xxxoo....", "[1,1]", "5"), "result of player 1: expected 1, found -1"},
    };
    cm_env_case_report report;
    must_equal(run_text(GAME("[2,5,6,7,8]", "xxxoo....", "[1,-1]", "5"), &report), CM_OK);
    must(report.ok);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        must_equal(run_text(wrong[i].text, &report), CM_OK);
        must(!report.ok);
        must_msg(strstr(report.message, wrong[i].message) != NULL, "%s", report.message);
    }
}
END_TEST

#define GLIDE(actions)                                                                                                 \
    "{\"format\":\"cumind-environment-case-1\",\"environment\":\"glide2\",\"episodes\":[{\"seed\":42,\"reset\":"       \
    "[%.9f,%.9f,0,0],\"actions\":" actions ",\"observations\":[[%.9f,%.9f,0.25,-0.5]],"                                \
    "\"rewards\":[%.9f],\"terminated\":false,\"truncated\":false}]}"

/* Forces of 0.5 and -1: the point gets a tenth of them as speed, and goes that far. */
START_TEST(an_action_of_several_numbers_is_a_list_of_them) {
    const double x = 2 * .7739560485559633 - 1, y = 2 * .4388784397520523 - 1; /* numpy's, of that seed */
    const double reward = -hypot(x + 0.05, y - 0.1) - 0.02 * (0.25 + 1.0);
    char text[512];
    cm_env_case_report report;
    snprintf(text, sizeof text, GLIDE("[[0.5,-1]]"), x, y, x + 0.05, y - 0.1, reward);
    must_msg(run_text(text, &report) == CM_OK, "%s", cm_error_message());
    must_msg(report.ok, "%s", report.message);
    must_equal(report.steps, 1);
    snprintf(text, sizeof text, GLIDE("[0.5]"), x, y, x + 0.05, y - 0.1, reward);
    must_equal(run_text(text, &report), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "actions: 1 numbers are no whole actions of 2 each") != NULL, "%s",
             cm_error_message());
}
END_TEST

START_TEST(a_case_that_cannot_be_used_is_an_error) {
    const char *const bad[] = {
        "{}",
        "{\"format\":\"cumind-environment-case-1\"}",
        "{\"format\":\"cumind-environment-case-1\",\"environment\":\"tictacto\",\"games\":[]}",
        "{\"format\":\"cumind-environment-case-1\",\"environment\":\"tictactoe\",\"options\":{\"komi\":1},\"games\":[]"
        "}",
        "{\"format\":\"cumind-environment-case-1\",\"environment\":\"tictactoe\",\"options\":{\"kom\":1},\"games\":[]}",
        "{\"format\":\"cumind-environment-case-1\",\"environment\":\"tictactoe\",\"episodes\":[]}",
        "{\"format\":\"cumind-environment-case-1\",\"environment\":\"CartPole-v1\",\"games\":[]}",
        "{\"format\":\"cumind-environment-case-1\",\"environment\":\"CartPole-v1\",\"episodes\":[{\"seed\":1}]}",
        HEAD "{\"actions\":[0,3],\"rewards_final\":[1,-1],\"end_ply\":3}]}",
        HEAD "{\"actions\":[],\"rewards_final\":[1,-1],\"end_ply\":0}]}",
        HEAD "{\"actions\":[\"a\"],\"rewards_final\":[1,-1],\"end_ply\":1}]}",
    };
    cm_env_case_report report;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        must_msg(run_text(bad[i], &report) == CM_ERR_INPUT, "case %zu was accepted", i);
        must((int)strlen(cm_error_message()) > 10);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("environment cases");
    TCase *tcase = tcase_create("cases");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, all_21_recorded_files_are_reproduced);
    tcase_add_test(tcase, a_wrong_case_is_named_with_game_step_expected_and_found);
    tcase_add_test(tcase, an_action_of_several_numbers_is_a_list_of_them);
    tcase_add_test(tcase, a_case_that_cannot_be_used_is_an_error);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
