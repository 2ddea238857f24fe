/* The vector gives what single states give, bit for bit, whatever the ranges; saved bytes go on as if nothing happened.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"
#include "core/rng.h"
#include "env/seeding.h"
#include "env/silent_check.h"
#include "env/vector.h"
#include "support/main.h"

enum { E = 300 }; /* more than one chunk of the control tasks, and not a multiple of anything */

typedef struct table {
    cm_env_rows rows;
    int32_t *actions;
    float *values;
} table;

static table make_table(const cm_env_spec *spec) {
    table t;
    t.rows.observation = calloc((size_t)(E * spec->observation_size), sizeof(float));
    t.rows.legal = calloc((size_t)(E * spec->actions), 1);
    t.rows.to_play = calloc(E, sizeof(int32_t));
    t.rows.reward = calloc(E, sizeof(float));
    t.rows.terminated = calloc(E, 1), t.rows.truncated = calloc(E, 1);
    t.actions = calloc(E, sizeof(int32_t));
    t.values = calloc(E, sizeof(float));
    return t;
}

static void free_table(table *t) {
    free(t->rows.observation), free(t->rows.legal), free(t->rows.to_play), free(t->rows.reward);
    free(t->rows.terminated), free(t->rows.truncated), free(t->actions), free(t->values);
}

static void choose(const cm_env_spec *spec, table *t, cm_rng *rng) {
    for (int i = 0; i < E; i++) {
        const uint8_t *mask = t->rows.legal + i * spec->actions;
        int a;
        do {
            a = (int)cm_rng_below(rng, (uint32_t)spec->actions);
        } while (!mask[a]);
        t->actions[i] = a;
        t->values[i] = 3.0f * cm_rng_uniform(rng) - 1.5f;
    }
}

/* One row of the table is what a single state says. */
static void compare_row(const cm_env *env, const table *t, const void *state, int i, const cm_env_outcome *out) {
    const cm_env_spec *spec = &env->spec;
    float observation[8192];
    uint8_t mask[CM_ENV_MAX_ACTIONS];
    cm_env_observe(env, state, observation);
    cm_env_legal(env, state, mask);
    must(memcmp(observation, t->rows.observation + i * spec->observation_size,
                (size_t)spec->observation_size * sizeof(float)) == 0);
    must(memcmp(mask, t->rows.legal + i * spec->actions, (size_t)spec->actions) == 0);
    must_equal(t->rows.to_play[i], cm_env_to_play(env, state));
    must(t->rows.reward[i] == (float)out->reward);
    must_equal(t->rows.terminated[i], out->terminated);
    must_equal(t->rows.truncated[i], out->truncated);
}

/* `rounds` steps of E instances and of E single states. `continuous` uses values. */
static void follow(const char *name, int rounds, bool continuous) {
    cm_env env;
    cm_vector_env *vector;
    must_equal(cm_env_open(&env, name, NULL), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 5, 1000, &vector), CM_OK);
    table t = make_table(&env.spec);
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    char *states = malloc(E * env.spec.state_size), *found = malloc(env.spec.state_size);
    cm_vector_env_show(vector, 0, E, &t.rows);
    for (int i = 0; i < E; i++) cm_vector_env_get(vector, i, states + (size_t)i * env.spec.state_size);
    for (int round = 0; round < rounds; round++) {
        choose(&env.spec, &t, &rng);
        int cut = (int)cm_rng_below(&rng, E + 1); /* two ranges, in either order */
        for (int part = 0; part < 2; part++) {
            int first = part == round % 2 ? 0 : cut, count = part == round % 2 ? cut : E - cut;
            cm_status status = continuous ? cm_vector_env_step_value(vector, first, count, t.values, &t.rows)
                                          : cm_vector_env_step(vector, first, count, t.actions, &t.rows);
            must_msg(status == CM_OK, "%s", cm_error_message());
        }
        for (int i = 0; i < E; i++) {
            void *state = states + (size_t)i * env.spec.state_size;
            cm_env_outcome out;
            cm_status status = continuous ? cm_env_step_value(&env, state, &t.values[i], &out)
                                          : cm_env_step(&env, state, t.actions[i], &out);
            must_equal(status, CM_OK);
            cm_vector_env_get(vector, i, found);
            must_msg(memcmp(found, state, env.spec.state_size) == 0, "%s: instance %d, round %d", name, i, round);
            if (round % 8 == 0) compare_row(&env, &t, state, i, &out);
        }
        cm_vector_env_reset_ended(vector, 0, E, &t.rows);
        for (int i = 0; i < E; i++) {
            must(!t.rows.terminated[i] && !t.rows.truncated[i]);
            cm_vector_env_get(vector, i, states + (size_t)i * env.spec.state_size);
        }
    }
    free(states), free(found), free_table(&t);
    cm_vector_env_destroy(vector);
}

START_TEST(rows_equal_single_states_bit_for_bit) {
    int count;
    const cm_env_def *const *registry = cm_env_registry(&count);
    for (int i = 0; i < count; i++) follow(registry[i]->name, 120, false);
    follow("Pendulum-v1", 250, true);
    follow("MountainCarContinuous-v0", 120, true);
}
END_TEST

/* Shards of one vector, each stepped by whichever worker is free. */
typedef struct shards {
    cm_vector_env *vector;
    table *t;
    int size;
} shards;

static cm_status step_shard(void *context, int task, int worker) {
    const shards *s = (const shards *)context;
    const int first = task * s->size, count = E - first < s->size ? E - first : s->size;
    (void)worker;
    CM_TRY(cm_vector_env_step(s->vector, first, count, s->t->actions, &s->t->rows));
    cm_vector_env_reset_ended(s->vector, first, count, &s->t->rows);
    return CM_OK;
}

START_TEST(shards_may_be_stepped_by_any_number_of_threads) {
    const char *const names[] = {"CartPole-v1", "go5", "2048"};
    for (int g = 0; g < 3; g++) {
        cm_env env;
        size_t size = 0;
        char *reference = NULL;
        must_equal(cm_env_open(&env, names[g], NULL), CM_OK);
        for (int threads = 1; threads <= 3; threads++) {
            shards s = {.size = 50 - 7 * threads};
            cm_pool *pool;
            must_equal(cm_pool_create(threads, &pool), CM_OK);
            must_equal(cm_vector_env_create(&env, E, 21, 0, &s.vector), CM_OK);
            table t = make_table(&env.spec);
            cm_rng rng = cm_rng_init(cm_key_make(6, CM_RNG_TEST, 0), 0);
            s.t = &t;
            cm_vector_env_show(s.vector, 0, E, &t.rows);
            for (int round = 0; round < 100; round++) {
                choose(&env.spec, &t, &rng);
                must_equal(cm_pool_run(pool, (E + s.size - 1) / s.size, step_shard, &s), CM_OK);
            }
            size = cm_vector_env_bytes(s.vector);
            char *bytes = malloc(size);
            cm_vector_env_save(s.vector, bytes);
            if (!reference) reference = memcpy(malloc(size), bytes, size);
            must(memcmp(reference, bytes, size) == 0);
            free(bytes), free_table(&t);
            cm_vector_env_destroy(s.vector), cm_pool_destroy(pool);
        }
        free(reference);
    }
}
END_TEST

START_TEST(a_saved_vector_goes_on_as_if_nothing_had_happened) {
    int count;
    const cm_env_def *const *registry = cm_env_registry(&count);
    for (int i = 0; i < count; i++) {
        cm_env env;
        cm_vector_env *one, *two;
        must_equal(cm_env_open(&env, registry[i]->name, NULL), CM_OK);
        must_equal(cm_vector_env_create(&env, E, 5, 0, &one), CM_OK);
        must_equal(cm_vector_env_create(&env, E, 5, 0, &two), CM_OK);
        table a = make_table(&env.spec), b = make_table(&env.spec);
        cm_rng rng = cm_rng_init(cm_key_make(4, CM_RNG_TEST, 0), 0);
        char *bytes = malloc(cm_vector_env_bytes(one)), *again = malloc(cm_vector_env_bytes(one));
        cm_vector_env_reset(one, 0, E, &a.rows);
        for (int round = 0; round < 60; round++) {
            choose(&env.spec, &a, &rng);
            must_equal(cm_vector_env_step(one, 0, E, a.actions, &a.rows), CM_OK);
            cm_vector_env_reset_ended(one, 0, E, &a.rows);
            if (round < 30) continue;
            if (round == 30) {
                cm_vector_env_save(one, bytes);
                must_equal(cm_vector_env_load(two, bytes, cm_vector_env_bytes(two)), CM_OK);
                continue;
            }
            must_equal(cm_vector_env_step(two, 0, E, a.actions, &b.rows), CM_OK);
            cm_vector_env_reset_ended(two, 0, E, &b.rows);
        }
        cm_vector_env_save(one, bytes), cm_vector_env_save(two, again);
        must(memcmp(bytes, again, cm_vector_env_bytes(one)) == 0);
        must(memcmp(a.rows.observation, b.rows.observation, (size_t)(E * env.spec.observation_size) * 4) == 0);
        free(bytes), free(again), free_table(&a), free_table(&b);
        cm_vector_env_destroy(one), cm_vector_env_destroy(two);
    }
}
END_TEST

START_TEST(bytes_of_another_vector_are_refused) {
    cm_env cartpole, shifted, catch;
    cm_env_params params = cm_env_params_default();
    cm_vector_env *vector, *other;
    must_equal(cm_env_open(&cartpole, "CartPole-v1", NULL), CM_OK);
    must_equal(cm_env_open(&catch, "catch", NULL), CM_OK);
    params.low = -0.01;
    must_equal(cm_env_open(&shifted, "CartPole-v1", &params), CM_OK);
    must_equal(cm_vector_env_create(&cartpole, 8, 1, 0, &vector), CM_OK);
    size_t size = cm_vector_env_bytes(vector);
    char *bytes = malloc(size), *before = malloc(size), *after = malloc(size);
    cm_vector_env_save(vector, before);
    const struct {
        const cm_env *env;
        int instances;
        uint64_t seed;
    } foreign[] = {{&shifted, 8, 1}, {&cartpole, 8, 2}, {&cartpole, 9, 1}, {&catch, 8, 1}};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        must_equal(cm_vector_env_create(foreign[i].env, foreign[i].instances, foreign[i].seed, 0, &other), CM_OK);
        size_t other_size = cm_vector_env_bytes(other);
        char *other_bytes = malloc(other_size);
        cm_vector_env_save(other, other_bytes);
        must_equal(cm_vector_env_load(vector, other_bytes, other_size), CM_ERR_INPUT);
        free(other_bytes);
        cm_vector_env_destroy(other);
    }
    memcpy(bytes, before, size);
    must_equal(cm_vector_env_load(vector, bytes, size - 1), CM_ERR_INPUT);
    bytes[0] ^= 1;
    must_equal(cm_vector_env_load(vector, bytes, size), CM_ERR_INPUT);
    cm_vector_env_save(vector, after);
    must(memcmp(before, after, size) == 0);
    free(bytes), free(before), free(after);
    cm_vector_env_destroy(vector);
}
END_TEST

START_TEST(a_wrong_action_names_its_instance_and_moves_none) {
    const char *const games[] = {"CartPole-v1", "tictactoe"};
    for (int g = 0; g < 2; g++) {
        cm_env env;
        cm_vector_env *vector;
        must_equal(cm_env_open(&env, games[g], NULL), CM_OK);
        must_equal(cm_vector_env_create(&env, E, 1, 0, &vector), CM_OK);
        table t = make_table(&env.spec);
        size_t size = cm_vector_env_bytes(vector);
        char *before = malloc(size), *after = malloc(size);
        must_equal(cm_vector_env_step(vector, 0, E, t.actions, &t.rows), CM_OK);
        cm_vector_env_save(vector, before);
        for (int i = 0; i < E; i++) t.actions[i] = 1;
        t.actions[123] = g == 0 ? 2 : 0; /* out of range; an occupied cell */
        must_equal(cm_vector_env_step(vector, 0, E, t.actions, &t.rows), CM_ERR_INPUT);
        must_msg(strstr(cm_error_message(), "instance 123") != NULL, "%s", cm_error_message());
        t.actions[123] = -1;
        must_equal(cm_vector_env_step(vector, 100, 50, t.actions, &t.rows), CM_ERR_INPUT);
        must_equal(cm_vector_env_step_value(vector, 0, E, t.values, &t.rows), CM_ERR_INPUT);
        cm_vector_env_save(vector, after);
        must(memcmp(before, after, size) == 0);
        free(before), free(after), free_table(&t);
        cm_vector_env_destroy(vector);
    }
}
END_TEST

START_TEST(a_step_after_the_end_is_an_error_until_the_reset) {
    cm_env env;
    cm_vector_env *vector;
    must_equal(cm_env_open(&env, "catch", NULL), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 1, 0, &vector), CM_OK);
    table t = make_table(&env.spec);
    for (int step = 0; step < 9; step++) must_equal(cm_vector_env_step(vector, 0, E, t.actions, &t.rows), CM_OK);
    must_equal(t.rows.terminated[17], 1);
    must_equal(t.rows.legal[17 * 3], 0);
    must_equal(cm_vector_env_step(vector, 0, E, t.actions, &t.rows), CM_ERR_STATE);
    must_equal(cm_vector_env_reset_ended(vector, 0, E, &t.rows), E);
    must_equal(cm_vector_env_reset_ended(vector, 0, E, &t.rows), 0);
    must_equal(t.rows.legal[17 * 3], 1);
    must_equal(cm_vector_env_step(vector, 0, E, t.actions, &t.rows), CM_OK);
    free_table(&t);
    cm_vector_env_destroy(vector);
}
END_TEST

/* The same step in two passes: first the episodes that begin, then the ranges between them. */
static void step_by_ranges(cm_vector_env *vector, table *t, bool by_values) {
    uint8_t ended[E];
    for (int i = 0; i < E; i++) ended[i] = t->rows.terminated[i] | t->rows.truncated[i];
    cm_vector_env_reset_ended(vector, 0, E, &t->rows);
    for (int i = 0; i < E; i++) {
        if (ended[i]) {
            t->rows.reward[i] = 0.0f;
        } else {
            ck_assert_int_eq(by_values ? cm_vector_env_step_value(vector, i, 1, t->values, &t->rows)
                                       : cm_vector_env_step(vector, i, 1, t->actions, &t->rows),
                             CM_OK);
        }
    }
}

static void compare_tables(const cm_env_spec *spec, const table *a, const table *b) {
    const size_t n = E, width = (size_t)spec->observation_size * sizeof(float);
    ck_assert(memcmp(a->rows.observation, b->rows.observation, n * width) == 0);
    ck_assert(memcmp(a->rows.legal, b->rows.legal, n * (size_t)spec->actions) == 0);
    ck_assert(memcmp(a->rows.to_play, b->rows.to_play, n * sizeof(int32_t)) == 0);
    ck_assert(memcmp(a->rows.reward, b->rows.reward, n * sizeof(float)) == 0);
    ck_assert(memcmp(a->rows.terminated, b->rows.terminated, n) == 0);
    ck_assert(memcmp(a->rows.truncated, b->rows.truncated, n) == 0);
}

static void compare_next(const cm_env *env, bool by_values) {
    cm_vector_env *one, *two;
    table a = make_table(&env->spec), b = make_table(&env->spec);
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_ACTION, 0), 0);
    int begun = 0;
    ck_assert_int_eq(cm_vector_env_create(env, E, 3, 0, &one), CM_OK);
    ck_assert_int_eq(cm_vector_env_create(env, E, 3, 0, &two), CM_OK);
    cm_vector_env_show(one, 0, E, &a.rows), cm_vector_env_show(two, 0, E, &b.rows);
    for (int step = 0; step < 60; step++) {
        for (int i = 0; i < E; i++) {
            const bool over = a.rows.terminated[i] | a.rows.truncated[i];
            a.actions[i] = over ? INT32_MIN : (int)cm_rng_below(&rng, (uint32_t)env->spec.actions);
            a.values[i] = over ? NAN : 3.0f * cm_rng_uniform(&rng) - 1.5f;
            begun += over;
        }
        memcpy(b.actions, a.actions, sizeof(int32_t) * E), memcpy(b.values, a.values, sizeof(float) * E);
        ck_assert_int_eq(
            cm_vector_env_step_next(one, 0, E, by_values ? NULL : a.actions, by_values ? a.values : NULL, &a.rows),
            CM_OK);
        step_by_ranges(two, &b, by_values);
        compare_tables(&env->spec, &a, &b);
    }
    ck_assert_int_gt(begun, E / 2);
    cm_vector_env_destroy(one), cm_vector_env_destroy(two);
    free_table(&a), free_table(&b);
}

START_TEST(steps_and_resets_in_one_pass_are_those_in_two) {
    static const char *const names[] = {"CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0",
                                        "Pendulum-v1"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        cm_env_params params = cm_env_params_default();
        cm_env env;
        params.max_steps = 25;
        ck_assert_int_eq(cm_env_open(&env, names[k], &params), CM_OK);
        compare_next(&env, false);
        if (env.spec.action_size > 0) compare_next(&env, true);
    }
}
END_TEST

START_TEST(a_step_in_one_pass_names_the_wrong_action_and_moves_none) {
    cm_env env;
    cm_vector_env *vector;
    ck_assert_int_eq(cm_env_open(&env, "CartPole-v1", NULL), CM_OK);
    table t = make_table(&env.spec);
    ck_assert_int_eq(cm_vector_env_create(&env, E, 3, 0, &vector), CM_OK);
    t.actions[290] = 2;
    ck_assert_int_eq(cm_vector_env_step_next(vector, 0, E, t.actions, NULL, &t.rows), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "instance 290: action 2 is not in [0, 2)"));
    for (int i = 0; i < E; i++) ck_assert_int_eq(cm_vector_env_steps(vector, i), 0);
    cm_vector_env_destroy(vector);
    free_table(&t);
}
END_TEST

START_TEST(every_episode_starts_as_a_reset_with_its_own_seed) {
    cm_env env;
    cm_vector_env *vector;
    double storage[16], expected[16];
    must_equal(cm_env_open(&env, "Acrobot-v1", NULL), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 0x1234567890abcdefu, 77, &vector), CM_OK);
    const cm_env_rows none = {NULL, NULL, NULL, NULL, NULL, NULL};
    for (uint64_t episode = 1; episode < 4; episode++) { /* create has begun episode 0 */
        cm_vector_env_reset(vector, 0, E - 4, &none);    /* whole lanes, a part of them, */
        cm_vector_env_reset(vector, E - 4, 4, &none);    /* and few */
        for (int i = 0; i < E; i++) {
            cm_key key = cm_key_make(0x1234567890abcdefu, CM_RNG_RESET, 77 + (uint64_t)i);
            cm_env_reset(&env, expected, cm_episode_seed(key, episode));
            cm_vector_env_get(vector, i, storage);
            must_msg(memcmp(storage, expected, env.spec.state_size) == 0, "instance %d, episode %d", i, (int)episode);
        }
    }
    cm_vector_env_destroy(vector);
}
END_TEST

START_TEST(episodes_depend_on_seed_and_global_instance_alone) {
    cm_env env;
    cm_vector_env *whole, *half, *seeded;
    must_equal(cm_env_open(&env, "CartPole-v1", NULL), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 9, 0, &whole), CM_OK);
    must_equal(cm_vector_env_create(&env, E / 2, 9, E / 2, &half), CM_OK);
    must_equal(cm_vector_env_create(&env, 1, 9, 0, &seeded), CM_OK);
    table a = make_table(&env.spec), b = make_table(&env.spec);
    for (int round = 0; round < 3; round++) {
        cm_vector_env_reset(whole, 0, E, &a.rows);
        cm_vector_env_reset(half, 0, E / 2, &b.rows);
        must(memcmp(a.rows.observation + 4 * (E / 2), b.rows.observation, 4 * (E / 2) * sizeof(float)) == 0);
        must(a.rows.observation[0] != a.rows.observation[4]);
    }
    cm_vector_env_reset_seed(seeded, 0, 42, &a.rows); /* Gymnasium's reset(seed=42) */
    must(fabs((double)a.rows.observation[0] - 0.0273956042) < 1e-9);
    must(fabs((double)a.rows.observation[3] - 0.0197368022) < 1e-9);
    free_table(&a), free_table(&b);
    cm_vector_env_destroy(whole), cm_vector_env_destroy(half), cm_vector_env_destroy(seeded);
}
END_TEST

START_TEST(the_benchmark_counts_steps_and_refuses_what_it_cannot_run) {
    double speed = 0.0;
    cm_env env;
    must_equal(cm_env_open(&env, "CartPole-v1", NULL), CM_OK);
    must_equal(cm_env_benchmark(&env, 1024, true, 0.05, &speed), CM_OK);
    must(speed > 0.0);
    must_equal(cm_env_benchmark(&env, 0, true, 0.05, &speed), CM_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("vector of environments");
    TCase *tcase = tcase_create("vector");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, rows_equal_single_states_bit_for_bit);
    tcase_add_test(tcase, shards_may_be_stepped_by_any_number_of_threads);
    tcase_add_test(tcase, a_saved_vector_goes_on_as_if_nothing_had_happened);
    tcase_add_test(tcase, bytes_of_another_vector_are_refused);
    tcase_add_test(tcase, a_wrong_action_names_its_instance_and_moves_none);
    tcase_add_test(tcase, a_step_after_the_end_is_an_error_until_the_reset);
    tcase_add_test(tcase, steps_and_resets_in_one_pass_are_those_in_two);
    tcase_add_test(tcase, a_step_in_one_pass_names_the_wrong_action_and_moves_none);
    tcase_add_test(tcase, every_episode_starts_as_a_reset_with_its_own_seed);
    tcase_add_test(tcase, episodes_depend_on_seed_and_global_instance_alone);
    tcase_add_test(tcase, the_benchmark_counts_steps_and_refuses_what_it_cannot_run);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
