/* A training run from its first to its last iteration, in a run directory that can be gone on with.
 *
 * One iteration = every environment acts a fixed number of steps with the parameters of version v, then a number of
 * updates that is counted, never timed, leads to version v + 1. With the option overlap the next iteration's acting
 * goes on while this one is learnt from, at a lag of exactly one version. What a run computes is a function of its
 * configuration and seed alone: not of threads, time, prefetching, interruptions.
 *
 * Of several ranks each has its share of the environments, of the batch and of the replay (run/ranks.h); environment i
 * sees the same random numbers whatever rank it is on. Any number of ranks may go on with a run, whatever number wrote
 * its checkpoint: the same number gives the unbroken run; another one goes on with the same weights, counters, games
 * under way and episodes, each of them on one rank.
 *
 * A run ends at the first limit that is met (env_steps, updates, num_episodes, time_limit), or when an evaluation has
 * reached the goal and a second, longer one of the same weights has confirmed it (its 95 % interval lies above it).
 * Then the best evaluated weights, or the last ones if none were evaluated on the way, are evaluated on seeds that
 * were used for nothing else. The limit on time covers that: acting and learning end early enough for it, in the midst
 * of an iteration, which the run that goes on ends to the same bits; if it still takes longer it has fewer episodes.
 */
#ifndef CM_RUN_RUN_H
#define CM_RUN_RUN_H

#include "arena/evaluate.h"
#include "core/stop.h"
#include "distributed/comm.h"
#include "run/configuration.h"
#include "run/progress.h"
#include "run/safetensors.h"
#include "run/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_run cm_run;

/* Who is told of every iteration when all of it is done, its evaluation too. */
typedef struct cm_run_follower {
    /* `share` in [0, 1] of the run is done. May ask the run's `stop`. NULL: no one is told. */
    void (*tell)(void *context, const cm_metrics *row, double share);
    void *context;
} cm_run_follower;

typedef struct cm_run_request {
    cm_config *config;               /* to be written as config.json; borrowed, like its values: supports that fit the
                                        task (run/supports.h) become known to both */
    cm_configuration *configuration; /* its values, finished */
    const char *directory;           /* of the new run, or of the one to go on with; NULL: a new name */
    bool resume;                     /* go on from its checkpoint */
    bool is_passing;                 /* its folder goes when it ends: no error says how to go on with it */
    int64_t checkpoint;              /* which one; CM_CHECKPOINT_LATEST */
    bool overwrite;                  /* resuming: from a checkpoint that has later ones after it */
    bool drop_damaged;               /* resuming: go on without what is damaged, and say what that was */
    const char *init_from;           /* NULL, or a run whose weights a new run starts from */
    const char *replay_from;         /* NULL, or a run whose memory a new run starts with */
    uint64_t space;                  /* bytes of memory that it may plan for, besides others; 0: all that there are */
    const char *program;             /* how the user calls it, for the commands that are proposed; "cumind" */
    cm_progress *progress;           /* borrowed */
    cm_run_follower follower;
    cm_comm *comm;       /* of the ranks, all of which make the same calls; NULL: one process */
    double began;        /* time of the clock from which a limit on time counts; 0: from now on */
    const cm_stop *stop; /* asked: end after the iteration that is going on; NULL: never */
} cm_run_request;

/* The one key that is fixed for a run and may still read otherwise, values as in JSON: an environment may have a second
 * name ("cartpole", "CartPole-v1"), and its library may have moved. That a library holds the same environment is seen
 * when the checkpoint is loaded. */
bool cm_run_is_same_environment(const char *key, const char *before, const char *after);

/* What a new run, in which this key has another value, can take along of the old one: its weights (--init-from), where
 * all arrays of the network stay as they are; its games alone (--replay-from), which are for any network; nothing. */
typedef enum cm_run_carry { CM_CARRY_NOTHING, CM_CARRY_GAMES, CM_CARRY_WEIGHTS } cm_run_carry;
cm_run_carry cm_run_carry_of(const char *section, const char *key);
const char *cm_run_carry_advice(cm_run_carry carry); /* " (--init-from takes its weights along)", ... */

/* Opens directory, environment, network, backend; takes all memory and prints the plan; loads the checkpoint. Errors:
 * CM_ERR_INPUT, CM_ERR_IO, CM_ERR_MEMORY, CM_ERR_ABSENT, each one line. The caller owns *out. */
cm_status cm_run_open(const cm_run_request *request, cm_run **out) CM_MUST_USE;
/* NULL is allowed. One that has left something behind stays as it is. */
void cm_run_close(cm_run *run);

/* Whether an environment that hangs, and its thread, were left behind when the run was asked to stop: the process has
 * to end by _exit. */
bool cm_run_is_left(const cm_run *run);

/* What the run's memory of this rank is for, a row per part, *count of them; the bytes of all. */
enum { CM_RUN_PLAN_ROWS = 16 };
size_t cm_run_memory(const cm_run *run, cm_memory_row rows[CM_RUN_PLAN_ROWS], int *count);
/* The session that it trains in; owned by the run. */
const cm_session *cm_run_session(const cm_run *run);

typedef enum cm_run_end {
    CM_RUN_STOPPED, /* asked to stop: saved, can be gone on with */
    CM_RUN_LIMIT,   /* a limit was met */
    CM_RUN_GOAL     /* the goal was reached */
} cm_run_end;

typedef struct cm_run_result {
    cm_run_end end;
    const char *directory; /* owned by the run */
    int64_t iterations, env_steps, updates, episodes;
    double seconds; /* acting, learning, evaluating and saving, over all sessions */
    bool evaluated; /* `final` holds the report */
    cm_evaluation final;
    uint64_t final_seed;    /* episode i of the report started from final_seed + i */
    int64_t final_updates;  /* of the weights that the report is about */
    char hash[CM_HASH_HEX]; /* of the parameters */
} cm_run_result;

/* Iterations until the end; saves a checkpoint there, and result.json if the run has finished. A finished run returns
 * at once with the result it had. An evaluation that is asked to stop counts for nothing: the checkpoint says that it
 * is still to be made, and the run that goes on makes it first. Errors: what went wrong; the last checkpoint is intact.
 */
cm_status cm_run_train(cm_run *run, cm_run_result *out) CM_MUST_USE;

/* First seed of an evaluation of a run: number >= 0 of those during the run, -1 of the final report. */
uint64_t cm_run_evaluation_seed(int64_t seed, int64_t number, int episodes);

#ifdef __cplusplus
}
#endif
#endif
