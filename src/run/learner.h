/* Learning from the replay: batches drawn ahead, policies reanalysed, updates, new priorities.
 *
 * Of several ranks each draws its rows of a batch from its own memory.
 *
 * How much is learnt is counted, never timed: after each round of acting the learner is told how many new steps and
 * episodes there are, and makes the number of updates that the options say (updates_per_iteration, replay_ratio, or one
 * per train_frequency finished episodes). Offline every iteration makes the same number
 * (cm_run_learner_round).
 */
#ifndef CM_RUN_LEARNER_H
#define CM_RUN_LEARNER_H

#include "agent/reanalyse.h"
#include "agent/rolling.h"
#include "core/stop.h"
#include "env/env.h"
#include "replay/prefetch.h"
#include "run/session.h"
#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_run_learner cm_run_learner;

/* What the updates of one iteration found; means, NAN if there were none. */
typedef struct cm_learning {
    int64_t updates, skipped;                                   /* skipped: those whose step loss scaling skipped */
    double total_loss, loss[CM_LOSSES], entropy, gradient_norm; /* NAN of optional losses that are not recorded */
    double clipped, clipped_rewards;                            /* shares of targets                                */
    double value_reach, reward_reach;                           /* largest absolute targets of this rank            */
    double policy_drift, policies_reanalysed; /* of all ranks; the drift of one, NAN if there is none */
    double learning_rate;                     /* of the last update */
    double loss_scale, skipped_steps;         /* after them; since the start of the run; NAN without loss scaling */
} cm_learning;

/* The updates of an iteration, which can be broken off between two of them and gone on with, by another process, too.
 */
typedef struct cm_learning_round {
    int64_t due, made; /* updates */
    int64_t first;     /* updates of the run before it */
    double share;      /* of the run that is done, in [0, 1] */
    cm_learning sum;   /* of those made: sums */
} cm_learning_round;

/* Makes replay, batches and trainer of a session; `pool` does the work. `agent`, whose weights change only between
 * iterations, reanalysis. Rounds are broken off when `stop` is asked (NULL: never). All are borrowed; the caller
 * owns the learner. */
cm_status cm_run_learner_create(cm_session *session, cm_pool *pool, cm_agent *agent, const cm_stop *stop,
                                cm_run_learner **out) CM_MUST_USE;
void cm_run_learner_destroy(cm_run_learner *learner); /* NULL is allowed */

/* What the memory of a session's rank is to be; symmetries without their tables. */
cm_replay_config cm_run_learner_replay_config(const cm_session *session);
/* Pictures are learnt from as frames; but where chance is, codes are read off whole ones. */
cm_trainer_frames cm_run_learner_frames(const cm_configuration *configuration, const cm_env_spec *spec);
cm_replay *cm_run_learner_replay(cm_run_learner *learner);
cm_trainer *cm_run_learner_trainer(cm_run_learner *learner);
cm_rolling *cm_run_learner_rolling(cm_run_learner *learner); /* NULL: reanalyse is batch */

/* *due <- updates that are due for `steps` new steps and for `episodes` finished ones of all ranks, `before` of them
 * learnt from already; 0 until the memories of all ranks hold what the first update waits for (min_memory_*), or
 * all that their limits allow. Fractions of an update are kept for later. Collective. */
cm_status cm_run_learner_due(cm_run_learner *learner, int64_t steps, int64_t before, int64_t episodes,
                             int64_t *due) CM_MUST_USE;
/* *due <- updates of a round after the last step, of which `left` are left: as many as acting would bring; 0 if the
 * memories do not hold what the first update waits for. Collective. */
cm_status cm_run_learner_extra(cm_run_learner *learner, int64_t left, int64_t *due) CM_MUST_USE;
double cm_run_learner_credit(const cm_run_learner *learner); /* that fraction, for checkpoints */
void cm_run_learner_set_credit(cm_run_learner *learner, double credit);

/* Makes the updates of a round that are left, from the same batches whoever made those before. The replay was committed
 * before the round; priorities wait for the next commit. *out is of the whole round. Errors: CM_ERR_INTERRUPTED if it
 * was asked to stop on any rank: round->made of them are made then, and what was begun of one more, which of one rank
 * on a host is broken off in its midst, leaves nothing; CM_ERR_NOT_FINITE after the batch has been written to `dump` (a
 * path, NULL: nowhere). Collective. */
cm_status cm_run_learner_run(cm_run_learner *learner, cm_learning_round *round, const char *dump,
                             cm_learning *out) CM_MUST_USE;

/* Seconds that updates have waited for searches of reanalysis since it was asked last. Not while a round is made. */
double cm_run_learner_searched(cm_run_learner *learner);

/* How a run trains: what its trainer is created with. Borrows from the session. */
cm_trainer_config cm_run_trainer_config(cm_session *session, cm_pool *pool);

/* Which value targets are those of searches. */
cm_mixed_rule cm_run_mixed_rule(const cm_session *session);

/* What the searches of reanalyse = buffer are made with; `agent` has the copy of the weights. */
cm_searcher_config cm_run_rolling_searcher(const cm_session *session, cm_agent *agent, const cm_pool *pool,
                                           const cm_stop *stop);

/* What searches policies again in such a run: *out is owned by the caller, and NULL where nothing does. As many
 * threads as `pool` has. */
cm_status cm_run_reanalyser(cm_session *session, cm_agent *agent, cm_pool *pool, const cm_stop *stop,
                            cm_reanalyser **out) CM_MUST_USE;

/* Steps of all environments in an iteration. */
double cm_run_learner_iteration_steps(const cm_configuration *configuration);

/* Updates of an iteration that acts no more, or never: as many as acting would bring, 1 at least. */
int64_t cm_run_learner_round(const cm_configuration *configuration);

/* Updates per new step of all environments; 0 where finished episodes decide (train_frequency). */
double cm_run_learner_rate(const cm_configuration *configuration);

/* Whether nothing but time ends the run: then schedules follow the clock. */
bool cm_run_learner_is_timed(const cm_configuration *configuration);

/* Updates that the whole run will make at most, 1 at least; what schedules end with. */
int64_t cm_run_learner_plan(const cm_configuration *configuration);

/* Steps of the longest segment that the memory keeps of an episode (replay.h, segment_steps): as many as an episode can
 * have, at most 65536; of one that goes on for over 1000 steps no more than are drawn of its environment, or these
 * 1000. The same on all ranks. */
int cm_run_learner_segment(const cm_configuration *configuration, const cm_env_spec *spec);

/* Rows of the plan of memory, *count of them; returns the sum of their bytes. */
#define CM_ROW_REANALYSIS "reanalysis"
size_t cm_run_learner_memory(const cm_run_learner *learner, cm_memory_row *rows, int capacity, int *count);

#ifdef __cplusplus
}
#endif
#endif
