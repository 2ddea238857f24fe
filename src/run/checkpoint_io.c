#include "run/checkpoint_io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/retry.h"

/* ---- writing ---- */

static cm_status write_piece(void *context, const void *data, size_t size) {
    cm_checkpoint_writer *writer = context;
    CM_TRY(cm_file_append(writer->file, data, size));
    if (!writer->is_staged) XXH3_128bits_update(writer->hash, data, size); /* what is staged is in no manifest */
    writer->bytes += size;
    return CM_OK;
}

cm_status cm_checkpoint_begin(cm_checkpoint_writer *writer, const char *name, cm_sink *sink) {
    *sink = (cm_sink){writer, write_piece};
    if (writer->file) return cm_fail(CM_ERR_STATE, "%s: begun before %s has ended", name, writer->name);
    CM_TRY(cm_dir_begin(&writer->directory, name, &writer->file));
    snprintf(writer->name, sizeof writer->name, "%s", name);
    writer->bytes = 0;
    XXH3_128bits_reset(writer->hash);
    return CM_OK;
}

static void format_hash(const cm_checkpoint_writer *writer, char hash[CM_HASH_HEX]) {
    const XXH128_hash_t digest = XXH3_128bits_digest(writer->hash);
    snprintf(hash, CM_HASH_HEX, "%016llx%016llx", (unsigned long long)digest.high64, (unsigned long long)digest.low64);
}

/* One more file that is to be synced: space for its descriptor. */
static cm_status grow_unsynced(cm_checkpoint_writer *writer) {
    if (writer->unsynced_count < writer->unsynced_capacity) return CM_OK;
    const int capacity = writer->unsynced_capacity ? 2 * writer->unsynced_capacity : 16;
    int *more = realloc(writer->unsynced, (size_t)capacity * sizeof *more);
    if (!more) return cm_fail(CM_ERR_MEMORY, "no memory for %d open files of a checkpoint", capacity);
    writer->unsynced = more, writer->unsynced_capacity = capacity;
    return CM_OK;
}

/* The descriptor stays open until its file is synced, so that an error of the disk on the way is told. */
static cm_status commit_later(cm_checkpoint_writer *writer, cm_file_writer *file) {
    const cm_status status = grow_unsynced(writer);
    if (status != CM_OK) {
        cm_file_abandon(file);
        return status;
    }
    CM_TRY(cm_file_commit_unsynced(file, &writer->unsynced[writer->unsynced_count]));
    writer->unsynced_count++;
    return CM_OK;
}

static cm_status end_staged(cm_checkpoint_writer *writer);

cm_status cm_checkpoint_end(cm_checkpoint_writer *writer) {
    char hash[CM_HASH_HEX];
    if (writer->is_staged) return end_staged(writer);
    format_hash(writer, hash);
    cm_file_writer *file = writer->file;
    writer->file = NULL;
    CM_TRY(writer->is_deferred ? commit_later(writer, file) : cm_file_commit(file));
    return cm_manifest_add(&writer->manifest, writer->name, writer->bytes, hash);
}

/* ---- staged files ---- */

enum { STAGED_NAME = 32 };

/* No name that a part may give. */
static void name_staged(int index, char out[STAGED_NAME]) { snprintf(out, STAGED_NAME, ".staged-%d", index); }

bool cm_checkpoint_is_staging(const cm_checkpoint_writer *writer) {
    return writer->is_deferred && writer->staged_count < CM_CHECKPOINT_STAGED;
}

cm_status cm_checkpoint_begin_staged(cm_checkpoint_writer *writer, const char *name, cm_checkpoint_pack *pack,
                                     cm_sink *sink) {
    char staged[STAGED_NAME];
    if (!cm_checkpoint_is_staging(writer)) return cm_fail(CM_ERR_STATE, "%s: cannot be staged", name);
    name_staged(writer->staged_count, staged);
    CM_TRY(cm_checkpoint_begin(writer, staged, sink));
    cm_checkpoint_staged *s = &writer->staged[writer->staged_count++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->pack = pack;
    writer->is_staged = true;
    return CM_OK;
}

/* It is gone again before the checkpoint has its name: so it is not synced. */
static cm_status end_staged(cm_checkpoint_writer *writer) {
    cm_file_writer *file = writer->file;
    int descriptor;
    writer->file = NULL;
    writer->is_staged = false;
    CM_TRY(cm_file_commit_unsynced(file, &descriptor));
    close(descriptor);
    return CM_OK;
}

static cm_status open_staged(const cm_checkpoint_writer *writer, const char *name, cm_source *out) {
    char path[PATH_MAX];
    cm_dir_file about;
    int file;
    CM_TRY(cm_path_join(path, sizeof path, writer->directory.path, name));
    CM_TRY(cm_dir_measure(&writer->directory, name, &about));
    CM_TRY(cm_dir_open_file(&writer->directory, name, O_RDONLY, &file));
    cm_source_file(out, file, about.bytes, path);
    return CM_OK;
}

static cm_status pack_staged(cm_checkpoint_writer *writer, int index) {
    const cm_checkpoint_staged *s = &writer->staged[index];
    char staged[STAGED_NAME];
    cm_source source;
    cm_sink sink;
    name_staged(index, staged);
    CM_TRY(open_staged(writer, staged, &source));
    cm_status status = cm_checkpoint_begin(writer, s->name, &sink);
    if (status == CM_OK) status = s->pack(&source, &sink);
    cm_source_close(&source);
    if (status != CM_OK) return cm_fail_in(CM_ERR_IO, "%s/%s", writer->directory.path, staged);
    CM_TRY(cm_checkpoint_end(writer));
    return cm_dir_unlink(&writer->directory, staged);
}

cm_status cm_checkpoint_put(cm_checkpoint_writer *writer, const char *name, const void *data, size_t size) {
    cm_sink sink = {0};
    CM_TRY(cm_checkpoint_begin(writer, name, &sink));
    CM_TRY(sink.write(sink.context, data, size));
    return cm_checkpoint_end(writer);
}

cm_status cm_checkpoint_put_arrays(cm_checkpoint_writer *writer, const char *name, const cm_array *arrays, int count) {
    cm_sink sink = {0};
    CM_TRY(cm_checkpoint_begin(writer, name, &sink));
    CM_TRY(cm_safetensors_write(arrays, count, &sink));
    return cm_checkpoint_end(writer);
}

cm_status cm_checkpoint_put_json(cm_checkpoint_writer *writer, const char *name, const cm_json_writer *json) {
    size_t size = 0;
    const char *text = cm_json_writer_text(json, &size);
    if (!text) return CM_ERR_MEMORY;
    return cm_checkpoint_put(writer, name, text, size);
}

static cm_status fail_file(const cm_dir *directory, const char *name, const char *what) {
    return cm_fail(CM_ERR_IO, "%s/%s: %s", directory->path, name, what);
}

static cm_status copy_bytes(const cm_checkpoint_writer *writer, int file, const cm_sink *sink) {
    enum { BLOCK = 1 << 16 };
    char block[BLOCK];
    ssize_t n = 1;
    while (n > 0) {
        do n = read(file, block, BLOCK);
        while (cm_is_eintr(n));
        if (n > 0) CM_TRY(sink->write(sink->context, block, (size_t)n));
    }
    return n == 0 ? CM_OK : fail_file(&writer->previous_directory, writer->name, "cannot be read");
}

/* Copies a file of the checkpoint before, if it is still what was written. */
static cm_status copy_file(cm_checkpoint_writer *writer, const cm_manifest_file *row) {
    char hash[CM_HASH_HEX];
    cm_sink sink = {0};
    int file;
    CM_TRY(cm_dir_open_file(&writer->previous_directory, row->name, O_RDONLY, &file));
    cm_status status = cm_checkpoint_begin(writer, row->name, &sink);
    if (status == CM_OK) status = copy_bytes(writer, file, &sink);
    close(file);
    format_hash(writer, hash);
    if (status == CM_OK && strcmp(hash, row->hash) != 0)
        status = fail_file(&writer->previous_directory, row->name, "its checksum differs: the file is damaged");
    if (status == CM_OK) return cm_checkpoint_end(writer);
    cm_file_abandon(writer->file);
    writer->file = NULL;
    return status;
}

bool cm_checkpoint_is_shared(const cm_dir_file *file) { return file->names > 1; }

/* A copy, now or later. */
static cm_status take_copy(cm_checkpoint_writer *writer, const cm_manifest_file *row) {
    if (!writer->is_deferred) return copy_file(writer, row);
    return cm_manifest_add(&writer->owed, row->name, row->bytes, row->hash);
}

/* A hard link, or a copy. */
static cm_status link_file(cm_checkpoint_writer *writer, const cm_manifest_file *row) {
    cm_dir_file file;
    CM_TRY(cm_dir_measure(&writer->previous_directory, row->name, &file));
    if (file.bytes != row->bytes) return fail_file(&writer->previous_directory, row->name, "its size has changed");
    if (cm_checkpoint_is_shared(&file)) return take_copy(writer, row);
    if (cm_dir_share(&writer->previous_directory, row->name, &writer->directory) != CM_OK)
        return take_copy(writer, row); /* a file system without hard links */
    return cm_manifest_add(&writer->manifest, row->name, row->bytes, row->hash);
}

cm_status cm_checkpoint_keep(cm_checkpoint_writer *writer, const char *name, bool *kept) {
    const cm_manifest_file *row = writer->previous ? cm_manifest_find(writer->previous, name) : NULL;
    *kept = row && link_file(writer, row) == CM_OK;
    if (row && !*kept) cm_log(CM_WARNING, "%s; it is written again", cm_error_message());
    return CM_OK;
}

cm_status cm_checkpoint_make_durable(cm_checkpoint_writer *writer) {
    writer->is_deferred = false; /* copies are synced as they end */
    for (int i = 0; i < writer->staged_count; i++) CM_TRY(pack_staged(writer, i));
    for (int i = 0; i < writer->owed.count; i++) CM_TRY(copy_file(writer, &writer->owed.file[i]));
    for (int i = 0; i < writer->unsynced_count; i++) CM_TRY(cm_file_sync(writer->unsynced[i], writer->directory.path));
    cm_checkpoint_close_unsynced(writer);
    return CM_OK;
}

void cm_checkpoint_close_unsynced(cm_checkpoint_writer *writer) {
    for (int i = 0; i < writer->unsynced_count; i++) close(writer->unsynced[i]);
    writer->unsynced_count = 0;
}

/* ---- reading ---- */

cm_status cm_checkpoint_open(cm_checkpoint_reader *reader, const char *name, uint64_t most, cm_source *out) {
    return cm_manifest_open(&reader->manifest, &reader->directory, name, most, out);
}

cm_status cm_checkpoint_get(cm_checkpoint_reader *reader, const char *name, uint64_t most, char **data, size_t *size) {
    return cm_manifest_fetch(&reader->manifest, &reader->directory, name, most, data, size);
}

cm_status cm_checkpoint_get_arrays(cm_checkpoint_reader *reader, const char *name, const cm_array *arrays, int count) {
    cm_source file;
    CM_TRY(cm_checkpoint_open(reader, name, UINT64_MAX, &file));
    cm_status status = cm_safetensors_load(&file, arrays, count);
    cm_source_close(&file);
    return status;
}

cm_status cm_checkpoint_get_json(cm_checkpoint_reader *reader, const char *name, cm_json_doc **out) {
    char path[PATH_MAX], *data = NULL;
    size_t size = 0;
    *out = NULL;
    CM_TRY(cm_path_join(path, sizeof path, reader->directory.path, name));
    CM_TRY(cm_checkpoint_get(reader, name, CM_JSON_SMALL, &data, &size));
    cm_status status = cm_json_parse(data, size, path, out);
    free(data);
    return status;
}

int cm_checkpoint_files(const cm_checkpoint_reader *reader) { return reader->manifest.count; }

const char *cm_checkpoint_file(const cm_checkpoint_reader *reader, int index) {
    return reader->manifest.file[index].name;
}
