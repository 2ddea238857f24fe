#include "run/checkpoint.h"

#include <dirent.h>
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

enum { NUMBER_DIGITS = 8, LIST_LIMIT = 4096, MANIFEST_BYTES = 64 * 1024 };

struct cm_checkpoint_store {
    char run[PATH_MAX];    /* the run directory */
    char folder[PATH_MAX]; /* RUN/checkpoints */
    int keep;
    cm_comm *comm; /* borrowed, or `single` */
    cm_comm single;
    int64_t previous;     /* last one saved or loaded here; -1: none */
    cm_manifest manifest; /* its files, owned; after saving, on ranks behind the first: those that the rank wrote */
};

static bool leads(const cm_checkpoint_store *store) { return store->comm->rank == 0; }

cm_status cm_checkpoint_store_create(const char *run, int keep, cm_comm *comm, cm_checkpoint_store **out) {
    *out = NULL;
    cm_checkpoint_store *store = NULL;
    CM_TRY(cm_alloc(&store, 1, sizeof *store, "the store of checkpoints"));
    store->keep = keep < 1 ? 1 : keep;
    store->previous = -1;
    cm_comm_single(&store->single);
    store->comm = comm ? comm : &store->single;
    cm_status status = cm_path_join(store->run, sizeof store->run, run, "");
    if (status == CM_OK) status = cm_path_join(store->folder, sizeof store->folder, run, "checkpoints");
    if (status == CM_OK) {
        *out = store;
    } else {
        free(store);
    }
    return status;
}

void cm_checkpoint_store_destroy(cm_checkpoint_store *store) {
    if (!store) return;
    cm_manifest_reset(&store->manifest);
    free(store);
}

cm_status cm_checkpoint_path(const cm_checkpoint_store *store, int64_t update, char *out, size_t size) {
    char name[32];
    snprintf(name, sizeof name, "%0*lld", NUMBER_DIGITS, (long long)update);
    return cm_path_join(out, size, store->folder, name);
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

int cm_checkpoint_list(const cm_checkpoint_store *store, int64_t *out, int capacity) {
    DIR *folder = opendir(store->folder);
    if (!folder) return 0;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int64_t number = parse_number(entry->d_name);
        if (number < 0) continue;
        if (count < capacity) {
            out[count++] = number;
            continue;
        }
        int least = 0; /* full: the newest stay */
        for (int i = 1; i < count; i++) least = out[i] < out[least] ? i : least;
        if (number > out[least]) out[least] = number;
    }
    closedir(folder);
    qsort(out, (size_t)count, sizeof *out, ascending);
    return count;
}

static bool exists(const cm_checkpoint_store *store, int64_t update) {
    char path[PATH_MAX];
    return cm_checkpoint_path(store, update, path, sizeof path) == CM_OK && cm_file_is_directory(path);
}

/* What the link RUN/<name> points at, -1 if that is no checkpoint. */
static int64_t follow(const cm_checkpoint_store *store, const char *name) {
    char path[PATH_MAX], target[PATH_MAX];
    if (cm_path_join(path, sizeof path, store->run, name) != CM_OK) return -1;
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0) return -1;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    int64_t number = parse_number(slash ? slash + 1 : target);
    return number >= 0 && exists(store, number) ? number : -1;
}

bool cm_checkpoint_is_lost(const cm_checkpoint_store *store) {
    char path[PATH_MAX], target[PATH_MAX];
    return cm_checkpoint_find(store, CM_CHECKPOINT_LATEST) < 0 &&
           cm_path_join(path, sizeof path, store->run, "latest") == CM_OK && readlink(path, target, sizeof target) > 0;
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

/* Whether all files are as they were written. */
static bool is_intact(const cm_checkpoint_store *store, int64_t update) {
    char path[PATH_MAX];
    cm_manifest manifest = {0};
    const bool is_whole = cm_checkpoint_path(store, update, path, sizeof path) == CM_OK &&
                          cm_manifest_read(&manifest, path) == CM_OK && manifest.update == update &&
                          cm_manifest_verify(&manifest, path) == CM_OK;
    cm_manifest_reset(&manifest);
    return is_whole;
}

int64_t cm_checkpoint_newest_intact(const cm_checkpoint_store *store) {
    int64_t *numbers = NULL, found = -1;
    if (cm_alloc(&numbers, LIST_LIMIT, sizeof *numbers, "the list of checkpoints") != CM_OK) return -1;
    for (int i = cm_checkpoint_list(store, numbers, LIST_LIMIT) - 1; i >= 0 && found < 0; i--)
        if (is_intact(store, numbers[i])) found = numbers[i];
    free(numbers);
    return found;
}

/* ---- pointers and leftovers ---- */

static cm_status point(cm_checkpoint_store *store, const char *name, int64_t update) {
    char link_path[PATH_MAX], staged[PATH_MAX], target[64];
    snprintf(target, sizeof target, "checkpoints/%0*lld", NUMBER_DIGITS, (long long)update);
    CM_TRY(cm_path_join(link_path, sizeof link_path, store->run, name));
    int n = snprintf(staged, sizeof staged, "%s.tmp-%ld", link_path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof staged) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", link_path);
    unlink(staged);
    if (symlink(target, staged) != 0 || rename(staged, link_path) != 0) {
        cm_status status = cm_fail(CM_ERR_IO, "%s: cannot point it at %s: %s", link_path, target, strerror(errno));
        unlink(staged);
        return status;
    }
    return cm_directory_sync(store->run);
}

cm_status cm_checkpoint_point_latest(cm_checkpoint_store *store, int64_t update) {
    return point(store, "latest", update);
}

cm_status cm_checkpoint_point_best(cm_checkpoint_store *store, int64_t update) { return point(store, "best", update); }

cm_status cm_checkpoint_clean(cm_checkpoint_store *store) {
    DIR *folder = opendir(store->folder);
    if (!folder) return CM_OK;
    cm_status status = CM_OK;
    for (struct dirent *entry; status == CM_OK && (entry = readdir(folder));) {
        if (entry->d_name[0] != '.' || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char path[PATH_MAX];
        status = cm_path_join(path, sizeof path, store->folder, entry->d_name);
        if (status == CM_OK) status = cm_directory_remove(path);
    }
    closedir(folder);
    return status;
}

/* Removes a checkpoint so that a kill on the way leaves no half of it under its name. */
static cm_status discard(cm_checkpoint_store *store, int64_t update) {
    char path[PATH_MAX], hidden[PATH_MAX], name[64];
    CM_TRY(cm_checkpoint_path(store, update, path, sizeof path));
    snprintf(name, sizeof name, ".removed-%lld", (long long)update);
    CM_TRY(cm_path_join(hidden, sizeof hidden, store->folder, name));
    CM_TRY(cm_directory_remove(hidden));
    if (rename(path, hidden) != 0) return cm_fail(CM_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
    return cm_directory_remove(hidden);
}

/* Of the checkpoints up to `latest` the `keep` newest stay, and the best. */
static cm_status discard_old(cm_checkpoint_store *store, int64_t latest) {
    int64_t *numbers = NULL, best = cm_checkpoint_find(store, CM_CHECKPOINT_BEST);
    CM_TRY(cm_alloc(&numbers, LIST_LIMIT, sizeof *numbers, "the list of checkpoints"));
    cm_status status = CM_OK;
    int kept = 0;
    for (int i = cm_checkpoint_list(store, numbers, LIST_LIMIT) - 1; i >= 0 && status == CM_OK; i--) {
        if (numbers[i] > latest) continue;
        if (kept++ < store->keep || numbers[i] == best) continue;
        status = discard(store, numbers[i]);
    }
    free(numbers);
    return status;
}

/* ---- saving ---- */

uint64_t cm_checkpoint_bytes(const cm_checkpoint_part *parts, int count) {
    uint64_t total = MANIFEST_BYTES;
    for (int i = 0; i < count; i++) total += parts[i].bytes ? parts[i].bytes(parts[i].context) : 0;
    return total;
}

static cm_status check_room(const cm_checkpoint_store *store, uint64_t need) {
    uint64_t room = 0;
    char wanted[16], there[16];
    CM_TRY(cm_disk_free(store->folder, &room));
    if (room >= need) return CM_OK;
    cm_format_bytes((double)need, wanted);
    cm_format_bytes((double)room, there);
    return cm_fail(CM_ERR_IO, "%s: a checkpoint needs up to %s, the disk has %s free: make room", store->folder, wanted,
                   there);
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
    if (!cm_file_is_directory(writer->directory)) {
        return cm_fail(CM_ERR_IO,
                       "%s: rank %d does not see this folder of rank 0: the machines of a run share its disk",
                       writer->directory, store->comm->rank);
    }
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
static cm_status publish(cm_checkpoint_store *store, const char *staged, int64_t update) {
    char path[PATH_MAX];
    CM_TRY(cm_checkpoint_path(store, update, path, sizeof path));
    bool swapped = renameat2(AT_FDCWD, staged, AT_FDCWD, path, RENAME_EXCHANGE) == 0;
    if (!swapped && exists(store, update)) CM_TRY(discard(store, update));
    if (!swapped && rename(staged, path) != 0) {
        return cm_fail(CM_ERR_IO, "%s: cannot give the checkpoint its name: %s", path, strerror(errno));
    }
    CM_TRY(cm_directory_sync(store->folder));
    return swapped ? cm_directory_remove(staged) : CM_OK;
}

/* What rank 0 does when the files of all are there. */
static cm_status finish(cm_checkpoint_store *store, const cm_checkpoint_writer *writer) {
    const int64_t update = writer->manifest.update;
    CM_TRY(cm_manifest_write(&writer->manifest, writer->directory));
    CM_TRY(cm_directory_sync(writer->directory));
    CM_TRY(publish(store, writer->directory, update));
    CM_TRY(point(store, "latest", update));
    return discard_old(store, update);
}

/* The writer of this rank; the name of the staging folder is that of rank 0's process. */
static cm_status open_writer(cm_checkpoint_store *store, int64_t update, cm_checkpoint_writer **out) {
    char name[64];
    CM_TRY(cm_alloc(out, 1, sizeof **out, "writing a checkpoint"));
    cm_checkpoint_writer *writer = *out;
    writer->manifest.update = update;
    if (store->previous >= 0 && exists(store, store->previous)) {
        writer->previous = &store->manifest;
        CM_TRY(cm_checkpoint_path(store, store->previous, writer->previous_directory, PATH_MAX));
    }
    snprintf(name, sizeof name, ".writing-%lld-%ld", (long long)update, (long)getpid());
    CM_TRY(cm_path_join(writer->directory, PATH_MAX, store->folder, name));
    writer->hash = XXH3_createState();
    return writer->hash ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a checksum");
}

/* A run whose folder was removed is not made again. */
static cm_status open_staging(const cm_checkpoint_store *store, const cm_checkpoint_writer *writer, uint64_t need) {
    CM_TRY(cm_directory_make_last(store->folder));
    CM_TRY(check_room(store, need));
    CM_TRY(cm_directory_remove(writer->directory));
    return cm_directory_make_last(writer->directory);
}

static void drop_writer(cm_checkpoint_writer *writer) {
    if (!writer) return;
    XXH3_freeState(writer->hash);
    cm_manifest_reset(&writer->manifest);
    free(writer);
}

/* Removes the staging folder of a failed save; the error that is kept stays the save's. */
static cm_status abandon(const cm_checkpoint_store *store, cm_checkpoint_writer *writer, cm_status status) {
    char message[1024];
    if (!leads(store)) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (cm_directory_remove(writer->directory) != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    return cm_fail(status, "%s", message);
}

/* From an open staging folder to a checkpoint, or to none. */
static cm_status write_all(cm_checkpoint_store *store, cm_checkpoint_writer *writer, const cm_checkpoint_part *parts,
                           int count) {
    cm_comm *comm = store->comm;
    CM_TRY(comm->broadcast(comm, writer->directory, sizeof writer->directory, 0));
    cm_status status = cm_ranks_agree(comm, write_parts(store, writer, parts, count));
    if (status == CM_OK) status = cm_ranks_agree(comm, gather_rows(comm, &writer->manifest));
    if (status == CM_OK) status = cm_ranks_agree(comm, leads(store) ? finish(store, writer) : CM_OK);
    return status == CM_OK ? CM_OK : abandon(store, writer, status);
}

cm_status cm_checkpoint_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count) {
    cm_comm *comm = store->comm;
    cm_checkpoint_writer *writer = NULL;
    double need = (double)cm_checkpoint_bytes(parts, count);
    CM_TRY(comm->all_reduce_double(comm, &need, 1));
    cm_status status = open_writer(store, update, &writer);
    if (status == CM_OK && leads(store)) status = open_staging(store, writer, (uint64_t)need);
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
    if (is_intact(store, update)) return cm_fail(status, "%s", message); /* it is the run that is another one */
    int64_t intact = cm_checkpoint_newest_intact(store);
    if (intact < 0) return cm_fail(CM_ERR_IO, "%s; no checkpoint of this run is intact", message);
    return cm_fail(CM_ERR_IO, "%s; the newest intact checkpoint is %lld: add --checkpoint %lld", message,
                   (long long)intact, (long long)intact);
}

static cm_status read_checkpoint(cm_checkpoint_store *store, cm_checkpoint_reader *reader,
                                 const cm_checkpoint_part *parts, int count, int64_t update) {
    CM_TRY(cm_checkpoint_path(store, update, reader->directory, PATH_MAX));
    CM_TRY(cm_manifest_read(&reader->manifest, reader->directory));
    if (reader->manifest.update != update) {
        return cm_fail(CM_ERR_INPUT,
                       "%s/manifest.json: speaks of update %lld; the folder was renamed or the file damaged",
                       reader->directory, (long long)reader->manifest.update);
    }
    return load_parts(reader, parts, count);
}

static cm_status no_such(const cm_checkpoint_store *store, int64_t update) {
    int64_t first = -1, numbers[64];
    int n = cm_checkpoint_list(store, numbers, 64);
    if (n == 0 && faccessat(AT_FDCWD, store->folder, R_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES)
        return cm_fail(CM_ERR_IO, "%s: cannot be read: %s", store->folder, strerror(errno));
    if (n == 0) return cm_fail(CM_ERR_STATE, "%s: holds no checkpoint yet", store->folder);
    if (update == CM_CHECKPOINT_BEST) return cm_fail(CM_ERR_INPUT, "%s: has no best checkpoint yet", store->run);
    first = numbers[0];
    if (n == 1) {
        return cm_fail(CM_ERR_INPUT, "%s: has no checkpoint %lld; only %lld is there", store->folder, (long long)update,
                       (long long)first);
    }
    return cm_fail(CM_ERR_INPUT, "%s: has no checkpoint %lld; %d from %lld to %lld are there", store->folder,
                   (long long)update, n, (long long)first, (long long)numbers[n - 1]);
}

cm_status cm_checkpoint_load(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count,
                             int64_t *loaded) {
    int64_t number = leads(store) ? cm_checkpoint_find(store, update) : -1;
    CM_TRY(store->comm->broadcast(store->comm, &number, sizeof number, 0));
    if (loaded) *loaded = number;
    if (number < 0) return no_such(store, update);
    cm_checkpoint_reader *reader = NULL;
    CM_TRY(cm_alloc(&reader, 1, sizeof *reader, "reading a checkpoint"));
    cm_status status = cm_ranks_agree(store->comm, read_checkpoint(store, reader, parts, count, number));
    if (status == CM_OK) {
        cm_manifest old = store->manifest;
        store->manifest = reader->manifest;
        store->previous = number;
        reader->manifest = old;
    }
    cm_manifest_reset(&reader->manifest);
    free(reader);
    return status == CM_OK ? CM_OK : explain(store, number, status);
}
