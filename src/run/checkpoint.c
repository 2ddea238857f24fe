#include "run/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/log.h"
#include "run/checkpoint_io.h"
#include "run/ranks.h"

enum { NUMBER_DIGITS = 8, LIST_LIMIT = 4096, NAME = CM_CHECKPOINT_NAME };

static const char folder_name[] = CM_CHECKPOINT_FOLDER, writing[] = CM_CHECKPOINT_STAGING, removed[] = ".removed-";

/* What is not done for an error that changes nothing of what is saved. */
void cm_checkpoint_warn(void) { cm_log(CM_WARNING, "%s", cm_error_message()); }

cm_status cm_checkpoint_fail_at(const char *folder, const char *name, const char *verb) {
    char path[PATH_MAX + NAME];
    const int reason = errno;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    errno = reason;
    return cm_file_fail(path, verb);
}

cm_status cm_checkpoint_store_create(const char *run, int keep, cm_comm *comm, cm_checkpoint_store **out) {
    *out = NULL;
    cm_checkpoint_store *store = NULL;
    CM_TRY(cm_alloc(&store, 1, sizeof *store, "the store of checkpoints"));
    store->keep = keep < 1 ? 1 : keep;
    store->previous = -1;
    cm_comm_single(&store->single);
    store->comm = comm ? comm : &store->single;
    if (cm_dir_open(&store->run, run) != CM_OK) cm_log(CM_DEBUG, "%s", cm_error_message());
    *out = store;
    return CM_OK;
}

/* ---- folders ---- */

void cm_checkpoint_name(int64_t update, char out[NAME]) {
    snprintf(out, NAME, "%0*lld", NUMBER_DIGITS, (long long)update);
}

/* Opens checkpoints/, which may have been made since the last time. */
cm_status cm_checkpoint_enter_folder(const cm_checkpoint_store *store, cm_dir *out) {
    return cm_dir_enter(out, &store->run, folder_name);
}

/* Opens the checkpoint `update`. */
cm_status cm_checkpoint_enter_number(const cm_checkpoint_store *store, int64_t update, cm_dir *out) {
    cm_dir folder;
    char name[NAME];
    out->file = -1;
    CM_TRY(cm_checkpoint_enter_folder(store, &folder));
    cm_checkpoint_name(update, name);
    cm_status status = cm_dir_enter(out, &folder, name);
    cm_dir_close(&folder);
    return status;
}

/* ---- which checkpoints there are ---- */

/* The number that a folder's name means, -1 if it is no checkpoint's. */
static int64_t parse_number(const char *name) {
    size_t length = strlen(name);
    if (length < NUMBER_DIGITS || length > 18 || strspn(name, "0123456789") != length) return -1;
    return strtoll(name, NULL, 10);
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef struct number_list {
    const cm_dir *folder;
    int64_t *out; /* [capacity] */
    int count, capacity;
} number_list;

static cm_status note_number(void *context, const char *name) {
    number_list *list = context;
    const int64_t number = parse_number(name);
    if (number < 0 || cm_dir_look(list->folder, name) != CM_DIR_FOLDER) return CM_OK;
    if (list->count < list->capacity) {
        list->out[list->count++] = number;
        return CM_OK;
    }
    int least = 0; /* full: the newest stay */
    for (int i = 1; i < list->count; i++) least = list->out[i] < list->out[least] ? i : least;
    if (number > list->out[least]) list->out[least] = number;
    return CM_OK;
}

int cm_checkpoint_list(const cm_checkpoint_store *store, int64_t *out, int capacity) {
    cm_dir folder;
    number_list list = {&folder, out, 0, capacity};
    if (cm_checkpoint_enter_folder(store, &folder) != CM_OK) return 0;
    if (cm_dir_each(&folder, note_number, &list) != CM_OK) cm_log(CM_DEBUG, "%s", cm_error_message());
    cm_dir_close(&folder);
    qsort(out, (size_t)list.count, sizeof *out, ascending);
    return list.count;
}

static bool exists(const cm_checkpoint_store *store, int64_t update) {
    cm_dir folder;
    char name[NAME];
    if (cm_checkpoint_enter_folder(store, &folder) != CM_OK) return false;
    cm_checkpoint_name(update, name);
    const bool is_there = cm_dir_look(&folder, name) == CM_DIR_FOLDER;
    cm_dir_close(&folder);
    return is_there;
}

/* What the link `name` of the run points at, -1 if that is no checkpoint of this run. */
static int64_t follow(const cm_checkpoint_store *store, const char *name) {
    static const size_t length = sizeof folder_name - 1;
    char target[NAME];
    if (!cm_dir_link(&store->run, name, target, sizeof target)) return -1;
    if (strncmp(target, folder_name, length) != 0 || target[length] != '/') return -1;
    const int64_t number = parse_number(target + length + 1);
    return number >= 0 && exists(store, number) ? number : -1;
}

bool cm_checkpoint_is_lost(const cm_checkpoint_store *store) {
    return cm_checkpoint_find(store, CM_CHECKPOINT_LATEST) < 0 && cm_dir_look(&store->run, "latest") == CM_DIR_LINK;
}

int64_t cm_checkpoint_find(const cm_checkpoint_store *store, int64_t which) {
    if (which == CM_CHECKPOINT_BEST) return follow(store, "best");
    int64_t best = which == CM_CHECKPOINT_PREFERRED ? follow(store, "best") : -1;
    if (best >= 0) return best;
    if (which >= 0) return exists(store, which) ? which : -1;
    int64_t number = follow(store, "latest");
    if (number >= 0) return number;
    return cm_checkpoint_list(store, &number, 1) == 1 ? number : -1;
}

static cm_status no_such(const cm_checkpoint_store *store, int64_t update) {
    const char *run = store->run.path;
    int64_t numbers[64];
    cm_dir folder;
    const int n = cm_checkpoint_list(store, numbers, 64);
    if (n == 0 && cm_dir_look(&store->run, folder_name) != CM_DIR_NONE) {
        CM_TRY(cm_checkpoint_enter_folder(store, &folder)); /* says why it cannot be read */
        cm_dir_close(&folder);
    }
    if (n == 0) return cm_fail(CM_ERR_STATE, "%s/%s: holds no checkpoint yet", run, folder_name);
    if (update == CM_CHECKPOINT_BEST) return cm_fail(CM_ERR_INPUT, "%s: has no best checkpoint yet", run);
    if (n == 1)
        return cm_fail(CM_ERR_INPUT, "%s/%s: has no checkpoint %lld; only %lld is there", run, folder_name,
                       (long long)update, (long long)numbers[0]);
    return cm_fail(CM_ERR_INPUT, "%s/%s: has no checkpoint %lld; %d from %lld to %lld are there", run, folder_name,
                   (long long)update, n, (long long)numbers[0], (long long)numbers[n - 1]);
}

cm_status cm_checkpoint_enter(const cm_checkpoint_store *store, int64_t which, cm_dir *out) {
    const int64_t number = cm_checkpoint_find(store, which);
    out->file = -1;
    return number < 0 ? no_such(store, which) : cm_checkpoint_enter_number(store, number, out);
}

static cm_status fail_update(const cm_dir *folder, int64_t update) {
    return cm_fail(CM_ERR_INPUT, "%s/manifest.json: speaks of update %lld; the folder was renamed or the file damaged",
                   folder->path, (long long)update);
}

static cm_status verify(const cm_dir *folder, int64_t update, bool (*may_lack)(const char *name),
                        cm_manifest *manifest) {
    CM_TRY(cm_manifest_read(manifest, folder));
    if (manifest->update != update) return fail_update(folder, manifest->update);
    for (int i = 0; i < manifest->count; i++) {
        const char *name = manifest->file[i].name;
        if (!may_lack || !may_lack(name)) CM_TRY(cm_manifest_verify(manifest, folder, name));
    }
    return CM_OK;
}

cm_status cm_checkpoint_verify(const cm_checkpoint_store *store, int64_t update, bool (*may_lack)(const char *name)) {
    cm_dir folder;
    cm_manifest manifest = {0};
    CM_TRY(cm_checkpoint_enter_number(store, update, &folder));
    cm_status status = verify(&folder, update, may_lack, &manifest);
    cm_manifest_reset(&manifest);
    cm_dir_close(&folder);
    return status;
}

int64_t cm_checkpoint_newest_intact(const cm_checkpoint_store *store, bool (*may_lack)(const char *name)) {
    int64_t *numbers = NULL, found = -1;
    if (cm_alloc(&numbers, LIST_LIMIT, sizeof *numbers, "the list of checkpoints") != CM_OK) return -1;
    for (int i = cm_checkpoint_list(store, numbers, LIST_LIMIT) - 1; i >= 0 && found < 0; i--)
        if (cm_checkpoint_verify(store, numbers[i], may_lack) == CM_OK) found = numbers[i];
    free(numbers);
    return found;
}

/* ---- pointers and leftovers ---- */

static cm_status point(cm_checkpoint_store *store, const char *name, int64_t update) {
    char staged[NAME], target[NAME];
    const int at = store->run.file;
    snprintf(target, sizeof target, "%s/%0*lld", folder_name, NUMBER_DIGITS, (long long)update);
    snprintf(staged, sizeof staged, "%s.tmp-%ld", name, (long)getpid());
    unlinkat(at, staged, 0);
    if (symlinkat(target, at, staged) != 0 || renameat(at, staged, at, name) != 0) {
        cm_status status = cm_checkpoint_fail_at(store->run.path, name, "make it a link to the checkpoint");
        unlinkat(at, staged, 0);
        return status;
    }
    return cm_dir_sync(&store->run);
}

cm_status cm_checkpoint_point_latest(cm_checkpoint_store *store, int64_t update) {
    return point(store, "latest", update);
}

cm_status cm_checkpoint_point_best(cm_checkpoint_store *store, int64_t update) { return point(store, "best", update); }

/* Names that this program gives to what is on its way in or out. */
static bool is_leftover(const char *name) {
    return strncmp(name, writing, sizeof writing - 1) == 0 || strncmp(name, removed, sizeof removed - 1) == 0;
}

static cm_status remove_leftover(void *context, const char *name) {
    const cm_dir *folder = context;
    if (is_leftover(name) && cm_dir_remove(folder, name) != CM_OK) cm_checkpoint_warn();
    return CM_OK;
}

cm_status cm_checkpoint_clean(cm_checkpoint_store *store) {
    cm_dir folder;
    if (cm_dir_look(&store->run, folder_name) == CM_DIR_NONE) return CM_OK;
    CM_TRY(cm_checkpoint_enter_folder(store, &folder));
    cm_status status = cm_dir_each(&folder, remove_leftover, &folder);
    cm_dir_close(&folder);
    return status;
}

/* Removes a checkpoint so that a kill on the way leaves no half of it under its name. */
cm_status cm_checkpoint_discard(const cm_dir *folder, int64_t update) {
    char name[NAME], hidden[NAME];
    cm_checkpoint_name(update, name);
    snprintf(hidden, sizeof hidden, "%s%lld", removed, (long long)update);
    CM_TRY(cm_dir_remove(folder, hidden));
    if (renameat(folder->file, name, folder->file, hidden) != 0)
        return cm_checkpoint_fail_at(folder->path, name, "remove");
    return cm_dir_remove(folder, hidden);
}

/* Of the checkpoints up to `latest` the `keep` newest stay, and the best. */
cm_status cm_checkpoint_discard_old(cm_checkpoint_store *store, const cm_dir *folder, int64_t latest) {
    int64_t *numbers = NULL, best = cm_checkpoint_find(store, CM_CHECKPOINT_BEST);
    CM_TRY(cm_alloc(&numbers, LIST_LIMIT, sizeof *numbers, "the list of checkpoints"));
    int kept = 0;
    for (int i = cm_checkpoint_list(store, numbers, LIST_LIMIT) - 1; i >= 0; i--) {
        if (numbers[i] > latest) continue;
        if (kept++ < store->keep || numbers[i] == best) continue;
        if (cm_checkpoint_discard(folder, numbers[i]) != CM_OK) cm_checkpoint_warn();
    }
    free(numbers);
    return CM_OK;
}

/* ---- loading ---- */

static cm_status load_parts(cm_checkpoint_reader *reader, const cm_checkpoint_part *parts, int count) {
    for (int i = 0; i < count; i++) CM_TRY(parts[i].load(parts[i].context, reader));
    return CM_OK;
}

/* Adds what the user can do to the error of a checkpoint that could not be read. */
static cm_status explain(const cm_checkpoint_store *store, int64_t update, cm_status status) {
    char message[1024];
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (cm_checkpoint_verify(store, update, NULL) == CM_OK)
        return cm_fail(status, "%s", message); /* it is the run that is another one */
    int64_t intact = cm_checkpoint_newest_intact(store, NULL);
    if (intact < 0) return cm_fail(CM_ERR_IO, "%s; no checkpoint of this run is intact", message);
    return cm_fail(CM_ERR_IO, "%s; the newest intact checkpoint is %lld: add --checkpoint %lld", message,
                   (long long)intact, (long long)intact);
}

static cm_status read_checkpoint(cm_checkpoint_store *store, cm_checkpoint_reader *reader,
                                 const cm_checkpoint_part *parts, int count, int64_t update) {
    CM_TRY(cm_checkpoint_enter_number(store, update, &reader->directory));
    CM_TRY(cm_manifest_read(&reader->manifest, &reader->directory));
    if (reader->manifest.update != update) return fail_update(&reader->directory, reader->manifest.update);
    return load_parts(reader, parts, count);
}

cm_status cm_checkpoint_load(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count,
                             int64_t *loaded) {
    int64_t number = cm_checkpoint_leads(store) ? cm_checkpoint_find(store, update) : -1;
    CM_TRY(store->comm->broadcast(store->comm, &number, sizeof number, 0));
    if (loaded) *loaded = number;
    if (number < 0) return no_such(store, update);
    cm_checkpoint_reader *reader = NULL;
    CM_TRY(cm_alloc(&reader, 1, sizeof *reader, "reading a checkpoint"));
    reader->directory.file = -1;
    cm_status status = cm_ranks_agree(store->comm, read_checkpoint(store, reader, parts, count, number));
    if (status == CM_OK) {
        cm_manifest old = store->manifest;
        store->manifest = reader->manifest;
        store->previous = number;
        reader->manifest = old;
    }
    cm_manifest_reset(&reader->manifest);
    cm_dir_close(&reader->directory);
    free(reader);
    return status == CM_OK ? CM_OK : explain(store, number, status);
}
