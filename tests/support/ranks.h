/* What programs that are ranks share: a trainer of a small network with batch norm, which all train on the same
 * batches, each on its rows. */
#ifndef CM_TESTS_RANKS_H
#define CM_TESTS_RANKS_H

#include "distributed/comm.h"
#include "trainer/trainer.h"

enum { CM_RANK_B = 16, CM_RANK_K = 2, CM_RANK_A = 3, CM_RANK_O = 4 * 4 * 2, CM_RANK_UPDATES = 100 };

/* Unless it holds: a line on stderr with the last error, and the end with status 9. */
void cm_rank_need(bool holds, const char *what);

/* What a rank begins with: MPI under mpirun, else one process; `timeout` in seconds. */
void cm_rank_join(cm_comm *comm, double timeout);

/* The whole batch of an update. */
typedef struct cm_rank_numbers {
    float any[CM_RANK_B * (CM_RANK_K + 1) * CM_RANK_O], ones[CM_RANK_B * (CM_RANK_K + 1) * CM_RANK_A],
        policy[CM_RANK_B * (CM_RANK_K + 1) * CM_RANK_A];
    int32_t actions[CM_RANK_B * CM_RANK_K];
} cm_rank_numbers;
void cm_rank_fill(cm_rank_numbers *numbers, int update);
cm_train_batch cm_rank_rows(const cm_rank_numbers *numbers, const cm_comm *comm); /* this rank's, of the numbers */

extern const cm_network_config cm_rank_network;

typedef struct cm_rank_learner {
    cm_trainer_options options;
    cm_dtype compute;
    bool fake_quantised; /* trains for 8 bits */
    cm_network *network;
    cm_backend *backend;
    cm_pool *pool;
    cm_trainer *trainer;
    int skipped; /* updates, by loss scaling */
} cm_rank_learner;

/* Chunks of 2 rows; the size of buckets depends on the number of ranks, the threads on the rank. The backend is on the
 * device of this rank's place on its machine. */
void cm_rank_backend(cm_rank_learner *learner, const cm_comm *comm, const char *backend);
void cm_rank_open(cm_rank_learner *learner, cm_comm *comm, int check_interval); /* with that backend */
void cm_rank_close(cm_rank_learner *learner);
cm_status cm_rank_update(cm_rank_learner *learner, const cm_comm *comm, int number, cm_train_report *report);

/* All updates, the ranks compared every 10; then parameters, average, running statistics, moments and the last report's
 * sums go to the file PATH-RANK. */
void cm_rank_train(cm_rank_learner *learner, cm_comm *comm, const char *path);

/* A NaN in the rows of rank 1: no rank steps, all have the same error and go on. */
void cm_rank_not_finite(cm_comm *comm, const char *backend);

/* ---- for suites that start such programs, themselves, under mpirun ---- */

/* Runs this program as `ranks` ranks (0: alone, without mpirun) with the arguments `what` and FOLDER/RANKS. Returns the
 * exit status; cm_rank_output is what it printed. */
int cm_rank_run(int ranks, const char *what, const char *folder);
extern char cm_rank_output[1 << 16];
int cm_rank_count_lines(const char *line); /* that contain it */

/* Fails the test unless `what` of this program, alone and as each of ranks[count] ranks, gives files of
 * cm_rank_train that are the same to the bit. */
void cm_rank_expect_same_bits(const char *what, const char *folder, const int *ranks, int count);

/* The file that rank `rank` of `ranks` has written; the caller frees it. */
char *cm_rank_file(const char *folder, int ranks, int rank, size_t *size);

#endif
