/* The simulations of a search as one kernel: the bits that they give launch by launch, whatever the rule, the network,
 * the rows and the type; and searches that stay many launches. */
#include <check.h>
#include <string.h>

#include "agent/cuda/kernels.h"
#include "agent/searched.h"
#include "agent/simulations_cpu.h"
#include "backend/cuda/cuda_cpu.h"
#include "support/main.h"
#include "support/tree_cpu.h"

enum { MOST_ROOTS = SEARCHED_ROOTS, SIMULATIONS = SEARCHED_SIMULATIONS };

/* The ways to launch simulations, by the numbers of candidates. */
enum { ONE_BY_ONE, FAR, NEAR = CUDA_CPU_LAST };

static cm_backend cuda;
static infer_bench bench;

static void open_all(cm_network_config config) {
    cuda_cpu_open(&cuda);
    cuda_cpu_limits = (cm_ops_limits){132, 227 << 10, true};
    cuda_cpu_winner = CUDA_CPU_LAST;
    infer_bench_open(&bench, &cuda, config);
}

static void close_all(void) {
    infer_bench_close(&bench);
    cuda_cpu_close(&cuda);
}

/* ---- searches ---- */

/* What a search of all roots gives, and what it launches. */
typedef struct found {
    searched all;
    int operations, wholes;
} found;

/* With the kernel, if the planner takes it, or on a backend that has none. */
static void search(const search_task *t, bool has_kernel, found *out) {
    cm_backend_class with_trees = cuda_cpu_class;
    cm_planner_config config = searched_config(&bench, t);
    cm_planner *planner;
    with_trees.search_kernels = &tree_cpu_kernels;
    with_trees.agent_kernels = has_kernel ? &cm_cuda_agent_kernels : NULL;
    cuda.kind = &with_trees;
    cuda.is_eager = true; /* nothing is recorded here */
    memset(out, 0, sizeof *out);
    ck_assert(cm_planner_is_on_device(&config));
    ck_assert_msg(cm_planner_create(&config, &planner) == CM_OK, "%s", cm_error_message());
    const int before = cuda_cpu_launches, wholes = simulations_cpu_launches;
    searched_run(&bench, planner, t, &out->all);
    out->operations = cuda_cpu_launches - before;
    out->wholes = simulations_cpu_launches - wholes;
    cm_planner_destroy(planner);
    cuda.kind = &cuda_cpu_class;
}

static void expect_same(const search_task *t) {
    static found one, many;
    search(t, true, &one);
    search(t, false, &many);
    ck_assert_int_eq(one.all.status, CM_OK);
    ck_assert_int_eq(one.operations, 1); /* the root pass */
    ck_assert_int_eq(one.wholes, 1);
    ck_assert_int_eq(many.wholes, 0);
    ck_assert_int_ge(many.operations, 1 + t->simulations);
    ck_assert_mem_eq(&one.all, &many.all, sizeof one.all);
}

static const struct {
    int network, actions; /* actions 0: the network's own */
    cm_policy policy;
    cm_dtype type;
} kinds[] = {{INFER_PLAIN, 0, CM_POLICY_MUZERO, CM_F32},
             {INFER_PLAIN, 2, CM_POLICY_GUMBEL_MUZERO, CM_F32},
             {INFER_PLAIN, 40, CM_POLICY_MUZERO, CM_BF16},
             {INFER_ODD, 40, CM_POLICY_GUMBEL_MUZERO, CM_F32},
             {INFER_ODD, 0, CM_POLICY_MUZERO, CM_F16},
             {INFER_WIDE, 0, CM_POLICY_MUZERO, CM_BF16},
             {INFER_CUMIND, 0, CM_POLICY_MUZERO, CM_F32},
             {INFER_BATCH_NORM, 0, CM_POLICY_MUZERO, CM_BF16},
             {INFER_CHANCE, 0, CM_POLICY_STOCHASTIC_MUZERO, CM_F32},
             {INFER_CHANCE, 40, CM_POLICY_STOCHASTIC_MUZERO, CM_BF16}};

/* With weights in the device's memory, in tiles of half as many rows, and with weights in the block's. */
START_TEST(one_launch_gives_the_bits_of_many) {
    cm_network_config config = infer_network(kinds[_i].network);
    if (kinds[_i].actions > 0) config.actions = kinds[_i].actions;
    open_all(config);
    cuda_cpu_winner = FAR;
    expect_same(&(search_task){kinds[_i].policy, kinds[_i].type, MOST_ROOTS, SIMULATIONS, 0});
    ck_assert_int_eq(simulations_cpu_shared, 0);
    cuda_cpu_winner = NEAR;
    cuda_cpu_limits.multiprocessors = 1;
    expect_same(&(search_task){kinds[_i].policy, kinds[_i].type, MOST_ROOTS, SIMULATIONS, 0});
    ck_assert_int_gt(simulations_cpu_shared, 3);
    close_all();
}
END_TEST

START_TEST(as_many_weights_are_near_as_there_is_space_for) {
    search_task t = {CM_POLICY_MUZERO, CM_F32, MOST_ROOTS, SIMULATIONS, 0}; /* in tiles of half as many rows */
    const struct {
        size_t bytes;
        int layers, partly;
    } spaces[] = {{1 << 20, 6, 0},  {227 << 10, 5, 1}, {147 << 10, 4, 1},
                  {67 << 10, 3, 1}, {25 << 10, 3, 0},  {20 << 10, 2, 0}};
    open_all(infer_network(INFER_WIDE));
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        cuda_cpu_limits.block_bytes = spaces[i].bytes;
        expect_same(&t);
        ck_assert_int_eq(simulations_cpu_shared, spaces[i].layers);
        ck_assert_int_eq(simulations_cpu_partly, spaces[i].partly);
        t.roots = 1;
    }
    close_all();
}
END_TEST

/* The network that `cumind benchmark search` has by default: `make kernel-costs` says where its time goes. */
static const cm_dtype cost_types[] = {CM_BF16, CM_F32};

START_TEST(the_network_of_the_benchmark_is_one_launch) {
    const cm_support support = {-20.0f, 20.0f, 41, true};
    open_all(cm_test_mlp(4, 2, 128, 64, support));
    expect_same(&(search_task){CM_POLICY_MUZERO, cost_types[_i], CM_ROW_TILE, SIMULATIONS, 0});
    ck_assert_int_gt(simulations_cpu_shared, 3);
    close_all();
}
END_TEST

/* ---- what stays many launches ---- */

static void expect_many(const search_task *t) {
    static found made;
    search(t, true, &made);
    ck_assert_int_eq(made.all.status, CM_OK);
    ck_assert_int_eq(made.wholes, 0);
    ck_assert_int_ge(made.operations, 1 + t->simulations);
}

static const search_task simple = {CM_POLICY_MUZERO, CM_F32, 16, SIMULATIONS, 0};

START_TEST(the_faster_one_is_taken) {
    static found made;
    open_all(infer_network(INFER_PLAIN));
    cuda_cpu_winner = ONE_BY_ONE;
    search(&simple, true, &made);
    ck_assert_int_eq(made.wholes, 0);
    ck_assert_int_gt(made.operations, 5 * SIMULATIONS); /* passes are not one launch either */
    cuda_cpu_winner = CUDA_CPU_LAST;
    search(&simple, true, &made);
    ck_assert_int_eq(made.wholes, 1);
    ck_assert_int_eq(cuda_cpu_chosen.launches[0], SIMULATIONS);
    close_all();
}
END_TEST

START_TEST(what_cannot_be_one_launch_stays_many) {
    open_all(infer_network(INFER_PREFIX));
    expect_many(&simple);
    close_all();
    open_all(infer_network(INFER_PLAIN));
    cuda_cpu_limits.block_bytes = 5 << 10;
    expect_many(&simple);
    cuda_cpu_limits.block_bytes = 227 << 10;
    expect_many(&(search_task){CM_POLICY_MUZERO, CM_F32, 16, SIMULATIONS, .draws = 3});
    cuda_cpu_limits.multiplies_16_bits = false;
    expect_many(&(search_task){CM_POLICY_MUZERO, CM_BF16, 16, SIMULATIONS, 0});
    cuda.is_unfused = true;
    expect_many(&simple);
    close_all();
}
END_TEST

START_TEST(no_simulations_are_no_launch) {
    static found made;
    open_all(infer_network(INFER_PLAIN));
    search(&(search_task){CM_POLICY_MUZERO, CM_F32, 16, 0, 0}, true, &made);
    ck_assert_int_eq(made.all.status, CM_OK);
    ck_assert_int_eq(made.wholes, 0);
    ck_assert_int_eq(made.operations, 1);
    close_all();
}
END_TEST

START_TEST(a_long_search_is_measured_by_its_beginning) {
    open_all(infer_network(INFER_PLAIN));
    cm_backend_class with_trees = cuda_cpu_class;
    with_trees.search_kernels = &tree_cpu_kernels;
    with_trees.agent_kernels = &cm_cuda_agent_kernels;
    cuda.kind = &with_trees;
    const search_task longer = {CM_POLICY_MUZERO, CM_F32, 1, 100, 0};
    cm_planner_config config = searched_config(&bench, &longer);
    cm_planner *planner;
    ck_assert_int_eq(cm_planner_create(&config, &planner), CM_OK);
    ck_assert_int_eq(cuda_cpu_chosen.launches[0], 16);
    cm_planner_destroy(planner);
    cuda.kind = &cuda_cpu_class;
    close_all();
}
END_TEST

/* The key under which the choice for a planner is kept. */
static const char *key_of(const search_task *t) {
    static found made;
    search(t, true, &made);
    return cuda_cpu_chosen.key;
}

START_TEST(what_was_measured_is_known_by_roots_simulations_rules_and_passes) {
    const search_task others[] = {{CM_POLICY_MUZERO, CM_F32, 17, SIMULATIONS, 0},
                                  {CM_POLICY_MUZERO, CM_F32, 16, SIMULATIONS - 1, 0},
                                  {CM_POLICY_GUMBEL_MUZERO, CM_F32, 16, SIMULATIONS, 0},
                                  {CM_POLICY_MUZERO, CM_BF16, 16, SIMULATIONS, 0}};
    char key[CM_AUTOTUNE_KEY_BYTES];
    open_all(infer_network(INFER_PLAIN));
    strcpy(key, key_of(&simple));
    ck_assert_str_eq(key_of(&simple), key);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) ck_assert_str_ne(key_of(&others[i]), key);
    close_all();
    open_all(infer_network(INFER_WIDE));
    ck_assert_str_ne(key_of(&simple), key);
    close_all();
}
END_TEST

START_TEST(a_number_that_is_not_finite_is_told) {
    static found one;
    open_all(infer_network(INFER_PLAIN));
    float *weights = (float *)(void *)bench.parameters.block.base;
    const size_t last = cm_network_parameters(bench.network.network)->parameters;
    for (size_t i = 0; i < last; i++) weights[i] = 1e30f;
    search(&simple, true, &one);
    ck_assert_int_eq(one.all.status, CM_ERR_NOT_FINITE);
    ck_assert_int_eq(one.wholes, 1);
    close_all();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/simulations");
    TCase *tests = tcase_create("simulations");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, one_launch_gives_the_bits_of_many, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tests, as_many_weights_are_near_as_there_is_space_for);
    tcase_add_test(tests, the_faster_one_is_taken);
    tcase_add_test(tests, what_cannot_be_one_launch_stays_many);
    tcase_add_test(tests, no_simulations_are_no_launch);
    tcase_add_test(tests, a_long_search_is_measured_by_its_beginning);
    tcase_add_test(tests, what_was_measured_is_known_by_roots_simulations_rules_and_passes);
    tcase_add_test(tests, a_number_that_is_not_finite_is_told);
    suite_add_tcase(suite, tests);
    static const char *costs[] = {"bfloat16", "float32"};
    for (int i = 0; i < 2; i++) {
        tests = tcase_create(costs[i]);
        tcase_set_timeout(tests, 60);
        tcase_add_loop_test(tests, the_network_of_the_benchmark_is_one_launch, i, i + 1);
        suite_add_tcase(suite, tests);
    }
    return cm_test_main(suite);
}
