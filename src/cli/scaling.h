/* What `cumind benchmark scaling` measures in the ranks of one job. */
#ifndef CM_CLI_SCALING_H
#define CM_CLI_SCALING_H

#include "cli/benchmark.h"
#include "distributed/comm.h"

enum { CM_SCALING_SUMS = 6 }; /* the last one is of as many bytes as a gradient */

typedef struct cm_scaling {
    char backend[8];
    int ranks, threads; /* threads of each rank */
    int batch;          /* of the whole run, as all counts here */
    int64_t parameters;
    double update;  /* seconds of an update of all ranks together */
    double compute; /* of the same rows of each rank, at the same time, by ranks that do not know of each other */
    double reduce;  /* of an update, in which gradients are summed over ranks; on GPUs of such a sum by itself */
    double exposed; /* of these, after the backward pass. Waiting for slower ranks is in neither. On GPUs, where the
                       host does not see when they begin and end: what an update takes more than `compute` */
    struct {
        int64_t bytes;
        double seconds;
    } sum[CM_SCALING_SUMS]; /* of float32 over all ranks */
    int sums;               /* 0 for one rank */
    int64_t env_steps, updates;
    double train; /* seconds of a whole training of so many */
} cm_scaling;

/* The share of the sums of gradients that is concurrent with the backward pass: 1 - exposed / reduce. NAN for one
 * rank. */
double cm_scaling_overlap(const cm_scaling *scaling);

/* Measures all of it; collective. The training goes into a temporary folder, and has as many updates as the
 * configuration of `bench` says. *out is the same on all ranks, but for noise: that of rank 0 is to be shown. */
cm_status cm_scaling_measure(cm_benchmark *bench, cm_comm *comm, cm_scaling *out) CM_MUST_USE;
#endif
