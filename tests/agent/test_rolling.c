/* Reanalysis of the whole replay: what is searched and when, and that batches get what a search of the batch finds. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reanalyse.h"
#include "agent/rolling.h"
#include "scene.h"
#include "support/main.h"

enum { ROWS = 24, K = 2, N = 3, POSITIONS = ROWS * (K + 1), ENVIRONMENTS = 10, MOST = 16 };

/* What a test makes: a scene that has played, and what searches it. */
typedef struct stage {
    scene s;
    cm_rolling *rolling;
    cm_reanalyser *reanalyser;
    cm_batch *batch, *other;
    int32_t *elements, *actions; /* of symmetries */
    cm_replay_position *position;
    int32_t positions;
} stage;

static size_t actions_of(const stage *t) { return (size_t)t->s.session->env.spec.actions; }

/* Tables of symmetries of a board, as cm_replay_config wants them. */
static void add_symmetries(stage *t) {
    const cm_env *env = &t->s.session->env;
    const int planes = env->spec.observation_size / env->spec.cells, o = env->spec.observation_size;
    int32_t cells[64], moves[64];
    t->elements = calloc((size_t)(env->spec.symmetries * o), sizeof(int32_t));
    t->actions = calloc((size_t)(env->spec.symmetries * env->spec.actions), sizeof(int32_t));
    for (int k = 0; k < env->spec.symmetries; k++) {
        cm_env_symmetry(env, k, cells, moves);
        for (int c = 0; c < env->spec.cells; c++)
            for (int p = 0; p < planes; p++) t->elements[k * o + cells[c] * planes + p] = c * planes + p;
        for (int i = 0; i < env->spec.actions; i++) t->actions[k * env->spec.actions + moves[i]] = i;
    }
    t->s.symmetries = env->spec.symmetries;
    t->s.symmetry_elements = t->elements, t->s.symmetry_actions = t->actions;
}

static cm_searcher_config searcher_of(const stage *t, bool with_noise, int threads) {
    return (cm_searcher_config){.agent = t->s.agent,
                                .most = MOST,
                                .rows_on_device = MOST,
                                .threads = threads,
                                .with_noise = with_noise,
                                .has_mask = t->s.session->env.def->legal != NULL};
}

static cm_rolling *make_rolling(const stage *t, bool with_noise, int threads, cm_mixed_rule mixed) {
    const cm_rolling_config config = {.searcher = searcher_of(t, with_noise, threads),
                                      .replay = t->s.replay,
                                      .mixed = mixed,
                                      .batches = 1,
                                      .seed = 7};
    cm_rolling *rolling;
    ck_assert_msg(cm_rolling_create(&config, &rolling) == CM_OK, "%s", cm_error_message());
    ck_assert_uint_gt(cm_rolling_memory(rolling), 0);
    return rolling;
}

static cm_batch *draw(const stage *t) {
    const cm_batch_config config = {.rows = ROWS, .consistency = true, .bootstrap = true, .seed = 7, .keys = true};
    cm_batch *batch;
    ck_assert_int_eq(cm_batch_create(t->s.replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(t->s.replay, 3, 0.0, batch), CM_OK);
    return batch;
}

static void list(stage *t) {
    free(t->position);
    t->position = calloc((size_t)cm_replay_slots(t->s.replay), sizeof *t->position);
    cm_replay_positions(t->s.replay, t->position, &t->positions);
}

/* Twelve steps in ten environments; `settings` by blanks. */
static void open_stage(stage *t, const char *settings, bool symmetric, bool with_noise, cm_mixed_rule mixed) {
    char text[256];
    const cm_actor_config actor = {.environments = ENVIRONMENTS, .steps = 12, .random_move_steps = 1};
    const cm_target_rule targets = {.unroll = K, .td_steps = N, .discount = 0.9, .td_interval = 50};
    memset(t, 0, sizeof *t);
    snprintf(text, sizeof text, "%s zero_init_heads=false", settings);
    scene_open(&t->s, text);
    if (symmetric) add_symmetries(t);
    scene_plays(&t->s, actor, targets);
    scene_act(&t->s);
    t->rolling = make_rolling(t, with_noise, 2, mixed);
    cm_rolling_follow(t->rolling);
    t->batch = draw(t), t->other = draw(t);
    list(t);
}

static void close_stage(stage *t) {
    cm_rolling_destroy(t->rolling);
    cm_reanalyser_destroy(t->reanalyser);
    cm_batch_destroy(t->batch), cm_batch_destroy(t->other);
    free(t->elements), free(t->actions), free(t->position);
    scene_close(&t->s);
}

static void roll(cm_rolling *rolling, int64_t copy, int64_t made, int64_t whole) {
    ck_assert_msg(cm_rolling_run(rolling, copy, made, whole) == CM_OK, "%s", cm_error_message());
}

static void apply(const stage *t, cm_batch *batch) {
    ck_assert_msg(cm_rolling_apply(t->rolling, 0, batch) == CM_OK, "%s", cm_error_message());
}

/* Positions that the copy has searched. */
static int count_of(const stage *t, int64_t copy) {
    cm_rolling_found found;
    int count = 0;
    for (int32_t i = 0; i < t->positions; i++)
        count += cm_rolling_find(t->rolling, t->position[i].key, &found, NULL) && found.copy == copy;
    return count;
}

static const cm_mixed_rule never = {0, 0}, of_all = {1, 0}, of_old = {1, 60};

/* ---- against a search of the batch ---- */

#define NO_NOISE "exploration_fraction=0 num_simulations=8 "
static const char *const tasks[] = {NO_NOISE "env_name=CartPole-v1", NO_NOISE "env_name=CartPole-v1 max_steps=5",
                                    NO_NOISE "env_name=tictactoe",
                                    "env_name=tictactoe policy=gumbel_muzero gumbel_scale=0 num_simulations=8",
                                    NO_NOISE "env_name=2048 policy=stochastic_muzero"};
enum { TASKS = sizeof tasks / sizeof *tasks };

static void reanalyse(stage *t, cm_batch *batch, cm_mixed_rule mixed) {
    const cm_reanalyser_config config = {.agent = t->s.agent,
                                         .ratio = 1.0,
                                         .has_mask = t->s.session->env.def->legal != NULL,
                                         .whole = ROWS,
                                         .unroll = K,
                                         .mixed = mixed,
                                         .batch = {.rows = ROWS, .consistency = true, .seed = 7},
                                         .rows_on_device = ENVIRONMENTS,
                                         .threads = 1};
    ck_assert_msg(cm_reanalyser_create(&config, &t->reanalyser) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_reanalyser_run(t->reanalyser, batch) == CM_OK, "%s", cm_error_message());
}

/* The network's values of a batch's bootstrap observations, each searched as a root. */
typedef struct values {
    const cm_batch *batch;
    float *found; /* [POSITIONS] */
    int first;
} values;

static void place_value(void *context, int i, const cm_searched_root *root) {
    const values *v = context;
    const size_t size = (size_t)v->batch->observation_size;
    memcpy(root->observation, v->batch->bootstrap_observations + (size_t)(v->first + i) * size, size * sizeof(float));
    memset(root->legal, 1, (size_t)cm_policy_size(v->batch->form));
    *root->key = (cm_key){{1, 2}};
    *root->step = 0;
}

static cm_status keep_value(void *context, int i, const cm_searcher_found *found) {
    const values *v = context;
    v->found[v->first + i] = found->raw_value;
    return CM_OK;
}

static void find_values(const stage *t, const cm_batch *batch, float found[POSITIONS]) {
    const cm_searcher_config config = searcher_of(t, false, 1);
    cm_searcher *searcher;
    values v = {batch, found, 0};
    ck_assert_int_eq(cm_searcher_create(&config, &searcher), CM_OK);
    for (; v.first < POSITIONS; v.first += MOST) {
        const int left = POSITIONS - v.first;
        const cm_searched all = {left < MOST ? left : MOST, &v, place_value, keep_value};
        ck_assert_int_eq(cm_searcher_run(searcher, &all), CM_OK);
    }
    cm_searcher_destroy(searcher);
}

/* Targets of a batch are n-step returns whose bootstraps are the network's values. */
static void expect_returns(const stage *t, const cm_batch *batch, const cm_mixed_rule *mixed) {
    float found[POSITIONS];
    int bootstraps = 0;
    find_values(t, batch, found);
    for (int i = 0; i < POSITIONS; i++) {
        const float coefficient = batch->value_coefficient[i];
        if (cm_mixed_selects(mixed, batch, i / (K + 1)) || coefficient == 0.0f) continue;
        ck_assert_float_eq(batch->value_bootstrap[i], found[i]);
        ck_assert_float_eq(batch->target_value[i], batch->value_partial[i] + coefficient * found[i]);
        bootstraps++;
    }
    if (!mixed->batches) ck_assert_int_gt(bootstraps, ROWS / 2);
}

/* Whole passes without noise by the weights that have played: policies, and values where targets are mixed, are those
 * of a search of the batch, bit for bit; the other values have the network's values of the bootstrap positions. */
START_TEST(looked_up_targets_are_those_of_a_search_of_the_batch) {
    static const cm_mixed_rule rules[] = {{0, 0}, {1, 0}, {1, 60}};
    const cm_mixed_rule rule = rules[_i % 3];
    stage t;
    open_stage(&t, tasks[_i / 3], false, false, rule);
    scene_weights(t.s.session, t.s.agent, 6);
    roll(t.rolling, 1, 1, 1);
    apply(&t, t.batch);
    reanalyse(&t, t.other, rule);
    ck_assert_mem_eq(t.batch->target_policy, t.other->target_policy, POSITIONS * actions_of(&t) * sizeof(float));
    ck_assert_int_eq(t.batch->policies_reanalysed, t.other->policies_reanalysed);
    ck_assert_double_eq_tol(t.batch->policy_drift, t.other->policy_drift, 1e-4);
    for (int i = 0; i < POSITIONS; i++)
        if (cm_mixed_selects(&rule, t.batch, i / (K + 1)) && t.batch->policy_mask[i] > 0.0f) {
            ck_assert_float_eq(t.batch->target_value[i], t.other->target_value[i]);
            ck_assert_float_eq(t.batch->value_partial[i], t.other->target_value[i]);
            ck_assert(t.batch->value_coefficient[i] == 0.0f && t.other->value_coefficient[i] == 0.0f);
        }
    expect_returns(&t, t.batch, &rule);
    close_stage(&t);
}
END_TEST

/* A network is not symmetric: a row has the search of the position as it was played, in the order of its symmetry. */
START_TEST(policies_have_the_symmetry_of_their_row) {
    stage t;
    int turned = 0;
    open_stage(&t, tasks[2], true, false, never);
    roll(t.rolling, 1, 1, 1);
    memset(t.batch->target_policy, 0, POSITIONS * actions_of(&t) * sizeof(float));
    apply(&t, t.batch);
    ck_assert_mem_eq(t.batch->target_policy, t.other->target_policy, POSITIONS * actions_of(&t) * sizeof(float));
    for (int row = 0; row < ROWS; row++) turned += t.batch->symmetry[row] != 0;
    ck_assert_int_gt(turned, ROWS / 2);
    close_stage(&t);
}
END_TEST

/* Older and newer than 60 of 120 steps: some rows of both. */
START_TEST(mixed_targets_are_those_of_old_positions_after_the_first_batches) {
    stage t;
    int old = 0;
    const cm_mixed_rule later = {4, 0};
    open_stage(&t, tasks[0], false, false, of_old);
    for (int row = 0; row < ROWS; row++) {
        const uint32_t age = t.batch->collected - t.batch->index[row];
        ck_assert_int_eq(cm_mixed_selects(&of_old, t.batch, row), age >= 60);
        ck_assert(!cm_mixed_selects(&later, t.batch, row) && !cm_mixed_selects(&never, t.batch, row));
        ck_assert(cm_mixed_selects(&of_all, t.batch, row));
        old += age >= 60;
    }
    ck_assert(old > 2 && old < ROWS - 2);
    close_stage(&t);
}
END_TEST

/* ---- the pass ---- */

START_TEST(a_pass_searches_every_position_once) {
    stage t;
    open_stage(&t, tasks[_i], false, false, never);
    ck_assert_int_eq(count_of(&t, 1), 0);
    for (int made = 1; made <= 7; made++) {
        roll(t.rolling, 1, made, 7);
        ck_assert_int_eq(count_of(&t, 1), (t.positions * made + 6) / 7);
        roll(t.rolling, 1, made, 7); /* as one that goes on: there is nothing to do */
        ck_assert_int_eq(count_of(&t, 1), (t.positions * made + 6) / 7);
    }
    roll(t.rolling, 2, 3, 7);
    ck_assert_int_eq(count_of(&t, 2), (t.positions * 3 + 6) / 7);
    ck_assert_int_eq(count_of(&t, 1), t.positions - (t.positions * 3 + 6) / 7);
    close_stage(&t);
}
END_TEST

START_TEST(oldest_positions_are_searched_first_and_new_ones_keep_what_was_played) {
    cm_rolling_found found;
    stage t;
    open_stage(&t, tasks[0], false, false, never);
    roll(t.rolling, 1, 1, 1);
    const int before = t.positions;
    scene_act(&t.s);
    cm_rolling_follow(t.rolling);
    list(&t);
    ck_assert_int_gt(t.positions, before);
    ck_assert(count_of(&t, 1) > before / 2 && count_of(&t, 1) <= before);
    cm_batch_destroy(t.batch), cm_batch_destroy(t.other);
    t.batch = draw(&t), t.other = draw(&t);
    scene_weights(t.s.session, t.s.agent, 6);
    apply(&t, t.batch);
    int kept = 0;
    for (int i = 0; i < POSITIONS; i++) {
        const size_t at = (size_t)i * actions_of(&t), bytes = actions_of(&t) * sizeof(float);
        if (cm_rolling_find(t.rolling, t.batch->position_key[i], &found, NULL)) continue;
        ck_assert_mem_eq(t.batch->target_policy + at, t.other->target_policy + at, bytes);
        kept += t.batch->policy_mask[i] > 0.0f;
    }
    ck_assert_int_gt(kept, 0);
    roll(t.rolling, 2, 1, 10);
    for (int32_t i = 0; i < (t.positions + 9) / 10; i++)
        ck_assert(cm_rolling_find(t.rolling, t.position[i].key, &found, NULL) && found.copy == 2);
    close_stage(&t);
}
END_TEST

START_TEST(threads_parts_and_order_of_searches_change_no_bit_and_noise_is_of_the_copy) {
    float a[64], b[64];
    cm_rolling_found of_a, of_b;
    stage t;
    int differ = 0;
    open_stage(&t, "env_name=Connect4 num_simulations=8", false, true, never);
    cm_rolling *other = make_rolling(&t, true, 5, never);
    cm_rolling_follow(other);
    roll(t.rolling, 1, 1, 1);
    for (int made = 1; made <= 3; made++) roll(other, 1, made, 3);
    for (int32_t i = 0; i < t.positions; i++) {
        ck_assert(cm_rolling_find(t.rolling, t.position[i].key, &of_a, a));
        ck_assert(cm_rolling_find(other, t.position[i].key, &of_b, b));
        ck_assert_mem_eq(a, b, actions_of(&t) * sizeof(float));
        ck_assert(of_a.value == of_b.value && of_a.network_value == of_b.network_value);
    }
    roll(other, 2, 1, 1);
    for (int32_t i = 0; i < t.positions; i++) {
        ck_assert(cm_rolling_find(t.rolling, t.position[i].key, &of_a, a));
        ck_assert(cm_rolling_find(other, t.position[i].key, &of_b, b));
        differ += memcmp(a, b, actions_of(&t) * sizeof(float)) != 0;
    }
    ck_assert_int_gt(differ, t.positions / 2);
    cm_rolling_destroy(other);
    close_stage(&t);
}
END_TEST

START_TEST(what_is_gone_is_forgotten) {
    stage t;
    open_stage(&t, tasks[0], false, false, never);
    const uint64_t none = cm_rolling_bytes(t.rolling);
    roll(t.rolling, 1, 1, 1);
    ck_assert_uint_gt(cm_rolling_bytes(t.rolling), none);
    ck_assert_int_eq(cm_replay_clear(t.s.replay), CM_OK);
    cm_rolling_follow(t.rolling);
    ck_assert_uint_eq(cm_rolling_bytes(t.rolling), none);
    close_stage(&t);
}
END_TEST

/* ---- files ---- */

typedef struct bytes {
    unsigned char *at;
    size_t used;
} bytes;

static cm_status take_bytes(void *context, const void *data, size_t size) {
    bytes *b = context;
    memcpy(b->at + b->used, data, size);
    b->used += size;
    return CM_OK;
}

static cm_status read_bytes(cm_rolling *rolling, const bytes *b, size_t size) {
    cm_source source;
    cm_source_memory(&source, b->at, size, "reanalysis.bin");
    return cm_rolling_read(rolling, &source);
}

static void expect_refused(cm_rolling *rolling, const bytes *b, size_t size, const char *text, uint64_t none) {
    ck_assert_int_eq(read_bytes(rolling, b, size), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), text) != NULL, "%s", cm_error_message());
    ck_assert_uint_eq(cm_rolling_bytes(rolling), none);
}

START_TEST(what_was_found_is_read_back_and_nothing_else) {
    enum { HEAD = 24, ENTRY = 24 };
    const float nan = (float)NAN, two = 2.0f;
    const int64_t negative = -1;
    stage t;
    open_stage(&t, "env_name=tictactoe num_simulations=8", false, true, never);
    const uint64_t none = cm_rolling_bytes(t.rolling);
    roll(t.rolling, 5, 2, 3);
    bytes b = {malloc((size_t)cm_rolling_bytes(t.rolling)), 0};
    const cm_sink sink = {&b, take_bytes};
    ck_assert_int_eq(cm_rolling_write(t.rolling, &sink), CM_OK);
    ck_assert_uint_eq(b.used, cm_rolling_bytes(t.rolling));
    cm_rolling *other = make_rolling(&t, true, 1, never);
    ck_assert_msg(read_bytes(other, &b, b.used) == CM_OK, "%s", cm_error_message());
    cm_rolling_follow(other);
    roll(t.rolling, 5, 1, 1), roll(other, 5, 1, 1);
    cm_rolling *saved = t.rolling;
    apply(&t, t.batch);
    t.rolling = other;
    apply(&t, t.other);
    ck_assert_mem_eq(t.batch->target_policy, t.other->target_policy, POSITIONS * actions_of(&t) * sizeof(float));
    ck_assert_mem_eq(t.batch->target_value, t.other->target_value, POSITIONS * sizeof(float));

    expect_refused(other, &b, b.used - 1, "cut short", none);
    expect_refused(other, &b, 5, "cut short", none);
    const struct {
        size_t at, size;
        const void *value;
        const char *text;
    } changes[] = {{0, 1, "x", "is no file of a reanalysis"},
                   {8, 1, "\x05", "positions of 5 actions"},
                   {22, 1, "\x7f", "here are at most"},
                   {HEAD, 8, &negative, "out of range"},
                   {HEAD + 8, 8, &negative, "out of range"},
                   {HEAD + 16, 4, &nan, "out of range"},
                   {HEAD + 20, 4, &nan, "out of range"},
                   {HEAD + ENTRY, 4, &two, "out of range"},
                   {HEAD + ENTRY + 9 * 4, 8, b.at + HEAD, "stands there twice"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unsigned char before[8], change[8];
        memcpy(before, b.at + changes[i].at, changes[i].size);
        memcpy(change, changes[i].value, changes[i].size);
        memcpy(b.at + changes[i].at, change, changes[i].size);
        expect_refused(other, &b, b.used, changes[i].text, none);
        memcpy(b.at + changes[i].at, before, changes[i].size);
    }
    free(b.at);
    cm_rolling_destroy(saved);
    close_stage(&t);
}
END_TEST

START_TEST(agents_on_rules_have_no_stored_states) {
    stage t = {0};
    cm_rolling *rolling;
    scene_open(&t.s, "env_name=tictactoe policy=alphazero");
    const cm_actor_config actor = {.environments = 2, .steps = 2, .random_move_steps = 1};
    scene_plays(&t.s, actor, (cm_target_rule){.unroll = 0, .td_steps = 1, .discount = 1.0});
    const cm_rolling_config config = {.searcher = searcher_of(&t, true, 1), .replay = t.s.replay, .batches = 1};
    ck_assert_int_eq(cm_rolling_create(&config, &rolling), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "tictactoe"));
    scene_close(&t.s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/rolling");
    TCase *tests = tcase_create("rolling");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, looked_up_targets_are_those_of_a_search_of_the_batch, 0, 3 * TASKS);
    tcase_add_test(tests, policies_have_the_symmetry_of_their_row);
    tcase_add_test(tests, mixed_targets_are_those_of_old_positions_after_the_first_batches);
    tcase_add_loop_test(tests, a_pass_searches_every_position_once, 0, 2);
    tcase_add_test(tests, oldest_positions_are_searched_first_and_new_ones_keep_what_was_played);
    tcase_add_test(tests, threads_parts_and_order_of_searches_change_no_bit_and_noise_is_of_the_copy);
    tcase_add_test(tests, what_is_gone_is_forgotten);
    tcase_add_test(tests, what_was_found_is_read_back_and_nothing_else);
    tcase_add_test(tests, agents_on_rules_have_no_stored_states);
    return cm_test_main(suite);
}
