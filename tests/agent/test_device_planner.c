/* Planners whose trees lie on a device that the host cannot see give what those with trees on the host do, to the bit:
 * the arithmetic is that of ref on both sides. */
#include <check.h>
#include <string.h>

#include "agent/planner.h"
#include "core/rng.h"
#include "device/mirror.h"
#include "support/far.h"
#include "support/main.h"
#include "support/network.h"
#include "support/tree_cpu.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

enum { O = 6, MOST_A = 40, ROWS = 9, SIMULATIONS = 21 };

/* A planner of one backend, and what it gave. */
typedef struct side {
    cm_test_network base;
    cm_mirror parameters;
    cm_planner *planner;
    int32_t visits[ROWS * MOST_A], action[ROWS];
    float weights[ROWS * MOST_A], probs[ROWS * MOST_A], q[ROWS * MOST_A], value[ROWS], raw[ROWS];
} side;

static cm_planner_config config_of(side *s, cm_search_params params, int draws) {
    params.num_simulations = SIMULATIONS;
    return (cm_planner_config){.network = s->base.network,
                               .backend = s->base.backend,
                               .parameters = (float *)(void *)s->parameters.block.base,
                               .compute = CM_F32,
                               .search = params,
                               .discount = 0.9f,
                               .draws = draws,
                               .rows = ROWS};
}

static void open_side(side *s, const char *backend, int actions, int draws, cm_search_params params) {
    cm_network_config network = cm_test_mlp(O, actions, 16, 16, (cm_support){-2, 2, 9, true});
    memset(s, 0, sizeof *s);
    cm_test_network_open(&s->base, &network, backend, 5);
    size_t bytes = cm_network_parameters(s->base.network)->parameters * sizeof(float);
    ck_assert_int_eq(cm_mirror_create(&s->parameters, s->base.backend->device, bytes, "parameters"), CM_OK);
    memcpy(s->parameters.host, s->base.parameters, bytes);
    ck_assert_int_eq(cm_mirror_push(&s->parameters), CM_OK);
    cm_planner_config config = config_of(s, params, draws);
    ck_assert_msg(cm_planner_create(&config, &s->planner) == CM_OK, "%s", cm_error_message());
    ck_assert_uint_gt(cm_planner_bytes(&config, s->planner), (size_t)ROWS * SIMULATIONS * 16 * sizeof(float));
}

static void close_side(side *s) {
    cm_planner_destroy(s->planner);
    cm_mirror_destroy(&s->parameters);
    cm_test_network_close(&s->base);
}

static void run_side(side *s, const cm_roots *roots, uint64_t seed) {
    cm_rng rng = cm_rng_init(cm_key_make(seed, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < ROWS * O; i++) cm_planner_observations(s->planner)[i] = cm_rng_normal(&rng);
    cm_search_result result = {s->visits, s->weights, s->probs, s->value, s->raw, s->q, s->action};
    ck_assert_msg(cm_planner_run(s->planner, roots, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_planner_simulations(s->planner), (int64_t)roots->count * SIMULATIONS);
}

static void assert_same_trees(side *a, side *b, int count, int choices) {
    const cm_search *x, *y;
    ck_assert_int_eq(cm_planner_trees(a->planner, &x), CM_OK);
    ck_assert_int_eq(cm_planner_trees(b->planner, &y), CM_OK);
    for (int root = 0; root < count; root++) {
        for (int slot = 0; slot <= SIMULATIONS; slot++) {
            cm_node_info m = cm_search_node(x, root, slot), n = cm_search_node(y, root, slot);
            ck_assert(m.visits == n.visits && m.parent == n.parent && m.value == n.value);
            for (int action = 0; m.visits > 0 && action < choices; action++) {
                cm_edge_info e = cm_search_edge(x, root, slot, action), f = cm_search_edge(y, root, slot, action);
                ck_assert(e.child == f.child && e.visits == f.visits && e.q == f.q && e.prior == f.prior);
            }
        }
    }
}

static void assert_same(side *a, side *b, int count, int actions) {
    size_t n = (size_t)(count * actions) * sizeof(float);
    ck_assert_mem_eq(a->visits, b->visits, n);
    ck_assert_mem_eq(a->weights, b->weights, n);
    ck_assert_mem_eq(a->probs, b->probs, n);
    ck_assert_mem_eq(a->q, b->q, n);
    for (int i = 0; i < count; i++)
        ck_assert(a->value[i] == b->value[i] && a->raw[i] == b->raw[i] && a->action[i] == b->action[i]);
}

static const struct {
    cm_policy policy;
    int actions, max_depth, draws;
} kinds[] = {{CM_POLICY_MUZERO, 2, 0, 0},        {CM_POLICY_MUZERO, 7, 3, 0},         {CM_POLICY_MUZERO, 40, 0, 0},
             {CM_POLICY_GUMBEL_MUZERO, 3, 0, 0}, {CM_POLICY_GUMBEL_MUZERO, 40, 2, 0}, {CM_POLICY_MUZERO, 40, 0, 6},
             {CM_POLICY_MUZERO, 7, 0, 1},        {CM_POLICY_GUMBEL_MUZERO, 40, 0, 12}};

/* With noise and masks; then without noise, with fewer roots and without masks, what is left over of the run before in
 * the other rows; then with noise of its own. */
START_TEST(a_search_on_the_device_gives_the_bits_of_one_on_the_host) {
    const int actions = kinds[_i].actions, draws = kinds[_i].draws;
    static side near, far;
    cm_key keys[ROWS];
    uint64_t steps[ROWS];
    uint8_t legal[ROWS * MOST_A];
    float temperature[ROWS];
    cm_search_params params = cm_search_params_default(kinds[_i].policy);
    params.max_depth = kinds[_i].max_depth;
    open_side(&near, "ref", actions, draws, params);
    open_side(&far, "cuda", actions, draws, params);
    for (int b = 0; b < ROWS; b++) {
        keys[b] = cm_key_make(3, CM_RNG_NOISE, (uint64_t)b);
        steps[b] = (uint64_t)b * 7;
        temperature[b] = (float)(b % 3) * 0.5f;
        for (int a = 0; a < actions; a++) legal[b * actions + a] = a % (b + 1) == 0;
    }
    const cm_roots runs[] = {
        {.count = ROWS, .legal = legal, .keys = keys, .steps = steps, .temperature = temperature},
        {.count = ROWS - 4, .without_noise = true},
        {.count = 3, .legal = legal, .keys = keys + 2},
    };
    for (uint64_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        size_t launches = tree_cpu_launches, copies;
        run_side(&near, &runs[i], i);
        ck_assert_uint_eq(tree_cpu_launches, launches);
        copies = cm_far_state.copies;
        run_side(&far, &runs[i], i);
        ck_assert_uint_eq(tree_cpu_launches, launches + 2 + SIMULATIONS);
        /* what is asked, observations; the answer, and what was drawn at the roots */
        ck_assert_uint_eq(cm_far_state.copies, copies + (draws > 0 ? 4 : 3));
        assert_same(&near, &far, runs[i].count, actions);
        assert_same_trees(&near, &far, runs[i].count, draws > 0 ? draws : actions);
    }
    close_side(&near);
    close_side(&far);
    ck_assert_uint_eq(cm_far_state.blocks + cm_far_state.graphs, 0);
}
END_TEST

/* Without a copy of the host's own, also where they arrive as late as they may. */
START_TEST(observations_are_sent_from_where_they_are_written) {
    static side near, far;
    const cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    open_side(&near, "ref", 4, 0, params);
    open_side(&far, "cuda", 4, 0, params);
    ck_assert_uint_ge(cm_far_state.pinned, ROWS * O * sizeof(float));
    cm_far_state.is_late = true;
    for (uint64_t i = 0; i < 3; i++) {
        const size_t noted = cm_far_state.noted;
        run_side(&near, &(cm_roots){.count = ROWS, .without_noise = true}, i);
        run_side(&far, &(cm_roots){.count = ROWS, .without_noise = true}, i);
        ck_assert_uint_eq(cm_far_state.noted, noted + 2);
        ck_assert_mem_eq(cm_far_state.notes + noted, ">=", 2);
        assert_same(&near, &far, ROWS, 4);
    }
    close_side(&near);
    close_side(&far);
    cm_far_state.is_late = false;
    ck_assert_uint_eq(cm_far_state.blocks + cm_far_state.pinned, 0);
}
END_TEST

START_TEST(what_a_device_does_not_serve_is_searched_with_trees_on_the_host) {
    static side far;
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.dirichlet_fraction = 0.0f;
    params.check = true;
    open_side(&far, "cuda", 4, 0, params);
    cm_planner_config config = config_of(&far, params, 0);
    ck_assert(!cm_planner_is_on_device(&config));
    config.search.check = false;
    ck_assert(cm_planner_is_on_device(&config));
    config.rules = (const cm_env *)&config; /* not read */
    ck_assert(!cm_planner_is_on_device(&config));
    size_t launches = tree_cpu_launches;
    run_side(&far, &(cm_roots){.count = ROWS}, 0);
    ck_assert_uint_eq(tree_cpu_launches, launches);
    close_side(&far);
}
END_TEST

START_TEST(an_eager_backend_records_nothing_and_gives_the_same_bits) {
    static side recorded, eager;
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.dirichlet_fraction = 0.0f;
    open_side(&recorded, "cuda", 4, 0, params);
    open_side(&eager, "cuda", 4, 0, params);
    eager.base.backend->is_eager = true;
    for (uint64_t i = 0; i < 3; i++) {
        const size_t graphs = cm_far_state.graphs;
        run_side(&eager, &(cm_roots){.count = ROWS}, i);
        ck_assert_uint_eq(cm_far_state.graphs, graphs);
        run_side(&recorded, &(cm_roots){.count = ROWS}, i);
        ck_assert_uint_gt(cm_far_state.graphs, 0);
        assert_same(&recorded, &eager, ROWS, 4);
        assert_same_trees(&recorded, &eager, ROWS, 4);
    }
    close_side(&recorded);
    close_side(&eager);
}
END_TEST

/* What it works on would be freed otherwise. */
START_TEST(a_planner_that_is_destroyed_while_it_searches_waits_for_that) {
    static side far;
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.dirichlet_fraction = 0.0f;
    open_side(&far, "cuda", 4, 0, params);
    run_side(&far, &(cm_roots){.count = ROWS}, 0);
    ck_assert_int_eq(cm_planner_begin(far.planner, &(cm_roots){.count = ROWS}, &(cm_search_result){.value = far.value}),
                     CM_OK);
    const size_t noted = cm_far_state.noted;
    close_side(&far);
    ck_assert_int_eq(cm_far_state.notes[noted], '=');
}
END_TEST

START_TEST(trees_on_a_device_are_not_kept) {
    static side far;
    int32_t played[ROWS] = {0};
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.dirichlet_fraction = 0.0f;
    open_side(&far, "cuda", 4, 0, params);
    run_side(&far, &(cm_roots){.count = ROWS}, 0);
    ck_assert_int_eq(cm_planner_keep(far.planner, played), CM_ERR_INPUT);
    close_side(&far);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/device_planner");
    TCase *tests = tcase_create("device");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_search_on_the_device_gives_the_bits_of_one_on_the_host, 0,
                        sizeof kinds / sizeof *kinds);
    tcase_add_test(tests, observations_are_sent_from_where_they_are_written);
    tcase_add_test(tests, what_a_device_does_not_serve_is_searched_with_trees_on_the_host);
    tcase_add_test(tests, an_eager_backend_records_nothing_and_gives_the_same_bits);
    tcase_add_test(tests, a_planner_that_is_destroyed_while_it_searches_waits_for_that);
    tcase_add_test(tests, trees_on_a_device_are_not_kept);
    return cm_test_main(suite);
}
