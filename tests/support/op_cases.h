/* Random calls of every operation of ops.def, for the tests of backends.
 *
 * A row of op_cases names an operation (and its backward, which takes the same sizes), the sizes of the letters in the
 * shapes of ops.def, and attributes. op_run_make turns a row and a variant into a call: tensors between guard
 * bytes, filled with random numbers that the operation can take; what a backward reads of its forward is computed by
 * ref. */
#ifndef CM_TESTS_SUPPORT_OP_CASES_H
#define CM_TESTS_SUPPORT_OP_CASES_H

#include "backend/backend.h"

typedef struct op_case {
    cm_op op, backward;   /* backward == op: none */
    unsigned activations; /* bit per cm_activation, 0: none only */
    unsigned backward_activations;
    const char *sizes; /* "B=3 i=5 o=4", "any=2x3", "*=2x3 n=5", "R=2 N=3x4" */
    cm_attr attr;
} op_case;

extern const op_case op_cases[];
extern const int op_case_count;

typedef struct op_variant {
    bool accumulate; /* into everything that allows it */
    bool strided;    /* 2-D tensors are column slices */
    bool half;       /* with all copies of 16 bits, of type `compute` */
    int absent;      /* this tensor; -1: none, -2: every optional one but copies */
    cm_activation activation;
    cm_dtype compute;
    uint64_t seed;
} op_variant;

typedef struct op_run {
    cm_call call;
    void *block[CM_CALL_TENSORS]; /* owned; guards, tensor, guards */
    size_t block_bytes[CM_CALL_TENSORS];
    cm_call forward; /* of a backward: the call whose results it reads; its own tensors are not owned twice */
    struct op_run *forward_run; /* owned; NULL if the operation is a forward itself */
} op_run;

/* Fills *run for `op`, which is the row's op or its backward. Fails the test if it cannot. */
void op_run_make(op_run *run, const op_case *row, cm_op op, op_variant variant);
/* A copy with memory of its own (without forward_run). */
void op_run_copy(op_run *to, const op_run *from);
void op_run_free(op_run *run);

/* False, and what is wrong in message[128], if a byte outside the tensors has changed, or a byte of an input, as
 * against `before`. */
bool op_run_intact(const op_run *run, const op_run *before, char message[128]);

/* True if tensor i of the operation is a copy of 16 bits; and the tensor that it is a copy of. */
bool op_half(cm_op op, int i);
int op_copied(cm_op op, int i);

/* True if the operation has matrix products, which attr.compute is about. */
bool op_has_products(cm_op op);

/* "dense B=3 i=5 o=4 relu bfloat16 strided accumulate", for messages. */
void op_describe(const op_case *row, cm_op op, op_variant variant, char out[160]);

/* Index of the tensor `name` of an operation, -1 if it has none. */
int op_tensor(cm_op op, const char *name);

/* Calls visit for every variant of a row that makes sense for `op`. */
void op_each_variant(const op_case *row, cm_op op, void (*visit)(const op_case *, cm_op, op_variant, void *), void *at);

#endif
