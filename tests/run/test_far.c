/* Whole runs on a device whose memory the host cannot touch: the arithmetic is that of ref, so every number must be
 * ref's, and an address that the host follows without asking is a crash.
 *
 * The backend takes the place of "cuda" in this program: the library's own is not linked where there is one already. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/classes.h"
#include "core/file.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "support/main.h"

/* ---- the device: blocks of the host under addresses that no processor accepts ---- */

static const uintptr_t far_bit = (uintptr_t)1 << 62;
static size_t blocks, copies;

static void *far_of(const void *near) { return (void *)((uintptr_t)near ^ far_bit); }
static void *near_of(const void *far) { return far ? (void *)((uintptr_t)far ^ far_bit) : NULL; }

static cm_status take(const cm_device *device, size_t bytes, const char *what, void **out) {
    void *block;
    (void)device;
    CM_TRY(cm_device_cpu.take(&cm_device_cpu, bytes, what, &block));
    blocks++;
    *out = far_of(block);
    return CM_OK;
}

static void give(const cm_device *device, void *block, size_t bytes) {
    (void)device;
    if (!block) return;
    blocks--;
    cm_device_cpu.give(&cm_device_cpu, near_of(block), bytes);
}

static cm_status write_far(const cm_device *device, void *to, const void *host, size_t bytes) {
    (void)device;
    memcpy(near_of(to), host, bytes);
    return CM_OK;
}

static cm_status read_far(const cm_device *device, void *host, const void *from, size_t bytes) {
    (void)device;
    memcpy(host, near_of(from), bytes);
    return CM_OK;
}

static cm_status copy_far(const cm_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(near_of(to), near_of(from), bytes);
    return CM_OK;
}

static const cm_device far_device = {
    .name = "far", .take = take, .give = give, .write = write_far, .read = read_far, .copy = copy_far};

/* ---- the backend ---- */

static cm_status run_far(cm_stream *stream, const cm_call *call) {
    cm_call near = *call;
    for (int i = 0; i < CM_CALL_TENSORS; i++) near.t[i].data = near_of(near.t[i].data);
    return cm_ref_class.run[call->op](stream, &near);
}

static cm_status write_stream(cm_stream *stream, void *to, const void *host, size_t bytes) {
    __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    return write_far(stream->backend->device, to, host, bytes);
}

static cm_status read_stream(cm_stream *stream, void *host, const void *from, size_t bytes) {
    __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    return read_far(stream->backend->device, host, from, bytes);
}

/* What a pass promises of the calls that it plays: they are those of the last time while the version is the same. */
typedef struct recording {
    uint64_t version;
    int count;
    cm_call *calls;
} recording;
static size_t recordings, replays;

static cm_status play(cm_stream *stream, const cm_call *calls, int count, uint64_t version, void **kept) {
    recording *r = *kept;
    if (!r) {
        *kept = r = calloc(1, sizeof *r);
        __atomic_fetch_add(&recordings, 1, __ATOMIC_RELAXED);
        r->count = count;
        r->calls = calloc((size_t)count + 1, sizeof *calls);
    }
    if (count != r->count) return cm_fail(CM_ERR_STATE, "a pass of %d calls has %d now", r->count, count);
    bool same = r->version == version && memcmp(r->calls, calls, (size_t)count * sizeof *calls) == 0;
    if (r->calls[0].t[0].data && r->version == version && !same) return cm_fail(CM_ERR_STATE, "calls have changed");
    if (same) __atomic_fetch_add(&replays, 1, __ATOMIC_RELAXED);
    r->version = version;
    memcpy(r->calls, calls, (size_t)count * sizeof *calls);
    for (int i = 0; i < count; i++) CM_TRY(run_far(stream, &r->calls[i]));
    return CM_OK;
}

static void forget(void *kept) {
    recording *r = kept;
    __atomic_fetch_sub(&recordings, 1, __ATOMIC_RELAXED);
    free(r->calls);
    free(r);
}

const cm_backend_class cm_cuda_class = {
    .name = "cuda",
    .device = &far_device,
    .write = write_stream,
    .read = read_stream,
    .play = play,
    .forget = forget,
    .run =
        {
#define CM_OP(name, tensors, about) [CM_OP_##name] = run_far,
#include "backend/ops.def"
#undef CM_OP
        },
};

/* ---- runs ---- */

static char folder[64];

static void set_up(void) {
    strcpy(folder, "/tmp/cumind-far-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* All that was taken on the device is given back. */
static void tear_down(void) {
    ck_assert_uint_eq(blocks + recordings, 0);
    ck_assert_int_eq(cm_directory_remove(folder), CM_OK);
}

/* Trains (or goes on with) a run of its own folder; `settings` by blanks; returns the hash of its parameters. */
static void train(const char *backend, const char *settings, bool resume, int64_t updates, char hash[CM_HASH_HEX]) {
    static const char common[] = "threads=1 num_simulations=4 hidden_dim=16 head_hidden=16 min_memory_steps=64 "
                                 "num_envs=8 steps_per_iteration=16 batch_size=12 num_unroll_steps=2 "
                                 "final_evaluation_episodes=2 evaluation_interval=0 log_level=error overlap=off";
    char text[1024], directory[128];
    const char *list[48];
    int count = 0;
    snprintf(text, sizeof text, "%s %s backend=%s updates=%lld", common, settings, backend, (long long)updates);
    for (char *rest = text, *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        list[count++] = word;
    cm_configuration configuration;
    cm_config *config;
    cm_progress *progress;
    cm_progress_style style = {.file = STDOUT_FILENO, .quiet = true};
    cm_run *run;
    cm_run_result result;
    ck_assert_msg(cm_configuration_load(NULL, list, count, &configuration, &config) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_progress_create(&style, &progress), CM_OK);
    snprintf(directory, sizeof directory, "%s/%s", folder, backend);
    cm_run_request request = {.config = config,
                              .configuration = &configuration,
                              .directory = directory,
                              .resume = resume,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .progress = progress};
    ck_assert_msg(cm_run_open(&request, &run) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_run_train(run, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_int_ge(result.updates, updates);
    memcpy(hash, result.hash, CM_HASH_HEX);
    cm_run_close(run);
    cm_progress_destroy(progress);
    cm_config_destroy(config);
}

static const char *const kinds[] = {
    "ema_decay=0.9 target_update_frequency=3 chunk_rows=5",
    "env_name=tictactoe family=resnet num_blocks=1 conv_channels=4 gradient_accumulation=2",
    "env_name=tictactoe policy=alphazero num_unroll_steps=0",
    "env_name=2048 policy=stochastic_muzero chance_codes=4",
    "env_name=catch consistency_weight=1 optimizer=sgd",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

START_TEST(a_run_computes_the_same_bits_where_the_host_cannot_see_the_memory) {
    char near[CM_HASH_HEX], far[CM_HASH_HEX];
    train("ref", kinds[_i], false, 8, near);
    ck_assert_uint_eq(copies, 0);
    train("cuda", kinds[_i], false, 8, far);
    ck_assert_uint_gt(copies, 100);
    ck_assert_uint_gt(replays, 100);
    ck_assert_str_eq(near, far);
}
END_TEST

START_TEST(a_run_that_was_left_there_may_be_gone_on_with_on_the_host_and_the_other_way_round) {
    char half[CM_HASH_HEX], near[CM_HASH_HEX], far[CM_HASH_HEX], command[192];
    train("ref", kinds[0], false, 6, half);
    train("cuda", kinds[0], false, 6, far);
    ck_assert_str_eq(half, far);
    snprintf(command, sizeof command, "cd %s && mv ref cpu && mv cuda ref && mv cpu cuda", folder);
    ck_assert_int_eq(system(command), 0);
    train("ref", kinds[0], true, 12, near);
    train("cuda", kinds[0], true, 12, far);
    ck_assert_str_ne(half, near);
    ck_assert_str_eq(near, far);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("far");
    TCase *tc = tcase_create("runs");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_run_computes_the_same_bits_where_the_host_cannot_see_the_memory, 0, KINDS);
    tcase_add_test(tc, a_run_that_was_left_there_may_be_gone_on_with_on_the_host_and_the_other_way_round);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
