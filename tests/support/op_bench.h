/* A backend against ref: the comparisons that every backend has to pass, on the calls of op_cases. */
#ifndef CM_TESTS_SUPPORT_OP_BENCH_H
#define CM_TESTS_SUPPORT_OP_BENCH_H

#include "support/op_place.h"

/* A backend under test with a stream, against ref. */
typedef struct op_bench {
    cm_backend *backend, *ref;
    cm_stream *stream, *ref_stream;
    int calls; /* that were compared */
} op_bench;

/* False if this machine lacks the backend; says so. */
bool op_bench_open(op_bench *b, const char *name);
void op_bench_close(op_bench *b);

/* Every variant of an operation: values within the stated tolerance, guard bytes, inputs left alone, the same bits from
 * a prepared call on other memory. */
void op_bench_compare(op_bench *b, cm_op op);
/* The largest |got - want| of all variants of an operation with that type in its products, as a share of the largest
 * |want| of the tensor; INFINITY if a number is not finite on one side alone. Variants that are not made: -1. */
double op_bench_error(op_bench *b, cm_op op, cm_dtype compute);
/* Outputs that may take the place of an input give what they give apart. */
void op_bench_compare_aliased(op_bench *b);
/* A changed weight counts after cm_backend_repack. */
void op_bench_change_weights(op_bench *b);
/* What clip makes of loss scaling: true norms; a scale that doubles, halves, stays in its range, or is left alone. */
void op_bench_scale_losses(op_bench *b);
/* clip's norm is finite if all that it is given to check is, and NaN if one of it, at any place, is not. */
void op_bench_find_flaws(op_bench *b);

#endif
