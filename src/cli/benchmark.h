/* Benchmarks as part of the product: each part is a row; all go through the ordinary code paths. */
#ifndef CM_CLI_BENCHMARK_H
#define CM_CLI_BENCHMARK_H

#include "backend/backend.h"
#include "cli/output.h"
#include "network/network.h"
#include "trainer/trainer.h"

/* What is measured; from flags. */
typedef struct cm_benchmark {
    cm_configuration configuration; /* options of everything a flag does not set */
    cm_config *config;              /* owned */
    cm_network_config network;
    const char *network_name; /* "plain", "configured" */
    cm_backend *backend;      /* owned */
    cm_pool *pool;            /* owned */
    cm_dtype compute;
    cm_trainer_frames frames; /* of what is trained, as a run has them */
    int batch, simulations, actions, unroll;
    bool batch_given;
    double seconds; /* to measure each part for, about */
} cm_benchmark;

/* What the flags say, opened on this machine; for a rank of `comm` (NULL: one process) on its device. Close it after an
 * error, too. */
cm_status cm_benchmark_open(const cm_arguments *arguments, cm_comm *comm, cm_benchmark *out) CM_MUST_USE;
void cm_benchmark_close(cm_benchmark *bench);

enum { CM_BENCHMARK_NUMBERS = 16 };

/* What was found: numbers with their JSON keys, and a note. */
typedef struct cm_benchmark_result {
    struct {
        const char *key;
        double value;
    } number[CM_BENCHMARK_NUMBERS];
    int count;
    double flops_per_second; /* of matrix products; 0: does not apply */
    char note[256];
} cm_benchmark_result;

void cm_benchmark_put(cm_benchmark_result *result, const char *key, double value);

/* The numbers as a picture: in characters, unless --json is set, and in the files of --svg and --png. `name` is its
 * title, `unit` that of every number. */
cm_status cm_benchmark_draw(const cm_arguments *arguments, const char *name, const char *unit,
                            const cm_benchmark_result *result) CM_MUST_USE;

/* One round of what is measured. */
typedef cm_status (*cm_benchmark_round)(void *context);

/* Median seconds of a round: after one that is not counted, at least 5, for about `seconds`. */
cm_status cm_benchmark_time(double seconds, cm_benchmark_round round, void *context, double *median) CM_MUST_USE;

/* The middle one of `count` values, which are sorted. */
double cm_benchmark_median(double *values, int count);

/* out[n] <- N(0, 1), the same for the same stream. */
void cm_benchmark_fill(float *out, size_t n, uint64_t stream);

/* Gives the network, which is use->network, ranges for 8 bits by observations that are made up: those that
 * cm_benchmark_fill makes of stream 0. The first layer and the last ones of heads stay as they are. */
cm_status cm_benchmark_calibrate(const cm_network_use *use, cm_network *network) CM_MUST_USE;

/* A trainer with rows that are made up. */
typedef struct cm_benchmark_training {
    cm_trainer_options options;
    cm_network *network; /* owned, like all below */
    cm_trainer *trainer;
    cm_train_batch batch;
    float *numbers, *ones;
    int32_t *actions, *index, *shift; /* and of frames */
    unsigned char *frames;
} cm_benchmark_training;

/* `rows` are those of this rank; `comm` NULL: one process; `in_flight` of the trainer; `bootstraps`: every value target
 * has a bootstrap value by an EMA, which is kept. Close it after an error, too. */
cm_status cm_benchmark_training_open(const cm_benchmark *bench, cm_comm *comm, int rows, int in_flight, bool bootstraps,
                                     cm_benchmark_training *out) CM_MUST_USE;
cm_status cm_benchmark_training_round(void *training) CM_MUST_USE; /* one update */
void cm_benchmark_training_close(cm_benchmark_training *training);

/* Searches of the roots of a benchmark by a network that is made up; opaque. */
typedef struct cm_benchmark_searching cm_benchmark_searching;
cm_status cm_benchmark_searching_open(const cm_benchmark *bench, cm_benchmark_searching **out) CM_MUST_USE;
cm_status cm_benchmark_searching_round(void *searching) CM_MUST_USE;  /* one search of all roots */
void cm_benchmark_searching_close(cm_benchmark_searching *searching); /* NULL is allowed */

/* The part scaling: starts ranks, or is one. */
cm_status cm_benchmark_scaling(cm_arguments *arguments) CM_MUST_USE;

cm_status cm_benchmark_matmul(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_inference(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_search(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_train(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_act(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_tree(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_graph(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_env(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_replay(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
cm_status cm_benchmark_sample(const cm_benchmark *bench, cm_benchmark_result *result) CM_MUST_USE;
#endif
