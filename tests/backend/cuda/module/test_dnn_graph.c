/* Convolutions as graphs of cuDNN, for GPUs that are described and need not be there: what it names, what of that is
 * left out, what becomes a plan. Nothing runs. */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/module/cuda.h"
#include "backend/cuda/module/dnn_graph.h"
#include "backend/cuda/module/module.h"
#include "support/cuda_fake.h"
#include "support/main.h"

/* What cuDNN wants to know of a GPU: an H200, an A100, a T4. */
#define GPU(name, version, processors, shared, threads, memory)                                                        \
    "{\"cudaDeviceId\":0,\"deviceVer\":" version ",\"driverVer\":13000,\"deviceName\":\"" name                         \
    "\",\"totalGlobalMem\":" memory ",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"       \
    "\"regsPerBlock\":65536,\"multiProcessorCount\":" processors ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152," \
    "\"maxSharedMemoryPerBlockOptin\":" shared ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"   \
    "\"maxCtasPerSM\":16,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":" threads                                     \
    ",\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,\"smClockRateKHz\":1500000,"                         \
    "\"memClockRateKHz\":2500000,\"l2CacheSize\":41943040}"
static const char h200[] = GPU("NVIDIA H200", "900", "132", "232448", "2048", "150000000000");
static const char a100[] = GPU("NVIDIA A100", "800", "108", "166912", "2048", "80000000000");
static const char t4[] = GPU("NVIDIA T4", "750", "40", "65536", "1024", "15000000000");

enum { CAPACITY = 12 };
enum { TENSOR_CORES = 1u << 0, REFUSED = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 };

cm_status cm_cuda_dnn(int status, const char *what) {
    return status == 0 ? CM_OK : cm_fail(CM_ERR_DEVICE, "%s: cuDNN says %d", what, status);
}

static bool absent;

static cm_convolution connect4(cm_convolution_way way, cm_dtype type) {
    return (cm_convolution){
        .way = way, .B = 256, .H = 6, .W = 7, .C = 128, .O = 128, .P = 6, .Q = 7, .k = 3, .stride = 1, .type = type};
}

static cm_dnn_graph *open_graph(const char *device, const cm_convolution *convolution) {
    const cm_dnn_target target = {.device = device};
    cm_dnn_graph *graph = NULL;
    ck_assert_msg(cm_dnn_graph_open(&target, convolution, &graph) == CM_OK, "%s", cm_error_message());
    return graph;
}

/* The engines of a convolution on a device that make a plan; all others need too much memory. */
static int plan_all(const char *device, const cm_convolution *convolution, bool fallback,
                    cm_dnn_engine engines[CAPACITY]) {
    cm_dnn_graph *graph = open_graph(device, convolution);
    cm_dnn_engine all[CAPACITY];
    int count = -1, planned = 0;
    ck_assert_msg(cm_dnn_graph_engines(graph, fallback, all, CAPACITY, &count) == CM_OK, "%s", cm_error_message());
    ck_assert(count >= 0 && count <= CAPACITY);
    for (int i = 0; i < count; i++) {
        const cm_status status = cm_dnn_graph_plan(graph, &all[i], CM_LIBRARY_BYTES);
        ck_assert_msg(status == CM_OK || status == CM_ERR_MEMORY, "engine %d: %s", all[i].index, cm_error_message());
        if (status == CM_OK) engines[planned++] = all[i];
    }
    cm_dnn_graph_close(graph);
    return planned;
}

START_TEST(every_way_in_16_bits_has_engines_on_tensor_cores_that_make_plans) {
    cm_dnn_engine engines[CAPACITY];
    for (int way = 0; way < 3; way++) {
        const cm_convolution bf16 = connect4((cm_convolution_way)way, CM_BF16), f16 = connect4(bf16.way, CM_F16);
        ck_assert_int_eq(plan_all(h200, &bf16, false, engines), CAPACITY);
        for (int i = 0; i < CAPACITY; i++) ck_assert_uint_eq(engines[i].notes & (TENSOR_CORES | REFUSED), TENSOR_CORES);
        ck_assert_int_gt(plan_all(a100, &bf16, false, engines), 3);
        ck_assert_int_gt(plan_all(t4, &f16, false, engines), 0);
    }
}
END_TEST

START_TEST(float32_is_not_given_to_tensor_cores) {
    cm_dnn_engine engines[CAPACITY];
    for (int way = 0; way < 3; way++) {
        for (int fallback = 0; fallback < 2; fallback++) {
            cm_convolution convolution = connect4((cm_convolution_way)way, CM_F32);
            convolution.B = 1024;
            const int count = plan_all(h200, &convolution, fallback, engines);
            ck_assert_int_gt(count, 1); /* to choose from */
            for (int i = 0; i < count; i++) ck_assert_uint_eq(engines[i].notes & (TENSOR_CORES | REFUSED), 0);
        }
    }
}
END_TEST

START_TEST(sums_in_the_place_of_the_result_strides_and_few_channels_have_plans) {
    cm_dnn_engine engines[CAPACITY];
    cm_convolution convolution = connect4(CM_CONVOLVE_WEIGHT, CM_F32);
    convolution.accumulate = true;
    ck_assert_int_gt(plan_all(h200, &convolution, false, engines), 0);
    convolution = connect4(CM_CONVOLVE_INPUT, CM_BF16);
    convolution.stride = 2, convolution.P = 3, convolution.Q = 4;
    ck_assert_int_gt(plan_all(h200, &convolution, false, engines), 0);
    convolution = connect4(CM_CONVOLVE, CM_BF16);
    convolution.C = 8, convolution.O = 8, convolution.B = 1, convolution.k = 1;
    ck_assert_int_gt(plan_all(h200, &convolution, false, engines), 0);
}
END_TEST

/* cuDNN names some for gradients at weights, whose plans take a third of a second in every process. */
START_TEST(no_kernels_are_compiled_for_small_convolutions) {
    for (int way = 0; way < 3; way++) {
        cm_convolution convolution = connect4((cm_convolution_way)way, CM_BF16);
        convolution.B = 2, convolution.C = convolution.O = 8;
        cm_dnn_graph *graph = open_graph(h200, &convolution);
        cm_dnn_engine engines[CAPACITY];
        int count = 0;
        ck_assert_msg(cm_dnn_graph_engines(graph, false, engines, CAPACITY, &count) == CM_OK, "%s", cm_error_message());
        ck_assert_int_gt(count, 0);
        for (int i = 0; i < count; i++) ck_assert_uint_eq(engines[i].notes & CM_DNN_COMPILED, 0);
        cm_dnn_graph_close(graph);
    }
}
END_TEST

/* In float32 weights stand where the parameters are. */
START_TEST(float32_has_plans_for_weights_at_any_number) {
    cm_dnn_engine engines[CAPACITY];
    for (int way = 0; way < 3; way++) {
        cm_convolution convolution = connect4((cm_convolution_way)way, CM_F32);
        convolution.weight_gap = 4 * _i;
        int count = plan_all(h200, &convolution, false, engines);
        if (count == 0) count = plan_all(h200, &convolution, true, engines);
        ck_assert_msg(count > 0, "way %d, weights %d bytes behind a multiple of 16", way, 4 * _i);
    }
}
END_TEST

/* y and residual in either type, with and without relu: kernels that are compiled for it. */
static const cm_convolution_norm norms[] = {{.y = CM_BF16, .relu = true},
                                            {.y = CM_BF16, .residual = CM_BF16, .adds = true, .relu = true},
                                            {.y = CM_F32, .residual = CM_F32, .adds = true},
                                            {.y = CM_F32}};

START_TEST(a_convolution_and_its_norm_become_one_kernel) {
    const cm_dnn_target target = {.device = h200};
    cm_convolution_norm norm = norms[_i];
    cm_dnn_graph *graph = NULL;
    cm_dnn_engine engine;
    int count = 0;
    norm.convolution = connect4(CM_CONVOLVE, CM_BF16);
    ck_assert_msg(cm_dnn_graph_open_norm(&target, &norm, &graph) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_dnn_graph_engines(graph, false, &engine, 1, &count) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(count, 1);
    ck_assert_uint_eq(engine.notes & (TENSOR_CORES | REFUSED | CM_DNN_COMPILED), TENSOR_CORES | CM_DNN_COMPILED);
    ck_assert_msg(cm_dnn_graph_plan(graph, &engine, CM_LIBRARY_BYTES) == CM_OK, "%s", cm_error_message());
    cm_dnn_graph_close(graph);
}
END_TEST

START_TEST(engines_are_named_alike_each_time_and_are_other_ones) {
    cm_dnn_engine first[CAPACITY], again[CAPACITY];
    const cm_convolution convolution = connect4(CM_CONVOLVE, CM_BF16);
    ck_assert_int_eq(plan_all(h200, &convolution, false, first), plan_all(h200, &convolution, false, again));
    ck_assert_mem_eq(first, again, sizeof first);
    for (int i = 1; i < CAPACITY; i++) ck_assert_mem_ne(&first[i], &first[0], sizeof *first);
}
END_TEST

START_TEST(what_cudnn_refuses_is_an_error_and_the_next_plan_is_none_the_worse) {
    const cm_convolution convolution = connect4(CM_CONVOLVE, CM_F32);
    cm_dnn_engine engines[CAPACITY], wrong;
    int count = plan_all(h200, &convolution, false, engines);
    ck_assert_int_gt(count, 0);
    cm_dnn_graph *graph = open_graph(h200, &convolution);
    ck_assert_int_eq(cm_dnn_graph_plan(graph, &engines[0], 0), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "bytes, there are 0"));
    wrong = engines[0], wrong.index = 9999;
    ck_assert_int_eq(cm_dnn_graph_plan(graph, &wrong, CM_LIBRARY_BYTES), CM_ERR_DEVICE);
    wrong = engines[0], wrong.knobs = 1, wrong.knob[0].type = 1, wrong.knob[0].value = 1 << 20;
    ck_assert_int_eq(cm_dnn_graph_plan(graph, &wrong, CM_LIBRARY_BYTES), CM_ERR_DEVICE);
    wrong.knobs = CM_DNN_KNOBS + 1;
    ck_assert_int_eq(cm_dnn_graph_plan(graph, &wrong, CM_LIBRARY_BYTES), CM_ERR_DEVICE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "with 13 knobs"));
    ck_assert_int_eq(cm_dnn_graph_plan(graph, &engines[0], CM_LIBRARY_BYTES), CM_OK);
    cm_dnn_graph_close(graph);
}
END_TEST

/* Another thread would wait where this one, which captures, is refused. */
START_TEST(no_plan_is_made_on_a_gpu_while_something_is_captured_there) {
    const cm_convolution convolution = connect4(CM_CONVOLVE, CM_F32);
    cm_cuda_device *gpu = NULL;
    cm_dnn_graph *graph = NULL;
    cm_dnn_engine engines[CAPACITY];
    ck_assert_int_gt(plan_all(h200, &convolution, false, engines), 0);
    ck_assert_int_eq(cm_cuda_open(cm_fake_driver(), 0, NULL, &gpu), CM_OK);
    ck_assert_int_eq(cm_dnn_graph_open(&(cm_dnn_target){.device = h200, .gpu = gpu}, &convolution, &graph), CM_OK);
    ck_assert_int_eq(cm_cuda_capture_lock(gpu, "a test"), CM_OK);
    ck_assert_int_eq(cm_dnn_graph_plan(graph, engines, CM_LIBRARY_BYTES), CM_ERR_STATE);
    cm_cuda_capture_unlock(gpu);
    ck_assert_msg(cm_dnn_graph_plan(graph, engines, CM_LIBRARY_BYTES) == CM_OK, "%s", cm_error_message());
    cm_dnn_graph_close(graph);
    ck_assert_int_eq(cm_cuda_wait(gpu), CM_OK); /* it is free again */
    cm_cuda_close(gpu);
}
END_TEST

START_TEST(a_device_that_is_not_described_is_an_error) {
    const cm_convolution convolution = connect4(CM_CONVOLVE, CM_BF16);
    const cm_dnn_target target = {.device = "{\"deviceVer\":900}"};
    cm_dnn_graph *graph = NULL;
    const cm_status status = cm_dnn_graph_open(&target, &convolution, &graph);
    ck_assert_int_eq(status, absent ? CM_ERR_ABSENT : CM_ERR_DEVICE);
    ck_assert_ptr_null(graph);
}
END_TEST

/* Is there cuDNN, and one that knows devices that are not there? */
static bool is_absent(void) {
    const cm_convolution convolution = connect4(CM_CONVOLVE, CM_BF16);
    const cm_dnn_target target = {.device = h200};
    cm_dnn_graph *graph = NULL;
    if (cm_dnn_graph_open(&target, &convolution, &graph) == CM_ERR_ABSENT) {
        printf("SKIP graphs of cuDNN: %s\n", cm_error_message());
        return true;
    }
    cm_dnn_graph_close(graph);
    return false;
}

int main(void) {
    Suite *suite = suite_create("backend/dnn_graph");
    TCase *tests = tcase_create("all");
    if (!dlopen(CM_TEST_DRIVER, RTLD_NOW | RTLD_GLOBAL)) { /* before cuDNN looks for one */
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    absent = is_absent();
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_device_that_is_not_described_is_an_error);
    if (!absent) {
        tcase_add_test(tests, every_way_in_16_bits_has_engines_on_tensor_cores_that_make_plans);
        tcase_add_test(tests, float32_is_not_given_to_tensor_cores);
        tcase_add_test(tests, sums_in_the_place_of_the_result_strides_and_few_channels_have_plans);
        tcase_add_loop_test(tests, float32_has_plans_for_weights_at_any_number, 1, 4);
        tcase_add_test(tests, no_kernels_are_compiled_for_small_convolutions);
        tcase_add_loop_test(tests, a_convolution_and_its_norm_become_one_kernel, 0, sizeof norms / sizeof *norms);
        tcase_add_test(tests, engines_are_named_alike_each_time_and_are_other_ones);
        tcase_add_test(tests, what_cudnn_refuses_is_an_error_and_the_next_plan_is_none_the_worse);
        tcase_add_test(tests, no_plan_is_made_on_a_gpu_while_something_is_captured_there);
    }
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
