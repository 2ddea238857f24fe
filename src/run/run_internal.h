/* What the files of a run share: run_facts.c (below all), run_memory.c (its plan), run_shrink.c (a plan that
 * fits), run_acting.c (the agent that acts), run_time.c (what the time goes to), run.c (the loop), run_save.c (when it
 * saves), run_open.c (life), run_start.c (what a new one takes of old ones), run_state.c, counters.c, run_data.c and
 * run_fixed.c (checkpoints), run_evaluation.c (evaluations), run_episode.c (pictures of them), run_device.c (the plan
 * of a GPU's memory), run_gpu.c (how much it is used), run_report.c (what people read), run_result.c (the report of the
 * end), run_records.c (what other programs read), run_ranks.c (what ranks agree on). */
#ifndef CM_RUN_INTERNAL_H
#define CM_RUN_INTERNAL_H

#include "agent/acting.h"
#include "core/memory.h"
#include "core/patient.h"
#include "device/cuda/gpu_use.h"
#include "run/checkpoint.h"
#include "run/counters.h"
#include "run/directory.h"
#include "run/learner.h"
#include "run/monitor.h"
#include "run/pace.h"
#include "run/run.h"
#include "run/segment_files.h"
#include "run/tensorboard.h"
#include "run/weights.h"

enum { CM_RUN_PARTS = 3 };

/* The overlapped tasks of an iteration: acting, learning. */
typedef struct cm_run_overlap {
    bool acts;
    int has_learnt; /* the learning task has ended; atomic */
    cm_status learnt;
    double acting, learning; /* seconds that they took */
} cm_run_overlap;

/* A moving picture of the last evaluation, until its row is written: the bytes of a GIF file; empty: there is none. */
typedef struct cm_run_picture {
    cm_proto bytes;
    int width, height;
} cm_run_picture;

/* What NVML knows of this rank's GPU. */
enum { CM_RUN_GPU_NUMBERS = 2 };
typedef struct cm_run_gpu {
    cm_nvml nvml;
    cm_gpu_use use;
    bool is_open;
    double read_at;                      /* clock of the last time */
    double share[CM_RUN_GPU_NUMBERS];    /* as they were then, 0 .. 1; NAN: not known */
    bool is_refused[CM_RUN_GPU_NUMBERS]; /* which has been said */
} cm_run_gpu;

struct cm_run {
    cm_session *session;                                 /* owned, like the next ones */
    cm_pool *overlap_pool, *acting_pool, *learning_pool; /* of overlap, else NULL */
    cm_patient *patient;                                 /* on which environments are played: their code may hang */
    cm_run_learner *learner;
    cm_agent *actor_agent, *evaluation_agent;
    cm_network *acting_network; /* of actor_agent where it acts in 8 bits, else NULL; owned, like the next one */
    float *acting_ranges;       /* [rows of its table] */
    cm_actor *actor;            /* NULL: offline */
    cm_evaluation report;       /* that the run ends with */
    cm_evaluator *evaluator, *final_evaluator; /* on the way, and at the end; NULL: nothing is evaluated */
    cm_env evaluated_env, reported_env;        /* theirs */
    cm_checkpoint_store *store;
    cm_array_table parameters, average, target, moments;
    cm_run_directory directory;
    cm_metrics_file metrics;
    cm_tensorboard board;
    cm_monitor monitor;
    cm_episode *episodes;  /* of one rank: NULL; of several: space for those that end in an iteration on all, owned */
    int64_t drawn_updates; /* at the last histograms */
    cm_run_picture picture;
    char *actor_bytes; /* space for what the actor saves, and of it in use */
    size_t actor_used;
    char dump[PATH_MAX];   /* where a batch goes that led to a NaN */
    cm_memory_space space; /* before anything was taken */

    const cm_config *config; /* borrowed */
    cm_progress *progress;   /* borrowed */
    cm_run_follower follower;
    const char *program; /* borrowed */
    const cm_stop *stop; /* borrowed; NULL: never */
    cm_stop halt;        /* what all that takes long looks at: asked with `stop`, or when the time is over */

    cm_env_probe probe; /* of the environment as it is now; rank 0 alone */
    cm_run_state state;
    cm_segment_files segment_files;
    cm_checkpoint_part parts[CM_RUN_PARTS];
    int64_t saved_ranks;                     /* that saved the checkpoint being loaded */
    int64_t saved_env_steps, saved_finished; /* its counters: steps, finished episodes */

    cm_actor_counts counts; /* of all ranks, after the last acting */
    bool overlap;
    bool time_over;                 /* the limit on time, less what the end takes, was met, as all ranks know it */
    double time_share;              /* of the run up to that, 0 .. 1, as rank 0 saw it last */
    bool is_new;                    /* its folder was made by this process */
    bool is_passing;                /* its folder goes when it ends */
    bool is_put_off;                /* the last checkpoint that was due was left out */
    bool is_saving, is_saving_best; /* a thread finishes a checkpoint; it is that of the best evaluated weights */
    int64_t lines_lost;             /* of metrics, since one could be written */
    bool env_failed;                /* an environment failed, while acting on some rank or while evaluating */
    bool is_undone;    /* the acting of the iteration: `actor_bytes` are the environments as they were before it */
    bool drop_damaged; /* of the replay, when it is loaded */
    int64_t from;      /* resuming: the checkpoint that it goes on from, CM_CHECKPOINT_LATEST: there is none */
    double best_kept;  /* highest mean of the checkpoint that `best` points at, -HUGE_VAL: none */
    bool best_due; /* the next checkpoint is the best evaluated one; or the one just loaded, until it is pointed at */
    double began;  /* clock at the start of this session */
    double spent;  /* clock up to which state.time has all */
    bool is_told;  /* that an evaluation waits */
    bool is_pictureless;              /* what keeps pictures of evaluations from being made has been said */
    cm_pace pace;                     /* of this session; advice only where acting and learning take turns */
    size_t unshrunk, shrunk;          /* bytes of activations as configured, and as they fit; 0: nothing was changed */
    bool is_divided;                  /* batches are smaller than configured, and more of them make an update */
    size_t planned;                   /* bytes of the device, where that is not the host */
    double value_reach, reward_reach; /* largest absolute targets of the last updates, of this rank */
    cm_metrics row;                   /* of the iteration that is going on; saved while it is pending */
    cm_learning_round round;          /* of it; saved while state.is_within */
    cm_run_overlap tasks;
    cm_run_gpu gpu;
};

/* This rank evaluates, speaks, and writes what is not each rank's own. */
static inline bool cm_run_leads(const cm_run *run) { return run->session->comm->rank == 0; }

static inline const cm_configuration *cm_run_options_of(const cm_run *run) { return &run->session->configuration; }
static inline bool cm_run_collects(const cm_run *run) { return cm_run_options_of(run)->agent.collect; }
static inline cm_trainer *cm_run_trainer(const cm_run *run) { return cm_run_learner_trainer(run->learner); }

/* run_facts.c: what stands below the loop and all that it calls */
double cm_run_seconds(const cm_run *run);
double cm_run_goal(const cm_run *run); /* NAN: none */
/* Whether there are evaluations on the way, but none of the weights as they are: a run that ends with them makes it. */
bool cm_run_lacks_evaluation(const cm_run *run);
int cm_run_episodes_to_come(const cm_run *run); /* of that and the report, if the run ends now */
cm_actor_config cm_run_actor_config(const cm_run *run, cm_replay *replay);                       /* borrows from both */
cm_status cm_run_copy_weights(const cm_run *run, cm_weights which, cm_agent *agent) CM_MUST_USE; /* the trainer's */
cm_status cm_run_hand_over_weights(cm_run *run) CM_MUST_USE; /* to the actor's agent */
/* Calls what plays environments, with the run as context, on a thread of its own. Errors: those of `call`;
 * CM_ERR_INTERRUPTED also where an environment hangs after a request to stop: it is left as it is (cm_run_is_left). */
cm_status cm_run_play(cm_run *run, const char *what, cm_status (*call)(void *context)) CM_MUST_USE;

/* run_time.c: what the wall time goes to. The thread of the loop calls all of it. */
/* The time since the last call belongs to that part. Returns it, in seconds. */
double cm_run_spend(cm_run *run, cm_time_part part);
/* The same of learning, which has waited for searches of reanalysis meanwhile; and of acting and learning side by side,
 * as `tasks` says. The time that both worked is halved between them. */
double cm_run_spend_learning(cm_run *run);
void cm_run_spend_both(cm_run *run);
void cm_run_tell_time(cm_run *run); /* The row gets the seconds of each part since the last row that did. */
/* The seconds of each part, were the time since the last call one of `part`. */
void cm_run_time_as(const cm_run *run, cm_time_part part, double time[CM_TIMES]);

/* run_acting.c: the agent that acts, and in 8 bits the ranges of its layers */
cm_status cm_run_open_actor_agent(cm_run *run) CM_MUST_USE; /* CM_ERR_INPUT for 8 bits on a backend without */
void cm_run_close_actor_agent(cm_run *run);
/* When an iteration ends and the agent has its new weights: measures ranges if that is due. Collective. */
cm_status cm_run_measure_acting(cm_run *run) CM_MUST_USE;
void cm_run_put_acting(const cm_run *run, cm_json_writer *json); /* a member of state.json, if there are ranges */
cm_status cm_run_read_acting(cm_run *run, const cm_json *root) CM_MUST_USE;

/* run_memory.c, and cm_run_memory of run.h */
/* Bytes that the plans of this machine's ranks may take; UINT64_MAX: those of a device, whose plan is its own. */
uint64_t cm_run_memory_space(const cm_run *run);
/* CM_ERR_MEMORY if there is less space than the weights take at least, before anything is made; than all of the plan.
 */
cm_status cm_run_check_least_memory(const cm_run *run) CM_MUST_USE;
cm_status cm_run_check_memory(const cm_run *run) CM_MUST_USE;
/* What to do about a plan of which the part of this name takes most; about large pictures, after an error. */
const char *cm_run_memory_advice(const cm_run *run, const char *most);
cm_status cm_run_advise_of_pictures(const cm_run *run, cm_status status) CM_MUST_USE;
/* Rows of a plan that takes `bytes` of `space`: a line each if that is more than half, else details. */
void cm_run_say_rows(cm_run *run, const cm_memory_row *rows, int count, uint64_t bytes, uint64_t space);

/* run_shrink.c: values of recompute, and with auto_fit of batch_size, by which a plan fits */
/* Gives the session the next values with which learning takes less memory; false: there are none. */
bool cm_run_shrink(cm_run *run);
/* Makes values that were taken known to the configuration of the request; false: none were. */
bool cm_run_adopt_shrunk(const cm_run *run, const cm_run_request *request);
void cm_run_say_shrunk(const cm_run *run);

/* run_state.c */
cm_status cm_run_make_parts(cm_run *run) CM_MUST_USE; /* tables of arrays and run->parts */
cm_status cm_run_save(cm_run *run) CM_MUST_USE;       /* a checkpoint, now; collective, like loading */
cm_status cm_run_begin_save(cm_run *run) CM_MUST_USE; /* the same, finished by a thread; of one rank */
/* Reads it, and makes `from` its number. */
cm_status cm_run_load(cm_run *run, int64_t checkpoint) CM_MUST_USE;
cm_status cm_run_go_on(cm_run *run) CM_MUST_USE; /* what was loaded becomes `latest`, and `best` if it is that */
/* Reads no more of a checkpoint than whether it is of this run: state and shapes. */
cm_status cm_run_look(cm_run *run, int64_t checkpoint) CM_MUST_USE;
/* Whether the counters of a checkpoint are those of its environments, which are run->counts. */
cm_status cm_run_check_counts(const cm_run *run) CM_MUST_USE;
cm_status cm_run_check_space(cm_run *run) CM_MUST_USE; /* cm_checkpoint_check_space */
/* Points `best` at a checkpoint just saved or loaded, if best_due says so: a kill between the checkpoint and this loses
 * nothing, as the checkpoint knows that it is the best. */
cm_status cm_run_point_best(cm_run *run, int64_t checkpoint) CM_MUST_USE;

/* run_save.c */
/* A checkpoint, if it is due; it is not yet complete on return. A disk without space leaves it out. Collective. */
cm_status cm_run_save_due(cm_run *run) CM_MUST_USE;
cm_status cm_run_save_now(cm_run *run) CM_MUST_USE; /* a checkpoint that is complete on return; collective */
/* Waits until the checkpoint that was begun, if there is one, is complete or left out, and says so; only if that takes
 * no time. Errors: what ends the run, as a folder that was moved. */
cm_status cm_run_finish_save(cm_run *run) CM_MUST_USE;
cm_status cm_run_look_at_save(cm_run *run) CM_MUST_USE;
/* CM_ERR_IO if the run's folder was moved or removed: nothing is written next to it. */
cm_status cm_run_keep_folder(const cm_run *run) CM_MUST_USE;
/* `status` with what to do where the disk has refused a checkpoint, unless that is because its folder went while it was
 * written. */
cm_status cm_run_advise_of_disk(const cm_run *run, cm_status status) CM_MUST_USE;
void cm_run_say_of_crashes(const cm_run *run); /* a crash loses what came after the last checkpoint */

/* run_fixed.c */
#define CM_STATE_FIXED "fixed" /* the object in a checkpoint's state: values as texts */
void cm_run_put_fixed(const cm_config *config, const char *name, cm_json_writer *json);
/* Errors: CM_ERR_INPUT names the first key that has another value than `saved` (NULL: of before there were any). */
cm_status cm_run_check_fixed(const cm_config *config, const cm_json *saved) CM_MUST_USE;
/* The same of the environment, which is another one where the file of a library was changed. */
cm_status cm_run_check_environment(const cm_run *run, const char *saved) CM_MUST_USE;

/* run_task.c: a warning if random play in a task that has been checked is not what it was. */
cm_status cm_run_meet_task(const cm_run *run, const cm_json *saved) CM_MUST_USE;

/* run_data.c: the part of replay and environments */
uint64_t cm_run_data_most(const cm_run *run); /* bytes of this rank's files at most, with a full replay */
void cm_run_keep_actor(cm_run *run);          /* `actor_bytes` are the environments as they are now, unless is_undone */
uint64_t cm_run_data_bytes(void *run);        /* that the next checkpoint will write, about */
cm_status cm_run_data_save(void *run, cm_checkpoint_writer *writer) CM_MUST_USE;
cm_status cm_run_data_load(void *run, cm_checkpoint_reader *reader) CM_MUST_USE;

/* run_start.c: what a new run has of old ones, if anything */
bool cm_run_has_start(const cm_run_request *request);
cm_status cm_run_start_from(cm_run *run, const cm_run_request *request) CM_MUST_USE;

/* run_report.c */
void cm_run_say_setup(cm_run *run); /* where nothing else would be said for seconds: before all that allocates memory */
void cm_run_say_start(cm_run *run, bool resumed);
/* `note`: what it means for the goal; NULL: nothing */
void cm_run_say_evaluation(cm_run *run, const cm_evaluation *evaluation, const char *note);
void cm_run_say_time_over(cm_run *run); /* says what still follows, if it was time that has ended the run */
void cm_run_say_end(cm_run *run, const cm_run_result *result);

/* run_result.c */
/* Members of JSON without braces, of result.json and of events; 512 bytes suffice for the former, 1024 for both. */
void cm_run_format_evaluation(const cm_evaluation *evaluation, char *out, size_t size);
void cm_run_format_result(const cm_run_result *result, char *out, size_t size);
cm_status cm_run_write_result(cm_run *run, const cm_run_result *result) CM_MUST_USE;
cm_status cm_run_drop_result(cm_run *run) CM_MUST_USE; /* a run that goes on has no final report until it ends again */
/* *found: the report of a finished run is there and of the checkpoint that is loaded. One that cannot be read is warned
 * of, and made again, as one that is gone. */
cm_status cm_run_read_result(const cm_run *run, cm_run_result *result, bool *found) CM_MUST_USE;

/* run_records.c */
/* When all else is open. What cannot be opened is left out with a warning. Errors: CM_ERR_MEMORY. */
cm_status cm_run_open_records(cm_run *run, bool resumes) CM_MUST_USE;
void cm_run_close_records(cm_run *run);
/* Those that have ended in the last acting, some of them on any rank. Collective. Errors: those of the ranks. */
cm_status cm_run_write_episodes(cm_run *run) CM_MUST_USE;
/* A copy of it waits for the next row, if there are event files, and if it is not one of many. */
void cm_run_keep_picture(cm_run *run, const void *gif, size_t size, int width, int height);
void cm_run_write_row(cm_run *run);                         /* run->row, and the picture behind it */
cm_status cm_run_write_histograms(cm_run *run) CM_MUST_USE; /* if they are due. Errors: CM_ERR_DEVICE */
void cm_run_end_records(cm_run *run);                       /* the run has finished */

/* run_values.c */
void cm_run_warn_of_clipping(
    cm_run *run); /* of the row: once of values, once of rewards, with supports that hold them */
/* Supports and draws that the session has fitted: to the configuration of the request; then said. */
void cm_run_adopt_fitted(const cm_run *run, const cm_run_request *request);
void cm_run_say_fitted(const cm_run *run);
void cm_run_warn_of_discount(const cm_run *run); /* of 1 with a time limit */
void cm_run_warn_of_goal(const cm_run *run);     /* if every episode of the task reaches it, or none can */

/* run_evaluation.c */
cm_status cm_run_open_evaluation(cm_run *run) CM_MUST_USE;
void cm_run_close_evaluation(cm_run *run);
/* Whether an evaluation is to be made now; where time is the length of the run one that takes too much of it waits.
 * Collective. */
cm_status cm_run_ask_due(cm_run *run, bool *is_due) CM_MUST_USE;
/* Whether a run that ends here makes the evaluation that it lacks: where the time has ended it, only if there is
 * another one to compare it with, and time enough for it and for the report. Collective. */
cm_status cm_run_ask_last(cm_run *run, bool *is_due) CM_MUST_USE;
/* The current weights; counts for goal and best, and stands in run->row. All ranks play and know the same. Errors:
 * CM_ERR_INTERRUPTED if it was asked to stop, and then nothing counts; so with the report. */
cm_status cm_run_evaluate(cm_run *run) CM_MUST_USE;
cm_status cm_run_evaluate_final(cm_run *run, cm_run_result *out) CM_MUST_USE; /* the report, of a saved run */

/* run_episode.c: the first episode of the evaluation on the way that was just made, which began with `seed`, as
 * episodes/UPDATES.gif of the run's folder, of which the newest evaluation_gifs stay, and as episodes/best.gif. Errors
 * are warned of, once. */
void cm_run_keep_episode(cm_run *run, uint64_t seed, bool is_best);

/* run_device.c */
/* Where the device is not the host: measures what the run will take of its memory, prints it, and refuses a plan that
 * does not fit (CM_ERR_MEMORY names a key and the largest value of it that would). */
cm_status cm_run_plan_device(cm_run *run) CM_MUST_USE;
cm_status cm_run_say_device_peak(const cm_run *run) CM_MUST_USE; /* prints what it took at most */

/* run_gpu.c: gpu_use and gpu_memory of rows, where the backend is cuda */
/* Says once what keeps them from being known. */
void cm_run_open_gpu(cm_run *run);
void cm_run_close_gpu(cm_run *run);
/* The row gets them, at most a second old. Collective. Errors: those of the ranks. */
cm_status cm_run_tell_gpu(cm_run *run) CM_MUST_USE;

/* run_ranks.c */
cm_status cm_run_count(cm_run *run) CM_MUST_USE; /* run->counts, when the actor's have changed; collective */
/* Whether any rank was asked to stop. Collective. */
cm_status cm_run_ask_stop(cm_run *run, bool *is_asked) CM_MUST_USE;
/* Whether the time of any rank is over: run->time_over. Collective. */
cm_status cm_run_ask_time(cm_run *run) CM_MUST_USE;
cm_status cm_run_share_directory(cm_run *run) CM_MUST_USE; /* rank 0's path, to all */

#endif
