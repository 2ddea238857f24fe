/* Searches on a GPU whose simulations are one kernel, against those that are launched one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/kernels.h"
#include "agent/searched.h"
#include "support/folder.h"
#include "support/main.h"

static const struct {
    int network, actions; /* actions 0: the network's own */
    cm_policy policy;
    cm_dtype type;
    float tolerance; /* of values, which are within 5 */
} kinds[] = {{INFER_PLAIN, 0, CM_POLICY_MUZERO, CM_F32, 1e-3f},
             {INFER_PLAIN, 40, CM_POLICY_MUZERO, CM_F32, 1e-3f},
             {INFER_PLAIN, 0, CM_POLICY_GUMBEL_MUZERO, CM_F32, 1e-3f},
             {INFER_ODD, 40, CM_POLICY_GUMBEL_MUZERO, CM_F32, 1e-3f},
             {INFER_WIDE, 0, CM_POLICY_MUZERO, CM_BF16, 0.1f},
             {INFER_CUMIND, 40, CM_POLICY_GUMBEL_MUZERO, CM_BF16, 0.1f},
             {INFER_CHANCE, 0, CM_POLICY_STOCHASTIC_MUZERO, CM_F32, 1e-3f}};

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
        if (memcmp(a->visits + row, b->visits + row, (size_t)actions * sizeof *a->visits) != 0) {
            others++;
        } else {
            ck_assert_float_eq_tol(a->value[root], b->value[root], tolerance);
        }
    }
    ck_assert_int_le(others, t->type == CM_F32 ? 1 : t->roots / 3);
}

/* ---- the kernel alone: launch by launch is no way that runs ---- */

static const cm_agent_kernels *kernels;
static int wholes;

static cm_status refuse(void *context) {
    (void)context;
    return cm_fail(CM_ERR_STATE, "not one by one");
}

static cm_status create_whole(cm_stream *stream, const cm_simulations *of, void **whole) {
    cm_simulations alone = *of;
    alone.simulate = refuse;
    CM_TRY(kernels->create(stream, &alone, whole));
    wholes += *whole != NULL;
    return CM_OK;
}

/* ---- three ways ---- */

/* With the kernel; with launches of whole passes; with launches of operations. */
static void compare(cm_backend *backend, infer_bench *bench, const search_task *t, float tolerance) {
    static searched whole, passes, operations;
    const int actions = cm_network_get_config(bench->network.network)->actions;
    const cm_backend_class *given = backend->kind;
    const cm_agent_kernels alone = {create_whole, given->agent_kernels->launch, given->agent_kernels->destroy};
    cm_backend_class with = *given, without = *given;
    with.agent_kernels = &alone, without.agent_kernels = NULL;
    kernels = given->agent_kernels, wholes = 0;
    backend->kind = &with;
    search(bench, t, &whole);
    ck_assert_int_eq(wholes, 1);
    backend->kind = &without;
    search(bench, t, &passes);
    backend->is_unfused = true;
    search(bench, t, &operations);
    backend->is_unfused = false;
    backend->kind = given;
    expect_alike(&whole, &passes, t, actions, tolerance);
    expect_alike(&whole, &operations, t, actions, tolerance);
}

START_TEST(simulations_on_a_gpu_are_the_same_however_they_are_launched) {
    cm_backend *backend;
    infer_bench bench;
    if (cm_backend_open("cuda", &backend) == CM_ERR_ABSENT) {
        if (_i == 0) printf("SKIP searches on a GPU: %s\n", cm_error_message());
        return;
    }
    const search_task t = {kinds[_i].policy, kinds[_i].type, SEARCHED_ROOTS, SEARCHED_SIMULATIONS, 0};
    cm_network_config config = infer_network(kinds[_i].network);
    if (kinds[_i].actions > 0) config.actions = kinds[_i].actions;
    infer_bench_open(&bench, backend, config);
    if (t.type == CM_F32 || backend->native[t.type]) compare(backend, &bench, &t, kinds[_i].tolerance);
    infer_bench_close(&bench);
    cm_backend_close(backend);
}
END_TEST

/* What is measured here is kept nowhere: no choice of before may be taken, nor one of these later. */
static void keep_nothing(void) {
    cm_test_folder_make();
    setenv("XDG_CACHE_HOME", cm_test_folder, 1);
}

int main(void) {
    Suite *suite = suite_create("agent/searches");
    TCase *tests = tcase_create("searches");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, keep_nothing, cm_test_folder_remove);
    tcase_add_loop_test(tests, simulations_on_a_gpu_are_the_same_however_they_are_launched, 0,
                        sizeof kinds / sizeof *kinds);
    return cm_test_main(suite);
}
