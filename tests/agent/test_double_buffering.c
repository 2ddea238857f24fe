/* Self-play where searches are made on a device: interleaved halves of the environments, whose bits are those of shards
 * on the host. The arithmetic is that of ref on both sides. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/batch.h"
#include "scene.h"
#include "support/far.h"
#include "support/main.h"
#include "support/tree_cpu.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

enum { STEPS = 5, SIMULATIONS = 3, MOST_STEPS = 6 }; /* three iterations end amid episodes */

static void open_side(scene *s, const char *backend, const char *settings, int environments, int max_steps) {
    char all[256];
    const cm_actor_config actor = {.environments = environments, .steps = STEPS, .random_move_steps = 1};
    snprintf(all, sizeof all, "backend=%s threads=1 zero_init_heads=false num_envs=%d num_simulations=%d %s", backend,
             environments, SIMULATIONS, settings);
    scene_open(s, all);
    s->session->env.spec.max_steps = max_steps;
    scene_plays(s, actor, (cm_target_rule){.unroll = 2, .td_steps = 1, .discount = 1.0});
}

/* What is drawn from both replays: policies and values that the searches gave, those of ends included. */
static void expect_equal_batches(const scene *a, const scene *b) {
    const cm_batch_config config = {.rows = 256, .seed = 3};
    cm_batch *x, *y;
    ck_assert_int_eq(cm_batch_create(a->replay, &config, &x), CM_OK);
    ck_assert_int_eq(cm_batch_create(b->replay, &config, &y), CM_OK);
    for (uint64_t update = 0; update < 4; update++) {
        ck_assert_int_eq(cm_replay_sample(a->replay, update, 1.0, x), CM_OK);
        ck_assert_int_eq(cm_replay_sample(b->replay, update, 1.0, y), CM_OK);
        const size_t rows = (size_t)config.rows, K = (size_t)x->unroll + 1;
        ck_assert_mem_eq(x->observation, y->observation, rows * (size_t)x->observation_size * sizeof(float));
        ck_assert_mem_eq(x->target_policy, y->target_policy, rows * K * (size_t)x->actions * sizeof(float));
        ck_assert_mem_eq(x->target_value, y->target_value, rows * K * sizeof(float));
        ck_assert_mem_eq(x->value_bootstrap, y->value_bootstrap, rows * K * sizeof(float));
    }
    cm_batch_destroy(x);
    cm_batch_destroy(y);
}

static void expect_equal(const scene *a, const scene *b) {
    const size_t bytes = cm_actor_bytes(a->actor);
    char *x = malloc(bytes), *y = malloc(bytes);
    ck_assert_uint_eq(cm_actor_bytes(b->actor), bytes);
    cm_actor_save(a->actor, x);
    cm_actor_save(b->actor, y);
    ck_assert_mem_eq(x, y, bytes);
    free(x);
    free(y);
    expect_equal_batches(a, b);
}

static const struct {
    const char *settings;
    int environments;
} tasks[] = {{"env_name=CartPole-v1", CM_DOUBLE_BUFFERS_FROM - 1},
             {"env_name=CartPole-v1", CM_DOUBLE_BUFFERS_FROM},
             {"env_name=CartPole-v1", CM_DOUBLE_BUFFERS_FROM + 1},
             {"env_name=tictactoe policy=gumbel_muzero", CM_DOUBLE_BUFFERS_FROM},
             {"env_name=tictactoe num_sampled_actions=4", CM_DOUBLE_BUFFERS_FROM + 5}};

/* Episodes end by the limit, too: those ends are searched. */
START_TEST(double_buffered_halves_play_what_shards_of_the_host_play) {
    scene near, far;
    cm_actor_counts counts, of_far;
    open_side(&near, "ref", tasks[_i].settings, tasks[_i].environments, MOST_STEPS);
    open_side(&far, "cuda", tasks[_i].settings, tasks[_i].environments, MOST_STEPS);
    cm_far_state.is_late = true;
    for (int i = 0; i < 3; i++) {
        const size_t searches = cm_far_state.searches;
        scene_act(&near), scene_act(&far);
        ck_assert_uint_ge(cm_far_state.searches - searches,
                          (tasks[_i].environments < CM_DOUBLE_BUFFERS_FROM ? 1 : 2) * STEPS);
    }
    expect_equal(&near, &far);
    cm_actor_count(near.actor, &counts);
    cm_actor_count(far.actor, &of_far);
    ck_assert_int_gt(counts.episodes, 100);
    ck_assert_int_eq(of_far.simulations, counts.simulations);
    cm_far_state.is_late = false;
    scene_close(&near);
    scene_close(&far);
    ck_assert_uint_eq(cm_far_state.blocks + cm_far_state.pinned, 0);
}
END_TEST

/* What the host does in an iteration of CartPole: > tells a search what to start from, = waits for its answer. */
static const struct {
    int environments, max_steps;
    const char *notes;
} orders[] = {
    {CM_DOUBLE_BUFFERS_FROM, 0, ">>=>=>=>=>=>=>=>=>=="}, /* two searches are on their way when one is waited for */
    {8, 0, ">=>=>=>=>="},
    {8, 2, ">=>=>>==>=>>=="},   /* ends, at the second and the fourth step, concurrent with the search of the next */
    {8, STEPS, ">=>=>=>=>=>="}, /* but for the last step */
    {CM_DOUBLE_BUFFERS_FROM - 1, 2, ">=>=>=>=>=>=>="}}; /* many ends are searched at once, before the next step */

START_TEST(while_one_search_is_on_its_way_the_host_goes_on) {
    scene far;
    open_side(&far, "cuda", "env_name=CartPole-v1", orders[_i].environments, orders[_i].max_steps);
    cm_far_state.noted = 0;
    memset(cm_far_state.notes, 0, sizeof cm_far_state.notes);
    scene_act(&far);
    ck_assert_str_eq(cm_far_state.notes, orders[_i].notes);
    scene_close(&far);
}
END_TEST

/* As a run hands them over: by addresses that the host cannot follow. */
START_TEST(weights_that_are_copied_on_the_device_are_those_that_the_host_sets) {
    scene set, copied;
    cm_buffer parameters = {0}, state = {0};
    open_side(&set, "cuda", "env_name=CartPole-v1 norm=batch", 24, MOST_STEPS);
    open_side(&copied, "cuda", "env_name=CartPole-v1 norm=batch", 24, MOST_STEPS);
    const cm_param_table *table = cm_network_parameters(set.session->network);
    const cm_device *device = copied.session->backend->device;
    float *weights = calloc(table->parameters + table->states, sizeof *weights);
    ck_assert_uint_gt(table->states, 0);
    cm_network_initialise(set.session->network, 77, weights, weights + table->parameters);
    for (size_t i = 0; i < table->states; i++) weights[table->parameters + i] += 0.25f;
    ck_assert_int_eq(cm_agent_set_weights(set.agent, weights, weights + table->parameters), CM_OK);
    ck_assert_int_eq(cm_buffer_create(&parameters, device, table->parameters * sizeof(float) + 64, "weights"), CM_OK);
    ck_assert_int_eq(cm_buffer_create(&state, device, table->states * sizeof(float), "statistics"), CM_OK);
    ck_assert_int_eq(cm_buffer_write(&parameters, 0, weights, table->parameters * sizeof(float)), CM_OK);
    ck_assert_int_eq(cm_buffer_write(&state, 0, weights + table->parameters, table->states * sizeof(float)), CM_OK);
    ck_assert_int_eq(cm_agent_copy_weights(copied.agent, &parameters, &state), CM_OK);
    for (int i = 0; i < 3; i++) scene_act(&set), scene_act(&copied);
    expect_equal(&set, &copied);
    cm_buffer_destroy(&parameters);
    cm_buffer_destroy(&state);
    free(weights);
    scene_close(&set);
    scene_close(&copied);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/turns");
    TCase *tests = tcase_create("turns");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, double_buffered_halves_play_what_shards_of_the_host_play, 0,
                        sizeof tasks / sizeof *tasks);
    tcase_add_loop_test(tests, while_one_search_is_on_its_way_the_host_goes_on, 0, sizeof orders / sizeof *orders);
    tcase_add_test(tests, weights_that_are_copied_on_the_device_are_those_that_the_host_sets);
    return cm_test_main(suite);
}
