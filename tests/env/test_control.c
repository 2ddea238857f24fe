/* The control tasks against numbers of Gymnasium that do not depend on the recorded files: random numbers, short
 * tables, whole episodes under a policy, options. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "env/cartpole.h"
#include "env/env.h"
#include "env/maths.h"
#include "env/silent_check.h"
#include "support/main.h"

START_TEST(pcg64_gives_the_numbers_of_numpy) {
    const uint64_t words[4] = {0xa30febcfd9c2825fu, 0x4510bdf882d9d721u, 0x0a7d3da94ecde8b8u, 0x043b27b61342f01du};
    const double doubles[3] = {.7739560485559633, .4388784397520523, .8585979199113825};
    cm_pcg64 g;
    uint32_t seed_words[8];
    cm_seed_sequence(0, seed_words);
    must_equal(seed_words[0] | (uint64_t)seed_words[1] << 32, 0xdb2cd7e7b0f478beu);
    must_equal(seed_words[6] | (uint64_t)seed_words[7] << 32, 0x2c4099de223c39d4u);
    cm_pcg64_seed(&g, 0);
    for (int i = 0; i < 4; i++) must(cm_pcg64_next(&g) == words[i]);
    cm_pcg64_seed(&g, 42);
    for (int i = 0; i < 3; i++) must(cm_pcg64_double(&g) == doubles[i]);
    int counts[5] = {0};
    for (int i = 0; i < 100000; i++) counts[cm_pcg64_below(&g, 5)]++;
    for (int i = 0; i < 5; i++) must(abs(counts[i] - 20000) < 600);
}
END_TEST

/* The distance in units of the last place of `want`. */
static double ulps(double got, double want) {
    return fabs(got - want) / (nextafter(fabs(want), INFINITY) - fabs(want));
}

START_TEST(sine_and_cosine_are_within_two_ulp_of_libm) {
    const double ranges[3] = {0.8, 20.0, 1e5}, limits[3] = {1.0, 2.0, 2.0};
    cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
    for (int r = 0; r < 3; r++) {
        double worst = 0.0;
        for (int i = 0; i < 200000; i++) {
            double x = (2.0 * cm_rng_uniform_double(&rng) - 1.0) * ranges[r];
            cm_sincos_pair pair = cm_sincos(x);
            worst = fmax(worst, fmax(ulps(pair.sin, sin(x)), ulps(pair.cos, cos(x))));
        }
        must_msg(worst <= limits[r], "%g ulp for |x| <= %g", worst, ranges[r]);
    }
    must(cm_sincos(0.0).sin == 0.0 && cm_sincos(0.0).cos == 1.0);
    must(isnan(cm_sincos((double)NAN).sin));
}
END_TEST

typedef struct episode {
    cm_env env;
    double storage[16];
    cm_env_outcome out;
    double total;
    int steps;
} episode;

static const double *rules(const episode *e) { return (const double *)cm_env_rules_of(e->storage); }

static void start(episode *e, const char *name, uint64_t seed) {
    memset(e, 0, sizeof *e);
    must_equal(cm_env_open(&e->env, name, NULL), CM_OK);
    must(e->env.spec.state_size <= sizeof e->storage);
    cm_env_reset(&e->env, e->storage, seed);
}

static bool step(episode *e, int action) {
    must_equal(cm_env_step(&e->env, e->storage, action, &e->out), CM_OK);
    e->total += e->out.reward, e->steps++;
    return !e->out.terminated && !e->out.truncated;
}

static bool step_value(episode *e, float value) {
    must_equal(cm_env_step_value(&e->env, e->storage, &value, &e->out), CM_OK);
    e->total += e->out.reward, e->steps++;
    return !e->out.terminated && !e->out.truncated;
}

static void expect_rules(const episode *e, const double *want, int count, double tolerance) {
    for (int i = 0; i < count; i++) {
        must_msg(fabs(rules(e)[i] - want[i]) <= tolerance, "step %d, field %d: %.10g, not %.10g", e->steps, i,
                 rules(e)[i], want[i]);
    }
}

START_TEST(cartpole_follows_the_table_of_seed_42) {
    const double table[6][4] = {
        {.027273362, -.201729537, .036254528, .323514752}, {.023238771, -.007142078, .042724823, .042481862},
        {.023095929, -.202849821, .043574460, .348332859}, {.019038933, -.008373846, .050541117, .069702633},
        {.018871456, -.204182590, .051935170, .377893462}, {.014787804, -.009835217, .059493039, .102027545}};
    episode e;
    start(&e, "CartPole-v1", 42);
    for (int t = 0; t < 6; t++) {
        step(&e, t % 2);
        expect_rules(&e, table[t], 4, 2e-8);
        must(e.out.reward == 1.0);
    }
}
END_TEST

START_TEST(cartpole_episodes_have_the_lengths_and_ends_of_gymnasium) {
    const struct {
        uint64_t seed;
        int kind, length; /* 0, 1: always; 2: alternating from 0 */
        double end[4];
    } runs[] = {{0, 1, 8, {.1197117, 1.5452880, -.2282054, -2.6052161}},
                {0, 0, 11, {-.2056710, -2.1699280, .2596264, 3.2684884}},
                {0, 2, 39, {-.0670171, -.1747268, -.2252015, -.7306654}},
                {42, 1, 10, {.2015953, 1.9464185, -.2203458, -2.9908077}},
                {42, 0, 8, {-.0832091, -1.5735710, .2117248, 2.5488185}},
                {42, 2, 23, {-.0232322, -.2321984, .2186478, 1.0176444}}};
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        episode e;
        start(&e, "CartPole-v1", runs[r].seed);
        while (step(&e, runs[r].kind == 2 ? e.steps % 2 : runs[r].kind)) {
        }
        must_equal(e.steps, runs[r].length);
        must(e.out.terminated && !e.out.truncated);
        expect_rules(&e, runs[r].end, 4, 1e-6);
    }
}
END_TEST

START_TEST(cartpole_under_a_controller_is_truncated_at_its_limit) {
    const struct {
        const char *name;
        int limit;
    } limits[] = {{"CartPole-v1", 500}, {"CartPole-v0", 200}};
    for (int i = 0; i < 2; i++) {
        episode e;
        start(&e, limits[i].name, 7);
        bool on = true;
        while (on) {
            const double *s = rules(&e);
            on = step(&e, s[2] + .5 * s[3] + .05 * s[0] > 0.0);
        }
        must_equal(e.steps, limits[i].limit);
        must(e.out.truncated && !e.out.terminated);
    }
}
END_TEST

START_TEST(acrobot_follows_the_table_of_seed_42_and_swings_up_in_67_steps) {
    const int actions[5] = {2, 0, 1, 2, 2};
    const double table[5][4] = {{.048454456, .036433067, -.131982318, .437177285},
                                {.031755255, .086399174, -.030347270, .051864673},
                                {.023725523, .090266976, -.048199775, -.015068184},
                                {-.000000785, .114183566, -.183300462, .246031435},
                                {-.045948624, .182899597, -.264559138, .421833384}};
    const double end[4] = {1.7845565, 1.7421769, .8380412, -.7302626};
    episode e;
    start(&e, "Acrobot-v1", 42);
    for (int t = 0; t < 5; t++) {
        step(&e, actions[t]);
        expect_rules(&e, table[t], 4, 2e-9);
    }
    start(&e, "Acrobot-v1", 42);
    while (step(&e, rules(&e)[3] > 0.0 ? 2 : 0)) {
    }
    must_equal(e.steps, 67);
    must(e.total == -66.0 && e.out.terminated);
    expect_rules(&e, end, 4, 1e-6);
}
END_TEST

START_TEST(mountain_car_climbs_out_in_121_steps) {
    const int actions[5] = {2, 2, 0, 1, 2};
    const double table[5][2] = {{-.4447913110, .0004174793},
                                {-.4439593967, .0008319142},
                                {-.4447191116, -.0007597149},
                                {-.4460649180, -.0013458064},
                                {-.4469869990, -.0009220809}};
    const double end[2] = {.515810361, .039580841};
    episode e;
    start(&e, "MountainCar-v0", 42);
    for (int t = 0; t < 5; t++) {
        step(&e, actions[t]);
        expect_rules(&e, table[t], 2, 1e-10);
    }
    start(&e, "MountainCar-v0", 42);
    while (step(&e, rules(&e)[1] >= 0.0 ? 2 : 0)) {
    }
    must_equal(e.steps, 121);
    must(e.out.terminated && e.total == -121.0);
    expect_rules(&e, end, 2, 1e-9);
}
END_TEST

START_TEST(continuous_mountain_car_pays_for_the_unclipped_force) {
    const float actions[5] = {1.0f, .5f, -.25f, -1.5f, 1.0f};
    const double table[5][2] = {{-.44429132, .00091748},
                                {-.44321305, .00107827},
                                {-.44310683, .00010620},
                                {-.44509846, -.00199164},
                                {-.44617343, -.00107496}};
    const double rewards[5] = {-.1, -.025, -.00625, -.225, -.1}, end[2] = {.50208676, .06404769};
    episode e;
    start(&e, "MountainCarContinuous-v0", 42);
    for (int t = 0; t < 5; t++) {
        step_value(&e, actions[t]);
        expect_rules(&e, table[t], 2, 1e-8);
        must(fabs(e.out.reward - rewards[t]) < 1e-9);
    }
    start(&e, "MountainCarContinuous-v0", 42);
    while (step_value(&e, rules(&e)[1] >= 0.0 ? 1.0f : -1.0f)) {
    }
    must_equal(e.steps, 105);
    must(fabs(e.total - 89.5) < 1e-9);
    expect_rules(&e, end, 2, 1e-7);
}
END_TEST

START_TEST(pendulum_follows_the_table_and_returns_minus_1272_without_torque) {
    const float actions[5] = {2.0f, -1.0f, .5f, 3.0f, 0.0f};
    const double table[5][2] = {{1.767280458, .919276774},
                                {1.842522760, 1.504846035},
                                {1.957639148, 2.302327759},
                                {2.122484464, 3.296906338},
                                {2.319266317, 3.935637043}};
    const double rewards[5] = {-2.968425241, -3.208787195, -3.621596278, -4.366422343, -5.591899442};
    const double end[2] = {4.342038815, 2.879801775};
    episode e;
    start(&e, "Pendulum-v1", 42);
    for (int t = 0; t < 5; t++) {
        step_value(&e, actions[t]);
        expect_rules(&e, table[t], 2, 1e-6);
        must(fabs(e.out.reward - rewards[t]) < 1e-6);
    }
    start(&e, "Pendulum-v1", 42);
    while (step_value(&e, 0.0f)) {
    }
    must_equal(e.steps, 200);
    must(fabs(e.total + 1272.92647979) < 1e-6 && e.out.truncated && !e.out.terminated);
    expect_rules(&e, end, 2, 1e-7);
}
END_TEST

static float value_of(const cm_env *env, int action) {
    float value = NAN;
    cm_env_action_values(env, action, &value);
    return value;
}

START_TEST(discretised_actions_reach_both_bounds) {
    cm_env env;
    cm_env_params params = cm_env_params_default();
    must_equal(cm_env_open(&env, "Pendulum-v1", NULL), CM_OK);
    must_equal(env.spec.actions, 11);
    must(value_of(&env, 0) == -2.0f && value_of(&env, 5) == 0.0f);
    must(value_of(&env, 10) == 2.0f);
    params.action_bins = 3;
    must_equal(cm_env_open(&env, "MountainCarContinuous-v0", &params), CM_OK);
    must(env.spec.actions == 3 && value_of(&env, 2) == 1.0f && value_of(&env, 1) == 0.0f);
    double storage[16], other[16];
    cm_env_outcome out;
    const float full = 1.0f, bad = NAN;
    cm_env_reset(&env, storage, 3), cm_env_reset(&env, other, 3);
    must_equal(cm_env_step(&env, storage, 2, &out), CM_OK);
    must_equal(cm_env_step_value(&env, other, &full, &out), CM_OK);
    must(memcmp(storage, other, env.spec.state_size) == 0);
    must_equal(cm_env_step_value(&env, other, &bad, &out), CM_ERR_INPUT);
    must(memcmp(storage, other, env.spec.state_size) == 0);
}
END_TEST

START_TEST(options_change_rewards_resets_and_limits) {
    cm_env_params params = cm_env_params_default();
    episode e;
    memset(&e, 0, sizeof e);
    params.sutton_barto_reward = true, params.low = 0.01, params.high = 0.02, params.max_steps = 3;
    must_equal(cm_env_open(&e.env, "CartPole-v1", &params), CM_OK);
    cm_env_reset(&e.env, e.storage, 5);
    for (int i = 0; i < 4; i++) must(rules(&e)[i] >= 0.01 && rules(&e)[i] <= 0.02);
    while (step(&e, 0)) {
    }
    must(e.steps == 3 && e.out.truncated && e.total == 0.0);
    params.max_steps = 0;
    must_equal(cm_env_open(&e.env, "CartPole-v1", &params), CM_OK);
    cm_env_reset(&e.env, e.storage, 5);
    e.total = 0.0;
    while (step(&e, 0)) {
    }
    must(e.out.terminated && e.total == -1.0);
    params = cm_env_params_default();
    params.x_init = 0.5, params.y_init = 0.0;
    must_equal(cm_env_open(&e.env, "Pendulum-v1", &params), CM_OK);
    for (uint64_t seed = 0; seed < 20; seed++) {
        cm_env_reset(&e.env, e.storage, seed);
        must(fabs(rules(&e)[0]) <= 0.5 && rules(&e)[1] == 0.0);
    }
}
END_TEST

START_TEST(a_random_policy_balances_for_about_22_steps) {
    cm_rng rng = cm_rng_init(cm_key_make(2, CM_RNG_TEST, 0), 0);
    episode e;
    long total = 0;
    start(&e, "CartPole-v1", 0);
    for (uint64_t seed = 0; seed < 1000; seed++) {
        cm_env_reset(&e.env, e.storage, seed);
        e.steps = 0;
        while (step(&e, (int)cm_rng_below(&rng, 2))) {
        }
        total += e.steps;
    }
    must_msg(total > 20500 && total < 24500, "%ld steps in 1,000 episodes", total);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("control tasks");
    TCase *tcase = tcase_create("control");
    tcase_add_test(tcase, pcg64_gives_the_numbers_of_numpy);
    tcase_add_test(tcase, sine_and_cosine_are_within_two_ulp_of_libm);
    tcase_add_test(tcase, cartpole_follows_the_table_of_seed_42);
    tcase_add_test(tcase, cartpole_episodes_have_the_lengths_and_ends_of_gymnasium);
    tcase_add_test(tcase, cartpole_under_a_controller_is_truncated_at_its_limit);
    tcase_add_test(tcase, acrobot_follows_the_table_of_seed_42_and_swings_up_in_67_steps);
    tcase_add_test(tcase, mountain_car_climbs_out_in_121_steps);
    tcase_add_test(tcase, continuous_mountain_car_pays_for_the_unclipped_force);
    tcase_add_test(tcase, pendulum_follows_the_table_and_returns_minus_1272_without_torque);
    tcase_add_test(tcase, discretised_actions_reach_both_bounds);
    tcase_add_test(tcase, options_change_rewards_resets_and_limits);
    tcase_add_test(tcase, a_random_policy_balances_for_about_22_steps);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
