/* Self-play where searches are made on a device: halves of the environments in turns, whose bits are those of shards on
 * the host. The arithmetic is that of ref on both sides. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"
#include "support/far.h"
#include "support/main.h"
#include "support/tree_cpu.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

enum { STEPS = 4, SIMULATIONS = 3 };

static void open_side(scene *s, const char *backend, const char *settings, int environments, int max_steps) {
    char all[256];
    const cm_actor_config actor = {.environments = environments, .steps = STEPS, .random_move_steps = 1};
    snprintf(all, sizeof all, "backend=%s threads=1 num_envs=%d num_simulations=%d %s", backend, environments,
             SIMULATIONS, settings);
    scene_open(s, all);
    s->session->env.spec.max_steps = max_steps;
    scene_plays(s, actor, (cm_target_rule){.unroll = 2, .td_steps = 1, .discount = 1.0});
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
}

static const struct {
    const char *settings;
    int environments;
} tasks[] = {{"env_name=CartPole-v1", CM_TURNS_FROM - 1},
             {"env_name=CartPole-v1", CM_TURNS_FROM},
             {"env_name=CartPole-v1 random_move_probability=0.3 temperature_threshold=3", CM_TURNS_FROM + 1},
             {"env_name=tictactoe policy=gumbel_muzero", CM_TURNS_FROM},
             {"env_name=tictactoe num_sampled_actions=4", CM_TURNS_FROM + 5}};

/* Episodes end by the limit, too: those ends are searched. */
START_TEST(halves_in_turns_play_what_shards_of_the_host_play) {
    scene near, far;
    cm_actor_counts counts, of_far;
    open_side(&near, "ref", tasks[_i].settings, tasks[_i].environments, 6);
    open_side(&far, "cuda", tasks[_i].settings, tasks[_i].environments, 6);
    cm_far_state.is_late = true;
    for (int i = 0; i < 3; i++) {
        const size_t searches = cm_far_state.searches;
        scene_act(&near), scene_act(&far);
        ck_assert_uint_ge(cm_far_state.searches - searches, (tasks[_i].environments < CM_TURNS_FROM ? 1 : 2) * STEPS);
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

/* > what a search is to start from, = the wait for its answer. Two searches are on their way when one is waited for,
 * but for the last of all. */
START_TEST(while_the_environments_of_one_half_move_the_search_of_the_other_is_on_its_way) {
    scene far;
    open_side(&far, "cuda", "env_name=CartPole-v1", CM_TURNS_FROM, 0);
    cm_far_state.noted = 0;
    memset(cm_far_state.notes, 0, sizeof cm_far_state.notes);
    scene_act(&far);
    ck_assert_str_eq(cm_far_state.notes, ">>"
                                         "=>=>"
                                         "=>=>"
                                         "=>=>"
                                         "==");
    scene_close(&far);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/turns");
    TCase *tests = tcase_create("turns");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, halves_in_turns_play_what_shards_of_the_host_play, 0, sizeof tasks / sizeof *tasks);
    tcase_add_test(tests, while_the_environments_of_one_half_move_the_search_of_the_other_is_on_its_way);
    return cm_test_main(suite);
}
