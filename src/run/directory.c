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
#include "core/log.h"
#include "core/retry.h"

enum { VISIT_DEPTH = 3, LOCK_TRIES = 6, LOCK_PAUSE = 20000 /* microseconds */ };

static const char readme[] =
    "# A cumind run\n"
    "\n"
    "| file | what it is |\n"
    "|---|---|\n"
    "| config.json | the effective configuration: `cumind train --config` takes it to start the same run again |\n"
    "| metrics.jsonl | the numbers of its iterations, a JSON object per line |\n"
    "| tensorboard/ | the same numbers, and hyper-parameters: `tensorboard --logdir .` shows them |\n"
    "| monitor.csv | return, length and time of every episode of self-play |\n"
    "| log.txt | what the program said, with times |\n"
    "| checkpoints/N/ | the state after N updates: parameters and optimizer as safetensors, the rest as JSON and "
    "binary segments, a checksum of each in manifest.json |\n"
    "| latest, best | the checkpoint that a run goes on from, and the one with the best evaluation |\n"
    "| episodes/ | an episode of the last evaluations and of the best one as moving pictures |\n"
    "| result.json | the final report, once the run has finished |\n"
    "| lock | held while a process writes to this run |\n"
    "\n"
    "    cumind train --resume .      go on\n"
    "    cumind eval --run .          evaluate greedily over 100 episodes\n"
    "    cumind play --run .          watch it play, or play against it\n"
    "    cumind plot --run .          learning curve\n"
    "    cumind inspect --run .       layers, sizes, hash of the parameters\n";

static const char lock_name[] = "lock", config_name[] = "config.json", latest_name[] = "latest", best_name[] = "best";

/* What a run consists of, but for the links latest and best. */
static const struct {
    const char *name;
    cm_dir_kind is;
} run_files[] = {
    {lock_name, CM_DIR_FILE},       {config_name, CM_DIR_FILE},     {"README.md", CM_DIR_FILE},
    {"metrics.jsonl", CM_DIR_FILE}, {"log.txt", CM_DIR_FILE},       {"result.json", CM_DIR_FILE},
    {"monitor.csv", CM_DIR_FILE},   {"tensorboard", CM_DIR_FOLDER}, {"checkpoints", CM_DIR_FOLDER},
    {"episodes", CM_DIR_FOLDER},
};
enum { RUN_FILES = sizeof run_files / sizeof *run_files };

/* Whether `name` is what a process that was killed has left of writing `base`: BASE.tmp-PID. */
static bool is_unfinished(const char *name, const char *base) {
    static const char mark[] = ".tmp-";
    const size_t length = strlen(base), end = length + sizeof mark - 1;
    return strncmp(name, base, length) == 0 && strncmp(name + length, mark, sizeof mark - 1) == 0 && name[end] &&
           strspn(name + end, "0123456789") == strlen(name + end);
}

/* What a process has left that was killed before its run had begun. */
static cm_status refuse_other(void *context, const char *name) {
    bool *is_unused = context;
    *is_unused = strcmp(name, lock_name) == 0 || strcmp(name, latest_name) == 0 || is_unfinished(name, config_name) ||
                 is_unfinished(name, latest_name);
    return *is_unused ? CM_OK : CM_ERR_STATE;
}

/* Whether nothing else is in a folder. */
static bool is_unused(const char *path) {
    cm_dir dir;
    bool unused = true;
    if (cm_dir_open(&dir, path) != CM_OK) return false;
    const bool is_seen = cm_dir_each(&dir, refuse_other, &unused) == CM_OK;
    cm_dir_close(&dir);
    return is_seen && unused;
}

static cm_status set_path(cm_run_directory *run, const char *path) {
    run->lock = run->dir.file = -1;
    int n = snprintf(run->path, sizeof run->path, "%s", path);
    if (n <= 0 || n >= PATH_MAX - 64) return cm_fail(CM_ERR_INPUT, "\"%.60s\" is no usable path of a run", path);
    for (size_t end = (size_t)n; end > 1 && run->path[end - 1] == '/'; end--) run->path[end - 1] = '\0';
    return CM_OK;
}

static int lock_file(int file, int operation) {
    int result;
    do result = flock(file, operation);
    while (cm_is_eintr(result));
    return result;
}

static cm_status acquire_lock(cm_run_directory *run) {
    CM_TRY(cm_dir_open_file(&run->dir, lock_name, O_RDWR | O_CREAT, &run->lock));
    int reason = EWOULDBLOCK;
    for (int i = 0; i < LOCK_TRIES && reason == EWOULDBLOCK; i++) { /* a reader holds it for a moment */
        if (i > 0) usleep(LOCK_PAUSE);
        if (lock_file(run->lock, LOCK_EX | LOCK_NB) == 0) return CM_OK;
        reason = errno;
    }
    if (reason != EWOULDBLOCK)
        return cm_fail(CM_ERR_IO, "%s/%s: cannot lock: %s", run->path, lock_name, strerror(reason));
    return cm_fail(CM_ERR_STATE, "%s: another process is training this run; wait for it or stop it first", run->path);
}

static cm_status write_file(const cm_run_directory *run, const char *name, const char *text) {
    return cm_dir_write(&run->dir, name, text, strlen(text));
}

static cm_status remove_leftover(void *context, const char *name) {
    const cm_dir *dir = context;
    bool is_ours = is_unfinished(name, latest_name) || is_unfinished(name, best_name);
    for (int i = 0; i < RUN_FILES; i++) is_ours = is_ours || is_unfinished(name, run_files[i].name);
    if (is_ours && cm_dir_unlink(dir, name) != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    return CM_OK;
}

/* Removes NAME.tmp-PID files of writers that were killed; the lock is held, so no writer is alive. */
static cm_status remove_leftovers(cm_run_directory *run) { return cm_dir_each(&run->dir, remove_leftover, &run->dir); }

static cm_status refuse_run(const cm_run_directory *run) {
    if (cm_run_directory_check(run->path) != CM_OK) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: holds a run already; go on with --resume %s, or choose another --run", run->path,
                   run->path);
}

/* Removes what a run that was killed before it had begun has left; the lock is held. */
static cm_status clear(cm_run_directory *run) {
    CM_TRY(refuse_run(run)); /* one may have begun, and ended, before the lock was free */
    CM_TRY(remove_leftovers(run));
    return cm_dir_unlink(&run->dir, latest_name);
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
    CM_TRY(cm_dir_open(&run->dir, run->path));
    cm_status status = acquire_lock(run);
    if (status == CM_OK) status = clear(run);
    if (status != CM_OK) cm_run_directory_close(run);
    return status;
}

cm_status cm_run_directory_begin(const cm_run_directory *run, const char *config) {
    CM_TRY(write_file(run, config_name, config));
    return write_file(run, "README.md", readme);
}

/* Links cannot take the place of folders, which copies that follow links have. */
static cm_status refuse_folders(const cm_dir *dir) {
    static const char *const links[] = {latest_name, best_name};
    for (int i = 0; i < 2; i++) {
        if (cm_dir_look(dir, links[i]) != CM_DIR_FOLDER) continue;
        return cm_fail(CM_ERR_INPUT,
                       "%s/%s: is a folder, where a link to a checkpoint belongs, as in a copy that followed links; "
                       "remove it: what it is a copy of is in checkpoints/",
                       dir->path, links[i]);
    }
    return CM_OK;
}

cm_status cm_run_directory_open(cm_run_directory *run, const char *path) {
    CM_TRY(set_path(run, path));
    CM_TRY(cm_run_directory_check(run->path));
    CM_TRY(cm_dir_open(&run->dir, run->path));
    cm_status status = refuse_folders(&run->dir);
    if (status == CM_OK) status = acquire_lock(run);
    if (status == CM_OK) status = remove_leftovers(run);
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
    CM_TRY(cm_path_join(lock, sizeof lock, run->path, lock_name));
    if (fstat(run->lock, &held) != 0) return cm_fail(CM_ERR_IO, "%s: cannot be seen: %s", lock, strerror(errno));
    if (stat(lock, &there) == 0 && there.st_dev == held.st_dev && there.st_ino == held.st_ino) return CM_OK;
    if (held.st_nlink > 0) {
        find_lock(run, lock);
        char *end = strrchr(lock, '/');
        if (end) *end = '\0';
        return cm_fail(CM_ERR_IO, "%s: this run's folder was moved while it trained; go on with --resume %s", run->path,
                       end ? lock : "and its new place");
    }
    if (cm_dir_look(&run->dir, config_name) != CM_DIR_NONE)
        return cm_fail(CM_ERR_IO,
                       "%s: its lock was removed while it trained, so another process may write to it; make an empty "
                       "file of that name and go on with --resume %s",
                       run->path, run->path);
    return cm_fail(CM_ERR_IO, "%s: this run's folder was removed while it trained; nothing of it is left", run->path);
}

void cm_run_directory_close(cm_run_directory *run) {
    if (run->lock >= 0) close(run->lock);
    run->lock = -1;
    cm_dir_close(&run->dir);
}

/* Names of a run's files that something else has, as a list; `links`: links, else all other kinds. */
static bool list_strange(const cm_dir *dir, bool links, char *out, size_t size) {
    size_t used = 0;
    for (int i = 0; i < RUN_FILES; i++) {
        const cm_dir_kind is = cm_dir_look(dir, run_files[i].name);
        if (is == CM_DIR_NONE || is == run_files[i].is || (is == CM_DIR_LINK) != links) continue;
        const int n = snprintf(out + used, size - used, "%s%s", used ? ", " : "", run_files[i].name);
        used += n > 0 ? (size_t)n : 0;
    }
    return used > 0;
}

static cm_status check_files(const cm_dir *dir) {
    char names[128];
    if (list_strange(dir, true, names, sizeof names))
        return cm_fail(CM_ERR_INPUT,
                       "%s: only latest and best may be links in a run's folder, and these are: %s; put the files "
                       "themselves in their place",
                       dir->path, names);
    if (list_strange(dir, false, names, sizeof names))
        return cm_fail(CM_ERR_INPUT, "%s: no regular files or folders, as those of a run are: %s; remove them",
                       dir->path, names);
    return CM_OK;
}

static bool is_run(const cm_dir *dir) {
    return cm_dir_look(dir, config_name) != CM_DIR_NONE && cm_dir_look(dir, lock_name) != CM_DIR_NONE;
}

static cm_status check(const cm_dir *dir) {
    errno = 0;
    if (is_run(dir)) return check_files(dir);
    if (errno == EACCES) return cm_fail(CM_ERR_IO, "%s: cannot be read: %s", dir->path, strerror(errno));
    return cm_fail(CM_ERR_INPUT,
                   "%s: holds no run (no config.json and lock in it); cumind runs DIR lists those below a folder",
                   dir->path);
}

cm_status cm_run_directory_check(const char *path) {
    cm_dir dir;
    if (cm_dir_open(&dir, path) != CM_OK) {
        if (errno == EACCES) return cm_fail(CM_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (!cm_file_exists(path)) return cm_fail(CM_ERR_INPUT, "%s: there is no such run", path);
        if (!cm_file_is_directory(path)) return cm_fail(CM_ERR_INPUT, "%s: a run is a folder, this is a file", path);
        return CM_ERR_IO;
    }
    cm_status status = check(&dir);
    cm_dir_close(&dir);
    return status;
}

bool cm_run_directory_is_training(const char *path) {
    cm_dir dir;
    int file = -1;
    if (cm_dir_open(&dir, path) != CM_OK) return false;
    const bool is_there = cm_dir_open_file(&dir, lock_name, O_RDONLY, &file) == CM_OK;
    cm_dir_close(&dir);
    if (!is_there) return false;
    const bool is_taken = lock_file(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(file);
    return is_taken;
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

static bool is_link(const char *path) {
    char first;
    return readlink(path, &first, 1) >= 0;
}

/* What a visit finds at a path: `PLACE_OTHER` is no run, and nothing to look for one in. */
typedef enum place { PLACE_RUN, PLACE_FOLDER, PLACE_OTHER } place;

/* Runs that are not seen are not left out without a word. */
static place fail_to_look(const char *path) {
    const int why = errno;
    if (why != ENOENT && why != ENOTDIR && why != ELOOP)
        cm_log(CM_WARNING, "%s: cannot be looked through for runs: %s", path, strerror(why));
    return PLACE_OTHER;
}

static place look(const char *path) {
    cm_dir dir;
    if (cm_dir_open(&dir, path) != CM_OK) return fail_to_look(path);
    errno = 0;
    place found = is_run(&dir) ? PLACE_RUN : errno == EACCES ? fail_to_look(path) : PLACE_FOLDER;
    if (found == PLACE_RUN && check_files(&dir) != CM_OK) {
        cm_log(CM_WARNING, "%s", cm_error_message());
        found = PLACE_OTHER;
    }
    cm_dir_close(&dir);
    return found;
}

/* A link may be a run; what else one leads to is not looked through, lest links lead round in circles. */
static cm_status visit_below(const char *path, int depth, cm_status (*visit)(void *context, const char *path),
                             void *context) {
    const place found = look(path);
    if (found == PLACE_RUN) return visit(context, path);
    if (depth == VISIT_DEPTH || found == PLACE_OTHER) return CM_OK;
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, not_hidden, alphasort);
    if (count < 0) (void)fail_to_look(path);
    cm_status status = CM_OK;
    for (int i = 0; i < count; i++) {
        char below[PATH_MAX];
        if (status == CM_OK) status = cm_path_join(below, sizeof below, path, entries[i]->d_name);
        if (status == CM_OK) status = visit_below(below, is_link(below) ? VISIT_DEPTH : depth + 1, visit, context);
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
    if (lstat(file, &about) != 0 || !is_later(about.st_mtim, n->time)) return CM_OK;
    n->time = about.st_mtim;
    snprintf(n->path, PATH_MAX, "%s", path);
    return CM_OK;
}

cm_status cm_run_directory_newest(const char *root, char out[PATH_MAX]) {
    newest n = {.path = out};
    out[0] = '\0';
    return cm_run_directory_visit(root, note_newest, &n);
}
