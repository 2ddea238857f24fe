/* Counters of a run in state.json: what is written is read again, and what cannot be is named. */
#include "run/counters.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/main.h"

static const cm_run_counters sound = {.ranks = 2,
                                      .updates = 120,
                                      .env_steps = 4096,
                                      .episodes = 77,
                                      .is_best = true,
                                      .state = {.iteration = 16,
                                                .fresh_steps = 256,
                                                .learnt_episodes = 70,
                                                .evaluations = 3,
                                                .next_evaluation = 5000,
                                                .evaluated_updates = 100,
                                                .evaluated_iteration = 15,
                                                .saved_episodes = 60,
                                                .saved_updates = 90,
                                                .goal_reached = true,
                                                .best_return = -12.25,
                                                .credit = 0.375,
                                                .seconds = 17.5,
                                                .metrics_bytes = 9000,
                                                .warned = true,
                                                .is_pending = true},
                                      .scaling = {.scale = 1024.0, .good = 5, .steps = 110, .skipped = 10}};

/* The text that is written, with `from` replaced by `to`. */
static void write_text(const cm_run_counters *c, const char *from, const char *to, char *out, size_t size) {
    cm_json_writer *json;
    ck_assert_int_eq(cm_json_writer_create(0, &json), CM_OK);
    cm_json_begin_object(json, NULL);
    cm_run_counters_put(c, json);
    cm_json_end_object(json);
    const char *text = cm_json_writer_text(json, NULL), *at = from ? strstr(text, from) : NULL;
    ck_assert_msg(!from || at, "%s is not in %s", from, text);
    if (at) {
        snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    } else {
        snprintf(out, size, "%s", text);
    }
    cm_json_writer_destroy(json);
}

static cm_status read_text(const char *text, cm_run_counters *out) {
    cm_json_doc *doc;
    ck_assert_msg(cm_json_parse(text, strlen(text), "state.json", &doc) == CM_OK, "%s", cm_error_message());
    cm_status status = cm_run_counters_read(cm_json_root(doc), out);
    cm_json_free(doc);
    return status;
}

static cm_run_counters sound_with_row(void) {
    cm_run_counters c = sound;
    c.row = cm_metrics_empty();
    c.row.iteration = 16, c.row.mean_return = 0.5;
    c.state.is_within = true;
    c.temperature = 0.5;
    c.round = (cm_learning_round){.due = 60, .made = 7, .first = 113, .share = 0.25};
    c.round.sum.total_loss = 3.5, c.round.sum.skipped = 2, c.round.sum.learning_rate = 0.001;
    return c;
}

START_TEST(what_is_written_is_read) {
    const cm_run_counters c = sound_with_row();
    char text[4096], again[4096];
    cm_run_counters read;
    write_text(&c, NULL, NULL, text, sizeof text);
    ck_assert_msg(read_text(text, &read) == CM_OK, "%s", cm_error_message());
    write_text(&read, NULL, NULL, again, sizeof again);
    ck_assert_str_eq(text, again);
    ck_assert(read.ranks == 2 && read.is_best && read.state.best_return == -12.25 && read.state.saved_updates == 90);
    ck_assert(read.scaling.skipped == 10 && read.row.iteration == 16 && read.row.mean_return == 0.5);
    ck_assert(isnan(read.row.total_loss));
    ck_assert(read.state.is_within && read.temperature == 0.5 && read.round.due == 60 && read.round.made == 7);
    ck_assert(read.round.first == 113 && read.round.share == 0.25 && read.round.sum.total_loss == 3.5);
    ck_assert(read.round.sum.skipped == 2 && read.round.sum.learning_rate == 0.001);
}
END_TEST

START_TEST(older_files_lack_some) {
    static const char text[] =
        "{\"updates\": 1, \"env_steps\": 9, \"episodes\": 0, \"iteration\": 1, \"fresh_steps\": 0,"
        "\"learnt_episodes\": 0, \"evaluations\": 0, \"next_evaluation\": 0, "
        "\"saved_episodes\": 0, \"saved_updates\": 0, \"credit\": 0, \"seconds\": 1, "
        "\"metrics_bytes\": 0, \"best_return\": null}";
    cm_run_counters read;
    ck_assert_msg(read_text(text, &read) == CM_OK, "%s", cm_error_message());
    ck_assert(read.ranks == 1 && read.state.evaluated_iteration == -1 && read.state.best_return == -HUGE_VAL);
    ck_assert(!read.is_best && !read.state.is_pending && read.scaling.scale == 0.0);
}
END_TEST

static const struct {
    const char *from, *to, *says;
} wrong[] = {
    {"\"ranks\": 2", "\"ranks\": 0", "ranks: must be an integer in [1, 65536], got 0"},
    {"\"ranks\": 2", "\"ranks\": 1e9", "ranks: must be an integer in [1, 65536], got 1000000000"},
    {"\"updates\": 120", "\"updates\": -1", "updates: must be an integer in [0, 70368744177664], got -1"},
    {"\"updates\": 120", "\"updates\": 1e300", "updates: must be an integer in [0, 70368744177664], got 1."},
    {"\"updates\": 120", "\"updates\": 1.5", "updates: must be an integer in [0, 70368744177664], got 1.5"},
    {"\"updates\": 120", "\"updates\": \"1\"", "updates: must be a number, got a string"},
    {"\"updates\": 120, ", "", "updates: missing"},
    {"\"updates\": 120", "\"updates\": 80", "saved_updates: is 90, more than the 80 of updates"},
    {"\"iteration\": 16", "\"iteration\": 14", "evaluated_iteration: is 15, more than the 14 of iteration"},
    {"\"fresh_steps\": 256", "\"fresh_steps\": 5000", "fresh_steps: is 5000, more than the 4096 of env_steps"},
    {"\"learnt_episodes\": 70", "\"learnt_episodes\": 78", "learnt_episodes: is 78, more than the 77 of episodes"},
    {"\"fresh_steps\": 256", "\"fresh_steps\": 6",
     "learnt_episodes: is 70: more episodes are to be learnt from than 6 fresh_steps"},
    {"\"goal_reached\": true", "\"goal_reached\": 1", "goal_reached: must be true or false, got a number"},
    {"\"credit\": 0.375", "\"credit\": 1e12", "credit: must be in [0, 1], got 1e+12"},
    {"\"credit\": 0.375", "\"credit\": null", "credit: must be a number, got null"},
    {"\"seconds\": 17.5", "\"seconds\": -1", "seconds: must be in [0, 1e+12], got -1"},
    {"\"scale\": 1024.0", "\"scale\": 0.5", "loss_scaling: scale: must be in [1, 1.67772e+07], got 0.5"},
    {"\"good\": 5", "\"good\": -5", "loss_scaling: good: must be an integer in [0, 16777216], got -5"},
    {"\"total_loss\": null", "\"total_loss\": [3]", "pending: total_loss: must be a number, got an array"},
    {"\"due\": 60", "\"due\": 6", "made: is 7, more than the 6 of due"},
    {"\"share\": 0.25", "\"share\": 2", "learning: share: must be in [0, 1], got 2"},
    {"\"made\": 7, ", "", "learning: made: missing"},
    {"{\"iteration\": 16", "{\"iteration\": -3", "pending: iteration: must be an integer in [0, 9007199254740992]"},
};

START_TEST(what_is_wrong_is_named) {
    const cm_run_counters c = sound_with_row();
    char text[4096];
    cm_run_counters read;
    write_text(&c, wrong[_i].from, wrong[_i].to, text, sizeof text);
    ck_assert_int_eq(read_text(text, &read), CM_ERR_INPUT);
    ck_assert_msg(strncmp(cm_error_message(), wrong[_i].says, strlen(wrong[_i].says)) == 0, "%s", cm_error_message());
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/counters");
    TCase *c = tcase_create("counters");
    tcase_add_test(c, what_is_written_is_read);
    tcase_add_test(c, older_files_lack_some);
    tcase_add_loop_test(c, what_is_wrong_is_named, 0, (int)(sizeof wrong / sizeof *wrong));
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
