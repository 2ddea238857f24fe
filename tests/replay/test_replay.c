/* The replay against the naive model: random episodes, limits, wrap-around, symmetries. */
#include <stdio.h>

#include "replay_model.h"
#include "support/main.h"

static const int32_t swap_elements[6] = {0, 1, 2, 2, 0, 1};
static int32_t swap_actions[2 * MODEL_ACTIONS];

static cm_replay_config random_config(cm_rng *rng) {
    cm_replay_config c = {
        .observation_size = 3,
        .observation_unit = (const float[]){0.0f, 1.0f, 0.5f, 1.0f / 255.0f}[cm_rng_below(rng, 4)],
        .actions = 2 + (int)cm_rng_below(rng, MODEL_ACTIONS - 1),
        .environments = 1 + (int)cm_rng_below(rng, MODEL_ENVS),
        .max_steps = cm_rng_below(rng, 2) ? 5 + cm_rng_below(rng, 60) : 0,
        .max_episodes = cm_rng_below(rng, 3) ? 0 : 1 + cm_rng_below(rng, 8),
        .segment_steps = 1 + (int)cm_rng_below(rng, 12),
        .commit_steps = 1 + (int)cm_rng_below(rng, 6),
        .sample_open = cm_rng_below(rng, 2) == 0,
        .prioritized = cm_rng_below(rng, 2) == 0,
        .new_is_max = cm_rng_below(rng, 2) == 0,
        .alpha = 0.6,
        .epsilon = 1e-6,
        .targets = {.unroll = (int)cm_rng_below(rng, 5),
                    .td_steps = 1 + (int)cm_rng_below(rng, 7),
                    .discount = 0.9,
                    .policy_smoothing = cm_rng_below(rng, 2) ? 0.0 : 0.1,
                    .td_interval = cm_rng_below(rng, 2) ? 0 : 1 + cm_rng_below(rng, 30)},
        .symmetries = cm_rng_below(rng, 2) ? 0 : 2,
        .symmetry_elements = swap_elements,
        .symmetry_actions = swap_actions,
    };
    if (c.symmetries == 0 && cm_rng_below(rng, 2)) c.entries = c.actions;
    for (int a = 0; a < c.actions; a++) {
        swap_actions[a] = a;
        swap_actions[c.actions + a] = (a + 1) % c.actions;
    }
    /* The least that works, found by asking, and some rows more. */
    cm_replay_plan plan;
    c.bytes = 1;
    while (cm_replay_plan_make(&c, &plan) == CM_ERR_MEMORY) c.bytes += c.bytes / 16 + 64;
    c.bytes += cm_rng_below(rng, 3000);
    return c;
}

static void check_observation(const float *stored, const int32_t *elements, const float *got) {
    for (int i = 0; i < 3; i++) {
        ck_assert_float_eq(got[i], stored[elements ? elements[i] : i]);
    }
}

static void check_value(const model *m, const cm_batch *b, const model_segment *p, int t, int n, size_t at,
                        const int32_t *elements) {
    int bootstrap = -1;
    bool inside = t < p->steps;
    double want = inside ? model_return(m, p, t, n, &bootstrap) : 0.0;
    ck_assert_double_eq_tol((double)b->target_value[at], want, 1e-5);
    ck_assert_float_eq(b->value_mask[at], inside || p->terminated ? 1.0f : 0.0f);
    ck_assert_int_eq(b->value_coefficient[at] != 0.0f, bootstrap >= 0);
    const float nothing[3] = {0};
    const float *observation = bootstrap >= 0 ? model_observation(m, p, bootstrap) : nothing;
    check_observation(observation, elements, b->bootstrap_observations + at * 3);
    float stored = bootstrap >= 0 ? (float)model_value(m, p, bootstrap) : 0.0f;
    ck_assert_float_eq(b->value_bootstrap[at], stored);
}

static void check_position(const model *m, const cm_batch *b, const model_segment *p, int t, size_t at,
                           const int32_t *actions) {
    size_t count = (size_t)b->actions;
    bool inside = t < p->steps;
    const model_step *s = &m->step[p->environment][p->first + (inside ? t : 0)];
    float sum = 0.0f;
    for (size_t a = 0; a < count; a++) sum += s->policy[a];
    ck_assert_float_eq(b->policy_mask[at], inside ? 1.0f : 0.0f);
    for (size_t a = 0; a < count; a++) {
        size_t stored = actions ? (size_t)actions[a] : a;
        double smoothing = m->config.targets.policy_smoothing;
        double want = (double)(s->policy[stored] / sum) * (1.0 - smoothing) + smoothing / (double)count;
        ck_assert_double_eq_tol((double)b->target_policy[at * count + a], inside ? want : 0.0, 1e-6);
        ck_assert_int_eq(b->legal[at * count + a], inside ? s->legal[stored] : 1);
    }
}

static void check_unroll_step(const model *m, const cm_batch *b, const model_segment *p, int t, size_t at,
                              const int32_t *elements, const int32_t *actions) {
    bool inside = t < p->steps;
    const model_step *s = &m->step[p->environment][p->first + (inside ? t : 0)];
    ck_assert_float_eq(b->target_reward[at], inside ? s->reward : 0.0f);
    ck_assert_float_eq(b->reward_mask[at], inside || p->terminated ? 1.0f : 0.0f);
    ck_assert_float_eq(b->consistency_mask[at], inside ? 1.0f : 0.0f);
    ck_assert_int_ge(b->action[at], 0);
    ck_assert_int_lt(b->action[at], b->actions);
    if (inside) ck_assert_int_eq(actions ? actions[b->action[at]] : b->action[at], s->action);
    const float nothing[3] = {0};
    check_observation(inside ? model_observation(m, p, t + 1) : nothing, elements, b->target_observations + at * 3);
}

static void check_row(const model *m, const cm_batch *b, size_t row) {
    int environments = m->config.environments, e = (int)(b->index[row] % (uint32_t)environments);
    int step = (int)(b->index[row] / (uint32_t)environments);
    model_segment p;
    ck_assert_msg(model_find(m, e, step, &p), "step %d of environment %d may not be drawn", step, e);
    int t = step - p.first, s = b->symmetry[row];
    const int32_t *elements = s ? swap_elements + 3 * s : NULL;
    const int32_t *actions = s ? swap_actions + s * m->config.actions : NULL;
    size_t unroll = (size_t)b->unroll;
    int n = model_td_steps(m, &p, t);
    check_observation(model_observation(m, &p, t), elements, b->observation + row * 3);
    for (size_t k = 0; k <= unroll; k++) {
        check_value(m, b, &p, t + (int)k, n, row * (unroll + 1) + k, elements);
        check_position(m, b, &p, t + (int)k, row * (unroll + 1) + k, actions);
        if (k < unroll) check_unroll_step(m, b, &p, t + (int)k, row * unroll + k, elements, actions);
    }
}

static int compare_indices(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Draws as many positions as there are. Uniform: each exactly once. */
static void check_content(const model *m, cm_replay *replay, uint64_t update) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_int_eq(counts.positions, model_positions(m));
    ck_assert_int_eq(counts.steps, model_ring_steps(m));
    ck_assert_int_eq(counts.episodes, model_episodes(m));
    ck_assert_int_eq(counts.segments, m->segments - m->gone);
    ck_assert_int_eq(counts.rows, counts.steps + counts.segments);
    ck_assert_uint_eq(counts.first_segment, (uint64_t)m->gone);
    cm_batch_config config = {.rows = (int)counts.positions, .consistency = true, .bootstrap = true, .seed = 3};
    if (counts.positions == 0) return;
    cm_batch *batch;
    ck_assert_int_eq(cm_batch_create(replay, &config, &batch), CM_OK);
    ck_assert_msg(cm_replay_sample(replay, update, 0.4, batch) == CM_OK, "%s", cm_error_message());
    for (size_t row = 0; row < (size_t)config.rows; row++) check_row(m, batch, row);
    if (m->config.prioritized) {
        float priority[256];
        int n = config.rows < 256 ? config.rows : 256;
        for (int i = 0; i < n; i++) priority[i] = (float)(batch->index[i] % 7);
        ck_assert_int_eq(cm_replay_update_priorities(replay, n, batch->slot, batch->index, priority), CM_OK);
    } else {
        qsort(batch->index, (size_t)config.rows, sizeof(uint32_t), compare_indices);
        for (int i = 1; i < config.rows; i++) ck_assert_uint_ne(batch->index[i - 1], batch->index[i]);
    }
    cm_batch_destroy(batch);
}

static void append_some(model *m, cm_replay *replay) {
    for (int e = 0; e < m->config.environments; e++) {
        int steps = (int)model_draw(m, (uint32_t)m->config.commit_steps + 1);
        for (int t = 0; t < steps; t++) {
            model_append(m, replay, e);
            if (model_draw(m, 6) == 0) model_finish(m, replay, e, model_draw(m, 2) == 0);
        }
    }
}

/* What is taken back leaves nothing. */
static void append_and_undo(model *m, cm_replay *replay, int iteration) {
    model *before = calloc(1, sizeof *before);
    *before = *m;
    m->rng = cm_rng_init(cm_key_make(13, CM_RNG_TEST, (uint64_t)iteration), 0);
    append_some(m, replay);
    cm_replay_undo_append(replay);
    *m = *before;
    free(before);
}

/* Plays some iterations of random lengths into both. */
static void play(model *m, cm_replay *replay, int32_t ring_rows, int iterations) {
    for (int i = 0; i < iterations; i++) {
        if (i % 3 == 1) append_and_undo(m, replay, i);
        append_some(m, replay);
        if (model_draw(m, 4) == 0) check_content(m, replay, (uint64_t)i); /* what is new does not show yet */
        model_commit(m, replay, ring_rows);
        check_content(m, replay, (uint64_t)i);
    }
}

START_TEST(replay_of_random_episodes_equals_the_naive_model) {
    cm_rng rng = cm_rng_init(cm_key_make(11, CM_RNG_TEST, (uint64_t)_i), 0);
    model *m = calloc(1, sizeof *m);
    m->config = random_config(&rng);
    m->rng = cm_rng_init(cm_key_make(12, CM_RNG_TEST, (uint64_t)_i), 0);
    cm_replay_plan plan;
    cm_replay *replay;
    ck_assert_int_eq(cm_replay_plan_make(&m->config, &plan), CM_OK);
    ck_assert_int_eq(cm_replay_create(&m->config, &replay), CM_OK);
    play(m, replay, plan.ring_rows, 70);
    ck_assert_int_gt(m->segments, 4);
    ck_assert_int_eq(cm_replay_clear(replay), CM_OK);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_int_eq(counts.positions, 0);
    cm_replay_destroy(replay);
    free(m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("replay");
    TCase *tests = tcase_create("model");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, replay_of_random_episodes_equals_the_naive_model, 0, 50);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
