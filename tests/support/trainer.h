/* A trainer with the network, the backend and the threads that it borrows. */
#ifndef CM_TESTS_TRAINER_H
#define CM_TESTS_TRAINER_H

#include "trainer/trainer.h"

/* AdamW at a learning rate of 0.01 without decay, whole batches of up to 64 rows as one chunk, every loss of a learnt
 * model weighed 1, gradients not clipped. The caller changes what it tests. */
cm_trainer_options cm_test_trainer_options(int batch);

typedef struct cm_test_trainer {
    cm_network *network;
    cm_backend *backend;
    cm_pool *pool;
    cm_trainer *trainer;
} cm_test_trainer;

/* Rows of random numbers for a network on vectors, with policies of 3/4 and 1/4. `rows` borrows from the rest. */
enum { CM_TEST_ROWS = 10, CM_TEST_UNROLL = 2, CM_TEST_ACTIONS = 2, CM_TEST_INPUTS = 4 };
enum { CM_TEST_NUMBERS = CM_TEST_ROWS * (CM_TEST_UNROLL + 1) * CM_TEST_ACTIONS };
typedef struct cm_test_batch {
    cm_train_batch rows;
    float numbers[CM_TEST_NUMBERS], ones[CM_TEST_NUMBERS], policy[CM_TEST_NUMBERS];
    int32_t actions[CM_TEST_ROWS * CM_TEST_UNROLL];
} cm_test_batch;

/* The numbers are those of `stream`. The batch may not move afterwards. */
void cm_test_batch_fill(cm_test_batch *batch, uint64_t stream);

/* Makes a trainer by `config`, whose network, backend, pool and seed (1) are set here: backend "ref" or "cpu",
 * `workers` threads. Fails the test if it cannot. */
void cm_test_trainer_open(cm_test_trainer *t, const cm_network_config *network, const char *backend, int workers,
                          cm_trainer_config config);
void cm_test_trainer_close(cm_test_trainer *t);

/* One update on a batch: its total loss. Fails the test if the update fails. */
double cm_test_trainer_loss(cm_test_trainer *t, const cm_train_batch *batch);
/* The slope of that along one of the trainer's parameters, by central differences of `step`; of an optimizer whose rate
 * is 0 the parameter is what it was. */
double cm_test_trainer_slope(cm_test_trainer *t, const cm_train_batch *batch, float *parameter, float step);

#endif
