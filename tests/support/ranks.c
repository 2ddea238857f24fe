#include "support/ranks.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/rng.h"
#include "support/trainer.h"

enum { B = CM_RANK_B, CHUNK = 2, K = CM_RANK_K, A = CM_RANK_A, O = CM_RANK_O };

void cm_rank_need(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s does not hold: %s\n", what, cm_error_message());
    _exit(9);
}

void cm_rank_join(cm_comm *comm, double timeout) {
    const cm_comm_options options = {.timeout = timeout};
    cm_comm_single(comm);
    if (getenv("OMPI_COMM_WORLD_SIZE")) cm_rank_need(cm_comm_open_mpi(&options, comm) == CM_OK, "MPI");
}

void cm_rank_fill(cm_rank_numbers *n, int update) {
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), (uint64_t)update << 32);
    for (int i = 0; i < B * (K + 1) * O; i++) n->any[i] = cm_rng_normal(&rng);
    for (int i = 0; i < B * (K + 1) * A; i++) {
        n->ones[i] = 1.0f;
        n->policy[i] = i % A == 0 ? 0.5f : 0.25f;
    }
    for (int i = 0; i < B * K; i++) n->actions[i] = (i + update) % A;
}

cm_train_batch cm_rank_rows(const cm_rank_numbers *n, const cm_comm *comm) {
    const int first = comm->rank * (B / comm->size);
    return (cm_train_batch){.observation = n->any + first * O,
                            .actions = n->actions + first * K,
                            .target_value = n->any + first * (K + 1),
                            .target_reward = n->any + first * K,
                            .target_policy = n->policy + first * (K + 1) * A,
                            .value_mask = n->ones,
                            .reward_mask = n->ones,
                            .policy_mask = n->ones,
                            .consistency_mask = n->ones};
}

const cm_network_config cm_rank_network = {.family = CM_FAMILY_RESNET,
                                           .observation_ndim = 3,
                                           .observation = {4, 4, 2},
                                           .actions = A,
                                           .blocks = 1,
                                           .channels = 8,
                                           .head_channels = 2,
                                           .head_hidden = 8,
                                           .norm = CM_NORM_BATCH,
                                           .minmax = true,
                                           .value_support = {-10, 10, 21, true},
                                           .reward_support = {-10, 10, 21, true},
                                           .init = CM_INIT_LECUN_NORMAL};

static cm_trainer_options options(void) {
    cm_trainer_options o = cm_test_trainer_options(B);
    o.chunk_rows = CHUNK;
    o.clip_norm = 1.0, o.weight_decay = 1e-4, o.ema_decay = 0.9;
    return o;
}

void cm_rank_backend(cm_rank_learner *l, const cm_comm *comm, const char *backend) {
    *l = (cm_rank_learner){.options = options()};
    cm_rank_need(cm_backend_open_at(backend, comm->local_rank, &l->backend) == CM_OK, "backend");
}

void cm_rank_open(cm_rank_learner *l, cm_comm *comm, int check_interval) {
    cm_network_config network = cm_rank_network;
    network.fake_quantised = l->fake_quantised;
    cm_rank_need(cm_network_create(&network, &l->network) == CM_OK, "network");
    cm_rank_need(cm_pool_create(1 + comm->rank % 2, &l->pool) == CM_OK, "pool");
    cm_trainer_config config = {.network = l->network,
                                .backend = l->backend,
                                .pool = l->pool,
                                .comm = comm,
                                .options = &l->options,
                                .batch = B / comm->size,
                                .unroll = K,
                                .compute = l->compute,
                                .seed = 1,
                                .total_updates = CM_RANK_UPDATES,
                                .check_interval = check_interval,
                                .bucket_bytes = comm->size == 4   ? 1 << 20
                                                : comm->size == 1 ? 0
                                                : l->backend->device->is_host
                                                    ? 512
                                                    : 4096 /* ranks that share a GPU wait for turns */};
    cm_rank_need(cm_trainer_create(&config, &l->trainer) == CM_OK, "trainer");
}

void cm_rank_close(cm_rank_learner *l) {
    cm_trainer_destroy(l->trainer);
    cm_pool_destroy(l->pool);
    cm_backend_close(l->backend);
    cm_network_destroy(l->network);
}

cm_status cm_rank_update(cm_rank_learner *l, const cm_comm *comm, int number, cm_train_report *r) {
    static cm_rank_numbers n;
    cm_rank_fill(&n, number);
    cm_train_batch batch = cm_rank_rows(&n, comm);
    return cm_trainer_update(l->trainer, &batch, r);
}

static void write_learner(cm_rank_learner *l, const cm_train_report *r, const char *path) {
    const cm_param_table *table = cm_network_parameters(l->network);
    FILE *file = fopen(path, "wb");
    cm_rank_need(file != NULL, "the file");
    fwrite(cm_trainer_parameters(l->trainer, CM_WEIGHTS_ONLINE), sizeof(float), table->parameters, file);
    fwrite(cm_trainer_parameters(l->trainer, CM_WEIGHTS_EMA), sizeof(float), table->parameters, file);
    fwrite(cm_trainer_state(l->trainer, CM_WEIGHTS_ONLINE), sizeof(float), table->states, file);
    fwrite(cm_trainer_moments(l->trainer, 1), sizeof(float), table->parameters, file);
    fwrite(&r->total_loss, sizeof r->total_loss, 1, file);
    fwrite(&r->gradient_norm, sizeof r->gradient_norm, 1, file);
    fwrite(&r->clipped, sizeof r->clipped, 1, file);
    fclose(file);
}

void cm_rank_train(cm_rank_learner *l, cm_comm *comm, const char *path) {
    char mine[256];
    cm_train_report r;
    cm_rank_open(l, comm, 10);
    for (int i = 0; i < CM_RANK_UPDATES; i++) {
        cm_rank_need(cm_rank_update(l, comm, i, &r) == CM_OK, "an update");
        l->skipped += r.skipped;
    }
    cm_rank_need((r.reduce_seconds > 0.0) == (comm->size > 1), "the time of sums over ranks");
    cm_rank_need(r.exposed_seconds <= r.reduce_seconds, "the part of it that is not hidden");
    cm_rank_need(cm_trainer_fetch(l->trainer, CM_TRAINER_ALL) == CM_OK, "the device's numbers");
    snprintf(mine, sizeof mine, "%s-%d", path, comm->rank);
    write_learner(l, &r, mine);
    cm_rank_close(l);
}

void cm_rank_not_finite(cm_comm *comm, const char *backend) {
    static cm_rank_numbers n;
    cm_train_report r;
    cm_rank_learner l;
    cm_rank_backend(&l, comm, backend);
    cm_rank_open(&l, comm, 1);
    cm_rank_fill(&n, 0);
    if (comm->rank == 1) n.any[CM_RANK_B / comm->size * CM_RANK_O] = NAN;
    cm_train_batch batch = cm_rank_rows(&n, comm);
    cm_rank_need(cm_trainer_update(l.trainer, &batch, &r) == CM_ERR_NOT_FINITE, "it is noticed on every rank");
    cm_rank_need(cm_trainer_updates(l.trainer) == 0, "nothing was changed");
    cm_rank_need(cm_rank_update(&l, comm, 0, &r) == CM_OK, "the next batch is learnt from");
    cm_rank_close(&l);
}

/* ---- the suites ---- */

char cm_rank_output[1 << 16];

/* LeakSanitizer would report what MPI itself keeps to the end. */
static const char environment[] = "ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-} TMPDIR=/tmp";

int cm_rank_run(int ranks, const char *what, const char *folder) {
    char command[2048], launcher[128] = "", program[512] = "";
    ck_assert_int_gt((int)readlink("/proc/self/exe", program, sizeof program - 1), 0);
    if (ranks > 0) snprintf(launcher, sizeof launcher, "mpirun --allow-run-as-root --oversubscribe -np %d", ranks);
    snprintf(command, sizeof command, "%s timeout 120 %s %s %s %s/%d 2>&1", environment, launcher, program, what,
             folder, ranks);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    cm_rank_output[fread(cm_rank_output, 1, sizeof cm_rank_output - 1, pipe)] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cm_rank_count_lines(const char *line) {
    int count = 0;
    for (const char *at = cm_rank_output; (at = strstr(at, line)) != NULL; at += strlen(line)) count++;
    return count;
}

char *cm_rank_file(const char *folder, int ranks, int rank, size_t *size) {
    char path[256], *data = NULL;
    snprintf(path, sizeof path, "%s/%d-%d", folder, ranks, rank);
    ck_assert_msg(cm_file_read(path, 1 << 24, &data, size) == CM_OK, "%s", cm_error_message());
    return data;
}

static void expect_bits(const char *folder, int ranks, const char *alone, size_t size) {
    for (int rank = 0; rank < ranks; rank++) {
        size_t other_size;
        char *other = cm_rank_file(folder, ranks, rank, &other_size);
        ck_assert_uint_eq(size, other_size);
        ck_assert_msg(memcmp(alone, other, size) == 0, "rank %d of %d differs from one alone", rank, ranks);
        free(other);
    }
}

void cm_rank_expect_same_bits(const char *what, const char *folder, const int *ranks, int count) {
    size_t size;
    ck_assert_msg(cm_rank_run(0, what, folder) == 0, "%s", cm_rank_output);
    char *alone = cm_rank_file(folder, 0, 0, &size);
    ck_assert_uint_gt(size, 4 * 1000);
    for (int i = 0; i < count; i++) {
        ck_assert_msg(cm_rank_run(ranks[i], what, folder) == 0, "%d ranks: %s", ranks[i], cm_rank_output);
        ck_assert_int_eq(cm_rank_count_lines("rank is done"), ranks[i]);
        expect_bits(folder, ranks[i], alone, size);
    }
    free(alone);
}
