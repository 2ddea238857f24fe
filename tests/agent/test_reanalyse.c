/* Policies reanalysed: what is searched, with what, and that nothing else changes. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reanalyse.h"
#include "scene.h"
#include "support/main.h"

enum { ROWS = 24, K = 2, POSITIONS = ROWS * (K + 1), ENVIRONMENTS = 10 };

static cm_reanalyser *reanalyser; /* of the test that runs */

/* Twelve steps of self-play in ten environments; `settings` by blanks. */
static void open_scene(scene *s, const char *settings, double smoothing) {
    char text[256];
    const cm_actor_config actor = {.environments = ENVIRONMENTS, .steps = 12, .random_move_steps = 1};
    const cm_target_rule targets = {.unroll = K, .td_steps = 1, .discount = 1.0, .policy_smoothing = smoothing};
    snprintf(text, sizeof text, "%s zero_init_heads=false", settings);
    scene_open(s, text);
    scene_plays(s, actor, targets);
    scene_act(s);
}

static void close_scene(scene *s) {
    cm_reanalyser_destroy(reanalyser);
    scene_close(s);
}

static size_t actions_of(const scene *s) { return (size_t)s->session->env.spec.actions; }

static cm_reanalyser_config config_of(const scene *s, double ratio, bool with_noise, int threads) {
    return (cm_reanalyser_config){.agent = s->agent,
                                  .ratio = ratio,
                                  .with_noise = with_noise,
                                  .has_mask = s->session->env.def->legal != NULL,
                                  .whole = ROWS,
                                  .unroll = K,
                                  .batch = {.rows = ROWS, .consistency = true, .seed = 7},
                                  .rows_on_device = ENVIRONMENTS,
                                  .threads = threads};
}

static void open_reanalyser(const cm_reanalyser_config *config) {
    cm_reanalyser_destroy(reanalyser);
    ck_assert_msg(cm_reanalyser_create(config, &reanalyser) == CM_OK, "%s", cm_error_message());
    ck_assert_uint_gt(cm_reanalyser_memory(reanalyser), 0);
}

static cm_batch *draw(const scene *s, uint64_t update) {
    const cm_batch_config config = {.rows = ROWS, .consistency = true, .seed = 7};
    cm_batch *batch;
    ck_assert_int_eq(cm_batch_create(s->replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(s->replay, update, 0.0, batch), CM_OK);
    return batch;
}

static void reanalyse(cm_batch *batch) {
    ck_assert_msg(cm_reanalyser_run(reanalyser, batch) == CM_OK, "%s", cm_error_message());
}

static const float *target(const scene *s, const cm_batch *batch, int position) {
    return batch->target_policy + (size_t)position * actions_of(s);
}

static size_t policy_bytes(const scene *s) { return (size_t)POSITIONS * actions_of(s) * sizeof(float); }

static void expect_same_policies(const scene *s, const cm_batch *a, const cm_batch *b, bool same) {
    ck_assert_int_eq(memcmp(a->target_policy, b->target_policy, policy_bytes(s)) == 0, same);
}

#define NO_NOISE "exploration_fraction=0 num_simulations=8 "
static const char *const tasks[] = {
    NO_NOISE "env_name=CartPole-v1",
    NO_NOISE "env_name=tictactoe",
    "env_name=tictactoe policy=gumbel_muzero gumbel_scale=0 num_simulations=8",
    NO_NOISE "env_name=2048 policy=stochastic_muzero",
};
enum { TASKS = sizeof tasks / sizeof *tasks };

/* docs/spec/learning.md 14, test 12. Any position that is searched with another one's observation, mask or place in the
 * batch gets another policy. */
START_TEST(unchanged_network_without_noise_finds_what_was_played) {
    scene s;
    open_scene(&s, tasks[_i], _i == 1 ? 0.25 : 0.0);
    const cm_reanalyser_config config = config_of(&s, 1.0, _i == 0, 2); /* of the actor's search there is none either */
    cm_batch *stored = draw(&s, 3), *fresh = draw(&s, 3);
    open_reanalyser(&config);
    memset(fresh->target_policy, 0, policy_bytes(&s));
    reanalyse(fresh);
    expect_same_policies(&s, stored, fresh, true);
    ck_assert_int_ge(fresh->policies_reanalysed, ROWS);
    ck_assert_double_gt(fresh->policy_drift, 0.49 * fresh->policies_reanalysed); /* from all zeros */
    reanalyse(fresh);
    ck_assert(fresh->policy_drift == 0.0);
    cm_batch_destroy(stored);
    cm_batch_destroy(fresh);
    close_scene(&s);
}
END_TEST

/* Of rows not taken, and past the end of an episode, nothing changes; what is not legal gets nothing. */
START_TEST(changed_network_changes_the_rows_that_are_taken_and_no_others) {
    scene s;
    int changed = 0, ended = 0;
    open_scene(&s, tasks[1], 0.0);
    const cm_reanalyser_config config = config_of(&s, 0.5, true, 2);
    cm_batch *stored = draw(&s, 3), *fresh = draw(&s, 3);
    open_reanalyser(&config);
    scene_weights(s.session, s.agent, 6);
    reanalyse(fresh);
    for (int i = 0; i < POSITIONS; i++) {
        const bool inside = fresh->policy_mask[i] > 0.0f, taken = cm_reanalyser_selects(0.5, ROWS, i / (K + 1));
        const bool same = memcmp(target(&s, stored, i), target(&s, fresh, i), actions_of(&s) * sizeof(float)) == 0;
        double sum = 0.0;
        if (!inside || !taken) ck_assert(same);
        changed += !same, ended += !inside && taken;
        for (int a = 0; a < (int)actions_of(&s); a++) {
            sum += (double)target(&s, fresh, i)[a];
            if (!fresh->legal[(size_t)i * actions_of(&s) + (size_t)a]) ck_assert(target(&s, fresh, i)[a] == 0.0f);
        }
        ck_assert_double_eq_tol(sum, inside ? 1.0 : 0.0, 1e-6);
    }
    ck_assert_int_gt(changed, ROWS / 2);
    ck_assert_int_gt(ended, 0);
    const double drift = fresh->policy_drift / fresh->policies_reanalysed;
    ck_assert(drift > 0.01 && drift < 1.0);
    cm_batch_destroy(stored);
    cm_batch_destroy(fresh);
    close_scene(&s);
}
END_TEST

START_TEST(noise_is_that_of_the_row_and_the_update) {
    scene s;
    open_scene(&s, "env_name=tictactoe num_simulations=8", 0.0);
    const cm_reanalyser_config noisy = config_of(&s, 1.0, true, 2), silent = config_of(&s, 1.0, false, 2);
    cm_batch *one = draw(&s, 3), *again = draw(&s, 3), *later = draw(&s, 3);
    later->update = 4;
    open_reanalyser(&noisy);
    reanalyse(one), reanalyse(later), reanalyse(again);
    expect_same_policies(&s, one, again, true);
    expect_same_policies(&s, one, later, false);
    open_reanalyser(&silent);
    reanalyse(again), reanalyse(later);
    expect_same_policies(&s, one, again, false);
    expect_same_policies(&s, again, later, true);
    cm_batch_destroy(one), cm_batch_destroy(again), cm_batch_destroy(later);
    close_scene(&s);
}
END_TEST

START_TEST(threads_change_no_bit) {
    scene s;
    open_scene(&s, "env_name=Connect4 num_simulations=8", 0.0);
    const cm_reanalyser_config one = config_of(&s, 0.8, true, 1), five = config_of(&s, 0.8, true, 5);
    cm_batch *a = draw(&s, 3), *b = draw(&s, 3);
    open_reanalyser(&one);
    reanalyse(a);
    open_reanalyser(&five);
    reanalyse(b);
    expect_same_policies(&s, a, b, true);
    ck_assert(a->policy_drift == b->policy_drift);
    cm_batch_destroy(a), cm_batch_destroy(b);
    close_scene(&s);
}
END_TEST

/* Half of a batch, as the second of two ranks has it. */
START_TEST(ranks_change_no_bit) {
    enum { HALF = ROWS / 2 };
    scene s;
    open_scene(&s, "env_name=tictactoe num_simulations=8", 0.0);
    cm_reanalyser_config config = config_of(&s, 0.7, true, 2);
    cm_batch *all = draw(&s, 3), *half = draw(&s, 3);
    open_reanalyser(&config);
    const size_t o = (size_t)s.session->env.spec.observation_size, n = (size_t)(HALF * (K + 1)), a = actions_of(&s);
    memcpy(half->observation, all->observation + HALF * o, HALF * o * sizeof(float));
    memcpy(half->target_observations, all->target_observations + HALF * K * o, HALF * K * o * sizeof(float));
    memcpy(half->target_policy, all->target_policy + n * a, n * a * sizeof(float));
    memcpy(half->policy_mask, all->policy_mask + n, n * sizeof(float));
    memcpy(half->legal, all->legal + n * a, n * a);
    reanalyse(all);
    config.batch.rows = HALF, config.batch.first_row = HALF;
    open_reanalyser(&config);
    reanalyse(half);
    ck_assert_mem_eq(half->target_policy, all->target_policy + n * a, n * a * sizeof(float));
    cm_batch_destroy(all), cm_batch_destroy(half);
    close_scene(&s);
}
END_TEST

START_TEST(rows_are_as_many_as_the_ratio_says_and_spread_evenly) {
    static const struct {
        double ratio;
        int whole, taken;
    } cases[] = {{0.0, 8, 0},  {1.0, 8, 8},   {0.5, 10, 5},    {0.99, 256, 253},
                 {0.3, 10, 3}, {0.01, 64, 0}, {0.29, 100, 29}, {0.25, 128, 32}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int taken = 0, half = 0;
        for (int row = 0; row < cases[i].whole; row++) {
            taken += cm_reanalyser_selects(cases[i].ratio, cases[i].whole, row);
            if (row == cases[i].whole / 2 - 1) half = taken;
        }
        ck_assert_int_eq(taken, cases[i].taken);
        ck_assert_int_le(abs(taken - 2 * half), 1);
    }
}
END_TEST

static void *reanalyse_there(void *batch) {
    for (int i = 0; i < 5; i++) reanalyse(batch);
    return NULL;
}

START_TEST(threads_that_draw_take_turns) {
    scene s;
    open_scene(&s, "env_name=tictactoe num_simulations=4", 0.0);
    const cm_reanalyser_config config = config_of(&s, 1.0, true, 2);
    cm_batch *alone[3], *drawn[3];
    pthread_t threads[3];
    open_reanalyser(&config);
    for (uint64_t i = 0; i < 3; i++) {
        alone[i] = draw(&s, i);
        drawn[i] = draw(&s, i);
        reanalyse(alone[i]);
    }
    for (int i = 0; i < 3; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, reanalyse_there, drawn[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        expect_same_policies(&s, alone[i], drawn[i], true);
        cm_batch_destroy(alone[i]);
        cm_batch_destroy(drawn[i]);
    }
    close_scene(&s);
}
END_TEST

START_TEST(what_cannot_be_reanalysed_is_refused) {
    scene s;
    cm_reanalyser *none;
    open_scene(&s, "env_name=tictactoe policy=alphazero num_simulations=4", 0.0);
    const cm_reanalyser_config config = config_of(&s, 1.0, true, 1);
    ck_assert_int_eq(cm_reanalyser_create(&config, &none), CM_ERR_INPUT);
    ck_assert_ptr_null(none);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "no batch has states of the game"));
    close_scene(&s);
}
END_TEST

/* A model that has diverged is named, and nothing hangs. */
START_TEST(search_that_fails_is_an_error) {
    scene s;
    open_scene(&s, "env_name=CartPole-v1 num_simulations=4", 0.0);
    const cm_reanalyser_config config = config_of(&s, 1.0, true, 2);
    cm_batch *batch = draw(&s, 3);
    open_reanalyser(&config);
    batch->observation[5] = NAN;
    ck_assert_int_eq(cm_reanalyser_run(reanalyser, batch), CM_ERR_NOT_FINITE);
    batch->observation[5] = 0.0f;
    reanalyse(batch);
    cm_batch_destroy(batch);
    close_scene(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("reanalyse");
    TCase *tc = tcase_create("policies");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, unchanged_network_without_noise_finds_what_was_played, 0, TASKS);
    tcase_add_test(tc, changed_network_changes_the_rows_that_are_taken_and_no_others);
    tcase_add_test(tc, noise_is_that_of_the_row_and_the_update);
    tcase_add_test(tc, threads_change_no_bit);
    tcase_add_test(tc, ranks_change_no_bit);
    tcase_add_test(tc, rows_are_as_many_as_the_ratio_says_and_spread_evenly);
    tcase_add_test(tc, threads_that_draw_take_turns);
    tcase_add_test(tc, what_cannot_be_reanalysed_is_refused);
    tcase_add_test(tc, search_that_fails_is_an_error);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
