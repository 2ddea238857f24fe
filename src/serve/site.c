#include "serve/site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/clock.h"
#include "run/directory.h"

enum { OTHERS = 16 /* runs that are looked at each time though they do not train */, BEHIND_MS = 10 };
/* Seconds from one look to the next, and at most from one search for new runs to the next: folders that are searched
 * quickly are searched at each look, so that this takes SHARE of the time at most. */
static const double PAUSE = 0.9, SEARCH = 10.0, SHARE = 0.002;

/* ---- a run ---- */

static bool look_at(const cm_site_run *run, const char *name, struct stat *out) {
    char path[PATH_MAX];
    return cm_path_join(path, sizeof path, run->path, name) == CM_OK && lstat(path, out) == 0 && S_ISREG(out->st_mode);
}

static int64_t time_of(const struct stat *about) {
    return (int64_t)about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec;
}

static cm_site_files files_of(const cm_site_run *run) {
    cm_site_files files = {.metrics_bytes = -1, .log_bytes = -1, .result_ns = -1};
    struct stat about;
    if (look_at(run, "metrics.jsonl", &about)) {
        files.metrics_bytes = about.st_size;
        files.metrics_ns = time_of(&about);
    }
    if (look_at(run, "log.txt", &about)) files.log_bytes = about.st_size;
    if (look_at(run, "result.json", &about)) files.result_ns = time_of(&about);
    files.is_training = cm_run_directory_is_training(run->path);
    return files;
}

static bool is_same(const cm_site_files *a, const cm_site_files *b) {
    return a->metrics_bytes == b->metrics_bytes && a->metrics_ns == b->metrics_ns && a->log_bytes == b->log_bytes &&
           a->result_ns == b->result_ns && a->is_training == b->is_training;
}

/* What cannot be read is not known: a run that goes while it is looked at is none. */
static void read_run(cm_site_run *run) {
    if (cm_run_summary_read(run->path, false, true, &run->summary) != CM_OK)
        run->summary = (cm_run_summary){.environment = "?",
                                        .last_return = NAN,
                                        .final = NAN,
                                        .goal = NAN,
                                        .seconds = NAN,
                                        .seed = -1,
                                        .updates = -1,
                                        .env_steps = -1,
                                        .checkpoint = -1,
                                        .state = "gone"};
    run->has_last = cm_follow_last(run->path, &run->last);
    if (!run->has_last) return;
    run->summary.env_steps = run->last.env_steps;
    run->summary.updates = run->last.updates;
    run->summary.last_return = run->last.mean_return;
    if (!isfinite(run->summary.seconds)) run->summary.seconds = run->last.seconds;
}

/* Returns whether its curves are behind. */
static bool refresh(cm_site *site, cm_site_run *run) {
    const cm_site_files files = files_of(run);
    bool has_changed = !is_same(&files, &run->files);
    if (has_changed) {
        run->files = files;
        read_run(run);
    }
    if (run->follow) has_changed |= cm_follow_read(run->follow, run->path);
    if (has_changed) run->version = ++site->version;
    return run->follow && run->follow->is_behind;
}

double cm_site_rate(const cm_site_run *run) {
    const bool is_training = run->has_last && run->files.is_training;
    return is_training ? run->last.env_steps_per_second : (double)NAN;
}

double cm_site_left(const cm_site_run *run) {
    const cm_run_summary *s = &run->summary;
    if (!run->has_last || !run->files.is_training || !(run->last.seconds > 0.0)) return NAN;
    const double done = s->most_steps > 0     ? (double)s->env_steps / (double)s->most_steps
                        : s->most_updates > 0 ? (double)s->updates / (double)s->most_updates
                                              : (double)NAN;
    return done > 0.0 ? run->last.seconds * fmax(0.0, 1.0 / done - 1.0) : (double)NAN;
}

/* ---- all of them ---- */

static cm_site_folder folder_of(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) return (cm_site_folder){0, 0};
    return (cm_site_folder){(uint64_t)about.st_dev, (uint64_t)about.st_ino};
}

static bool is_same_folder(const cm_site_folder *a, const cm_site_folder *b) {
    return a->device == b->device && a->inode == b->inode && a->inode != 0;
}

/* By this path, or by another one that still leads there. */
static bool is_known(const cm_site *site, const char *path, const cm_site_folder *folder) {
    for (int i = 0; i < site->count; i++) {
        const cm_site_run *run = &site->runs[i];
        if (strcmp(run->path, path) == 0) return true;
        if (!is_same_folder(&run->folder, folder)) continue;
        const cm_site_folder now = folder_of(run->path);
        if (is_same_folder(&now, folder)) return true;
    }
    return false;
}

static cm_status note_run(void *context, const char *path) {
    cm_site *site = context;
    const cm_site_folder folder = folder_of(path);
    if (site->count == CM_SITE_RUNS || is_known(site, path, &folder)) return CM_OK;
    cm_site_run *run = &site->runs[site->count];
    *run = (cm_site_run){.path = strdup(path), .folder = folder, .files = {.metrics_bytes = -2}};
    if (!run->path) return cm_fail(CM_ERR_MEMORY, "no memory for the name of a run");
    site->count++;
    refresh(site, run);
    return CM_OK;
}

static cm_status search(cm_site *site) {
    const double begun = cm_clock_seconds();
    for (int i = 0; i < site->folder_count; i++) CM_TRY(cm_run_directory_visit(site->folders[i], note_run, site));
    site->searched = cm_clock_seconds();
    site->search_pause = fmin((site->searched - begun) / SHARE, SEARCH);
    return CM_OK;
}

cm_status cm_site_open(cm_site *site, const char *const *folders, int folder_count) {
    *site = (cm_site){.folders = folders, .folder_count = folder_count};
    CM_TRY(cm_alloc(&site->runs, CM_SITE_RUNS, sizeof *site->runs, "the runs that are served"));
    CM_TRY(search(site));
    site->looked = cm_clock_seconds();
    return CM_OK;
}

static void stop_following(cm_site_run *run) {
    if (run->follow) cm_follow_free(run->follow);
    free(run->follow);
    run->follow = NULL;
}

void cm_site_close(cm_site *site) {
    for (int i = 0; i < site->count; i++) {
        stop_following(&site->runs[i]);
        free(site->runs[i].path);
    }
    free(site->runs);
    *site = (cm_site){0};
}

static bool look_at_active(cm_site *site) {
    bool is_behind = false;
    for (int i = 0; i < site->count; i++)
        if (site->runs[i].follow || site->runs[i].files.is_training) is_behind |= refresh(site, &site->runs[i]);
    return is_behind;
}

static void look_at_others(cm_site *site) {
    for (int i = 0; i < OTHERS && i < site->count; i++) {
        site->next = (site->next + 1) % site->count;
        refresh(site, &site->runs[site->next]);
    }
}

/* A folder that cannot be looked through now may be again later. */
int cm_site_look(cm_site *site) {
    const double now = cm_clock_seconds();
    const bool is_due = now - site->looked >= PAUSE;
    bool is_behind = false;
    if (is_due) {
        site->looked = now;
        is_behind = look_at_active(site);
        look_at_others(site);
        if (now - site->searched >= site->search_pause && search(site) != CM_OK) site->searched = now;
        return is_behind ? BEHIND_MS : 0;
    }
    for (int i = 0; i < site->count; i++)
        if (site->runs[i].follow && site->runs[i].follow->is_behind) is_behind |= refresh(site, &site->runs[i]);
    return is_behind ? BEHIND_MS : 0;
}

/* Makes space for one more by dropping those that were asked for longest ago. */
static void drop_oldest(cm_site *site) {
    int followed = 0, oldest = -1;
    for (int i = 0; i < site->count; i++) {
        if (!site->runs[i].follow) continue;
        followed++;
        if (oldest < 0 || site->runs[i].asked < site->runs[oldest].asked) oldest = i;
    }
    if (followed >= CM_SITE_FOLLOWED) stop_following(&site->runs[oldest]);
}

const cm_follow *cm_site_follow(cm_site *site, int number) {
    cm_site_run *run = &site->runs[number];
    run->asked = ++site->questions;
    if (run->follow) return run->follow;
    drop_oldest(site);
    run->follow = malloc(sizeof *run->follow);
    if (!run->follow) return NULL;
    if (cm_follow_begin(run->follow) != CM_OK) {
        free(run->follow);
        run->follow = NULL;
        return NULL;
    }
    run->follow->generation = ++site->version; /* other than that of curves that were dropped */
    cm_follow_read(run->follow, run->path);
    run->version = site->version;
    return run->follow;
}
