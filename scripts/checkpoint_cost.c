/* What checkpoints cost by the size of the replay: pictures that pack to a third fill a replay of so many bytes; then a
 * share of it is new before each checkpoint, as in a run, and each is saved at once or finished by a thread.
 *
 *     checkpoint_cost MEGABYTES FOLDER [SHARE]      SHARE of the replay that is new each time: 0.01
 *
 * Prints how long the caller stood still and how long it took until the checkpoint was complete: medians, the longest,
 * and seconds of processors, which other programs on the machine do not change. The folder is made for it, and removed.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/rng.h"
#include "run/segment_files.h"

enum { SIDE = 96, RGB = 3, STACK = 4, FRAME = SIDE * SIDE * RGB, LENGTH = 500, SAVES = 6, KEPT = 3 };

typedef struct bench {
    cm_replay *replay;
    cm_segment_files files;
    cm_rng rng;
    float *stack; /* [FRAME STACK] */
    cm_checkpoint_store *store;
    int64_t update;
    int length; /* steps of the open episode */
} bench;

/* ---- a replay ---- */

/* Of each number six bits are the same all over the picture, and two are noise. */
static void draw(bench *c) {
    uint64_t bits = 0;
    for (int i = 0, left = 0; i < FRAME; i++, left -= 2, bits >>= 2) {
        if (left == 0) bits = cm_rng_bits(&c->rng), left = 32;
        for (int k = 0; k + 1 < STACK; k++) {
            float *at = c->stack + (size_t)(i / RGB) * STACK * RGB + i % RGB;
            at[k * RGB] = at[(k + 1) * RGB];
        }
        c->stack[(size_t)(i / RGB) * STACK * RGB + (STACK - 1) * RGB + i % RGB] =
            (float)(64 * (c->length / 100 % 3) + (int)(bits & 3)) * (1.0f / 255.0f);
    }
}

static cm_status act(bench *c) {
    const float policy[4] = {1, 2, 3, 4};
    const cm_replay_step step = {.observation = c->stack, .policy = policy, .action = 1};
    CM_TRY(cm_replay_append(c->replay, 0, &step));
    draw(c);
    if (++c->length < LENGTH) return cm_replay_commit(c->replay);
    const cm_replay_end end = {.observation = c->stack, .terminated = true};
    CM_TRY(cm_replay_finish(c->replay, 0, &end));
    c->length = 0;
    memset(c->stack, 0, (size_t)FRAME * STACK * sizeof *c->stack);
    return cm_replay_commit(c->replay);
}

static cm_status collect(bench *c, int64_t steps) {
    for (int64_t i = 0; i < steps; i++) CM_TRY(act(c));
    return CM_OK;
}

/* ---- its checkpoints ---- */

static cm_status save_replay(void *context, cm_checkpoint_writer *writer) {
    bench *c = context;
    CM_TRY(cm_segment_files_save(&c->files, c->replay, writer));
    return cm_replay_state_save(c->replay, 0, writer);
}

typedef struct cost {
    double stall, whole, processors, caller; /* seconds; of processors: of all threads, and until the call returned */
} cost;

static double thread_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static double processor_seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static cm_status save(bench *c, bool is_begun, cost *out) {
    const cm_checkpoint_part part = {.name = "the replay", .context = c, .save = save_replay};
    const double before = processor_seconds(), own = thread_seconds(), began = cm_clock_seconds();
    CM_TRY(is_begun ? cm_checkpoint_begin_save(c->store, ++c->update, &part, 1)
                    : cm_checkpoint_save(c->store, ++c->update, &part, 1));
    out->stall = cm_clock_seconds() - began;
    out->caller = thread_seconds() - own;
    CM_TRY(cm_checkpoint_wait(c->store));
    out->whole = cm_checkpoint_seconds(c->store);
    out->processors = processor_seconds() - before;
    return CM_OK;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double pick(const cost *costs, size_t offset, int rank) {
    double sorted[SAVES];
    for (int i = 0; i < SAVES; i++) memcpy(&sorted[i], (const char *)&costs[i] + offset, sizeof *sorted);
    qsort(sorted, SAVES, sizeof *sorted, ascending);
    return sorted[rank];
}

static void print(const char *how, const cost *costs) {
    printf("%-20s stall %7.3f s (longest %7.3f; processor %6.3f), complete after %7.3f s (longest %7.3f; processors "
           "%6.3f)\n",
           how, pick(costs, offsetof(cost, stall), SAVES / 2), pick(costs, offsetof(cost, stall), SAVES - 1),
           pick(costs, offsetof(cost, caller), SAVES / 2), pick(costs, offsetof(cost, whole), SAVES / 2),
           pick(costs, offsetof(cost, whole), SAVES - 1), pick(costs, offsetof(cost, processors), SAVES / 2));
    fflush(stdout);
}

static cm_status measure(bench *c, int64_t steps, double share) {
    static const char *const names[] = {"at once", "finished by a thread"};
    const int64_t fresh = (int64_t)ceil((double)steps * share / LENGTH) * LENGTH;
    cost first, costs[SAVES];
    CM_TRY(collect(c, steps));
    CM_TRY(save(c, false, &first));
    printf("%lld steps, %.0f MB; the first checkpoint, of all: %.3f s\n", (long long)steps, (double)steps * FRAME / 1e6,
           first.whole);
    printf("before each of %d more: %lld new steps, %.1f MB\n", SAVES, (long long)fresh, (double)fresh * FRAME / 1e6);
    for (int is_begun = 0; is_begun < 2; is_begun++) {
        for (int i = 0; i < SAVES; i++) {
            CM_TRY(collect(c, fresh));
            CM_TRY(save(c, is_begun, &costs[i]));
        }
        print(names[is_begun], costs);
    }
    return CM_OK;
}

static cm_status open_bench(bench *c, int64_t steps, const char *folder) {
    const cm_replay_config config = {.observation_size = FRAME * STACK,
                                     .observation_unit = 1.0f / 255.0f,
                                     .frames = STACK,
                                     .frame_channels = RGB,
                                     .actions = 4,
                                     .environments = 1,
                                     .max_steps = steps,
                                     .segment_steps = LENGTH,
                                     .commit_steps = 1,
                                     .prioritized = true,
                                     .targets = {.unroll = 5, .td_steps = 5, .discount = 0.988}};
    *c = (bench){.rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0), .files = {.ranks = 1}};
    CM_TRY(cm_alloc(&c->stack, (size_t)FRAME * STACK, sizeof *c->stack, "pictures"));
    CM_TRY(cm_replay_create(&config, &c->replay));
    return cm_checkpoint_store_create(folder, KEPT, NULL, &c->store);
}

static void close_bench(bench *c) {
    cm_checkpoint_store_destroy(c->store);
    cm_replay_destroy(c->replay);
    free(c->stack);
}

/* The folder is made for this, and goes. */
static cm_status run(const char *folder, int64_t steps, double share) {
    bench c;
    if (cm_file_is_named(folder)) return cm_fail(CM_ERR_INPUT, "%s: is there; name a folder that is not", folder);
    CM_TRY(cm_directory_make(folder));
    cm_status status = open_bench(&c, steps, folder);
    if (status == CM_OK) status = measure(&c, steps, share);
    close_bench(&c);
    if (status != CM_OK) fprintf(stderr, "checkpoint_cost: %s\n", cm_error_message());
    return cm_directory_remove(folder) == CM_OK ? status : CM_ERR_IO;
}

int main(int argc, char **argv) {
    const double megabytes = argc > 1 ? strtod(argv[1], NULL) : 0.0, share = argc > 3 ? strtod(argv[3], NULL) : 0.01;
    const int64_t steps = (int64_t)(megabytes * 1e6 / FRAME);
    if (argc < 3 || steps < 1 || !(share > 0.0 && share <= 1.0)) {
        fprintf(stderr, "usage: checkpoint_cost MEGABYTES FOLDER [SHARE]   FOLDER: one that is not there yet; SHARE: "
                        "new before each checkpoint, up to 1\n");
        return 2;
    }
    return run(argv[2], steps, share) == CM_OK ? 0 : 1;
}
