/* Inferences on every backend give what ref does: on a GPU those of passes that are one kernel, and one by one. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "support/infer_bench.h"
#include "support/main.h"

enum { FEW = 5, MANY = 37, DRAWS = 4 };

static const struct {
    cm_dtype type;
    float tolerance; /* of the largest number of an output */
} types[] = {{CM_F32, 1e-4f}, {CM_BF16, 4e-2f}, {CM_F16, 6e-3f}};

/* What was drawn is compared exactly, and what follows from it: in float32 alone, where nothing is near. */
static void run_drawn(infer_bench *bench) {
    bench->draws = DRAWS;
    infer_bench_run(bench, FEW, CM_F32, types[0].tolerance);
    infer_bench_run(bench, MANY, CM_F32, types[0].tolerance);
}

static void run_all(cm_backend *backend, int network) {
    infer_bench bench;
    infer_bench_open(&bench, backend, infer_network(network));
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        if (types[t].type != CM_F32 && !backend->native[types[t].type]) continue;
        infer_bench_run(&bench, FEW, types[t].type, types[t].tolerance);
        infer_bench_run(&bench, MANY, types[t].type, types[t].tolerance);
    }
    if (infer_network(network).model != CM_NETWORK_CHANCE) run_drawn(&bench);
    infer_bench_close(&bench);
}

/* Of a backend. */
static void run_on(const char *name, int network) {
    cm_backend *backend;
    if (cm_backend_open(name, &backend) == CM_ERR_ABSENT) {
        if (network == 0) printf("SKIP %s inferences: %s\n", name, cm_error_message());
        return;
    }
    run_all(backend, network);
    if (backend->kind->fuse) {
        backend->is_unfused = true;
        run_all(backend, network);
    }
    cm_backend_close(backend);
}

/* Of a backend and a network. */
START_TEST(inferences_on_every_backend_equal_ref) {
    run_on(cm_backend_classes()[_i / INFER_TOWERS]->name, _i % INFER_TOWERS);
}
END_TEST

START_TEST(inferences_with_residual_towers_equal_ref) { run_on(cm_backend_classes()[_i]->name, INFER_TOWERS); }
END_TEST

int main(void) {
    Suite *suite = suite_create("network/inference");
    TCase *tests = tcase_create("every backend"), *towers = tcase_create("towers");
    int count = 0;
    while (strcmp(cm_backend_classes()[count]->name, "ref") != 0) count++; /* it would be compared with itself */
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, towers);
    tcase_set_timeout(tests, 120);
    tcase_set_timeout(towers, 120);
    tcase_add_loop_test(tests, inferences_on_every_backend_equal_ref, 0, count * INFER_TOWERS);
    tcase_add_loop_test(towers, inferences_with_residual_towers_equal_ref, 0, count);
    return cm_test_main(suite);
}
