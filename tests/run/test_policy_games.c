/* Games that a policy plays alone: its moves are the policy's, of any form, in memory that no number of actions grows.
 */
#include "run/policy_games.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "support/main.h"
#include "support/network.h"

#define CHECK_OK(expression) ck_assert_msg((expression) == CM_OK, "%s: %s", #expression, cm_error_message())

enum { BINS = 15, POSITIONS = 128 };
static const cm_support atoms = {-5.0f, 5.0f, 21, true};

typedef struct scene {
    cm_env env;
    cm_policy_form form;
    cm_test_network network;
    cm_stream *stream;
    cm_positions games;
} scene;

static void open_scene(scene *s, const char *task) {
    cm_env_params params = cm_env_params_default();
    memset(s, 0, sizeof *s);
    params.action_bins = BINS;
    CHECK_OK(cm_env_open(&s->env, task, &params));
    const cm_env_spec *spec = &s->env.spec;
    cm_network_config config = cm_test_mlp(spec->observation_size, spec->actions, 16, 8, atoms);
    s->form = spec->action_size > 0 ? cm_env_policy_form(spec) : cm_policy_form_of(spec->actions, 1);
    config.form = s->form;
    config.per_number = spec->action_size > 0;
    if (config.per_number) config.encoding = CM_ENCODE_SCALED;
    cm_test_network_open(&s->network, &config, "cpu", 3);
    CHECK_OK(cm_stream_open(s->network.backend, &s->stream));
}

/* The entry of each number that has nearly all of the policy. */
static int favourite(const scene *s, int d) { return (2 * d + 1) % s->form.values; }

static void prefer_favourites(const scene *s) {
    const cm_param_table *table = cm_network_parameters(s->network.network);
    const cm_param *bias = cm_param_table_find(table, "prediction.policy_head.output.bias");
    ck_assert_ptr_nonnull(bias);
    ck_assert_uint_eq(bias->count, (size_t)cm_policy_size(s->form));
    for (int d = 0; d < s->form.numbers; d++)
        s->network.parameters[bias->offset + (size_t)(d * s->form.values + favourite(s, d))] = 60.0f;
}

static void play(scene *s) {
    const cm_network_use use = cm_test_network_use(&s->network, s->stream, 1);
    CHECK_OK(cm_policy_games_play(&use, &s->env, POSITIONS, 5, &s->games));
}

static void close_scene(scene *s) {
    cm_positions_free(&s->games);
    cm_stream_close(s->stream);
    cm_test_network_close(&s->network);
}

/* The share of moves whose number d is what the policy wants. */
static double share_of_favourites(const scene *s, int d) {
    const int count = s->games.batches * s->games.steps * s->games.rows;
    int favourites = 0;
    for (int i = 0; i < count; i++) {
        ck_assert_int_ge(s->games.actions[i], 0);
        ck_assert_int_lt(s->games.actions[i], s->env.spec.actions);
        favourites += cm_policy_entry(s->form, s->games.actions[i], d) == favourite(s, d);
    }
    return (double)favourites / count;
}

/* One in ten is random, and rows whose game has ended have random ones after it. */
static void expect_favourites(const char *task, double least, double most) {
    scene s;
    open_scene(&s, task);
    prefer_favourites(&s);
    play(&s);
    for (int d = 0; d < s.form.numbers; d++) {
        const double share = share_of_favourites(&s, d);
        ck_assert_msg(share >= least && share <= most, "%s, number %d: %.3f of the moves", task, d, share);
    }
    close_scene(&s);
}

static long most_kilobytes(void) {
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* There are 15^6 actions: a byte for each, for each of 64 rows, would be 729 MB and minutes. */
START_TEST(six_numbers_are_played_by_their_policies_in_little_memory) {
    const long before = most_kilobytes();
    expect_favourites("glide6", 0.85, 0.99);
    ck_assert_int_lt(most_kilobytes() - before, 200000);
}
END_TEST

START_TEST(an_angle_is_of_the_bin_that_was_drawn) { expect_favourites("aim", 0.4, 0.99); }
END_TEST

START_TEST(a_joint_policy_is_played_and_never_an_illegal_move) {
    expect_favourites("MountainCar-v0", 0.85, 0.99);
    expect_favourites("tictactoe", 0.05, 0.5); /* its favourite can be played once in a game */
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/policy_games");
    TCase *tests = tcase_create("policy_games");
    tcase_add_test(tests, six_numbers_are_played_by_their_policies_in_little_memory);
    tcase_add_test(tests, an_angle_is_of_the_bin_that_was_drawn);
    tcase_add_test(tests, a_joint_policy_is_played_and_never_an_illegal_move);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
