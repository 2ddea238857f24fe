/* Ranks whose devices have memory that the host cannot touch, with the arithmetic of ref: updates are those of one rank
 * bit for bit. The ranks are this program under mpirun. Which device a rank takes, and when none is left. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "run/session.h"
#include "support/far.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"
#include "support/ranks.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

/* ---- what a rank does ---- */

static size_t sums; /* over ranks, of gradients */

/* Via the host, over MPI. */
static cm_status sum_far(cm_comm *comm, void *queue, float *data, size_t n) {
    (void)queue;
    sums++;
    return comm->all_reduce(comm, cm_far_near(data), n);
}

static cm_status gather_far(cm_comm *comm, void *queue, const void *mine, size_t bytes, void *all) {
    (void)queue;
    return comm->all_gather(comm, cm_far_near(mine), bytes, cm_far_near(all));
}

static void do_updates(cm_comm *comm, const char *path) {
    cm_rank_learner l;
    cm_rank_backend(&l, comm, "cuda");
    cm_rank_train(&l, comm, path);
    if (comm->size == 1) return;
    cm_rank_need(sums > 3 * CM_RANK_UPDATES, "more than three buckets");
    cm_rank_need(cm_far_state.follows == sums + 2 * CM_RANK_UPDATES,
                 "each behind its part, the step behind all, and the batch behind its way there");
    cm_rank_need(cm_far_state.graphs == 0, "the parts' graphs are destroyed");
}

/* What is compared is what the device has. */
static void do_diverge(cm_comm *comm) {
    cm_train_report r;
    cm_rank_learner l;
    cm_rank_backend(&l, comm, "cuda");
    cm_rank_open(&l, comm, 2);
    cm_rank_need(cm_rank_update(&l, comm, 0, &r) == CM_OK, "an update");
    cm_rank_need(cm_trainer_fetch(l.trainer, CM_TRAINER_ALL) == CM_OK, "the device's numbers");
    float *parameter = cm_trainer_parameters(l.trainer, CM_WEIGHTS_ONLINE);
    const float before = *parameter;
    if (comm->rank == 1) *parameter += 1.0f;
    cm_rank_need(cm_trainer_changed(l.trainer) == CM_OK, "numbers for the device");
    *parameter = before;
    cm_rank_need(cm_rank_update(&l, comm, 1, &r) == CM_ERR_STATE, "the difference is found");
    if (comm->rank == 0) printf("%s\n", cm_error_message());
    cm_rank_close(&l);
}

static int run_rank(const char *what, const char *path) {
    cm_comm comm;
    cm_rank_join(&comm, 60.0);
    comm.sum_on = sum_far;
    comm.gather_on = gather_far;
    if (strcmp(what, "updates") == 0) do_updates(&comm, path);
    if (strcmp(what, "diverge") == 0) do_diverge(&comm);
    if (strcmp(what, "not-finite") == 0) cm_rank_not_finite(&comm, "cuda");
    cm_rank_need(cm_far_state.blocks == 0, "all memory of the device is given back");
    comm.close(&comm);
    printf("rank is done\n");
    return 0;
}

/* ---- the suite ---- */

START_TEST(a_hundred_updates_of_2_ranks_on_devices_give_the_bits_of_one) {
    if (!cm_program_has_mpi()) return;
    cm_rank_expect_same_bits("updates", cm_test_folder, (int[]){2}, 1);
}
END_TEST

START_TEST(devices_that_no_longer_agree_stop_all_ranks) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(cm_rank_run(2, "diverge", cm_test_folder) == 0, "%s", cm_rank_output);
    ck_assert_msg(strstr(cm_rank_output, "update 2: representation.") &&
                      strstr(cm_rank_output, " of rank 1 is not that of rank 0"),
                  "%s", cm_rank_output);
}
END_TEST

START_TEST(a_number_that_is_not_finite_on_one_device_stops_all_alike) {
    if (!cm_program_has_mpi()) return;
    ck_assert_msg(cm_rank_run(2, "not-finite", cm_test_folder) == 0, "%s", cm_rank_output);
    ck_assert_int_eq(cm_rank_count_lines("rank is done"), 2);
}
END_TEST

/* ---- devices of ranks, without any ---- */

static const char *backend_of_others = "cuda";

static int gpus_of_others; /* that they share in turn; 0: as many as this rank sees */

/* Names of backends, or which devices they have. */
static cm_status gather(cm_comm *comm, const void *mine, size_t bytes, void *all) {
    const int gpus = gpus_of_others ? gpus_of_others : cm_far_state.devices;
    for (int r = 0; r < comm->size; r++) {
        char *at = (char *)all + (size_t)r * bytes;
        if (bytes == CM_DEVICE_ID_BYTES)
            memset(at, 1 + r % gpus, bytes);
        else
            snprintf(at, bytes, "%s", backend_of_others);
    }
    memcpy((char *)all + (size_t)comm->rank * bytes, mine, bytes);
    return CM_OK;
}

/* A session of rank `rank` of 4, all on one machine and joined already. */
static cm_status open_session(int rank, int devices, bool oversubscribe, int *place) {
    static const char *const settings[] = {"backend=cuda", "threads=1"};
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_session *session = NULL;
    cm_comm comm;
    cm_comm_single(&comm);
    comm.rank = comm.local_rank = rank, comm.size = comm.local_size = 4;
    comm.all_gather = gather, comm.joined = &comm, comm.oversubscribe = oversubscribe;
    cm_far_state.devices = devices;
    ck_assert_int_eq(cm_configuration_load(NULL, settings, 2, &configuration, &config), CM_OK);
    cm_status status = cm_session_open(&configuration, &comm, &session);
    if (status == CM_OK) *place = session->backend->place;
    cm_session_close(session);
    cm_config_destroy(config);
    return status;
}

START_TEST(more_ranks_than_gpus_are_refused_unless_that_is_wanted) {
    int place = -1;
    ck_assert_int_eq(open_session(3, 4, false, &place), CM_OK);
    ck_assert_int_eq(place, 3);
    ck_assert_int_eq(open_session(3, 1, true, &place), CM_OK);
    ck_assert_int_eq(open_session(3, 3, false, &place), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "4 ranks, but this machine has 3 GPUs for cumind (CUDA_VISIBLE_DEVICES may "
                                         "hide some): take fewer ranks, add --oversubscribe, or use --backend cpu");
}
END_TEST

/* A launcher has shown each rank one GPU: those of the others are not this one, or one of them is. */
START_TEST(ranks_that_see_one_gpu_each_may_not_share_it) {
    int place = -1;
    gpus_of_others = 4;
    ck_assert_int_eq(open_session(0, 1, false, &place), CM_OK);
    gpus_of_others = 3;
    ck_assert_int_eq(open_session(0, 4, false, &place), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(),
                     "ranks 0 and 3 have the same GPU: show each rank one of its own (CUDA_VISIBLE_DEVICES), or all of "
                     "them all, take fewer ranks, add --oversubscribe, or use --backend cpu");
    ck_assert_int_eq(open_session(0, 4, true, &place), CM_OK);
}
END_TEST

START_TEST(ranks_of_different_backends_are_refused) {
    int place;
    backend_of_others = "cpu";
    ck_assert_int_eq(open_session(0, 4, false, &place), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "rank 0 has found backend cuda, rank 1 cpu: choose one that all ranks have, "
                                         "with --backend");
}
END_TEST

START_TEST(a_trainer_of_devices_that_are_not_joined_is_refused) {
    cm_rank_learner l;
    cm_trainer *trainer;
    cm_comm comm;
    cm_comm_single(&comm);
    cm_rank_backend(&l, &comm, "cuda");
    cm_rank_open(&l, &comm, 1);
    comm.size = 2;
    const cm_trainer_config config = {.network = l.network,
                                      .backend = l.backend,
                                      .pool = l.pool,
                                      .comm = &comm,
                                      .options = &l.options,
                                      .batch = CM_RANK_B / 2,
                                      .total_updates = 1};
    ck_assert_int_eq(cm_trainer_create(&config, &trainer), CM_ERR_STATE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "not joined"));
    cm_rank_close(&l);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 2) return run_rank(argv[1], argv[2]);
    Suite *suite = suite_create("ranks on devices");
    TCase *tc = tcase_create("ranks on devices");
    tcase_add_checked_fixture(tc, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_hundred_updates_of_2_ranks_on_devices_give_the_bits_of_one);
    tcase_add_test(tc, devices_that_no_longer_agree_stop_all_ranks);
    tcase_add_test(tc, a_number_that_is_not_finite_on_one_device_stops_all_alike);
    tcase_add_test(tc, more_ranks_than_gpus_are_refused_unless_that_is_wanted);
    tcase_add_test(tc, ranks_that_see_one_gpu_each_may_not_share_it);
    tcase_add_test(tc, ranks_of_different_backends_are_refused);
    tcase_add_test(tc, a_trainer_of_devices_that_are_not_joined_is_refused);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
