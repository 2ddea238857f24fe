/* Inferences of small networks on a backend against ref: the root, then some steps from state to state. */
#ifndef CM_TESTS_SUPPORT_INFER_BENCH_H
#define CM_TESTS_SUPPORT_INFER_BENCH_H

#include "device/mirror.h"
#include "network/inference.h"
#include "support/network.h"

enum { INFER_NETWORKS = 6, INFER_ALL = 11, INFER_STEPS = 4, INFER_CODES = 3 };

/* Networks whose operations all work row by row: of families mlp and cumind, with each norm and encoding, with atoms
 * and scalars, with and without chance, of widths that are multiples of nothing. Those from INFER_NETWORKS on have
 * value prefixes, whose LSTM is an operation of many rows; a step of INFER_STEPS lies after a horizon. Of the last
 * two one makes pictures smaller, one has residual towers. */
cm_network_config infer_network(int index);
enum {
    INFER_PLAIN,
    INFER_ODD,
    INFER_WIDE,
    INFER_BATCH_NORM,
    INFER_CUMIND,
    INFER_CHANCE,
    INFER_PREFIX,
    INFER_PREFIX_NHWC,
    INFER_PREFIX_CHANCE,
    INFER_PICTURES,
    INFER_TOWERS
};

/* A network with random weights, on ref and on a backend under test. */
typedef struct infer_bench {
    cm_test_network network; /* with ref */
    cm_backend *backend;     /* borrowed */
    cm_stream *stream, *ref_stream;
    cm_mirror parameters, state; /* of the backend's device */
    int draws;                   /* actions drawn at every state; 0, until a test sets it: all are there */
} infer_bench;

void infer_bench_open(infer_bench *b, cm_backend *backend, cm_network_config config);
void infer_bench_close(infer_bench *b);

/* On the backend's stream, or on ref's. Fails the test if it cannot; freed with cm_inference_destroy. */
cm_inference *infer_bench_make(infer_bench *b, bool on_ref, int rows, cm_dtype compute);
/* Inputs of a step: observations too if it is 0. */
void infer_bench_fill(const infer_bench *b, cm_inference *inference, int step);
/* Outputs of root, or of a step, of both within `tolerance` of the largest number of each, which counts as 1 at least.
 */
void infer_bench_compare(const infer_bench *b, const cm_inference *got, const cm_inference *want, float tolerance,
                         bool root);
/* Root and INFER_STEPS steps of both. */
void infer_bench_run(infer_bench *b, int rows, cm_dtype compute, float tolerance);

#endif
