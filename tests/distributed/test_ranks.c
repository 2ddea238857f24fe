/* Ranks over MPI: sums in one fixed tree, updates that are those of one rank bit for bit, ranks that no longer agree or
 * answer. The suite starts this program again under mpirun; with arguments it is a rank. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"
#include "support/ranks.h"

/* ---- what a rank does ---- */

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
    cm_rank_need(cm_alloc(&data, n + 1, sizeof *data, "numbers") == CM_OK, "memory");
    for (size_t i = 0; i < n; i++) data[i] = (float)number(comm->rank, i);
    data[n] = -7.0f;
    cm_rank_need(comm->all_reduce(comm, data, n) == CM_OK, "all_reduce");
    for (size_t i = 0; i < n; i++) {
        for (int r = 0; r < comm->size; r++) part[r] = (float)number(r, i);
        cm_rank_need(data[i] == tree(part, comm->size), "the sum of the tree");
    }
    cm_rank_need(data[n] == -7.0f, "what lies behind is left alone");
    free(data);
}

static void do_sums(cm_comm *comm) {
    static const size_t sizes[] = {1, 2, 3, 7, 1000, 40001, 0, 5};
    double pair[2] = {1.0 + comm->rank, 0.5}, sum = comm->size * (comm->size + 1) / 2.0;
    int all[64], mine = 10 * comm->rank, word = comm->rank == 1 ? 77 : 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) sum_floats(comm, sizes[i]);
    cm_rank_need(comm->all_reduce_double(comm, pair, 2) == CM_OK, "all_reduce_double");
    cm_rank_need(pair[0] == sum && pair[1] == 0.5 * comm->size, "the sum of doubles");
    cm_rank_need(comm->all_gather(comm, &mine, sizeof mine, all) == CM_OK, "all_gather");
    for (int r = 0; r < comm->size; r++) cm_rank_need(all[r] == 10 * r, "what was gathered");
    cm_rank_need(comm->broadcast(comm, &word, sizeof word, 1) == CM_OK, "broadcast");
    cm_rank_need(word == 77, "what was broadcast");
    cm_rank_need(comm->barrier(comm) == CM_OK, "barrier");
    cm_rank_need(comm->local_size == comm->size && comm->local_rank == comm->rank, "one machine");
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
    cm_rank_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    cm_rank_need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "a filter of system calls");
}

/* ---- updates ---- */

static void open_learner(cm_rank_learner *l, cm_comm *comm, int check_interval) {
    cm_rank_backend(l, comm, "cpu");
    cm_rank_open(l, comm, check_interval);
}

static void do_updates(cm_comm *comm, const char *path) {
    cm_rank_learner l;
    cm_rank_backend(&l, comm, "cpu");
    cm_rank_train(&l, comm, path);
}

/* For 8 bits: the ranges are those of all ranks. */
static void do_quantised(cm_comm *comm, const char *path) {
    cm_rank_learner l;
    cm_rank_backend(&l, comm, "cpu");
    l.fake_quantised = true;
    cm_rank_train(&l, comm, path);
}

/* In float16, from a loss scale that is too large: all ranks skip the same updates. */
static void do_float16(cm_comm *comm, const char *path) {
    cm_rank_learner l;
    cm_rank_backend(&l, comm, "ref");
    l.compute = CM_F16;
    l.options.loss_scale = 16777216.0, l.options.loss_scale_growth_interval = 4;
    cm_rank_train(&l, comm, path);
    cm_rank_need(l.skipped > 4 && l.skipped < CM_RANK_UPDATES / 2, "some updates are skipped");
}

/* Rank 1's weights go their own way: all ranks stop at the next comparison, and say so. */
static void do_diverge(cm_comm *comm) {
    cm_train_report r;
    cm_rank_learner l;
    open_learner(&l, comm, 3);
    for (int i = 0; i < 3; i++) cm_rank_need(cm_rank_update(&l, comm, i, &r) == CM_OK, "an update");
    if (comm->rank == 1) cm_trainer_parameters(l.trainer, CM_WEIGHTS_ONLINE)[0] += 1.0f;
    for (int i = 3; i < 5; i++) cm_rank_need(cm_rank_update(&l, comm, i, &r) == CM_OK, "an update");
    cm_rank_need(cm_rank_update(&l, comm, 5, &r) == CM_ERR_STATE, "the difference is found");
    if (comm->rank == 0) printf("%s\n", cm_error_message());
    cm_rank_close(&l);
}

/* Rank 1 stands still; the others wait for it. */
static void do_silent(cm_comm *comm) {
    float x = 0.0f;
    cm_rank_need(comm->all_reduce(comm, &x, 1) == CM_OK, "all_reduce");
    if (comm->rank == 1) raise(SIGSTOP);
    cm_status status = comm->all_reduce(comm, &x, 1);
    cm_rank_need(false, status == CM_OK ? "no rank waits" : "the end");
}

static int run_rank(const char *what, const char *path) {
    cm_comm comm;
    if (strcmp(what, "container") == 0) refuse_memory_of_others();
    cm_rank_join(&comm, strcmp(what, "silent") == 0 ? 15.0 : 60.0);
    if (strcmp(what, "sums") == 0 || strcmp(what, "container") == 0) do_sums(&comm);
    if (strcmp(what, "updates") == 0) do_updates(&comm, path);
    if (strcmp(what, "quantised") == 0) do_quantised(&comm, path);
    if (strcmp(what, "float16") == 0) do_float16(&comm, path);
    if (strcmp(what, "diverge") == 0) do_diverge(&comm);
    if (strcmp(what, "not-finite") == 0) cm_rank_not_finite(&comm, "cpu");
    if (strcmp(what, "silent") == 0) do_silent(&comm);
    comm.close(&comm);
    printf("rank is done\n");
    return 0;
}

/* ---- the suite ---- */

START_TEST(sums_over_2_3_and_4_ranks_have_the_bits_of_the_tree) {
    if (!cm_program_has_mpi()) return;
    for (int ranks = 2; ranks <= 4; ranks++) {
        ck_assert_msg(cm_rank_run(ranks, "sums", cm_test_folder) == 0, "%d ranks: %s", ranks, cm_rank_output);
        ck_assert_int_eq(cm_rank_count_lines("rank is done"), ranks);
    }
}
END_TEST

START_TEST(ranks_that_may_not_read_each_others_memory_sum_without_a_word) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(cm_rank_run(2, "container", cm_test_folder) == 0, "%s", cm_rank_output);
    ck_assert_str_eq(cm_rank_output, "rank is done\nrank is done\n");
}
END_TEST

START_TEST(a_hundred_updates_of_1_2_and_4_ranks_give_the_same_bits) {
    static const int ranks[] = {1, 2, 4};
    if (!cm_program_has_mpi()) return;
    cm_rank_expect_same_bits("updates", cm_test_folder, ranks, 3);
}
END_TEST

/* The state, which is compared too, has the ranges. */
START_TEST(updates_for_8_bits_of_1_and_2_ranks_give_the_same_bits) {
    static const int ranks[] = {2};
    cm_rank_expect_same_bits("quantised", cm_test_folder, ranks, 1);
}
END_TEST

START_TEST(updates_in_float16_that_are_skipped_are_skipped_by_all_ranks) {
    static const int ranks[] = {1, 2};
    if (!cm_program_has_mpi()) return;
    cm_rank_expect_same_bits("float16", cm_test_folder, ranks, 2);
}
END_TEST

START_TEST(ranks_that_no_longer_agree_stop_and_name_rank_and_tensor) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(cm_rank_run(2, "diverge", cm_test_folder) == 0, "%s", cm_rank_output);
    ck_assert_msg(strstr(cm_rank_output, "update 6: representation.") &&
                      strstr(cm_rank_output, " of rank 1 is not that of rank 0"),
                  "%s", cm_rank_output);
}
END_TEST

START_TEST(a_number_that_is_not_finite_on_one_rank_stops_all_alike) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(cm_rank_run(2, "not-finite", cm_test_folder) == 0, "%s", cm_rank_output);
    ck_assert_int_eq(cm_rank_count_lines("rank is done"), 2);
}
END_TEST

START_TEST(a_rank_that_stands_still_ends_the_job_and_is_named) {
    if (!cm_program_has_mpi()) return;
    double start = cm_clock_seconds();
    ck_assert_int_ne(cm_rank_run(3, "silent", cm_test_folder), 0);
    ck_assert_double_lt(cm_clock_seconds() - start, 60.0);
    ck_assert_msg(strstr(cm_rank_output, "rank 1 on ") &&
                      strstr(cm_rank_output, " has not answered for 10 s: all ranks end"),
                  "%s", cm_rank_output);
    ck_assert_int_eq(cm_rank_count_lines("has not answered"), 1);
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 2) return run_rank(argv[1], argv[2]);
    Suite *suite = suite_create("ranks");
    TCase *tc = tcase_create("ranks");
    tcase_add_checked_fixture(tc, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, sums_over_2_3_and_4_ranks_have_the_bits_of_the_tree);
    tcase_add_test(tc, ranks_that_may_not_read_each_others_memory_sum_without_a_word);
    tcase_add_test(tc, a_hundred_updates_of_1_2_and_4_ranks_give_the_same_bits);
    tcase_add_test(tc, updates_for_8_bits_of_1_and_2_ranks_give_the_same_bits);
    tcase_add_test(tc, updates_in_float16_that_are_skipped_are_skipped_by_all_ranks);
    tcase_add_test(tc, ranks_that_no_longer_agree_stop_and_name_rank_and_tensor);
    tcase_add_test(tc, a_number_that_is_not_finite_on_one_rank_stops_all_alike);
    tcase_add_test(tc, a_rank_that_stands_still_ends_the_job_and_is_named);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
