/* Ratings: examples with closed answers, and what the fit promises of any. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "arena/elo.h"
#include "support/main.h"

static double rating[CM_ELO_MOST_PLAYERS], interval[CM_ELO_MOST_PLAYERS];
static bool padded;

static void fit(int n, const double *points, const double *games) {
    ck_assert_msg(cm_elo_fit(n, points, games, rating, interval, &padded) == CM_OK, "%s", cm_error_message());
}

START_TEST(three_of_four_points_are_191_elo) {
    const double points[4] = {0, 75, 25, 0}, games[4] = {0, 100, 100, 0};
    fit(2, points, games);
    ck_assert_double_eq_tol(rating[0] - rating[1], 400.0 * log10(3.0), 1e-6); /* 190.85 */
    ck_assert_double_eq_tol(rating[0] + rating[1], 0.0, 1e-9);
    /* the difference has the deviation 400 / ln 10 / sqrt(n p (1 - p)), each of the two half of it */
    double deviation = 400.0 / log(10.0) / sqrt(100 * 0.75 * 0.25);
    ck_assert_double_eq_tol(interval[0], 1.96 * deviation / 2.0, 1e-6);
    ck_assert_double_eq_tol(interval[1], interval[0], 1e-9);
    ck_assert(!padded);
}
END_TEST

/* Strengths 4 : 2 : 1 give these scores exactly, so they are the ratings of highest likelihood. */
START_TEST(scores_of_strengths_4_2_1_give_120_elo_each) {
    const double points[9] = {0, 20, 24, 10, 0, 20, 6, 10, 0}, games[9] = {0, 30, 30, 30, 0, 30, 30, 30, 0};
    fit(3, points, games);
    ck_assert_double_eq_tol(rating[0], 400.0 * log10(2.0), 1e-6);
    ck_assert_double_eq_tol(rating[1], 0.0, 1e-6);
    ck_assert_double_eq_tol(rating[2], -400.0 * log10(2.0), 1e-6);
    ck_assert(!padded);
}
END_TEST

/* Four equal players, each pair 10 games: information 2.5 (4 I - 11') per nat^2, so s^2 = (1 / 10) (1 - 1 / 4). */
START_TEST(equal_players_have_the_interval_of_the_round_robin) {
    double points[16], games[16];
    for (int i = 0; i < 16; i++) points[i] = 5, games[i] = 10;
    fit(4, points, games);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(rating[i], 0.0, 1e-9);
        ck_assert_double_eq_tol(interval[i], 1.96 * 400.0 / log(10.0) * sqrt(0.1 * 0.75), 1e-6);
    }
}
END_TEST

START_TEST(draws_are_half_points_each) {
    const double all_drawn[4] = {0, 50, 50, 0}, games[4] = {0, 100, 100, 0};
    fit(2, all_drawn, games);
    ck_assert_double_eq_tol(rating[0], 0.0, 1e-9);
    ck_assert(!padded);
}
END_TEST

START_TEST(player_who_won_all_is_padded_by_a_drawn_game) {
    const double points[4] = {0, 100, 0, 0}, games[4] = {0, 100, 100, 0};
    fit(2, points, games);
    ck_assert(padded);
    ck_assert_double_eq_tol(rating[0] - rating[1], 400.0 * log10(100.5 / 0.5), 1e-4);
    ck_assert(isfinite(interval[0]));
}
END_TEST

START_TEST(group_that_never_lost_to_the_rest_is_padded) {
    /* 0 and 1 share points, 2 and 3 too, but the first two won every game against the others */
    const double points[16] = {0, 5, 10, 10, 5, 0, 10, 10, 0, 0, 0, 6, 0, 0, 4, 0};
    double games[16];
    for (int i = 0; i < 16; i++) games[i] = 10;
    fit(4, points, games);
    ck_assert(padded);
    ck_assert_double_gt(rating[1], rating[2] + 300);
}
END_TEST

/* At the highest likelihood every player has as many points as the ratings expect of him. */
START_TEST(expected_points_are_the_points_made) {
    enum { N = 40 };
    static double points[N * N], games[N * N];
    unsigned random = 1;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) {
            random = random * 1103515245u + 12345u;
            double played = (random >> 16) % 3 == 0 ? 0 : 20, won = (random >> 20) % 39 * 0.5 + 0.5;
            games[i * N + j] = games[j * N + i] = played;
            points[i * N + j] = played > 0 ? won : 0, points[j * N + i] = played > 0 ? played - won : 0;
        }
    }
    fit(N, points, games);
    ck_assert(!padded);
    for (int i = 0; i < N; i++) {
        double made = 0, expected = 0;
        for (int j = 0; j < N; j++) {
            if (i == j) continue;
            made += points[i * N + j];
            expected += games[i * N + j] / (1.0 + pow(10.0, (rating[j] - rating[i]) / 400.0));
        }
        ck_assert_double_eq_tol(made, expected, 1e-6);
        ck_assert_double_gt(interval[i], 0);
    }
}
END_TEST

START_TEST(players_who_never_met_are_refused) {
    const double points[9] = {0, 5, 0, 5, 0, 0, 0, 0, 0}, games[9] = {0, 10, 0, 10, 0, 0, 0, 0, 0};
    ck_assert_int_eq(cm_elo_fit(3, points, games, rating, interval, &padded), CM_ERR_INPUT);
    ck_assert_int_eq(cm_elo_fit(1, points, games, rating, interval, &padded), CM_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/elo");
    TCase *tests = tcase_create("elo");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, three_of_four_points_are_191_elo);
    tcase_add_test(tests, scores_of_strengths_4_2_1_give_120_elo_each);
    tcase_add_test(tests, equal_players_have_the_interval_of_the_round_robin);
    tcase_add_test(tests, draws_are_half_points_each);
    tcase_add_test(tests, player_who_won_all_is_padded_by_a_drawn_game);
    tcase_add_test(tests, group_that_never_lost_to_the_rest_is_padded);
    tcase_add_test(tests, expected_points_are_the_points_made);
    tcase_add_test(tests, players_who_never_met_are_refused);
    return cm_test_main(suite);
}
