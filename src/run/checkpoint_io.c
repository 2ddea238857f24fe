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
    XXH3_128bits_update(writer->hash, data, size);
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

cm_status cm_checkpoint_end(cm_checkpoint_writer *writer) {
    char hash[CM_HASH_HEX];
    format_hash(writer, hash);
    cm_file_writer *file = writer->file;
    writer->file = NULL;
    CM_TRY(cm_file_commit(file));
    return cm_manifest_add(&writer->manifest, writer->name, writer->bytes, hash);
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

/* A hard link, or a copy. */
static cm_status link_file(cm_checkpoint_writer *writer, const cm_manifest_file *row) {
    cm_dir_file file;
    CM_TRY(cm_dir_measure(&writer->previous_directory, row->name, &file));
    if (file.bytes != row->bytes) return fail_file(&writer->previous_directory, row->name, "its size has changed");
    if (cm_checkpoint_is_shared(&file)) return copy_file(writer, row);
    if (cm_dir_share(&writer->previous_directory, row->name, &writer->directory) != CM_OK)
        return copy_file(writer, row); /* a file system without hard links */
    return cm_manifest_add(&writer->manifest, row->name, row->bytes, row->hash);
}

cm_status cm_checkpoint_keep(cm_checkpoint_writer *writer, const char *name, bool *kept) {
    const cm_manifest_file *row = writer->previous ? cm_manifest_find(writer->previous, name) : NULL;
    *kept = row && link_file(writer, row) == CM_OK;
    if (row && !*kept) cm_log(CM_WARNING, "%s; it is written again", cm_error_message());
    return CM_OK;
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
