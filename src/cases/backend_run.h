/* What the runners of reference cases share; not for others. */
#ifndef CM_CASES_BACKEND_RUN_H
#define CM_CASES_BACKEND_RUN_H

#include "cases/backend.h"

enum { CM_CASE_BUFFERS = 64 };

/* One case while it runs. */
typedef struct cm_case_run {
    const cm_json *options, *inputs; /* borrowed */
    cm_stream *stream;               /* borrowed */
    cm_dtype compute;
    cm_case_report *report;        /* borrowed */
    void *buffer[CM_CASE_BUFFERS]; /* owned: everything that the tensors of the case point to */
    int buffers;
} cm_case_run;

typedef cm_status (*cm_case_runner)(cm_case_run *run);

/* The inputs of a case as tensors. case_optional leaves *out empty (data NULL) if there is no such input;
 * case_integers reads whole numbers in [0, 2^31). */
cm_status cm_case_input(cm_case_run *run, const char *name, cm_tensor *out) CM_MUST_USE;
cm_status cm_case_optional(cm_case_run *run, const char *name, cm_tensor *out) CM_MUST_USE;
cm_status cm_case_integers(cm_case_run *run, const char *name, cm_tensor *out) CM_MUST_USE;
/* The same for a node anywhere in the case. */
cm_status cm_case_array_tensor(cm_case_run *run, const cm_json *node, const char *name, cm_tensor *out) CM_MUST_USE;

/* A zeroed tensor for a result. */
cm_status cm_case_output(cm_case_run *run, int ndim, const int *dim, cm_tensor *out) CM_MUST_USE;
cm_status cm_case_like(cm_case_run *run, const cm_tensor *shape, cm_tensor *out) CM_MUST_USE;

/* One of the words of a NULL-terminated list; CM_ERR_INPUT lists them. */
cm_status cm_case_choice(const cm_json *object, const char *key, const char *const *words, int *out) CM_MUST_USE;
/* Refuses a value that is not `must`. */
cm_status cm_case_constant(const cm_json *object, const char *key, int must) CM_MUST_USE;
/* Member true or false. */
cm_status cm_case_flag(const cm_json *object, const char *key, bool *out) CM_MUST_USE;

/* Runs one call, on copies where the device is not the host. Weights are packed again: the memory may have held others
 * before. */
cm_status cm_case_call(cm_case_run *run, cm_call *call) CM_MUST_USE;
/* Compares a tensor with the expected array `name`. */
cm_status cm_case_compare(cm_case_run *run, const cm_tensor *t, const char *name) CM_MUST_USE;

/* backend_ops.c */
cm_status cm_case_dense(cm_case_run *run);
cm_status cm_case_conv2d(cm_case_run *run);
cm_status cm_case_activation(cm_case_run *run);
cm_status cm_case_layer_norm(cm_case_run *run);
cm_status cm_case_batch_norm(cm_case_run *run);
cm_status cm_case_avg_pool(cm_case_run *run);
cm_status cm_case_global_mean(cm_case_run *run);
cm_status cm_case_minmax(cm_case_run *run);
cm_status cm_case_action_encoding(cm_case_run *run);
cm_status cm_case_embedding_add(cm_case_run *run);
cm_status cm_case_simnorm(cm_case_run *run);
cm_status cm_case_softmax(cm_case_run *run);
cm_status cm_case_log_softmax(cm_case_run *run);
cm_status cm_case_lstm(cm_case_run *run);
/* backend_losses.c */
cm_status cm_case_value_transform(cm_case_run *run);
cm_status cm_case_two_hot(cm_case_run *run);
cm_status cm_case_categorical_loss(cm_case_run *run);
cm_status cm_case_policy_loss(cm_case_run *run);
cm_status cm_case_scalar_loss(cm_case_run *run);
cm_status cm_case_consistency_loss(cm_case_run *run);
/* backend_optimizer.c */
cm_status cm_case_schedule(cm_case_run *run);
cm_status cm_case_optimizer(cm_case_run *run);

#endif
