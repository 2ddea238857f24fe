/* A run's agent, ready to play: session, and agent with the weights of a checkpoint. */
#ifndef CM_RUN_LOADED_H
#define CM_RUN_LOADED_H

#include "run/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All owned; a zeroed struct is empty. */
typedef struct cm_loaded {
    cm_config *config; /* of whoever has read it; closed with the others */
    cm_session *session;
    cm_agent *agent; /* NULL if there is no run */
    cm_run_facts facts;
} cm_loaded;

/* Fills session, agent and facts: of the run's checkpoint (its number, CM_CHECKPOINT_LATEST, ...) as `configuration`
 * says, which is that of the run with what was changed; without a run the session alone. The session's environment is
 * one for reports (cm_env_for). Shapes are compared before anything is made for them. Errors: those of cm_session_open,
 * cm_run_check_weights and cm_run_load_agent; the caller closes *out also then. */
cm_status cm_loaded_fill(const cm_configuration *configuration, const char *run, int64_t checkpoint,
                         cm_loaded *out) CM_MUST_USE;
void cm_loaded_close(cm_loaded *loaded); /* leaves it empty */

#ifdef __cplusplus
}
#endif
#endif
