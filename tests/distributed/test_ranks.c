/* Ranks over MPI: sums in one fixed tree, updates that are those of one rank bit for bit, ranks that no longer agree or
 * answer. The suite starts this program again under mpirun; with arguments it is a rank. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/rng.h"
#include "distributed/comm.h"
#include "support/main.h"
#include "support/program.h"
#include "support/trainer.h"

/* ---- what a rank does ---- */

static void need(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s does not hold: %s\n", what, cm_error_message());
    _exit(9);
}

/* A number of rank `rank`, large and small ones in turn, so that the order of a sum shows. */
static double number(int rank, size_t i) {
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, (uint64_t)rank), i);
    return (double)cm_rng_normal(&rng) * (i % 2 ? 1e6 : 1e-3);
}

/* The tree of comm.h, one element at a time. */
static float tree(const float *part, int count) {
    float sum[64];
    for (int i = 0; i < count; i++) sum[i] = part[i];
    for (int step = 1; step < count; step *= 2) {
        for (int i = 0; i + step < count; i += 2 * step) sum[i] += sum[i + step];
    }
    return sum[0];
}

static void sum_floats(cm_comm *comm, size_t n) {
    float *data = NULL, part[64];
    need(cm_alloc(&data, n + 1, sizeof *data, "numbers") == CM_OK, "memory");
    for (size_t i = 0; i < n; i++) data[i] = (float)number(comm->rank, i);
    data[n] = -7.0f;
    need(comm->all_reduce(comm, data, n) == CM_OK, "all_reduce");
    for (size_t i = 0; i < n; i++) {
        for (int r = 0; r < comm->size; r++) part[r] = (float)number(r, i);
        need(data[i] == tree(part, comm->size), "the sum of the tree");
    }
    need(data[n] == -7.0f, "what lies behind is left alone");
    free(data);
}

static void do_sums(cm_comm *comm) {
    static const size_t sizes[] = {1, 2, 3, 7, 1000, 40001, 0, 5};
    double pair[2] = {1.0 + comm->rank, 0.5}, sum = comm->size * (comm->size + 1) / 2.0;
    int all[64], mine = 10 * comm->rank, word = comm->rank == 1 ? 77 : 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) sum_floats(comm, sizes[i]);
    need(comm->all_reduce_double(comm, pair, 2) == CM_OK, "all_reduce_double");
    need(pair[0] == sum && pair[1] == 0.5 * comm->size, "the sum of doubles");
    need(comm->all_gather(comm, &mine, sizeof mine, all) == CM_OK, "all_gather");
    for (int r = 0; r < comm->size; r++) need(all[r] == 10 * r, "what was gathered");
    need(comm->broadcast(comm, &word, sizeof word, 1) == CM_OK, "broadcast");
    need(word == 77, "what was broadcast");
    need(comm->barrier(comm) == CM_OK, "barrier");
    need(comm->local_size == comm->size && comm->local_rank == comm->rank, "one machine");
}

/* What many containers do: no process may read the memory of another. */
static void refuse_memory_of_others(void) {
    struct sock_filter rules[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_process_vm_readv},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "a filter of system calls");
}

/* ---- updates ---- */

enum { B = 16, CHUNK = 2, K = 2, A = 3, O = 4 * 4 * 2, UPDATES = 100 };

typedef struct numbers {
    float any[B * (K + 1) * O], ones[B * (K + 1) * A], policy[B * (K + 1) * A];
    int32_t actions[B * K];
} numbers;

/* The whole batch of an update; each rank takes its rows. */
static void fill(numbers *n, int update) {
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), (uint64_t)update << 32);
    for (int i = 0; i < B * (K + 1) * O; i++) n->any[i] = cm_rng_normal(&rng);
    for (int i = 0; i < B * (K + 1) * A; i++) {
        n->ones[i] = 1.0f;
        n->policy[i] = i % A == 0 ? 0.5f : 0.25f;
    }
    for (int i = 0; i < B * K; i++) n->actions[i] = (i + update) % A;
}

static cm_train_batch rows_of(const numbers *n, int first) {
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

static const cm_network_config network_config = {.family = CM_FAMILY_RESNET,
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

typedef struct learner {
    cm_trainer_options options;
    cm_network *network;
    cm_backend *backend;
    cm_pool *pool;
    cm_trainer *trainer;
} learner;

static void open_learner(learner *l, cm_comm *comm, int check_interval) {
    l->options = options();
    need(cm_network_create(&network_config, &l->network) == CM_OK, "network");
    need(cm_backend_open("cpu", &l->backend) == CM_OK, "backend");
    need(cm_pool_create(1 + comm->rank % 2, &l->pool) == CM_OK, "pool");
    cm_trainer_config config = {.network = l->network,
                                .backend = l->backend,
                                .pool = l->pool,
                                .comm = comm,
                                .options = &l->options,
                                .batch = B / comm->size,
                                .unroll = K,
                                .seed = 1,
                                .total_updates = UPDATES,
                                .check_interval = check_interval,
                                .bucket_bytes = comm->size == 2   ? 512
                                                : comm->size == 4 ? 1 << 20
                                                                  : 0};
    need(cm_trainer_create(&config, &l->trainer) == CM_OK, "trainer");
}

static void close_learner(learner *l) {
    cm_trainer_destroy(l->trainer);
    cm_pool_destroy(l->pool);
    cm_backend_close(l->backend);
    cm_network_destroy(l->network);
}

static cm_status update(learner *l, const cm_comm *comm, int number, cm_train_report *r) {
    static numbers n;
    fill(&n, number);
    cm_train_batch batch = rows_of(&n, comm->rank * (B / comm->size));
    return cm_trainer_update(l->trainer, &batch, r);
}

/* Parameters, average, running statistics, moments and the last report's sums go to a file. */
static void write_learner(learner *l, const cm_train_report *r, const char *path) {
    const cm_param_table *table = cm_network_parameters(l->network);
    FILE *file = fopen(path, "wb");
    need(file != NULL, "the file");
    fwrite(cm_trainer_parameters(l->trainer, CM_WEIGHTS_ONLINE), sizeof(float), table->parameters, file);
    fwrite(cm_trainer_parameters(l->trainer, CM_WEIGHTS_EMA), sizeof(float), table->parameters, file);
    fwrite(cm_trainer_state(l->trainer, CM_WEIGHTS_ONLINE), sizeof(float), table->states, file);
    fwrite(cm_trainer_moments(l->trainer, 1), sizeof(float), table->parameters, file);
    fwrite(&r->total_loss, sizeof r->total_loss, 1, file);
    fwrite(&r->gradient_norm, sizeof r->gradient_norm, 1, file);
    fwrite(&r->clipped, sizeof r->clipped, 1, file);
    fclose(file);
}

static void do_updates(cm_comm *comm, const char *path) {
    char mine[256];
    cm_train_report r;
    learner l;
    open_learner(&l, comm, 10);
    for (int i = 0; i < UPDATES; i++) need(update(&l, comm, i, &r) == CM_OK, "an update");
    need((r.reduce_seconds > 0.0) == (comm->size > 1), "the time of sums over ranks");
    need(r.exposed_seconds <= r.reduce_seconds, "the part of it that is not hidden");
    snprintf(mine, sizeof mine, "%s-%d", path, comm->rank);
    write_learner(&l, &r, mine);
    close_learner(&l);
}

/* Rank 1's weights go their own way: all ranks stop at the next comparison, and say so. */
static void do_diverge(cm_comm *comm) {
    cm_train_report r;
    learner l;
    open_learner(&l, comm, 3);
    for (int i = 0; i < 3; i++) need(update(&l, comm, i, &r) == CM_OK, "an update");
    if (comm->rank == 1) cm_trainer_parameters(l.trainer, CM_WEIGHTS_ONLINE)[0] += 1.0f;
    for (int i = 3; i < 5; i++) need(update(&l, comm, i, &r) == CM_OK, "an update");
    need(update(&l, comm, 5, &r) == CM_ERR_STATE, "the difference is found");
    if (comm->rank == 0) printf("%s\n", cm_error_message());
    close_learner(&l);
}

/* A NaN in the rows of one rank: no rank steps, and all have the same error. */
static void do_not_finite(cm_comm *comm) {
    static numbers n;
    cm_train_report r;
    learner l;
    open_learner(&l, comm, 1);
    fill(&n, 0);
    if (comm->rank == 1) n.any[B / comm->size * O] = NAN;
    cm_train_batch batch = rows_of(&n, comm->rank * (B / comm->size));
    need(cm_trainer_update(l.trainer, &batch, &r) == CM_ERR_NOT_FINITE, "it is noticed on every rank");
    need(cm_trainer_updates(l.trainer) == 0, "nothing was changed");
    need(update(&l, comm, 0, &r) == CM_OK, "the next batch is learnt from");
    close_learner(&l);
}

/* Rank 1 stands still; the others wait for it. */
static void do_silent(cm_comm *comm) {
    float x = 0.0f;
    need(comm->all_reduce(comm, &x, 1) == CM_OK, "all_reduce");
    if (comm->rank == 1) raise(SIGSTOP);
    cm_status status = comm->all_reduce(comm, &x, 1);
    need(false, status == CM_OK ? "nobody waits" : "the end");
}

static int run_rank(const char *what, const char *path) {
    cm_comm comm;
    cm_comm_options silence = {.timeout = strcmp(what, "silent") == 0 ? 2.0 : 60.0};
    if (strcmp(what, "container") == 0) refuse_memory_of_others();
    if (getenv("OMPI_COMM_WORLD_SIZE")) {
        need(cm_comm_open_mpi(&silence, &comm) == CM_OK, "MPI");
    } else {
        cm_comm_single(&comm);
    }
    if (strcmp(what, "sums") == 0 || strcmp(what, "container") == 0) do_sums(&comm);
    if (strcmp(what, "updates") == 0) do_updates(&comm, path);
    if (strcmp(what, "diverge") == 0) do_diverge(&comm);
    if (strcmp(what, "not-finite") == 0) do_not_finite(&comm);
    if (strcmp(what, "silent") == 0) do_silent(&comm);
    comm.close(&comm);
    printf("rank is done\n");
    return 0;
}

/* ---- the suite ---- */

static char program[512], folder[64], output[1 << 16];

/* LeakSanitizer would report what MPI itself keeps to the end. */
static const char environment[] = "ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-} TMPDIR=/tmp";

/* Runs `ranks` ranks (0: this program alone), fills `output`, returns the exit status. */
static int run(int ranks, const char *what) {
    char command[2048], launcher[128] = "";
    if (ranks > 0) snprintf(launcher, sizeof launcher, "mpirun --allow-run-as-root --oversubscribe -np %d", ranks);
    snprintf(command, sizeof command, "%s timeout 120 %s %s %s %s/%d 2>&1", environment, launcher, program, what,
             folder, ranks);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void begin_each(void) {
    strcpy(folder, "/tmp/cumind-ranks-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}
static void end_each(void) { ck_assert_int_eq(cm_directory_remove(folder), CM_OK); }

static int count_lines(const char *line) {
    int count = 0;
    for (const char *at = output; (at = strstr(at, line)) != NULL; at += strlen(line)) count++;
    return count;
}

START_TEST(sums_over_2_3_and_4_ranks_have_the_bits_of_the_tree) {
    if (!cm_program_has_mpi()) return;
    for (int ranks = 2; ranks <= 4; ranks++) {
        ck_assert_msg(run(ranks, "sums") == 0, "%d ranks: %s", ranks, output);
        ck_assert_int_eq(count_lines("rank is done"), ranks);
    }
}
END_TEST

START_TEST(ranks_that_may_not_read_each_others_memory_sum_without_a_word) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(run(2, "container") == 0, "%s", output);
    ck_assert_str_eq(output, "rank is done\nrank is done\n");
}
END_TEST

static char *file_of(int ranks, int rank, size_t *size) {
    char path[128], *data = NULL;
    snprintf(path, sizeof path, "%s/%d-%d", folder, ranks, rank);
    ck_assert_msg(cm_file_read(path, 1 << 24, &data, size) == CM_OK, "%s", cm_error_message());
    return data;
}

START_TEST(a_hundred_updates_of_1_2_and_4_ranks_give_the_same_bits) {
    static const int ranks[] = {1, 2, 4};
    size_t size, other_size;
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(run(0, "updates") == 0, "%s", output);
    char *alone = file_of(0, 0, &size);
    ck_assert_uint_gt(size, 4 * 1000);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(run(ranks[i], "updates") == 0, "%d ranks: %s", ranks[i], output);
        for (int rank = 0; rank < ranks[i]; rank++) {
            char *other = file_of(ranks[i], rank, &other_size);
            ck_assert_uint_eq(size, other_size);
            ck_assert_msg(memcmp(alone, other, size) == 0, "rank %d of %d differs from one alone", rank, ranks[i]);
            free(other);
        }
    }
    free(alone);
}
END_TEST

START_TEST(ranks_that_no_longer_agree_stop_and_name_rank_and_tensor) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(run(2, "diverge") == 0, "%s", output);
    ck_assert_msg(strstr(output, "update 6: representation.") && strstr(output, " of rank 1 is not that of rank 0"),
                  "%s", output);
}
END_TEST

START_TEST(a_number_that_is_not_finite_on_one_rank_stops_all_alike) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(run(2, "not-finite") == 0, "%s", output);
    ck_assert_int_eq(count_lines("rank is done"), 2);
}
END_TEST

START_TEST(a_rank_that_stands_still_ends_the_job_and_is_named) {
    if (!cm_program_has_mpi()) return;
    double start = cm_clock_seconds();
    ck_assert_int_ne(run(3, "silent"), 0);
    ck_assert_double_lt(cm_clock_seconds() - start, 60.0);
    ck_assert_msg(strstr(output, "rank 1 on ") && strstr(output, " has not answered for 2 s: all ranks end"), "%s",
                  output);
    ck_assert_int_eq(count_lines("has not answered"), 1);
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 2) return run_rank(argv[1], argv[2]);
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) return 1;
    Suite *suite = suite_create("ranks");
    TCase *tc = tcase_create("ranks");
    tcase_add_checked_fixture(tc, begin_each, end_each);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, sums_over_2_3_and_4_ranks_have_the_bits_of_the_tree);
    tcase_add_test(tc, ranks_that_may_not_read_each_others_memory_sum_without_a_word);
    tcase_add_test(tc, a_hundred_updates_of_1_2_and_4_ranks_give_the_same_bits);
    tcase_add_test(tc, ranks_that_no_longer_agree_stop_and_name_rank_and_tensor);
    tcase_add_test(tc, a_number_that_is_not_finite_on_one_rank_stops_all_alike);
    tcase_add_test(tc, a_rank_that_stands_still_ends_the_job_and_is_named);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
