#include "run/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "run/checkpoint_io.h"
#include "run/ranks.h"

enum { NUMBER_DIGITS = 8, LIST_LIMIT = 4096, MANIFEST_BYTES = 64 * 1024, NAME = 64 };

static const char folder_name[] = "checkpoints", writing[] = ".writing-", removed[] = ".removed-";

struct cm_checkpoint_store {
    cm_dir run; /* the run's folder; closed if it was not there */
    int keep;
    cm_comm *comm; /* borrowed, or `single` */
    cm_comm single;
    int64_t previous;     /* last one saved or loaded here; -1: none */
    cm_manifest manifest; /* its files, owned; after saving, on ranks after the first: those that the rank wrote */
};

/* What is not done for an error that changes nothing of what is saved. */
static void warn(void) { cm_log(CM_WARNING, "%s", cm_error_message()); }

static cm_status fail_at(const char *folder, const char *name, const char *verb) {
    char path[PATH_MAX + NAME];
    const int reason = errno;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    errno = reason;
    return cm_file_fail(path, verb);
}

static bool leads(const cm_checkpoint_store *store) { return store->comm->rank == 0; }

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

void cm_checkpoint_store_destroy(cm_checkpoint_store *store) {
    if (!store) return;
    cm_manifest_reset(&store->manifest);
    cm_dir_close(&store->run);
    free(store);
}

/* ---- folders ---- */

static void name_of(int64_t update, char out[NAME]) { snprintf(out, NAME, "%0*lld", NUMBER_DIGITS, (long long)update); }

/* Opens checkpoints/, which may have been made since the last time. */
static cm_status enter_folder(const cm_checkpoint_store *store, cm_dir *out) {
    return cm_dir_enter(out, &store->run, folder_name);
}

/* Opens the checkpoint `update`. */
static cm_status enter(const cm_checkpoint_store *store, int64_t update, cm_dir *out) {
    cm_dir folder;
    char name[NAME];
    out->file = -1;
    CM_TRY(enter_folder(store, &folder));
    name_of(update, name);
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
    if (enter_folder(store, &folder) != CM_OK) return 0;
    if (cm_dir_each(&folder, note_number, &list) != CM_OK) cm_log(CM_DEBUG, "%s", cm_error_message());
    cm_dir_close(&folder);
    qsort(out, (size_t)list.count, sizeof *out, ascending);
    return list.count;
}

static bool exists(const cm_checkpoint_store *store, int64_t update) {
    cm_dir folder;
    char name[NAME];
    if (enter_folder(store, &folder) != CM_OK) return false;
    name_of(update, name);
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
        CM_TRY(enter_folder(store, &folder)); /* says why it cannot be read */
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
    return number < 0 ? no_such(store, which) : enter(store, number, out);
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
    CM_TRY(enter(store, update, &folder));
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
        cm_status status = fail_at(store->run.path, name, "make it a link to the checkpoint");
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
    if (is_leftover(name) && cm_dir_remove(folder, name) != CM_OK) warn();
    return CM_OK;
}

cm_status cm_checkpoint_clean(cm_checkpoint_store *store) {
    cm_dir folder;
    if (cm_dir_look(&store->run, folder_name) == CM_DIR_NONE) return CM_OK;
    CM_TRY(enter_folder(store, &folder));
    cm_status status = cm_dir_each(&folder, remove_leftover, &folder);
    cm_dir_close(&folder);
    return status;
}

/* Removes a checkpoint so that a kill on the way leaves no half of it under its name. */
static cm_status discard(const cm_dir *folder, int64_t update) {
    char name[NAME], hidden[NAME];
    name_of(update, name);
    snprintf(hidden, sizeof hidden, "%s%lld", removed, (long long)update);
    CM_TRY(cm_dir_remove(folder, hidden));
    if (renameat(folder->file, name, folder->file, hidden) != 0) return fail_at(folder->path, name, "remove");
    return cm_dir_remove(folder, hidden);
}

/* Of the checkpoints up to `latest` the `keep` newest stay, and the best. */
static cm_status discard_old(cm_checkpoint_store *store, const cm_dir *folder, int64_t latest) {
    int64_t *numbers = NULL, best = cm_checkpoint_find(store, CM_CHECKPOINT_BEST);
    CM_TRY(cm_alloc(&numbers, LIST_LIMIT, sizeof *numbers, "the list of checkpoints"));
    int kept = 0;
    for (int i = cm_checkpoint_list(store, numbers, LIST_LIMIT) - 1; i >= 0; i--) {
        if (numbers[i] > latest) continue;
        if (kept++ < store->keep || numbers[i] == best) continue;
        if (discard(folder, numbers[i]) != CM_OK) warn();
    }
    free(numbers);
    return CM_OK;
}

/* ---- saving ---- */

uint64_t cm_checkpoint_bytes(const cm_checkpoint_part *parts, int count) {
    uint64_t total = MANIFEST_BYTES;
    for (int i = 0; i < count; i++) total += parts[i].bytes ? parts[i].bytes(parts[i].context) : 0;
    return total;
}

uint64_t cm_checkpoint_copy_bytes(const cm_checkpoint_store *store, const char *name) {
    cm_dir previous;
    cm_dir_file file = {.bytes = 0};
    if (store->previous < 0 || enter(store, store->previous, &previous) != CM_OK) return 0;
    const bool is_there = cm_dir_measure(&previous, name, &file) == CM_OK;
    cm_dir_close(&previous);
    return is_there && cm_checkpoint_is_shared(&file) ? file.bytes : 0;
}

static cm_status compare_space(const cm_checkpoint_store *store, uint64_t need) {
    uint64_t space = 0;
    char wanted[16], there[16];
    CM_TRY(cm_disk_free(store->run.path, &space));
    if (space >= need) return CM_OK;
    cm_format_bytes((double)need, wanted);
    cm_format_bytes((double)space, there);
    return cm_fail(CM_ERR_IO, "%s: a checkpoint needs about %s, the disk has %s free: make space", store->run.path,
                   wanted, there);
}

cm_status cm_checkpoint_check_space(const cm_checkpoint_store *store, const cm_checkpoint_part *parts, int count) {
    double need = (double)cm_checkpoint_bytes(parts, count);
    CM_TRY(store->comm->all_reduce_double(store->comm, &need, 1));
    return cm_ranks_agree(store->comm, leads(store) ? compare_space(store, (uint64_t)need) : CM_OK);
}

/* After an error: nothing stays open, and the message names this rank if there are others. */
static cm_status fail_writing(const cm_checkpoint_store *store, cm_checkpoint_writer *writer, cm_status status) {
    char message[1024];
    snprintf(message, sizeof message, "%s", cm_error_message());
    cm_file_abandon(writer->file);
    writer->file = NULL;
    if (store->comm->size == 1) return cm_fail(status, "%s", message);
    return cm_fail(status, "rank %d: %s", store->comm->rank, message);
}

static cm_status write_parts(const cm_checkpoint_store *store, cm_checkpoint_writer *writer,
                             const cm_checkpoint_part *parts, int count) {
    for (int i = 0; i < count; i++) {
        cm_status status = parts[i].save(parts[i].context, writer);
        if (status != CM_OK) return fail_writing(store, writer, cm_fail_in(status, "saving %s", parts[i].name));
    }
    return CM_OK;
}

/* all[size, most] <- the rows of every rank's manifest, counts[size] of them. */
static cm_status exchange_rows(cm_comm *comm, const cm_manifest *manifest, const int *counts, cm_manifest *merged) {
    int most = 0;
    cm_manifest_file *all = NULL, *mine;
    for (int r = 0; r < comm->size; r++) most = counts[r] > most ? counts[r] : most;
    CM_TRY(cm_alloc(&all, (size_t)(comm->size * most + 1), sizeof *all, "the manifests of the ranks"));
    mine = all + comm->rank * most;
    if (manifest->count > 0) memcpy(mine, manifest->file, (size_t)manifest->count * sizeof *mine);
    cm_status status = comm->all_gather(comm, mine, (size_t)most * sizeof *mine, all);
    for (int r = 0; r < comm->size; r++) {
        for (int i = 0; i < counts[r] && status == CM_OK && r != comm->rank; i++) {
            const cm_manifest_file *row = &all[r * most + i];
            status = cm_manifest_add(merged, row->name, row->bytes, row->hash);
        }
    }
    free(all);
    return status;
}

/* The rows of all ranks, on rank 0. */
static cm_status gather_rows(cm_comm *comm, cm_manifest *manifest) {
    int *counts = NULL;
    cm_manifest others = {0};
    if (comm->size == 1) return CM_OK;
    CM_TRY(cm_alloc(&counts, (size_t)comm->size, sizeof *counts, "the manifests of the ranks"));
    cm_status status = comm->all_gather(comm, &manifest->count, sizeof manifest->count, counts);
    if (status == CM_OK) status = exchange_rows(comm, manifest, counts, comm->rank == 0 ? manifest : &others);
    cm_manifest_reset(&others);
    free(counts);
    return status;
}

/* Gives the finished folder its name; one of that name (a run that went back) changes places with it and goes. */
static cm_status publish(const cm_dir *folder, const char *staged, int64_t update) {
    char name[NAME];
    const int at = folder->file;
    name_of(update, name);
    bool swapped = renameat2(at, staged, at, name, RENAME_EXCHANGE) == 0;
    if (!swapped && cm_dir_look(folder, name) == CM_DIR_FOLDER) CM_TRY(discard(folder, update));
    if (!swapped && renameat(at, staged, at, name) != 0)
        return fail_at(folder->path, name, "give the checkpoint its name");
    CM_TRY(cm_dir_sync(folder));
    if (swapped && cm_dir_remove(folder, staged) != CM_OK) warn();
    return CM_OK;
}

/* What rank 0 does when the files of all are there. */
static cm_status finish(cm_checkpoint_store *store, const cm_checkpoint_writer *writer) {
    const int64_t update = writer->manifest.update;
    cm_dir folder;
    CM_TRY(cm_manifest_write(&writer->manifest, &writer->directory));
    CM_TRY(cm_dir_sync(&writer->directory));
    CM_TRY(enter_folder(store, &folder));
    cm_status status = publish(&folder, writer->staging, update);
    if (status == CM_OK) status = point(store, "latest", update);
    if (status == CM_OK) status = discard_old(store, &folder, update);
    cm_dir_close(&folder);
    return status;
}

/* The writer of this rank; the name of the staging folder is that of rank 0's process. */
static cm_status open_writer(cm_checkpoint_store *store, int64_t update, cm_checkpoint_writer **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "writing a checkpoint"));
    cm_checkpoint_writer *writer = *out;
    writer->directory.file = writer->previous_directory.file = -1;
    writer->manifest.update = update;
    if (store->previous >= 0 && enter(store, store->previous, &writer->previous_directory) == CM_OK)
        writer->previous = &store->manifest;
    snprintf(writer->staging, sizeof writer->staging, "%s%lld-%ld", writing, (long long)update, (long)getpid());
    writer->hash = XXH3_createState();
    return writer->hash ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a checksum");
}

/* A run whose folder was removed is not made again. */
static cm_status make_staging(cm_checkpoint_store *store, const cm_checkpoint_writer *writer) {
    cm_dir folder;
    if (store->run.file < 0) CM_TRY(cm_dir_open(&store->run, store->run.path));
    CM_TRY(cm_dir_make(&store->run, folder_name));
    CM_TRY(enter_folder(store, &folder));
    cm_status status = cm_dir_remove(&folder, writer->staging);
    if (status == CM_OK) status = cm_dir_make(&folder, writer->staging);
    cm_dir_close(&folder);
    return status;
}

/* The staging folder of rank 0, opened by each rank. */
static cm_status open_staging(const cm_checkpoint_store *store, cm_checkpoint_writer *writer) {
    cm_dir folder;
    cm_status status = enter_folder(store, &folder);
    if (status == CM_OK) status = cm_dir_enter(&writer->directory, &folder, writer->staging);
    cm_dir_close(&folder);
    if (status == CM_OK || leads(store)) return status;
    return cm_fail(CM_ERR_IO,
                   "%s/%s/%s: rank %d does not see this folder of rank 0: the machines of a run share its disk",
                   store->run.path, folder_name, writer->staging, store->comm->rank);
}

static void drop_writer(cm_checkpoint_writer *writer) {
    if (!writer) return;
    XXH3_freeState(writer->hash);
    cm_dir_close(&writer->directory);
    cm_dir_close(&writer->previous_directory);
    cm_manifest_reset(&writer->manifest);
    free(writer);
}

/* Removes the staging folder of a failed save, if it is still there; the error that is kept stays the save's. */
static cm_status abandon(const cm_checkpoint_store *store, const cm_checkpoint_writer *writer, cm_status status) {
    char message[1024];
    cm_dir folder;
    if (!leads(store)) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (enter_folder(store, &folder) == CM_OK && cm_dir_remove(&folder, writer->staging) != CM_OK) warn();
    cm_dir_close(&folder);
    return cm_fail(status, "%s", message);
}

/* From a staging folder to a checkpoint, or to none. */
static cm_status write_all(cm_checkpoint_store *store, cm_checkpoint_writer *writer, const cm_checkpoint_part *parts,
                           int count) {
    cm_comm *comm = store->comm;
    CM_TRY(comm->broadcast(comm, writer->staging, sizeof writer->staging, 0));
    cm_status status = open_staging(store, writer);
    if (status == CM_OK) status = write_parts(store, writer, parts, count);
    status = cm_ranks_agree(comm, status);
    if (status == CM_OK) status = cm_ranks_agree(comm, gather_rows(comm, &writer->manifest));
    if (status == CM_OK) status = cm_ranks_agree(comm, leads(store) ? finish(store, writer) : CM_OK);
    return status == CM_OK ? CM_OK : abandon(store, writer, status);
}

cm_status cm_checkpoint_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count) {
    cm_comm *comm = store->comm;
    cm_checkpoint_writer *writer = NULL;
    cm_status status = open_writer(store, update, &writer);
    if (status == CM_OK && leads(store)) status = make_staging(store, writer);
    status = cm_ranks_agree(comm, status);
    if (status == CM_OK) status = write_all(store, writer, parts, count);
    if (status == CM_OK) {
        cm_manifest old = store->manifest;
        store->manifest = writer->manifest;
        store->previous = update;
        writer->manifest = old;
    }
    drop_writer(writer);
    return status;
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
    CM_TRY(enter(store, update, &reader->directory));
    CM_TRY(cm_manifest_read(&reader->manifest, &reader->directory));
    if (reader->manifest.update != update) return fail_update(&reader->directory, reader->manifest.update);
    return load_parts(reader, parts, count);
}

cm_status cm_checkpoint_load(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count,
                             int64_t *loaded) {
    int64_t number = leads(store) ? cm_checkpoint_find(store, update) : -1;
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
