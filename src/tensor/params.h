/* The table of a network's named arrays: parameters (trained; one contiguous fp32 block, gradients and moments have the
 * same layout) and state (running statistics; a block of its own). Arrays lie one after the other in table order. Each
 * begins on a multiple of CM_PARAM_ALIGN elements, since libraries read bias and weights 16 bytes at a time where they
 * may, in 16 bits, too; the gaps are 0 and stay so. Joined ones have none: neighbouring layers that read the same input
 * can be used as one merged layer. */
#ifndef CM_TENSOR_PARAMS_H
#define CM_TENSOR_PARAMS_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an array starts (spec networks 0.1). fan_in is the product of a weight's dimensions after the first. */
typedef enum cm_init {
    CM_INIT_ZERO,
    CM_INIT_ONE,
    CM_INIT_LECUN_NORMAL,   /* normal truncated to +-2 sigma, standard deviation sqrt(1 / fan_in) */
    CM_INIT_UNIFORM_FAN_IN, /* U(-1/sqrt(fan_in), 1/sqrt(fan_in)) */
    CM_INIT_EMBEDDING,      /* N(0, 1/H), H the row length */
    CM_INIT_LSTM            /* U(-1/sqrt(H), 1/sqrt(H)), a weight or bias of 4 H rows, which stand for the gates */
} cm_init;

enum { CM_PARAM_NAME = 96, CM_PARAM_ALIGN = 16 };

typedef struct cm_param {
    char name[CM_PARAM_NAME]; /* "prediction.value_head.hidden.weight" */
    int ndim, dim[CM_MAX_DIMS];
    size_t offset; /* elements from the start of its block */
    size_t count;  /* elements */
    bool state;    /* lies in the state block */
    bool joined;   /* directly after the row before it */
    cm_init init;
    int fan_in;
    float range; /* of a weight: inference may compute its layer in 8 bits, and reads its input as -range .. range then;
                    0: it may not (backend/int8.h) */
} cm_param;

typedef struct cm_param_table {
    cm_param *param; /* [count], owned */
    int count, capacity;
    size_t parameters; /* elements of the parameter block, gaps included */
    size_t states;     /* elements of the state block, the same */
    size_t trained;    /* elements of all parameters: what a user knows as their number */
} cm_param_table;

/* Adds an array at the end of its block; returns its index in *index (may be NULL). Errors: CM_ERR_MEMORY, CM_ERR_INPUT
 * (name too long, name taken). */
cm_status cm_param_table_add(cm_param_table *table, const cm_param *param, int *index) CM_MUST_USE;
void cm_param_table_destroy(cm_param_table *table); /* frees the rows; the struct is the caller's */

/* The row of that name, or NULL. */
const cm_param *cm_param_table_find(const cm_param_table *table, const char *name);

/* The array as a tensor in a block that starts at `block`. */
cm_tensor cm_param_tensor(const cm_param *param, float *block);

#ifdef __cplusplus
}
#endif
#endif
