/* How many launches an update of an MLP is: of batch 1,024 and five unrolled steps, the work that is measured on GPUs.
 * Nothing runs: kernels are counted by their names. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "support/fenced.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"

enum { B = 1024, K = 5, A = 2, O = 4, ROWS = B * (K + 1), KINDS = 64 };

/* ---- counting ---- */

static struct {
    const char *name;
    int count;
} kernels[KINDS];
static int kinds, launches;

static void count_launch(const char *kernel) {
    int i = 0;
    while (i < kinds && strcmp(kernels[i].name, kernel) != 0) i++;
    ck_assert_int_lt(i, KINDS);
    if (i == kinds) kernels[kinds++].name = kernel;
    kernels[i].count++;
    launches++;
}

static void forget(void) {
    memset(kernels, 0, sizeof kernels);
    kinds = launches = 0;
}

/* "12 product, 6 cm_minmax_runs, ..." */
static const char *table(void) {
    static char text[64 * KINDS];
    size_t used = 0;
    for (int i = 0; i < kinds; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d %s", i ? ", " : "", kernels[i].count,
                                 kernels[i].name);
    return text;
}

/* ---- a GPU, but for its memory: one chunk is the whole batch, the optimizer takes all parameters at once ---- */

static cm_status copy(cm_stream *stream, void *to, const void *from, size_t bytes) {
    (void)stream;
    memcpy(to, from, bytes);
    return CM_OK;
}

static cm_device far_device;

static void open_far(cm_backend *backend, cm_backend_class *class) {
    far_device = fenced_device;
    far_device.is_host = false;
    *class = cuda_cpu_class;
    class->device = &far_device;
    class->run_list = cuda_cpu_run_segments;
    class->prepare_list = cuda_cpu_prepare_segments;
    class->write = class->read = class->push = class->pull = copy;
    cuda_cpu_open(backend);
    backend->kind = class;
    backend->device = &far_device;
}

static cm_trainer *open_trainer(cm_backend *backend, cm_network *network, cm_pool *pool, cm_dtype compute) {
    static cm_trainer_options options;
    cm_trainer *trainer;
    options = cm_test_trainer_options(B);
    options.chunk_rows = 0;
    cm_trainer_config config = {.network = network, .backend = backend, .pool = pool, .options = &options, .batch = B};
    config.unroll = K, config.compute = compute, config.total_updates = 100;
    ck_assert_msg(cm_trainer_create(&config, &trainer) == CM_OK, "%s", cm_error_message());
    return trainer;
}

/* ---- tests ---- */

static float numbers[ROWS * O];
static int32_t actions[B * K];

/* Where fused segments are the fastest, and where none is. */
enum { APART };
static const struct {
    cm_dtype type;
    int winner; /* of what is measured */
    int most;   /* launches */
} cases[] = {{CM_F32, CUDA_CPU_LAST, 25}, {CM_BF16, CUDA_CPU_LAST, 25}, {CM_F32, APART, 85}, {CM_BF16, APART, 86}};

START_TEST(an_update_is_few_launches) {
    cm_backend_class class;
    cm_backend cuda;
    cm_pool *pool;
    cm_network *network;
    cm_train_report report;
    const cm_network_config mlp = cm_test_mlp(O, A, 128, 64, (cm_support){-10, 10, 21, true});
    const cm_train_batch batch = {.observation = numbers,
                                  .actions = actions,
                                  .target_value = numbers,
                                  .target_reward = numbers,
                                  .target_policy = numbers,
                                  .value_mask = numbers,
                                  .reward_mask = numbers,
                                  .policy_mask = numbers};
    cuda_cpu_winner = cases[_i].winner;
    open_far(&cuda, &class);
    ck_assert_int_eq(cm_pool_create(1, &pool), CM_OK);
    ck_assert_int_eq(cm_network_create(&mlp, &network), CM_OK);
    cuda_cpu_told = count_launch;
    cm_trainer *trainer = open_trainer(&cuda, network, pool, cases[_i].type);
    forget();
    ck_assert_msg(cm_trainer_update(trainer, &batch, &report) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(launches > 0 && launches <= cases[_i].most, "%d launches, more than %d: %s", launches, cases[_i].most,
                  table());
    cm_trainer_destroy(trainer);
    cm_network_destroy(network);
    cm_pool_destroy(pool);
    cuda_cpu_told = NULL;
    cuda_cpu_close(&cuda);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_launches");
    TCase *tests = tcase_create("launches");
    tcase_add_loop_test(tests, an_update_is_few_launches, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
