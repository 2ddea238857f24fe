/* The numbers of an iteration, as a line of metrics.jsonl, and back.
 *
 * Every line is one JSON object; a number that does not exist in an iteration (no episode ended, no evaluation) is left
 * out. The file is written with one system call per line, so that a killed process leaves whole lines; a resumed
 * run cuts it back to where its checkpoint was. One that was changed meanwhile, as by a line that was taken out by hand
 * or torn by a crash of the machine, keeps its whole lines of up to that iteration.
 */
#ifndef CM_RUN_METRICS_H
#define CM_RUN_METRICS_H

#include "core/append.h"
#include "core/json.h"
#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the wall time of a run goes to (times.def). */
typedef enum cm_time_part {
#define CM_TIME(part, ...) CM_TIME_##part,
#include "run/times.def"
    CM_TIMES
} cm_time_part;

/* NAN marks a number that does not exist. "Recent" means the last 32 episodes that ended. */
typedef struct cm_metrics {
    int64_t iteration, env_steps, updates, episodes;     /* since the start of the run                             */
    double seconds;                                      /* of acting, learning and evaluating, all sessions       */
    double env_steps_per_second, simulations_per_second; /* of this iteration; NAN offline                         */
    double updates_per_second;                           /* of this iteration                                      */
    double time[CM_TIMES]; /* wall seconds of each part since the last row was written; NAN in rows that are not */
    double gpu_use;        /* share of the last seconds in which the GPU ran kernels, 0 .. 1; of several the lowest */
    double gpu_memory;     /* share of its memory that is taken, by all programs; of several the highest */
    double mean_return, mean_length;             /* of recent episodes                                     */
    double total_loss, loss[CM_LOSSES], entropy; /* mean of the updates; names of losses: losses.def       */
    double policy_drift;                 /* of policies reanalysed: total variation from the stored ones, 0 .. 1 (per
                                            number: its mean over the numbers) */
    double gradient_norm, learning_rate; /* before clipping; of the last update                               */
    double clipped_targets, clipped_rewards; /* shares of value and reward targets outside their supports        */
    double loss_scale, skipped_steps;        /* with float16: of the next update; in all                */
    double temperature, replay_fill;         /* of acting; share of the replay's budget in use, 0 .. 1 */
    double eval_return, eval_std, eval_length, eval_episodes; /* greedy evaluation                               */
} cm_metrics;

/* One row per member, in the order in which they are written. */
typedef struct cm_metrics_field {
    const char *name;
    size_t offset;
    bool integer;    /* int64_t, else double */
    const char *tag; /* in TensorBoard (run/tensorboard.h): GROUP/NAME, as Stable-Baselines3 says it where it has it */
} cm_metrics_field;
const cm_metrics_field *cm_metrics_fields(int *count);
/* The row of that name; NULL: there is none. */
const cm_metrics_field *cm_metrics_find(const char *name);
double cm_metrics_number(const cm_metrics *metrics, const cm_metrics_field *field);

cm_metrics cm_metrics_empty(void); /* integers 0, the rest NAN */

/* Writes the members as text "name": value, ... without braces. Returns its length; 2048 bytes suffice. */
enum { CM_METRICS_TEXT = 2048 };
size_t cm_metrics_format(const cm_metrics *metrics, char *out, size_t size);

/* The same numbers as an object of a larger document, and back; one that does not exist is null there, or left out.
 * Errors: CM_ERR_INPUT names what is no number, or of the integers none in 0 .. 2^53. */
void cm_metrics_put(cm_json_writer *json, const char *key, const cm_metrics *metrics);
cm_status cm_metrics_get(const cm_json *object, cm_metrics *out) CM_MUST_USE;

/* The file. Open appends after its first `keep` bytes and drops what follows; keep < 0 keeps all. Where these do not
 * end with a line, or hold one of an iteration beyond `last`, it goes by the iterations instead: it keeps the whole
 * lines in front of the first that is beyond, and warns. */
typedef struct cm_metrics_file {
    cm_append_file lines;
    int64_t cut_updates; /* of the last line that was dropped when it was opened; 0: none */
} cm_metrics_file;
cm_status cm_metrics_open(cm_metrics_file *file, const cm_dir *dir, const char *name, int64_t keep,
                          int64_t last) CM_MUST_USE;

/* Appends a line, or nothing. Allocates nothing. Errors: CM_ERR_IO; the next one may be written all the same. */
cm_status cm_metrics_write(cm_metrics_file *file, const cm_metrics *metrics) CM_MUST_USE;
void cm_metrics_close(cm_metrics_file *file);

/* Whether an iteration has a line: the multiples of `interval`, and from the 8,192nd line on every second of them, from
 * the 16,384th on every fourth, and so on: 4,096 lines for every doubling, so that the file of a run of 10^9 iterations
 * has some 80,000. A function of the iteration alone, so that a resumed run has the lines of the unbroken one. */
bool cm_metrics_is_due(int64_t iteration, int64_t interval);

/* Reads a file of any size; *rows[*count] is freed by the caller with free(). Of more than 65,536 rows those with an
 * evaluation, the last one and one in so many of the others are kept; of more than half as many evaluations every
 * second. A last line without newline is ignored. Errors: CM_ERR_IO "a damaged line of metrics, which may be removed:
 * PATH:LINE: what", also for JSON that is no object, or has another type where a number belongs, or a count that is
 * none. */
cm_status cm_metrics_read(const char *path, cm_metrics **rows, int *count) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
