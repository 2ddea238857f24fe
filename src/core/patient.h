/* A thread for calls into code that may never come back: the waiting thread can go on without it. */
#ifndef CM_CORE_PATIENT_H
#define CM_CORE_PATIENT_H

#include "core/stop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_patient cm_patient;

/* The caller owns it. Errors: CM_ERR_MEMORY. */
cm_status cm_patient_create(cm_patient **out) CM_MUST_USE;
/* NULL is allowed. One that was left stays as it is, with its thread. */
void cm_patient_destroy(cm_patient *patient);

/* Runs `run` on its thread and waits: returns its status, with its message. It is left where it still runs `seconds`
 * after both it had begun and `stop` (NULL: never) was asked: CM_ERR_INTERRUPTED then, and all that it uses has to stay
 * for as long as the process lives. Not after that, and by one thread at a time. */
cm_status cm_patient_call(cm_patient *patient, const cm_stop *stop, double seconds, cm_status (*run)(void *context),
                          void *context) CM_MUST_USE;

/* For a handler of a signal: gives it to the thread that makes a call, if there is one and this is another. */
bool cm_patient_pass(int signal_number);

bool cm_patient_is_left(const cm_patient *patient); /* NULL: false */

#ifdef __cplusplus
}
#endif
#endif
