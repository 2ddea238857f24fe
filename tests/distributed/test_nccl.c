/* Sums between devices over NCCL: the host's part against a stand-in for the library; and, where there is a GPU, two
 * ranks on it, which are this program under mpirun. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "distributed/nccl.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"
#include "support/ranks.h"

/* ---- the stand-in ---- */

static char calls[512];    /* in their order, a blank after each */
static const char *refuse; /* the call that fails */
static int state_now;      /* what NCCL has to tell of later */
static cm_nccl_id sent;    /* by the last broadcast of rank 0 */
static int joined_size, joined_rank;
static char joined_as; /* first byte of the id */

static int called(const char *name) {
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), "%s ", name);
    return refuse && strcmp(refuse, name) == 0 ? 3 : 0;
}

static cm_nccl_ranks some_ranks(void) { return (cm_nccl_ranks)(void *)&joined_size; }

static int fake_version(int *version) {
    *version = 21300;
    return 0;
}
static const char *fake_text(int result) { return result == 3 ? "internal error" : "another error"; }
static const char *fake_last(cm_nccl_ranks ranks) { return ranks ? "the last message\nand more" : ""; }
static int fake_id(cm_nccl_id *id) {
    memset(id, 'x', sizeof *id);
    return called("id");
}
static int fake_join(cm_nccl_ranks *out, int size, cm_nccl_id id, int rank) {
    int result = called("join");
    joined_size = size, joined_rank = rank, joined_as = id.bytes[127];
    *out = result ? NULL : some_ranks();
    return result;
}
static int fake_sum(const void *from, void *to, size_t n, int type, int operation, cm_nccl_ranks ranks, void *queue) {
    ck_assert(from == to && n == 5 && type == CM_NCCL_FLOAT32 && operation == CM_NCCL_SUM && ranks == some_ranks());
    ck_assert_ptr_eq(queue, &calls);
    return called("sum");
}
static int fake_gather(const void *mine, void *all, size_t n, int type, cm_nccl_ranks ranks, void *queue) {
    ck_assert(mine != all && n == 12 && type == CM_NCCL_UINT8 && ranks == some_ranks() && queue == &calls);
    return called("gather");
}
static int fake_state(cm_nccl_ranks ranks, int *result) {
    ck_assert_ptr_eq(ranks, some_ranks());
    *result = state_now;
    return called("state");
}
static int fake_leave(cm_nccl_ranks ranks) {
    ck_assert_ptr_eq(ranks, some_ranks());
    return called("leave");
}
static int fake_abandon(cm_nccl_ranks ranks) {
    ck_assert_ptr_eq(ranks, some_ranks());
    return called("abandon");
}

static const cm_nccl fake = {fake_version, fake_text,   fake_last,  fake_id,    fake_join,
                             fake_sum,     fake_gather, fake_state, fake_leave, fake_abandon};

/* Rank 1 gets what rank 0 has sent. */
static cm_status broadcast(cm_comm *comm, void *data, size_t bytes, int root) {
    ck_assert(root == 0 && bytes == sizeof sent);
    if (called("broadcast")) return cm_fail(CM_ERR_DEVICE, "MPI: broadcast");
    memcpy(comm->rank == 0 ? (void *)&sent : data, comm->rank == 0 ? data : (void *)&sent, bytes);
    return CM_OK;
}

static void close_ranks(cm_comm *comm) {
    ck_assert_ptr_null(comm->joined);
    called("close");
}

static cm_status join_as(int rank, bool shared, cm_comm *comm) {
    cm_comm_single(comm);
    comm->rank = rank, comm->size = 2;
    comm->broadcast = broadcast, comm->close = close_ranks;
    calls[0] = '\0';
    return cm_nccl_join(comm, &fake, shared);
}

static void begin_each(void) {
    refuse = NULL, state_now = 0;
    unsetenv("NCCL_HOSTID");
}

/* ---- the host's part ---- */

START_TEST(all_ranks_join_by_the_id_of_rank_0) {
    cm_comm comm;
    ck_assert_int_eq(join_as(0, false, &comm), CM_OK);
    ck_assert_str_eq(calls, "id broadcast join ");
    ck_assert_int_eq(joined_rank, 0);
    comm.close(&comm);
    ck_assert_int_eq(join_as(1, false, &comm), CM_OK);
    ck_assert_str_eq(calls, "broadcast join ");
    ck_assert(joined_rank == 1 && joined_size == 2 && joined_as == 'x');
    ck_assert_ptr_null(getenv("NCCL_HOSTID"));
    ck_assert_uint_eq(comm.device_bytes, 48 * (4194304 + 524288 + 4915200));
    comm.close(&comm);
    ck_assert_uint_eq(comm.device_bytes, 0);
}
END_TEST

START_TEST(ranks_that_share_a_device_look_like_machines_of_their_own) {
    cm_comm comm;
    ck_assert_int_eq(join_as(1, true, &comm), CM_OK);
    ck_assert_str_eq(getenv("NCCL_HOSTID"), "cumind-rank-1");
    comm.close(&comm);
}
END_TEST

START_TEST(sums_and_gatherings_go_to_the_queue_after_a_look_at_the_state) {
    float data[5];
    char mine[12], all[24];
    cm_comm comm;
    ck_assert_int_eq(join_as(0, false, &comm), CM_OK);
    calls[0] = '\0';
    ck_assert_int_eq(comm.sum_on(&comm, &calls, data, 5), CM_OK);
    ck_assert_int_eq(comm.gather_on(&comm, &calls, mine, 12, all), CM_OK);
    comm.close(&comm);
    ck_assert_str_eq(calls, "state sum state gather leave close ");
}
END_TEST

START_TEST(each_call_that_fails_gives_one_line_that_names_it) {
    static const struct {
        const char *call, *line;
    } rows[] = {{"id", "NCCL, ncclGetUniqueId on rank 0: internal error; NCCL_DEBUG=INFO says more"},
                {"broadcast", "MPI: broadcast"},
                {"join", "NCCL, ncclCommInitRank on rank 0: internal error; NCCL_DEBUG=INFO says more"},
                {"sum", "NCCL, ncclAllReduce on rank 0: internal error: the last message; NCCL_DEBUG=INFO"},
                {"gather", "NCCL, ncclAllGather on rank 0: internal error: the last message; NCCL_DEBUG=INFO"},
                {"state", "NCCL, state on rank 0: internal error: the last message; NCCL_DEBUG=INFO"}};
    float data[5];
    char mine[12], all[24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_comm comm;
        refuse = rows[i].call;
        cm_status status = join_as(0, false, &comm);
        ck_assert((comm.sum_on != NULL) == (status == CM_OK) && (comm.joined != NULL) == (status == CM_OK));
        if (status == CM_OK) status = comm.sum_on(&comm, &calls, data, 5);
        if (status == CM_OK) status = comm.gather_on(&comm, &calls, mine, 12, all);
        ck_assert_int_eq(status, CM_ERR_DEVICE);
        ck_assert_msg(strncmp(cm_error_message(), rows[i].line, strlen(rows[i].line)) == 0, "%s", cm_error_message());
        ck_assert_ptr_null(strchr(cm_error_message(), '\n'));
        comm.close(&comm);
    }
}
END_TEST

START_TEST(what_goes_wrong_later_is_told_by_the_next_call_and_ends_what_waits) {
    float data[5];
    cm_comm comm;
    ck_assert_int_eq(join_as(1, false, &comm), CM_OK);
    state_now = 3;
    calls[0] = '\0';
    ck_assert_int_eq(comm.sum_on(&comm, &calls, data, 5), CM_ERR_DEVICE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "on rank 1: internal error: the last message"));
    ck_assert_int_eq(comm.sum_on(&comm, &calls, data, 5), CM_ERR_DEVICE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "rank 1 has left the others"));
    comm.close(&comm);
    ck_assert_str_eq(calls, "state abandon close ");
}
END_TEST

static void expect_absent(const char *library, const char *line) {
    cm_nccl nccl;
    ck_assert_int_eq(cm_nccl_load(&nccl, library), CM_ERR_ABSENT);
    ck_assert_msg(strstr(cm_error_message(), line) && !strchr(cm_error_message(), '\n'), "%s", cm_error_message());
}

START_TEST(without_the_library_one_line_says_what_to_install) {
    expect_absent("libnccl-not-there.so.2", "libnccl-not-there.so.2 is not on this machine; install it");
    expect_absent("libm.so.6", "NCCL is too old: libm.so.6 has no ncclGetVersion; install");
}
END_TEST

/* ---- two ranks on the GPU that is here ---- */

static int run_rank(const char *path) {
    cm_rank_learner l;
    cm_comm comm;
    cm_rank_join(&comm, 60.0);
    cm_rank_backend(&l, &comm, "cuda");
    if (comm.size > 1) {
        const bool shared = comm.local_size > l.backend->devices;
        cm_rank_need(cm_comm_join_devices(&comm, shared) == CM_OK, "NCCL");
    }
    cm_rank_train(&l, &comm, path);
    comm.close(&comm);
    return 0;
}

/* |a - b| / |a| over a tensor. */
static double distance(const float *a, const float *b, size_t count) {
    double apart = 0.0, norm = 0.0;
    for (size_t i = 0; i < count; i++) {
        apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)a[i] * (double)a[i];
    }
    return apart == 0.0 ? 0.0 : sqrt(apart / norm);
}

/* Parameters stand first in the file, running statistics after them and their average. */
static void compare(const float *one, const float *two) {
    cm_network *network;
    ck_assert_int_eq(cm_network_create(&cm_rank_network, &network), CM_OK);
    const cm_param_table *table = cm_network_parameters(network);
    double most = 0.0;
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        const size_t at = p->offset + (p->state ? 2 * table->parameters : 0);
        const double d = distance(one + at, two + at, p->count);
        ck_assert_msg(d <= 1e-5, "%s differs by %g of its norm", p->name, d);
        most = d > most ? d : most;
    }
    printf("two ranks over NCCL: no tensor differs from one rank's by more than %.1e of its norm\n", most);
    cm_network_destroy(network);
}

START_TEST(two_ranks_on_a_gpu_learn_what_one_does) {
    cm_backend *backend;
    size_t sizes[3];
    if (cm_backend_open("cuda", &backend) != CM_OK) {
        printf("SKIP cuda, two ranks over NCCL: %s\n", cm_error_message());
        return;
    }
    cm_backend_close(backend);
    if (!cm_program_has_mpi()) return;
    cm_test_folder_make();
    ck_assert_msg(cm_rank_run(0, "gpu", cm_test_folder) == 0, "%s", cm_rank_output);
    ck_assert_msg(cm_rank_run(2, "gpu", cm_test_folder) == 0, "%s", cm_rank_output);
    char *one = cm_rank_file(cm_test_folder, 0, 0, &sizes[0]);
    char *two[2] = {cm_rank_file(cm_test_folder, 2, 0, &sizes[1]), cm_rank_file(cm_test_folder, 2, 1, &sizes[2])};
    ck_assert(sizes[0] == sizes[1] && sizes[1] == sizes[2]);
    ck_assert_msg(memcmp(two[0], two[1], sizes[1]) == 0, "the two ranks differ");
    compare((const float *)(const void *)one, (const float *)(const void *)two[0]);
    free(one), free(two[0]), free(two[1]);
    cm_test_folder_remove();
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 2) return run_rank(argv[2]);
    Suite *suite = suite_create("NCCL");
    TCase *tc = tcase_create("the host's part"), *gpu = tcase_create("on a GPU");
    tcase_add_checked_fixture(tc, begin_each, NULL);
    tcase_add_test(tc, all_ranks_join_by_the_id_of_rank_0);
    tcase_add_test(tc, ranks_that_share_a_device_look_like_machines_of_their_own);
    tcase_add_test(tc, sums_and_gatherings_go_to_the_queue_after_a_look_at_the_state);
    tcase_add_test(tc, each_call_that_fails_gives_one_line_that_names_it);
    tcase_add_test(tc, what_goes_wrong_later_is_told_by_the_next_call_and_ends_what_waits);
    tcase_add_test(tc, without_the_library_one_line_says_what_to_install);
    tcase_set_timeout(gpu, 260);
    tcase_add_test(gpu, two_ranks_on_a_gpu_learn_what_one_does);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, gpu);
    return cm_test_main(suite);
}
