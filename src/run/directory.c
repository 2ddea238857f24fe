#include "run/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"

enum { VISIT_DEPTH = 3, LOCK_TRIES = 6, LOCK_PAUSE = 20000 /* microseconds */ };

static const char readme[] =
    "# A cumind run\n"
    "\n"
    "| file | what it is |\n"
    "|---|---|\n"
    "| config.json | the effective configuration: `cumind train --config` takes it to start the same run again |\n"
    "| metrics.jsonl | the numbers of its iterations, a JSON object per line |\n"
    "| log.txt | what the program said, with times |\n"
    "| checkpoints/N/ | the state after N updates: parameters and optimizer as safetensors, the rest as JSON and "
    "binary "
    "segments, a checksum of each in manifest.json |\n"
    "| latest, best | the checkpoint that a run goes on from, and the one with the best evaluation |\n"
    "| result.json | the final report, once the run has finished |\n"
    "| lock | held while a process writes to this run |\n"
    "\n"
    "    cumind train --resume .      go on\n"
    "    cumind eval --run .          evaluate greedily over 100 episodes\n"
    "    cumind play --run .          watch it play, or play against it\n"
    "    cumind plot --run .          learning curve\n"
    "    cumind inspect --run .       layers, sizes, hash of the parameters\n";

static bool has(const char *path, const char *name) {
    char file[PATH_MAX];
    return cm_path_join(file, sizeof file, path, name) == CM_OK && cm_file_exists(file);
}

/* Whether nothing is in a folder but what a process has left that was killed before its run had begun. */
static bool is_unused(const char *path) {
    static const char *const known[] = {".", "..", "lock", "latest"};
    static const char *const unfinished[] = {"config.json.tmp-", "latest.tmp-"};
    DIR *folder = opendir(path);
    if (!folder) return false;
    bool unused = true;
    for (struct dirent *entry; unused && (entry = readdir(folder));) {
        unused = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) unused |= strcmp(entry->d_name, known[i]) == 0;
        for (size_t i = 0; i < sizeof unfinished / sizeof *unfinished; i++)
            unused |= strncmp(entry->d_name, unfinished[i], strlen(unfinished[i])) == 0;
    }
    closedir(folder);
    return unused;
}

static cm_status set_path(cm_run_directory *run, const char *path) {
    run->lock = -1;
    int n = snprintf(run->path, sizeof run->path, "%s", path);
    if (n <= 0 || n >= PATH_MAX - 64) return cm_fail(CM_ERR_INPUT, "\"%.60s\" is no usable path of a run", path);
    for (size_t end = (size_t)n; end > 1 && run->path[end - 1] == '/'; end--) run->path[end - 1] = '\0';
    return CM_OK;
}

static cm_status take_lock(cm_run_directory *run) {
    char path[PATH_MAX];
    CM_TRY(cm_run_directory_file(run, "lock", path, sizeof path));
    run->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (run->lock < 0) return cm_fail(CM_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    int reason = EWOULDBLOCK;
    for (int i = 0; i < LOCK_TRIES && reason == EWOULDBLOCK; i++) { /* who only looks holds it for a moment */
        if (i > 0) usleep(LOCK_PAUSE);
        if (flock(run->lock, LOCK_EX | LOCK_NB) == 0) return CM_OK;
        reason = errno;
    }
    cm_run_directory_close(run);
    if (reason != EWOULDBLOCK) return cm_fail(CM_ERR_IO, "%s: cannot lock: %s", path, strerror(reason));
    return cm_fail(CM_ERR_STATE, "%s: another process is training this run; wait for it or stop it first", run->path);
}

static cm_status write_file(const cm_run_directory *run, const char *name, const char *text) {
    char path[PATH_MAX];
    CM_TRY(cm_run_directory_file(run, name, path, sizeof path));
    return cm_file_write(path, text, strlen(text));
}

/* Removes NAME.tmp-PID files of writers that were killed; the lock is held, so no writer is alive. */
static cm_status remove_leftovers(const cm_run_directory *run) {
    DIR *folder = opendir(run->path);
    if (!folder) return cm_fail(CM_ERR_IO, "%s: cannot list: %s", run->path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[PATH_MAX];
        if (!strstr(entry->d_name, ".tmp-")) continue;
        if (cm_run_directory_file(run, entry->d_name, path, sizeof path) == CM_OK) unlink(path);
    }
    closedir(folder);
    return CM_OK;
}

static cm_status refuse_run(const cm_run_directory *run) {
    if (cm_run_directory_check(run->path) != CM_OK) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: holds a run already; go on with --resume %s, or choose another --run", run->path,
                   run->path);
}

/* Removes what a run that was killed before it had begun has left; the lock is held. */
static cm_status clear(const cm_run_directory *run) {
    char latest[PATH_MAX];
    CM_TRY(refuse_run(run)); /* one may have begun, and ended, before the lock was free */
    CM_TRY(remove_leftovers(run));
    CM_TRY(cm_run_directory_file(run, "latest", latest, sizeof latest));
    if (unlink(latest) == 0 || errno == ENOENT) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: cannot remove: %s", latest, strerror(errno));
}

/* What a new run cannot have as its folder. */
static cm_status refuse_path(const cm_run_directory *run) {
    const char *path = run->path;
    if (!cm_file_is_named(path)) return CM_OK;
    if (!cm_file_exists(path))
        return cm_fail(CM_ERR_INPUT, "%s: is a link that leads to nothing; choose another --run", path);
    if (!cm_file_is_directory(path))
        return cm_fail(CM_ERR_INPUT, "%s: a run is a folder, this is a file; choose another --run", path);
    CM_TRY(refuse_run(run));
    if (is_unused(path)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: exists and is not empty; choose another --run", path);
}

/* Bytes of the longest beginning of a path that is a folder; 0: none is. */
static size_t find_there(const char *path) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    while (!cm_file_is_directory(part)) {
        char *slash = strrchr(part, '/');
        if (!slash) return 0;
        *slash = '\0';
    }
    return strlen(part);
}

cm_status cm_run_directory_discard(const cm_run_directory *run) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", run->path);
    CM_TRY(cm_directory_remove(path));
    for (char *slash; (slash = strrchr(path, '/')) && slash - path > (ptrdiff_t)run->there;) {
        *slash = '\0';
        if (rmdir(path) != 0) break; /* it has others in it by now */
    }
    return CM_OK;
}

cm_status cm_run_directory_create(cm_run_directory *run, const char *path) {
    CM_TRY(set_path(run, path));
    CM_TRY(refuse_path(run));
    run->there = find_there(run->path);
    CM_TRY(cm_directory_make(run->path));
    CM_TRY(take_lock(run));
    cm_status status = clear(run);
    if (status != CM_OK) cm_run_directory_close(run);
    return status;
}

cm_status cm_run_directory_begin(const cm_run_directory *run, const char *config) {
    CM_TRY(write_file(run, "config.json", config));
    return write_file(run, "README.md", readme);
}

cm_status cm_run_directory_open(cm_run_directory *run, const char *path) {
    CM_TRY(set_path(run, path));
    CM_TRY(cm_run_directory_check(run->path));
    CM_TRY(take_lock(run));
    cm_status status = remove_leftovers(run);
    if (status != CM_OK) cm_run_directory_close(run);
    return status;
}

/* Where the lock that this process holds is now, "" if that cannot be said: /run2/lock. */
static void find_lock(const cm_run_directory *run, char out[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", run->lock);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
}

cm_status cm_run_directory_keeps(const cm_run_directory *run) {
    char lock[PATH_MAX];
    struct stat held, there;
    CM_TRY(cm_run_directory_file(run, "lock", lock, sizeof lock));
    if (fstat(run->lock, &held) != 0) return cm_fail(CM_ERR_IO, "%s: cannot be seen: %s", lock, strerror(errno));
    if (stat(lock, &there) == 0 && there.st_dev == held.st_dev && there.st_ino == held.st_ino) return CM_OK;
    if (held.st_nlink > 0) {
        find_lock(run, lock);
        char *end = strrchr(lock, '/');
        if (end) *end = '\0';
        return cm_fail(CM_ERR_IO, "%s: this run's folder was moved while it trained; go on with --resume %s", run->path,
                       end ? lock : "and its new place");
    }
    if (has(run->path, "config.json"))
        return cm_fail(CM_ERR_IO,
                       "%s: its lock was removed while it trained, so another process may write to it; make an empty "
                       "file of that name and go on with --resume %s",
                       run->path, run->path);
    return cm_fail(CM_ERR_IO, "%s: this run's folder was removed while it trained; nothing of it is left", run->path);
}

void cm_run_directory_close(cm_run_directory *run) {
    if (run->lock >= 0) close(run->lock);
    run->lock = -1;
}

cm_status cm_run_directory_check(const char *path) {
    if (!cm_file_exists(path)) return cm_fail(CM_ERR_INPUT, "%s: there is no such run", path);
    if (!cm_file_is_directory(path)) return cm_fail(CM_ERR_INPUT, "%s: a run is a folder, this is a file", path);
    errno = 0;
    if (has(path, "config.json") && has(path, "lock")) return CM_OK;
    if (errno == EACCES) return cm_fail(CM_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    return cm_fail(CM_ERR_INPUT,
                   "%s: holds no run (no config.json and lock in it); cumind runs DIR lists those below a folder",
                   path);
}

bool cm_run_directory_is_training(const char *path) {
    char lock[PATH_MAX];
    int file = cm_path_join(lock, sizeof lock, path, "lock") == CM_OK ? open(lock, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return false;
    bool is_taken = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(file);
    return is_taken;
}

cm_status cm_run_directory_file(const cm_run_directory *run, const char *name, char *out, size_t size) {
    return cm_path_join(out, size, run->path, name);
}

cm_status cm_run_directory_name(const char *root, const char *env, char *out, size_t size) {
    char stamp[32], plain[64];
    cm_clock_stamp(stamp);
    snprintf(plain, sizeof plain, "%s", env);
    for (char *c = plain; *c; c++) *c = *c == '/' ? '_' : *c;
    for (int attempt = 1; attempt < 1000; attempt++) {
        int n = attempt == 1 ? snprintf(out, size, "%s/%s/%s", root, plain, stamp)
                             : snprintf(out, size, "%s/%s/%s-%d", root, plain, stamp, attempt);
        if (n < 0 || (size_t)n >= size) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", root);
        if (!cm_file_exists(out)) return CM_OK;
    }
    return cm_fail(CM_ERR_IO, "%s/%s: no free name for a run", root, plain);
}

static int not_hidden(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static cm_status visit_below(const char *path, int depth, cm_status (*visit)(void *context, const char *path),
                             void *context) {
    if (cm_run_directory_check(path) == CM_OK) return visit(context, path);
    if (depth == VISIT_DEPTH || !cm_file_is_directory(path)) return CM_OK;
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, not_hidden, alphasort);
    cm_status status = CM_OK;
    for (int i = 0; i < count; i++) {
        char below[PATH_MAX];
        if (status == CM_OK) status = cm_path_join(below, sizeof below, path, entries[i]->d_name);
        if (status == CM_OK) status = visit_below(below, depth + 1, visit, context);
        free(entries[i]);
    }
    free(entries);
    return status;
}

cm_status cm_run_directory_visit(const char *root, cm_status (*visit)(void *context, const char *path), void *context) {
    return visit_below(root, 0, visit, context);
}

typedef struct newest {
    struct timespec time;
    char *path; /* [PATH_MAX] */
} newest;

static bool is_later(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec >= b.tv_nsec;
}

static cm_status note_newest(void *context, const char *path) {
    newest *n = context;
    char file[PATH_MAX];
    struct stat about;
    CM_TRY(cm_path_join(file, sizeof file, path, "metrics.jsonl"));
    if (stat(file, &about) != 0 || !is_later(about.st_mtim, n->time)) return CM_OK;
    n->time = about.st_mtim;
    snprintf(n->path, PATH_MAX, "%s", path);
    return CM_OK;
}

cm_status cm_run_directory_newest(const char *root, char out[PATH_MAX]) {
    newest n = {.path = out};
    out[0] = '\0';
    return cm_run_directory_visit(root, note_newest, &n);
}
