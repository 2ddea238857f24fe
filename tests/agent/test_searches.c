/* Searches on a GPU whose simulations are one kernel, against those that are launched one by one. */
#include <stdio.h>
#include <string.h>

#include "agent/searched.h"
#include "support/main.h"

static const struct {
    int network;
    cm_policy policy;
    cm_dtype type;
    float tolerance; /* of values, which are within 5 */
} kinds[] = {
    {INFER_PLAIN, CM_POLICY_MUZERO, CM_F32, 1e-3f},         {INFER_PLAIN, CM_POLICY_GUMBEL_MUZERO, CM_F32, 1e-3f},
    {INFER_ODD, CM_POLICY_MUZERO, CM_F32, 1e-3f},           {INFER_WIDE, CM_POLICY_MUZERO, CM_BF16, 0.1f},
    {INFER_CUMIND, CM_POLICY_GUMBEL_MUZERO, CM_BF16, 0.1f}, {INFER_CHANCE, CM_POLICY_STOCHASTIC_MUZERO, CM_F32, 1e-3f}};

static void search(infer_bench *bench, const search_task *t, searched *out) {
    const cm_planner_config config = searched_config(bench, t);
    cm_planner *planner;
    memset(out, 0, sizeof *out);
    ck_assert(cm_planner_is_on_device(&config));
    ck_assert_msg(cm_planner_create(&config, &planner) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < 3; i++) searched_run(bench, planner, t, out); /* as it is, recorded, replayed */
    ck_assert_msg(out->status == CM_OK, "%s", cm_error_message());
    cm_planner_destroy(planner);
}

/* Where rounding decides between two actions a root may go another way. */
static void expect_alike(const searched *a, const searched *b, const search_task *t, int actions, float tolerance) {
    int others = 0;
    for (int root = 0; root < t->roots; root++) {
        const size_t row = (size_t)(root * actions);
        others += memcmp(a->visits + row, b->visits + row, (size_t)actions * sizeof *a->visits) != 0;
        ck_assert_float_eq_tol(a->value[root], b->value[root], tolerance);
    }
    ck_assert_int_le(others, t->type == CM_F32 ? 1 : t->roots / 3);
}

/* Of a kind: with the kernel, if it is the fastest; with launches of whole passes; with launches of operations. */
START_TEST(simulations_on_a_gpu_are_the_same_however_they_are_launched) {
    cm_backend *backend;
    infer_bench bench;
    static searched whole, passes, operations;
    if (cm_backend_open("cuda", &backend) == CM_ERR_ABSENT) {
        if (_i == 0) printf("SKIP searches on a GPU: %s\n", cm_error_message());
        return;
    }
    infer_bench_open(&bench, backend, infer_network(kinds[_i].network));
    const search_task t = {kinds[_i].policy, kinds[_i].type, SEARCHED_ROOTS, SEARCHED_SIMULATIONS, 0};
    const int actions = cm_network_get_config(bench.network.network)->actions;
    if (kinds[_i].type == CM_F32 || backend->native[kinds[_i].type]) {
        const cm_backend_class *with_kernel = backend->kind;
        cm_backend_class without = *with_kernel;
        without.agent_kernels = NULL;
        search(&bench, &t, &whole);
        backend->kind = &without;
        search(&bench, &t, &passes);
        backend->is_unfused = true;
        search(&bench, &t, &operations);
        backend->kind = with_kernel;
        expect_alike(&whole, &passes, &t, actions, kinds[_i].tolerance);
        expect_alike(&whole, &operations, &t, actions, kinds[_i].tolerance);
    }
    infer_bench_close(&bench);
    cm_backend_close(backend);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/searches");
    TCase *tests = tcase_create("searches");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, simulations_on_a_gpu_are_the_same_however_they_are_launched, 0,
                        sizeof kinds / sizeof *kinds);
    return cm_test_main(suite);
}
