/* A run's folder, which explains itself:
 *
 *     config.json      the effective configuration
 *     metrics.jsonl    one line per iteration, or per so many (metrics_interval)
 *     tensorboard/     the same numbers as event files (run/tensorboard.h)
 *     monitor.csv      every episode of self-play (run/monitor.h)
 *     log.txt          what was said, with times
 *     checkpoints/     see run/checkpoint.h; latest and best point into it
 *     episodes/        moving pictures of evaluations: N.gif after N updates, best.gif
 *     result.json      the final report, once the run has finished
 *     README.md        this list, and the commands that use the run
 *     lock             held (flock) by the process that writes to the run
 */
#ifndef CM_RUN_DIRECTORY_H
#define CM_RUN_DIRECTORY_H

#include "core/directory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_run_directory {
    char path[PATH_MAX];
    cm_dir dir;   /* the same, open while the lock is held */
    int lock;     /* descriptor, -1 if not held */
    size_t there; /* bytes of the path that named a folder before the run was made */
} cm_run_directory;

/* Makes the folder of a new run in `path` (with parents) and takes its lock; one in which a run was killed before it
 * had begun is taken over. Errors: CM_ERR_INPUT if the folder holds a run already (names --resume) or something that is
 * not a run. */
cm_status cm_run_directory_create(cm_run_directory *run, const char *path) CM_MUST_USE;

/* Removes the folder of a new run that did not begin, with all that is in it, and the parents that were made for it if
 * nothing else is in them. The lock has been released. */
cm_status cm_run_directory_discard(const cm_run_directory *run) CM_MUST_USE;

/* Writes config.json, which makes a run of that folder: what it must not be gone on with without is there before. */
cm_status cm_run_directory_begin(const cm_run_directory *run, const char *config) CM_MUST_USE;

/* Opens a run to go on writing to it: takes the lock and removes what a dead writer left. Errors: CM_ERR_INPUT if it is
 * no run, CM_ERR_STATE if another process holds the lock. */
cm_status cm_run_directory_open(cm_run_directory *run, const char *path) CM_MUST_USE;

/* Whether what this process writes to PATH still goes to its run: no one has moved or removed the folder or its lock
 * since that was taken. Errors: CM_ERR_IO says which, and where the folder is now. */
cm_status cm_run_directory_keeps(const cm_run_directory *run) CM_MUST_USE;

void cm_run_directory_close(cm_run_directory *run); /* releases the lock */

/* CM_OK if `path` is a run, else CM_ERR_INPUT that says what it is instead. A run whose files are links, or no files,
 * is none to read or write: nothing in it is reached through a link but `latest` and `best`, which name checkpoints. */
cm_status cm_run_directory_check(const char *path) CM_MUST_USE;

/* Whether a process trains the run at this moment. */
bool cm_run_directory_is_training(const char *path);

/* A name for a new run that does not exist yet: ROOT/ENV/20251121-073900, "/" in ENV as "_". */
cm_status cm_run_directory_name(const char *root, const char *env, char *out, size_t size) CM_MUST_USE;

/* The runs below `root`, in any depth up to 3, sorted by path: calls visit(context, path) for each. A link below it is
 * looked at only as a run itself. A missing root has none; of a folder that cannot be read a warning says so. */
cm_status cm_run_directory_visit(const char *root, cm_status (*visit)(void *context, const char *path),
                                 void *context) CM_MUST_USE;

/* The run below `root` whose metrics were written last, "" if there is none: the newest. */
cm_status cm_run_directory_newest(const char *root, char out[PATH_MAX]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
