/* What is served: the runs below folders, as their files are now. Nothing of a run is written, and no code of it is
 * opened. One thread. */
#ifndef CM_SERVE_SITE_H
#define CM_SERVE_SITE_H

#include "run/summary.h"
#include "serve/follow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs at most, and those of them whose curves are in memory: the ones that were asked for last. */
enum { CM_SITE_RUNS = 1024, CM_SITE_FOLLOWED = 32 };

/* What files looked like when they were read. */
typedef struct cm_site_files {
    int64_t metrics_bytes, metrics_ns, log_bytes, result_ns;
    bool is_training;
} cm_site_files;

/* A folder whatever path leads to it. */
typedef struct cm_site_folder {
    uint64_t device, inode; /* as stat has them; 0, 0: it could not be looked at */
} cm_site_folder;

typedef struct cm_site_run {
    char *path; /* owned */
    cm_site_folder folder;
    cm_run_summary summary;
    bool has_last;
    cm_metrics last; /* the newest line */
    cm_site_files files;
    uint64_t version;  /* the site's when something of it changed last */
    uint64_t asked;    /* the site's count of questions when its curves were asked for last; 0: never */
    cm_follow *follow; /* its curves, owned; NULL: not in memory */
} cm_site_run;

typedef struct cm_site {
    const char *const *folders; /* [folder_count], borrowed */
    int folder_count;
    cm_site_run *runs; /* [count], owned; a run keeps its number */
    int count, next;   /* next: the one to look at, of those that do not train */
    uint64_t version, questions;
    double looked, searched; /* times of the clock */
    double search_pause;     /* seconds until the next search */
} cm_site;

/* Finds the runs. Errors: those of looking for them; CM_ERR_MEMORY. The site is freed also after one. */
cm_status cm_site_open(cm_site *site, const char *const *folders, int folder_count) CM_MUST_USE;
void cm_site_close(cm_site *site);

/* Looks at the files again unless that was within a second: of runs in training and those whose curves are in memory,
 * of some of the others, and now and then for new runs. Returns ms until it wants to be called again, 0: at leisure. */
int cm_site_look(cm_site *site);

/* The curves of a run, in memory from now on; NULL: there is no memory. */
const cm_follow *cm_site_follow(cm_site *site, int run);

/* Steps a second of its newest line, and seconds to its end at that rate; NAN: not known, or it does not train. */
double cm_site_rate(const cm_site_run *run);
double cm_site_left(const cm_site_run *run);

#ifdef __cplusplus
}
#endif
#endif
