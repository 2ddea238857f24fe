/* Scores of several runs in single numbers, and the tables of suites. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "cli/scores.h"
#include "cli/suite.h"
#include "support/main.h"

/* Five games of four runs. What rliable 1.2.0 makes of them: metrics.aggregate_..., and library.get_interval_estimates
 * with 200,000 resamples. */
static const double twenty[] = {0.1, 0.3,  0.25, 0.05, 1.9, 1.2, 0.8,   1.4,  0.45, 0.6,
                                0.5, 0.55, 3.2,  2.1,  5.5, 4.0, -0.05, 0.02, 0.0,  0.1};
static const int four[] = {4, 4, 4, 4, 4};
static const cm_estimate of_twenty[CM_AGGREGATES] = {[CM_AGGREGATE_MEAN] = {1.1485, 0.902, 1.4095},
                                                     [CM_AGGREGATE_MEDIAN] = {0.525, 0.475, 0.575},
                                                     [CM_AGGREGATE_IQM] = {0.615, 0.51, 0.775},
                                                     [CM_AGGREGATE_GAP] = {0.4665, 0.4365, 0.4975}};

static void estimate(const cm_scores *scores, int resamples, uint64_t seed, cm_estimate out[CM_AGGREGATES]) {
    ck_assert_msg(cm_scores_estimate(scores, resamples, seed, out) == CM_OK, "%s", cm_error_message());
}

START_TEST(point_estimates_are_rliables) {
    const cm_scores scores = {twenty, four, 5};
    cm_estimate out[CM_AGGREGATES];
    estimate(&scores, 0, 0, out);
    for (int a = 0; a < CM_AGGREGATES; a++) {
        ck_assert_msg(fabs(out[a].value - of_twenty[a].value) < 1e-12, "%d: %.17g", a, out[a].value);
        ck_assert(isnan(out[a].low) && isnan(out[a].high));
    }
}
END_TEST

/* 15 runs: a quarter of them is no whole number, and 3 are left out at each end. */
START_TEST(interquartile_mean_leaves_out_whole_runs) {
    static const double fifteen[] = {0.1, 0.3, 0.25, 1.9, 1.2, 0.8, 0.45, 0.6, 0.5, 3.2, 2.1, 5.5, -0.05, 0.02, 0.0};
    static const int three[] = {3, 3, 3, 3, 3};
    static const double by_rliable[CM_AGGREGATES] = {1.1246666666666667, 0.5166666666666667, 0.6777777777777777,
                                                     0.4686666666666667};
    const cm_scores scores = {fifteen, three, 5};
    cm_estimate out[CM_AGGREGATES];
    estimate(&scores, 0, 0, out);
    for (int a = 0; a < CM_AGGREGATES; a++) ck_assert_double_eq_tol(out[a].value, by_rliable[a], 1e-12);
}
END_TEST

/* Both ends move by less than 0.01 from one seed to another with so many resamples; widths are 0.06 to 0.5. */
START_TEST(intervals_are_rliables_and_those_of_the_seed) {
    const cm_scores scores = {twenty, four, 5};
    cm_estimate out[CM_AGGREGATES], same[CM_AGGREGATES], other[CM_AGGREGATES];
    estimate(&scores, 50000, 7, out);
    estimate(&scores, 50000, 7, same);
    estimate(&scores, 50000, 8, other);
    ck_assert_mem_eq(out, same, sizeof out);
    ck_assert_mem_ne(out, other, sizeof out);
    for (int a = 0; a < CM_AGGREGATES; a++) {
        ck_assert_msg(fabs(out[a].low - of_twenty[a].low) < 0.01, "%d: %.17g", a, out[a].low);
        ck_assert_msg(fabs(out[a].high - of_twenty[a].high) < 0.01, "%d: %.17g", a, out[a].high);
    }
}
END_TEST

/* One game varies, the other cannot: the mean lies between (0 + 2) / 2 and (1 + 2) / 2. */
START_TEST(games_are_resampled_apart) {
    static const double score[] = {0.0, 1.0, 2.0};
    static const int runs[] = {2, 1};
    const cm_scores scores = {score, runs, 2};
    cm_estimate out[CM_AGGREGATES];
    estimate(&scores, 1000, 0, out);
    ck_assert_double_eq(out[CM_AGGREGATE_MEAN].value, 1.25);
    ck_assert_double_eq(out[CM_AGGREGATE_MEAN].low, 1.0);
    ck_assert_double_eq(out[CM_AGGREGATE_MEAN].high, 1.5);
    ck_assert_double_eq(out[CM_AGGREGATE_IQM].value, 1.0);
    ck_assert_double_eq(out[CM_AGGREGATE_GAP].value, 0.25);
}
END_TEST

START_TEST(single_runs_have_no_interval) {
    static const double score[] = {3.0, -1.0};
    static const int runs[] = {1, 1};
    const cm_scores scores = {score, runs, 2};
    cm_estimate out[CM_AGGREGATES];
    estimate(&scores, 1000, 0, out);
    ck_assert_double_eq(out[CM_AGGREGATE_MEDIAN].value, 1.0);
    for (int a = 0; a < CM_AGGREGATES; a++) ck_assert(isnan(out[a].low));
}
END_TEST

/* ---- suites ---- */

static const cm_suite *suite_of(const char *name) {
    const cm_suite *suite;
    ck_assert_int_eq(cm_suite_find(name, &suite), CM_OK);
    return suite;
}

/* What the publications make of their own scores, or what others made of the same table, to three digits. */
START_TEST(published_columns_come_to_their_known_means_and_medians) {
    static const struct {
        const char *name;
        double mean, median;
    } known[] = {{"random", 0, 0},
                 {"human", 1, 1},
                 {"EfficientZero", 1.943, 1.090},
                 {"EfficientZero V2", 2.486, 1.129},
                 {"DreamerV3", 1.202, 0.455},
                 {"BBF", 2.238, 0.879},
                 {"BBF, ratio 2", 2.175, 0.754},
                 {"MuZero", 0.562, 0.227},
                 {"UniZero", 0.386, 0.215}};
    const cm_suite *suite = suite_of("atari100k");
    ck_assert_int_eq(suite->published_count, sizeof known / sizeof *known);
    for (int c = 0; c < suite->published_count; c++) {
        double score[CM_SUITE_GAMES], sum = 0.0;
        for (int g = 0; g < suite->game_count; g++)
            sum += score[g] = cm_suite_normalise(suite, g, suite->published[c].score[g]);
        ck_assert_str_eq(suite->published[c].name, known[c].name);
        ck_assert_double_eq_tol(sum / suite->game_count, known[c].mean, 5.1e-4);
        ck_assert_double_eq_tol(cm_scores_median(score, suite->game_count), known[c].median, 5.1e-4);
    }
}
END_TEST

START_TEST(names_of_environments_mean_games) {
    static const struct {
        const char *suite, *env_name, *game; /* NULL: none */
    } names[] = {{"atari100k", "atari:Pong", "Pong"},
                 {"atari100k", "atari:ms_pacman", "MsPacman"},
                 {"atari100k", "ale_py:ALE/UpNDown-v5", "UpNDown"},
                 {"atari100k", "gymnasium:ale_py:ALE/Hero-v5,frameskip=4", "Hero"},
                 {"atari100k", "gymnasium:ALE/Breakout-v5", "Breakout"},
                 {"atari100k", "atari:Tennis", NULL},
                 {"atari100k", "atari:Pongo", NULL},
                 {"atari100k", "atari:Po", NULL},
                 {"atari100k", "Pong", NULL},
                 {"atari100k", "minatar_breakout", NULL},
                 {"atari100k", "./atari:Pong.py", NULL},
                 {"minatar", "minatar_space_invaders", "SpaceInvaders"},
                 {"minatar", "MinAtar-Breakout", "Breakout"},
                 {"minatar", "gymnasium:MinAtar/Seaquest-v1", "Seaquest"},
                 {"minatar", "gymnasium:minatar:MinAtar/Asterix-v1", "Asterix"},
                 {"minatar", "atari:Breakout", NULL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cm_suite *suite = suite_of(names[i].suite);
        const int game = cm_suite_game(suite, names[i].env_name);
        ck_assert_msg((game >= 0) == (names[i].game != NULL), "%s: %d", names[i].env_name, game);
        if (game >= 0) ck_assert_str_eq(suite->games[game], names[i].game);
    }
}
END_TEST

START_TEST(every_suite_has_scores_for_0_and_1_of_every_game) {
    for (int s = 0; cm_suites[s]; s++) {
        const cm_suite *suite = cm_suites[s];
        ck_assert_int_le(suite->game_count, CM_SUITE_GAMES);
        ck_assert_int_ge(suite->published_count, CM_SUITE_METHODS);
        for (int g = 0; g < suite->game_count; g++)
            ck_assert(suite->published[CM_SUITE_ZERO].score[g] < suite->published[CM_SUITE_ONE].score[g]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/scores");
    TCase *tests = tcase_create("scores");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, point_estimates_are_rliables);
    tcase_add_test(tests, interquartile_mean_leaves_out_whole_runs);
    tcase_add_test(tests, intervals_are_rliables_and_those_of_the_seed);
    tcase_add_test(tests, games_are_resampled_apart);
    tcase_add_test(tests, single_runs_have_no_interval);
    tcase_add_test(tests, published_columns_come_to_their_known_means_and_medians);
    tcase_add_test(tests, names_of_environments_mean_games);
    tcase_add_test(tests, every_suite_has_scores_for_0_and_1_of_every_game);
    return cm_test_main(suite);
}
