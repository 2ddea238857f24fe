/* The ledger of a sweep, FOLDER/ledger.jsonl: a line for every trial at every rung that it has come to.
 *
 *     {"rung": 0, "trial": 3, "env_steps": 1763, "values": {"learning_rate": 0.001, "num_simulations": 8},
 *      "scores": [21.5, 19.25], "score": 20.375, "seconds": 12.7, "written": 1764359100}
 *
 * Lines stand in the order of the sweep (sweep/schedule.h). A line waits for those before it. So the lines are the
 * same, and in the same order, whatever number of workers and machines made them and however often they were killed;
 * only "seconds" and "written" differ. A trial with a run that has failed has the score null, an "error", and counts as
 * worst. Whoever appends holds FOLDER/ledger.lock, and first takes off a line that a machine left torn. */
#ifndef CM_SWEEP_LEDGER_H
#define CM_SWEEP_LEDGER_H

#include "sweep/schedule.h"
#include "sweep/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_sweep_line {
    int rung, trial;
    int64_t env_steps; /* of one of its runs */
    double score;      /* mean over the seeds; NAN: failed */
    double seconds;    /* of all its runs until then */
    char error[CM_SWEEP_ERROR];
} cm_sweep_line;

typedef struct cm_sweep_ledger {
    int count;
    cm_sweep_line *line;         /* owned */
    cm_sweep_schedule *schedule; /* after them; owned */
} cm_sweep_ledger;

/* A missing file is an empty ledger; what follows the last newline is left out. Errors: CM_ERR_INPUT for a line that
 * does not belong where it stands. The caller frees *out, also after an error. */
cm_status cm_sweep_ledger_read(const char *folder, const cm_sweep_plan *plan, cm_sweep_ledger *out) CM_MUST_USE;
void cm_sweep_ledger_free(cm_sweep_ledger *ledger);

/* The same after all lines were appended whose results are there; *fresh: the first of them. Where there are some,
 * best.json is written; with `renews` in any case: a process may have been killed between the two. */
cm_status cm_sweep_ledger_extend(const char *folder, const cm_sweep_plan *plan, bool renews, cm_sweep_ledger *out,
                                 int *fresh) CM_MUST_USE;

/* Whether no line is missing any more. */
bool cm_sweep_ledger_is_whole(const cm_sweep_ledger *ledger);

/* The last line of every trial that has one, best first: by its rung, then by score, failed ones last, then by number.
 * line[plan->trials]; returns how many. */
int cm_sweep_ledger_rank(const cm_sweep_plan *plan, const cm_sweep_ledger *ledger, const cm_sweep_line **line);

#ifdef __cplusplus
}
#endif
#endif
