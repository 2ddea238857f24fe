/* What a sweep varies: words of the command line, draws, and their form in a file. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/configuration.h"
#include "support/main.h"
#include "sweep/space.h"

static cm_sweep_space space;

/* All words in a space of their own. Errors: those of the first that is refused. */
static cm_status add(const char *const *words, int count) {
    static cm_configuration configuration;
    cm_config *config;
    cm_status status = CM_OK;
    space = (cm_sweep_space){.count = 0};
    ck_assert(cm_configuration_create(&configuration, &config) == CM_OK);
    for (int i = 0; i < count && status == CM_OK; i++) status = cm_sweep_space_add(&space, config, words[i]);
    cm_config_destroy(config);
    return status;
}

static double number(int trial, int index) {
    char value[CM_SWEEP_TEXT];
    cm_sweep_space_draw(&space, 7, trial, index, value);
    return strtod(value, NULL);
}

START_TEST(what_cannot_be_swept_is_one_line_that_names_it) {
    static const struct {
        const char *words[2], *part;
    } cases[] = {
        {{"lr"}, "unknown key \"lr\"; did you mean Training.learning_rate?"},
        {{"MCTS"}, "MCTS is a section"},
        {{"seed"}, "seed: cannot be swept: all trials have it in common"},
        {{"updates=1,2"}, "all trials have it in common"},
        {{"evaluation_episodes=1,2"}, "all trials have it in common"},
        {{"threads=1,2"}, "all trials have it in common"},
        {{"env_name"}, "neither a number nor a choice"},
        {{"chunk_rows"}, "needs a range or a list, as in chunk_rows=LOW..HIGH"},
        {{"learning_rate="}, "\"\" is no list of values"},
        {{"learning_rate=0.1,,0.2"}, "is no list of values"},
        {{"learning_rate=..1"}, "is no range"},
        {{"learning_rate=0.1.."}, "is no range"},
        {{"learning_rate=0.1..0.01"}, "the range \"0.1..0.01\" is empty"},
        {{"learning_rate=0.1..0.1"}, "is empty"},
        {{"learning_rate=a..b"}, "must be a number in 1e-12..1, got \"a\""},
        {{"learning_rate=1e-3,5"}, "must be a number in 1e-12..1, got 5"},
        {{"num_simulations=1.5..3"}, "must be an integer in 1..65536"},
        {{"goal_velocity=0..9"}, "must be a number in 0..0.07, got 9"},
        {{"sticky_actions=null..1"}, "\"null\" is no number"},
        {{"optimizer=1..3"}, "is a range, and the key is no number"},
        {{"optimizer=adam,foo"}, "must be one of \"adamw\", \"adam\", \"sgd\", \"muon\", got \"foo\""},
        {{"num_simulations=8,16,8"}, "8 stands twice in its list"},
        {{"c_puct", "MCTS.c_puct=1,2"}, "c_puct: stands twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(add(cases[i].words, cases[i].words[1] ? 2 : 1) == CM_ERR_INPUT, "%s", cases[i].words[0]);
        ck_assert_msg(strstr(cm_error_message(), cases[i].part) != NULL, "%s: %s", cases[i].words[0],
                      cm_error_message());
    }
}
END_TEST

START_TEST(rows_of_options_have_ranges_that_they_allow) {
    cm_configuration configuration;
    cm_config *config;
    const cm_option *row;
    int count = 0;
    ck_assert(cm_configuration_create(&configuration, &config) == CM_OK);
    for (int i = 0; (row = cm_config_row(config, i)) != NULL; i++) {
        if (row->sweep[0] == 0.0 && row->sweep[1] == 0.0) continue;
        count++;
        ck_assert_msg(row->sweep[0] < row->sweep[1] && row->min <= row->sweep[0] && row->sweep[1] <= row->max, "%s",
                      row->key);
        ck_assert(add((const char *const[]){row->key}, 1) == CM_OK);
        ck_assert_int_eq(space.row[0].kind != CM_SWEEP_LIST, 1);
        if (row->type != CM_OPTION_DOUBLE) ck_assert(floor(row->sweep[0]) == row->sweep[0]);
    }
    ck_assert_int_ge(count, 25);
    cm_config_destroy(config);
}
END_TEST

START_TEST(a_key_alone_has_all_its_choices) {
    char value[CM_SWEEP_TEXT];
    ck_assert(add((const char *const[]){"optimizer", "value_prefix"}, 2) == CM_OK);
    ck_assert_int_eq(space.row[0].count, 4);
    ck_assert_str_eq(space.row[0].value[3], "\"muon\"");
    ck_assert_int_eq(space.row[1].count, 2);
    ck_assert_str_eq(space.row[1].value[1], "true");
    cm_sweep_value_bare(space.row[0].value[3], value);
    ck_assert_str_eq(value, "muon");
}
END_TEST

/* A quarter of the draws lies in each quarter of the decades, of 4,000 within five standard deviations: 137. */
START_TEST(draws_of_a_range_over_decades_are_uniform_in_its_logarithm) {
    int quarters[4] = {0};
    ck_assert(add((const char *const[]){"learning_rate=1e-5..1e-1"}, 1) == CM_OK);
    ck_assert(space.row[0].is_log);
    for (int t = 0; t < 4000; t++) {
        const double x = number(t, 0);
        ck_assert(x >= 1e-5 && x <= 1e-1);
        quarters[(int)fmin(log10(x) + 5.0, 3.0)]++;
    }
    for (int q = 0; q < 4; q++) ck_assert_int_lt(abs(quarters[q] - 1000), 137);
}
END_TEST

START_TEST(every_integer_and_every_value_of_a_list_comes_as_often) {
    int integers[5] = {0}, listed[3] = {0};
    ck_assert(add((const char *const[]){"td_steps=3..7", "num_simulations=8,16,32"}, 2) == CM_OK);
    ck_assert(!space.row[0].is_log);
    for (int t = 0; t < 3000; t++) {
        const int x = (int)number(t, 0), y = (int)number(t, 1);
        ck_assert_int_ge(x, 3);
        ck_assert_int_le(x, 7);
        integers[x - 3]++, listed[y == 8 ? 0 : y == 16 ? 1 : 2]++;
    }
    for (int i = 0; i < 5; i++) ck_assert_int_lt(abs(integers[i] - 600), 110);
    for (int i = 0; i < 3; i++) ck_assert_int_lt(abs(listed[i] - 1000), 130);
}
END_TEST

/* The values that a seed gives belong to the ledgers that users have. */
START_TEST(a_draw_depends_on_seed_trial_and_place_alone) {
    char first[CM_SWEEP_TEXT], again[CM_SWEEP_TEXT];
    ck_assert(add((const char *const[]){"learning_rate", "num_simulations=4..64"}, 2) == CM_OK);
    cm_sweep_space_draw(&space, 42, 0, 0, first);
    ck_assert_str_eq(first, "0.01081");
    cm_sweep_space_draw(&space, 42, 3, 1, first);
    ck_assert(add((const char *const[]){"c_puct", "num_simulations=4..64", "td_steps"}, 3) == CM_OK);
    cm_sweep_space_draw(&space, 42, 3, 1, again);
    ck_assert_str_eq(first, again);
    cm_sweep_space_draw(&space, 43, 3, 1, again);
    ck_assert_str_ne(first, again);
}
END_TEST

START_TEST(a_space_is_read_as_it_was_written) {
    cm_json_writer *json;
    cm_json_doc *doc;
    cm_sweep_space back;
    size_t size;
    ck_assert(add((const char *const[]){"learning_rate", "td_steps=3..7", "optimizer", "value_prefix",
                                        "discount=0.5,0.997", "sticky_actions=null,0.25"},
                  6) == CM_OK);
    ck_assert(cm_json_writer_create(0, &json) == CM_OK);
    cm_json_begin_object(json, NULL);
    cm_sweep_space_write(&space, json, "keys");
    cm_json_end_object(json);
    const char *text = cm_json_writer_text(json, &size);
    ck_assert(cm_json_parse(text, size, "space", &doc) == CM_OK);
    ck_assert_msg(cm_sweep_space_read(cm_json_get(cm_json_root(doc), "keys"), &back) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_int_eq(back.count, 6);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 20; t++) {
            char a[CM_SWEEP_TEXT], b[CM_SWEEP_TEXT];
            cm_sweep_space_draw(&space, 1, t, i, a);
            cm_sweep_space_draw(&back, 1, t, i, b);
            ck_assert_str_eq(a, b);
        }
    cm_json_free(doc);
    cm_json_writer_destroy(json);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("space");
    TCase *cases = tcase_create("space");
    tcase_add_test(cases, what_cannot_be_swept_is_one_line_that_names_it);
    tcase_add_test(cases, rows_of_options_have_ranges_that_they_allow);
    tcase_add_test(cases, a_key_alone_has_all_its_choices);
    tcase_add_test(cases, draws_of_a_range_over_decades_are_uniform_in_its_logarithm);
    tcase_add_test(cases, every_integer_and_every_value_of_a_list_comes_as_often);
    tcase_add_test(cases, a_draw_depends_on_seed_trial_and_place_alone);
    tcase_add_test(cases, a_space_is_read_as_it_was_written);
    suite_add_tcase(suite, cases);
    return cm_test_main(suite);
}
