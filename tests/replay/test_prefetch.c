/* Prefetched batches are those of plain sampling, whatever the depth; handles die when they are released. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "replay/prefetch.h"
#include "replay_model.h"
#include "support/main.h"

static const cm_replay_config config = {
    .observation_size = 3,
    .actions = 4,
    .environments = 3,
    .bytes = 1 << 20,
    .max_steps = 400,
    .segment_steps = 50,
    .commit_steps = 50,
    .sample_open = true,
    .prioritized = true,
    .alpha = 0.6,
    .epsilon = 1e-6,
    .targets = {.unroll = 3, .td_steps = 5, .discount = 0.99},
};
static const cm_batch_config batch_config = {.rows = 32, .consistency = true, .bootstrap = true, .seed = 9};

typedef struct world {
    model *m;
    cm_replay *replay;
} world;

static void act(world *w, int steps) {
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < config.environments; e++) {
            model_append(w->m, w->replay, e);
            if (model_draw(w->m, 9) == 0) model_finish(w->m, w->replay, e, model_draw(w->m, 2) == 0);
        }
    }
}

static world make_world(void) {
    world w = {.m = calloc(1, sizeof *w.m)};
    w.m->config = config;
    w.m->rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
    ck_assert_msg(cm_replay_create(&config, &w.replay) == CM_OK, "%s", cm_error_message());
    act(&w, 40);
    ck_assert_int_eq(cm_replay_commit(w.replay), CM_OK);
    for (int e = 0; e < config.environments; e++) w.m->waiting_count[e] = 0;
    return w;
}

static void free_world(world *w) {
    cm_replay_destroy(w->replay);
    free(w->m);
}

/* Follows everything that a batch holds, in 64 bits (FNV-1a over its arrays). */
static void mix(uint64_t *hash, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) *hash = (*hash ^ p[i]) * UINT64_C(0x100000001b3);
}

static uint64_t hash_batch(const cm_batch *b, uint64_t hash) {
    size_t rows = (size_t)b->config.rows, k = (size_t)b->unroll, k1 = k + 1, a = (size_t)b->actions, w = sizeof(float);
    size_t size = (size_t)b->observation_size;
    mix(&hash, b->observation, rows * size * w);
    mix(&hash, b->action, rows * k * sizeof(int32_t));
    mix(&hash, b->target_value, rows * k1 * w);
    mix(&hash, b->target_reward, rows * k * w);
    mix(&hash, b->target_policy, rows * k1 * a * w);
    mix(&hash, b->value_mask, rows * k1 * w);
    mix(&hash, b->reward_mask, rows * k * w);
    mix(&hash, b->policy_mask, rows * k1 * w);
    mix(&hash, b->consistency_mask, rows * k * w);
    mix(&hash, b->weights, rows * w);
    mix(&hash, b->legal, rows * k1 * a);
    mix(&hash, b->target_observations, rows * k * size * w);
    mix(&hash, b->bootstrap_observations, rows * k1 * size * w);
    mix(&hash, b->slot, rows * sizeof(int32_t));
    mix(&hash, b->index, rows * sizeof(uint32_t));
    return hash;
}

enum { ITERATIONS = 6, UPDATES = 10 };

/* The hash of all batches of a small run; acting goes on while batches are drawn. depth -1: plain sampling. */
static uint64_t run_hash(int depth, int threads) {
    world w = make_world();
    cm_prefetch *prefetch = NULL;
    cm_batch *batch = NULL, *plain;
    cm_batch_handle handle;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    ck_assert_int_eq(cm_batch_create(w.replay, &batch_config, &plain), CM_OK);
    if (depth >= 0)
        ck_assert_int_eq(
            cm_prefetch_create(w.replay, &(cm_prefetch_config){batch_config, depth, threads, {0}}, &prefetch), CM_OK);
    for (uint64_t i = 0; i < ITERATIONS; i++) {
        if (prefetch) ck_assert_int_eq(cm_prefetch_begin(prefetch, i * UPDATES, UPDATES, 0.4), CM_OK);
        for (uint64_t u = 0; u < UPDATES; u++) {
            if (prefetch) {
                ck_assert_msg(cm_prefetch_next(prefetch, &handle) == CM_OK, "%s", cm_error_message());
                ck_assert_int_eq(cm_batch_borrow(handle, &batch), CM_OK);
            } else {
                batch = plain;
                ck_assert_int_eq(cm_replay_sample(w.replay, i * UPDATES + u, 0.4, batch), CM_OK);
            }
            ck_assert_uint_eq(batch->update, i * UPDATES + u);
            hash = hash_batch(batch, hash);
            act(&w, 2);
            for (int e = 0; e < config.environments; e++) w.m->waiting_count[e] = 0;
            ck_assert_int_eq(cm_replay_update_priorities(w.replay, 32, batch->slot, batch->index, batch->value_mask),
                             CM_OK);
            if (prefetch) ck_assert_int_eq(cm_batch_release(handle), CM_OK);
        }
        if (prefetch) cm_prefetch_end(prefetch);
        ck_assert_msg(cm_replay_commit(w.replay) == CM_OK, "%s", cm_error_message());
    }
    cm_prefetch_destroy(prefetch);
    cm_batch_destroy(plain);
    free_world(&w);
    return hash;
}

START_TEST(prefetch_of_depth_0_1_3_and_16_gives_the_batches_of_plain_sampling) {
    uint64_t want = run_hash(-1, 1);
    ck_assert_uint_eq(run_hash(0, 1), want);
    ck_assert_uint_eq(run_hash(1, 1), want);
    ck_assert_uint_eq(run_hash(3, 1), want);
    ck_assert_uint_eq(run_hash(16, 1), want);
}
END_TEST

START_TEST(prefetch_with_2_and_5_threads_gives_the_batches_of_plain_sampling) {
    uint64_t want = run_hash(-1, 1);
    ck_assert_uint_eq(run_hash(3, 2), want);
    ck_assert_uint_eq(run_hash(6, 5), want);
}
END_TEST

/* What is done with batches that have been drawn. */
typedef struct staging {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside, most, staged[4]; /* at the same time, at most; how often each slot */
    int expected;                /* threads */
    uint64_t refused;            /* the update whose batch is refused */
} staging;

/* Waits until all threads that are expected have been here at once, or for ten seconds. */
static cm_status stage(void *context, int slot, cm_batch *batch) {
    staging *s = context;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&s->lock);
    s->staged[slot]++;
    s->most = ++s->inside > s->most ? s->inside : s->most;
    pthread_cond_broadcast(&s->changed);
    while (s->most < s->expected && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0) continue;
    s->inside--;
    pthread_mutex_unlock(&s->lock);
    return batch->update == s->refused ? cm_fail(CM_ERR_DEVICE, "no space for update 9") : CM_OK;
}

START_TEST(each_batch_is_staged_by_the_drawing_thread_whose_errors_are_those_of_next) {
    world w = make_world();
    staging s = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .expected = 1 + _i, .refused = 9};
    cm_prefetch *prefetch;
    cm_batch_handle handle;
    ck_assert_int_eq(
        cm_prefetch_create(w.replay, &(cm_prefetch_config){batch_config, 3, 1 + _i, {stage, &s}}, &prefetch), CM_OK);
    ck_assert_int_eq(cm_prefetch_begin(prefetch, 3, 8, 0.4), CM_OK);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(cm_prefetch_next(prefetch, &handle), CM_OK);
        ck_assert_int_eq(handle.slot, i % 4);
        ck_assert_int_eq(s.staged[handle.slot], 1 + i / 4);
        ck_assert_int_eq(cm_batch_release(handle), CM_OK);
    }
    ck_assert_int_eq(cm_prefetch_next(prefetch, &handle), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "no space for update 9");
    cm_prefetch_destroy(prefetch);
    ck_assert_int_eq(s.most, 1 + _i);
    free_world(&w);
}
END_TEST

START_TEST(handle_is_dead_after_its_release_and_after_the_iteration) {
    world w = make_world();
    cm_prefetch *prefetch;
    cm_batch_handle first, second;
    cm_batch *batch;
    ck_assert_int_eq(cm_prefetch_create(w.replay, &(cm_prefetch_config){batch_config, 2, 1, {0}}, &prefetch), CM_OK);
    ck_assert_int_eq(cm_prefetch_next(prefetch, &first), CM_ERR_STATE); /* not begun */
    ck_assert_int_eq(cm_prefetch_begin(prefetch, 0, 3, 0.4), CM_OK);
    ck_assert_int_eq(cm_prefetch_begin(prefetch, 0, 3, 0.4), CM_ERR_STATE);
    ck_assert_int_eq(cm_prefetch_next(prefetch, &first), CM_OK);
    ck_assert_int_eq(cm_batch_release(first), CM_OK);
    ck_assert_int_eq(cm_batch_release(first), CM_ERR_STATE);
    ck_assert_int_eq(cm_batch_borrow(first, &batch), CM_ERR_STATE);
    ck_assert_ptr_null(batch);
    ck_assert_str_eq(cm_error_message(), "batch 1: used after it was released");
    ck_assert_int_eq(cm_prefetch_next(prefetch, &second), CM_OK);
    ck_assert_int_eq(cm_batch_borrow(first, &batch), CM_ERR_STATE);
    ck_assert_int_eq(cm_batch_borrow(second, &batch), CM_OK);
    cm_prefetch_end(prefetch);
    ck_assert_int_eq(cm_batch_borrow(second, &batch), CM_ERR_STATE);
    ck_assert_int_eq(cm_prefetch_begin(prefetch, 0, 0, 0.4), CM_OK);
    ck_assert_int_eq(cm_prefetch_next(prefetch, &second), CM_ERR_STATE); /* none left */
    cm_prefetch_destroy(prefetch);
    free_world(&w);
}
END_TEST

START_TEST(commit_is_refused_while_drawing_and_a_fourth_batch_of_depth_2) {
    world w = make_world();
    cm_prefetch *prefetch;
    cm_batch_handle handle;
    ck_assert_int_eq(cm_prefetch_create(w.replay, &(cm_prefetch_config){batch_config, 2, 1, {0}}, &prefetch), CM_OK);
    ck_assert_int_eq(cm_prefetch_begin(prefetch, 7, 100, 0.4), CM_OK);
    ck_assert_int_eq(cm_replay_commit(w.replay), CM_ERR_STATE);
    ck_assert_int_eq(cm_replay_clear(w.replay), CM_ERR_STATE);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(cm_prefetch_next(prefetch, &handle), CM_OK);
    ck_assert_int_eq(cm_prefetch_next(prefetch, &handle), CM_ERR_STATE);
    cm_prefetch_end(prefetch);
    ck_assert_int_eq(cm_replay_commit(w.replay), CM_OK);
    cm_prefetch_destroy(prefetch);
    free_world(&w);
}
END_TEST

START_TEST(drawing_from_an_empty_replay_is_an_error_of_next) {
    cm_replay *replay;
    cm_prefetch *prefetch;
    cm_batch_handle handle;
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_OK);
    for (int depth = 0; depth < 2; depth++) {
        ck_assert_int_eq(cm_prefetch_create(replay, &(cm_prefetch_config){batch_config, depth, 1, {0}}, &prefetch),
                         CM_OK);
        ck_assert_int_eq(cm_prefetch_begin(prefetch, 0, 2, 0.4), CM_OK);
        ck_assert_int_eq(cm_prefetch_next(prefetch, &handle), CM_ERR_STATE);
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "nothing to draw from"));
        cm_prefetch_destroy(prefetch);
    }
    cm_replay_destroy(replay);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("prefetch");
    TCase *tests = tcase_create("prefetch");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, prefetch_of_depth_0_1_3_and_16_gives_the_batches_of_plain_sampling);
    tcase_add_test(tests, prefetch_with_2_and_5_threads_gives_the_batches_of_plain_sampling);
    tcase_add_loop_test(tests, each_batch_is_staged_by_the_drawing_thread_whose_errors_are_those_of_next, 0, 2);
    tcase_add_test(tests, handle_is_dead_after_its_release_and_after_the_iteration);
    tcase_add_test(tests, commit_is_refused_while_drawing_and_a_fourth_batch_of_depth_2);
    tcase_add_test(tests, drawing_from_an_empty_replay_is_an_error_of_next);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
