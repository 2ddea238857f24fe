/* The `network` and `options` of a training case as configurations. */
#ifndef CM_CASES_TRAINER_OPTIONS_H
#define CM_CASES_TRAINER_OPTIONS_H

#include "core/json.h"
#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_case_options {
    cm_network_config network;
    cm_trainer_options trainer;
    int batch, unroll;
    double priority_epsilon;
} cm_case_options;

/* Errors: CM_ERR_INPUT for a missing field or an unknown word. */
cm_status cm_case_options_read(const cm_json *root, cm_case_options *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
