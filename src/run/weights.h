/* The weights in a run's checkpoints. */
#ifndef CM_RUN_WEIGHTS_H
#define CM_RUN_WEIGHTS_H

#include "env/probe.h"
#include "run/array_table.h"
#include "run/checkpoint.h"
#include "run/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Files of a checkpoint. */
#define CM_FILE_STATE      "state.json"             /* counters, and what is fixed for the run              */
#define CM_FILE_PARAMETERS "parameters.safetensors" /* what the optimizer changes                          */
#define CM_FILE_AVERAGE    "average.safetensors"    /* their moving average, if one is kept                */
#define CM_FILE_TARGET     "target.safetensors"     /* the target network, if there is one                 */
#define CM_FILE_ACTING     "acting.safetensors"     /* those that act, if it was broken off while it learnt    */
#define CM_FILE_MOMENTS    "optimizer.safetensors"  /* "first/NAME", "second/NAME"                          */

/* What a run's checkpoint says about itself; NAN where it says nothing. */
typedef struct cm_run_facts {
    char environment[32]; /* its name with its size */
    int64_t updates, env_steps, episodes;
    double best_return;
    bool averaged; /* a moving average is kept */
} cm_run_facts;

/* Reads a checkpoint's parameters (or its moving average, if it has one and it is preferred) and running statistics
 * into blocks of the table of the session's network. Errors: CM_ERR_INPUT if they are of another network, and says so
 * where that is because the environment was changed; `facts` has then what had been read. A run that trained for 8 bits
 * (quantization=qat) and one that did not may have each other's weights: ranges that there are not are 0, unknown. */
cm_status cm_run_read_weights(const char *run, int64_t checkpoint, const cm_session *session, bool prefer_average,
                              float *parameters, float *state, cm_run_facts *facts) CM_MUST_USE;

/* Gives the session's network the ranges of the layers that the checkpoint has in 8 bits (run/quantised.h), if any:
 * before anything is made of it. Errors: as above. */
cm_status cm_run_read_ranges(const char *run, int64_t checkpoint, const cm_session *session) CM_MUST_USE;

/* Compares names and shapes alone, which allocates no memory: of a run before anything is made for its network, whose
 * sizes stand in a file of the same stranger; of a file of a checkpoint that is open. Errors: as above. */
cm_status cm_run_check_weights(const char *run, int64_t checkpoint, const cm_session *session) CM_MUST_USE;
cm_status cm_run_check_shapes(cm_checkpoint_reader *reader, const char *name, const cm_network *network) CM_MUST_USE;

/* The task in the state of a checkpoint. Check: CM_ERR_INPUT says what of the environment of that name is another one
 * by now; `saved` NULL, of before there were any, is none. `plays_on`: its episodes must fit, too, not its arrays
 * alone. */
#define CM_STATE_TASK "task"
void cm_run_put_task(const cm_env_spec *spec, const cm_env_probe *probe, cm_json_writer *json);
cm_status cm_run_check_task(const cm_env *env, const cm_json *saved, bool plays_on) CM_MUST_USE;

/* What a checkpoint says of its environment, for networks: name, shape, actions, players and what chance brings; the
 * rest of *spec is zero. Errors: those of reading; CM_ERR_INPUT if it says nothing, or what no environment has. */
cm_status cm_run_read_task(const char *run, int64_t checkpoint, cm_env_spec *spec) CM_MUST_USE;

/* Collective over the session's ranks: rank 0 reads. Gives the agents the weights that the run's checkpoint (a number,
 * CM_CHECKPOINT_LATEST, CM_CHECKPOINT_BEST) would play with: the average if the run keeps one and `configuration`
 * evaluates with it, else the parameters. */
cm_status cm_run_load_agent(const char *run, int64_t checkpoint, cm_session *session, cm_agent *agent,
                            cm_run_facts *facts) CM_MUST_USE;

/* Hash of the checkpoint's parameters (not of the average), in the order of names. */
cm_status cm_run_parameter_hash(const char *run, int64_t checkpoint, cm_session *session, char out[CM_HASH_HEX],
                                cm_run_facts *facts) CM_MUST_USE;

/* Whether RUN/config.json still says what the run's newest checkpoint was trained with, where that is fixed for a run;
 * CM_OK where one of the two cannot be read. Errors: CM_ERR_INPUT names the first key that was changed by hand. */
cm_status cm_run_check_configuration(const char *run) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
