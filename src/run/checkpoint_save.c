/* Saving: from a staging folder to a checkpoint, or to none; at once, or finished by a thread. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/memory.h"
#include "run/checkpoint_io.h"
#include "run/ranks.h"

enum { MANIFEST_BYTES = 64 * 1024 };

uint64_t cm_checkpoint_bytes(const cm_checkpoint_part *parts, int count) {
    uint64_t total = MANIFEST_BYTES;
    for (int i = 0; i < count; i++) total += parts[i].bytes ? parts[i].bytes(parts[i].context) : 0;
    return total;
}

uint64_t cm_checkpoint_copy_bytes(const cm_checkpoint_store *store, const char *name) {
    cm_dir previous;
    cm_dir_file file = {.bytes = 0};
    if (store->previous < 0 || cm_checkpoint_enter_number(store, store->previous, &previous) != CM_OK) return 0;
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
    return cm_ranks_agree(store->comm, cm_checkpoint_leads(store) ? compare_space(store, (uint64_t)need) : CM_OK);
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
    char name[CM_CHECKPOINT_NAME];
    const int at = folder->file;
    cm_checkpoint_name(update, name);
    bool swapped = renameat2(at, staged, at, name, RENAME_EXCHANGE) == 0;
    if (!swapped && cm_dir_look(folder, name) == CM_DIR_FOLDER) CM_TRY(cm_checkpoint_discard(folder, update));
    if (!swapped && renameat(at, staged, at, name) != 0)
        return cm_checkpoint_fail_at(folder->path, name, "give the checkpoint its name");
    CM_TRY(cm_dir_sync(folder));
    if (swapped && cm_dir_remove(folder, staged) != CM_OK) cm_checkpoint_warn();
    return CM_OK;
}

/* What rank 0 does when the files of all are there. */
static cm_status finish(cm_checkpoint_store *store, const cm_checkpoint_writer *writer) {
    const int64_t update = writer->manifest.update;
    cm_dir folder;
    CM_TRY(cm_manifest_write(&writer->manifest, &writer->directory));
    CM_TRY(cm_dir_sync(&writer->directory));
    CM_TRY(cm_checkpoint_enter_folder(store, &folder));
    cm_status status = publish(&folder, writer->staging, update);
    if (status == CM_OK) status = cm_checkpoint_point_latest(store, update);
    if (status == CM_OK) status = cm_checkpoint_discard_old(store, &folder, update);
    cm_dir_close(&folder);
    return status;
}

/* The writer of this rank; the name of the staging folder is that of rank 0's process. */
static cm_status open_writer(cm_checkpoint_store *store, int64_t update, cm_checkpoint_writer **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "writing a checkpoint"));
    cm_checkpoint_writer *writer = *out;
    writer->directory.file = writer->previous_directory.file = -1;
    writer->manifest.update = update;
    if (store->previous >= 0 &&
        cm_checkpoint_enter_number(store, store->previous, &writer->previous_directory) == CM_OK)
        writer->previous = &store->manifest;
    snprintf(writer->staging, sizeof writer->staging, "%s%lld-%ld", CM_CHECKPOINT_STAGING, (long long)update,
             (long)getpid());
    writer->hash = XXH3_createState();
    return writer->hash ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a checksum");
}

/* A run whose folder was removed is not made again. */
static cm_status make_staging(cm_checkpoint_store *store, const cm_checkpoint_writer *writer) {
    cm_dir folder;
    if (store->run.file < 0) CM_TRY(cm_dir_open(&store->run, store->run.path));
    CM_TRY(cm_dir_make(&store->run, CM_CHECKPOINT_FOLDER));
    CM_TRY(cm_checkpoint_enter_folder(store, &folder));
    cm_status status = cm_dir_remove(&folder, writer->staging);
    if (status == CM_OK) status = cm_dir_make(&folder, writer->staging);
    cm_dir_close(&folder);
    return status;
}

/* The staging folder of rank 0, opened by each rank. */
static cm_status open_staging(const cm_checkpoint_store *store, cm_checkpoint_writer *writer) {
    cm_dir folder;
    cm_status status = cm_checkpoint_enter_folder(store, &folder);
    if (status == CM_OK) status = cm_dir_enter(&writer->directory, &folder, writer->staging);
    cm_dir_close(&folder);
    if (status == CM_OK || cm_checkpoint_leads(store)) return status;
    return cm_fail(CM_ERR_IO,
                   "%s/%s/%s: rank %d does not see this folder of rank 0: the machines of a run share its disk",
                   store->run.path, CM_CHECKPOINT_FOLDER, writer->staging, store->comm->rank);
}

static void drop_writer(cm_checkpoint_writer *writer) {
    if (!writer) return;
    cm_checkpoint_close_unsynced(writer);
    free(writer->unsynced);
    cm_manifest_reset(&writer->owed);
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
    if (!cm_checkpoint_leads(store)) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (cm_checkpoint_enter_folder(store, &folder) == CM_OK && cm_dir_remove(&folder, writer->staging) != CM_OK)
        cm_checkpoint_warn();
    cm_dir_close(&folder);
    return cm_fail(status, "%s", message);
}

/* The files of all ranks in the staging folder, and their rows on rank 0. */
static cm_status write_files(cm_checkpoint_store *store, cm_checkpoint_writer *writer, const cm_checkpoint_part *parts,
                             int count) {
    cm_comm *comm = store->comm;
    CM_TRY(comm->broadcast(comm, writer->staging, sizeof writer->staging, 0));
    cm_status status = open_staging(store, writer);
    if (status == CM_OK) status = write_parts(store, writer, parts, count);
    status = cm_ranks_agree(comm, status);
    return status == CM_OK ? cm_ranks_agree(comm, gather_rows(comm, &writer->manifest)) : status;
}

/* A staging folder with the files of all parts, or none. */
static cm_status begin_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count,
                            bool is_deferred, cm_checkpoint_writer **out) {
    CM_TRY(cm_checkpoint_wait(store));
    store->began = cm_clock_seconds();
    cm_status status = open_writer(store, update, out);
    if (status == CM_OK) (*out)->is_deferred = is_deferred;
    if (status == CM_OK && cm_checkpoint_leads(store)) status = make_staging(store, *out);
    CM_TRY(cm_ranks_agree(store->comm, status));
    status = write_files(store, *out, parts, count);
    return status == CM_OK ? CM_OK : abandon(store, *out, status);
}

/* What was saved, if it was: the next one links its files. */
static void adopt(cm_checkpoint_store *store, cm_checkpoint_writer *writer, cm_status status) {
    if (status == CM_OK) {
        const cm_manifest old = store->manifest;
        store->previous = writer->manifest.update;
        store->manifest = writer->manifest;
        writer->manifest = old;
    }
    drop_writer(writer);
}

cm_status cm_checkpoint_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count) {
    cm_checkpoint_writer *writer = NULL;
    cm_status status = begin_save(store, update, parts, count, false, &writer);
    if (status == CM_OK) {
        status = cm_ranks_agree(store->comm, cm_checkpoint_leads(store) ? finish(store, writer) : CM_OK);
        if (status != CM_OK) status = abandon(store, writer, status);
    }
    store->seconds = cm_clock_seconds() - store->began;
    adopt(store, writer, status);
    return status;
}

/* ---- saving, finished by a thread ---- */

static void *finish_pending(void *context) {
    cm_checkpoint_store *store = context;
    cm_checkpoint_writer *writer = store->pending;
    cm_status status = cm_checkpoint_make_durable(writer);
    if (status != CM_OK) status = fail_writing(store, writer, status);
    if (status == CM_OK) status = finish(store, writer);
    if (status != CM_OK) status = abandon(store, writer, status);
    store->status = status;
    store->seconds = cm_clock_seconds() - store->began;
    snprintf(store->message, sizeof store->message, "%s", status == CM_OK ? "" : cm_error_message());
    __atomic_store_n(&store->is_ready, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Signals are for the threads that there were. */
static void start_thread(cm_checkpoint_store *store) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    store->has_thread = pthread_create(&store->thread, NULL, finish_pending, store) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!store->has_thread) finish_pending(store);
}

cm_status cm_checkpoint_begin_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts,
                                   int count) {
    cm_checkpoint_writer *writer = NULL;
    if (store->comm->size > 1) return cm_fail(CM_ERR_STATE, "several ranks save together: cm_checkpoint_save");
    const cm_status status = begin_save(store, update, parts, count, true, &writer);
    if (status != CM_OK) {
        drop_writer(writer);
        return status;
    }
    store->pending = writer;
    store->is_ready = false;
    start_thread(store);
    return CM_OK;
}

bool cm_checkpoint_is_ready(const cm_checkpoint_store *store) {
    return store->pending && __atomic_load_n(&store->is_ready, __ATOMIC_ACQUIRE);
}

cm_status cm_checkpoint_wait(cm_checkpoint_store *store) {
    cm_checkpoint_writer *writer = store->pending;
    if (!writer) return CM_OK;
    if (store->has_thread) pthread_join(store->thread, NULL);
    store->pending = NULL;
    adopt(store, writer, store->status);
    return store->status == CM_OK ? CM_OK : cm_fail(store->status, "%s", store->message);
}

double cm_checkpoint_seconds(const cm_checkpoint_store *store) { return store->seconds; }

/* Here, as it waits. */
void cm_checkpoint_store_destroy(cm_checkpoint_store *store) {
    if (!store) return;
    if (cm_checkpoint_wait(store) != CM_OK) cm_checkpoint_warn();
    cm_manifest_reset(&store->manifest);
    cm_dir_close(&store->run);
    free(store);
}
