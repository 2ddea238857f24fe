/* The seeds of `cumind train --seeds 1-5`: their list, the folders of their runs, the table at the end. */
#ifndef CM_CLI_SEEDS_H
#define CM_CLI_SEEDS_H

#include "cli/command.h"
#include "run/run.h"

enum { CM_SEEDS = 64, CM_SEED_ERROR = 1024 };

/* A seed and what has become of its run. */
typedef struct cm_seed {
    int64_t seed;
    bool is_begun, is_made; /* its run; `result` and `folder` are there: it has ended well, or was stopped and saved */
    cm_run_result result;   /* its directory is NULL */
    char folder[PATH_MAX];  /* of its run */
    int code;               /* exit status of the process that trained it */
    char error[CM_SEED_ERROR]; /* what that said last of why it failed; "": nothing */
} cm_seed;

typedef struct cm_seeds {
    const char *noun, *member; /* what lines and JSON call one: "seed", "train_seed" */
    int count;
    cm_seed row[CM_SEEDS];
} cm_seeds;

/* Reads "1-5", "3" or "1,4,7"; *out has no results. Errors: CM_ERR_INPUT, also for a seed that stands twice. */
cm_status cm_seeds_parse(const char *text, cm_seeds *out) CM_MUST_USE;

/* The folder of one seed's run below --run. Errors: CM_ERR_INPUT. */
cm_status cm_seeds_folder(const char *directory, int64_t seed, char out[PATH_MAX]) CM_MUST_USE;

/* Neither the folder of all (NULL: they have none) nor that of a seed may hold a run. Errors: CM_ERR_INPUT. */
cm_status cm_seeds_check_folders(const char *directory, const cm_seeds *seeds) CM_MUST_USE;

/* Prints what the runs have brought, as a table or, with --json, as lines; what an interrupt has left of them, and how
 * to go on. Nothing with --quiet. */
void cm_seeds_say(const cm_arguments *arguments, const cm_seeds *seeds);

/* The first error, with its seed unless all of them have the same; other ones are printed. CM_OK: there is none.
 * Errors: CM_ERR_INPUT if that was the exit status of its process, else CM_ERR_STATE. */
cm_status cm_seeds_verdict(const cm_seeds *seeds) CM_MUST_USE;
#endif
