#include "run/manifest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"

static const char file_name[] = "manifest.json";

void cm_manifest_reset(cm_manifest *manifest) {
    free(manifest->file);
    memset(manifest, 0, sizeof *manifest);
}

static bool name_is_plain(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length >= CM_MANIFEST_NAME || name[0] == '.') return false;
    for (const char *c = name; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && !(*c >= '0' && *c <= '9') && !strchr("._-", *c)) return false;
    }
    return true;
}

static bool hash_is_plain(const char *hash) {
    return strlen(hash) == CM_HASH_HEX - 1 && strspn(hash, "0123456789abcdef") == CM_HASH_HEX - 1;
}

cm_status cm_manifest_add(cm_manifest *manifest, const char *name, uint64_t bytes, const char *hash) {
    if (!name_is_plain(name)) return cm_fail(CM_ERR_INPUT, "\"%.60s\" is no name of a checkpoint file", name);
    if (!hash_is_plain(hash)) return cm_fail(CM_ERR_INPUT, "%s: its checksum must be 32 hexadecimal digits", name);
    if (cm_manifest_find(manifest, name)) return cm_fail(CM_ERR_INPUT, "%s: listed twice", name);
    if (manifest->count == manifest->capacity) {
        int capacity = manifest->capacity ? 2 * manifest->capacity : 16;
        cm_manifest_file *grown = realloc(manifest->file, (size_t)capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for a manifest of %d files", capacity);
        manifest->file = grown, manifest->capacity = capacity;
    }
    cm_manifest_file *row = &manifest->file[manifest->count++];
    memset(row, 0, sizeof *row);
    strcpy(row->name, name);
    strcpy(row->hash, hash);
    row->bytes = bytes;
    return CM_OK;
}

const cm_manifest_file *cm_manifest_find(const cm_manifest *manifest, const char *name) {
    for (int i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->file[i].name, name) == 0) return &manifest->file[i];
    }
    return NULL;
}

cm_status cm_manifest_write(const cm_manifest *manifest, const cm_dir *directory) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "format", CM_MANIFEST_FORMAT);
    cm_json_put_int(json, "update", manifest->update);
    cm_json_begin_array(json, "files");
    for (int i = 0; i < manifest->count; i++) {
        cm_json_begin_object(json, NULL);
        cm_json_put_string(json, "name", manifest->file[i].name);
        cm_json_put_int(json, "bytes", (int64_t)manifest->file[i].bytes);
        cm_json_put_string(json, "xxh3_128", manifest->file[i].hash);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
    cm_json_end_object(json);
    cm_status status = cm_json_writer_save_in(json, directory, file_name);
    cm_json_writer_destroy(json);
    return status;
}

static cm_status read_rows(cm_manifest *manifest, const cm_json *root) {
    const cm_json *files = NULL;
    const char *format = NULL;
    CM_TRY(cm_json_need_string(root, "format", &format));
    if (strcmp(format, CM_MANIFEST_FORMAT) != 0) {
        return cm_fail(CM_ERR_INPUT, "format \"%.60s\" is not \"%s\"", format, CM_MANIFEST_FORMAT);
    }
    CM_TRY(cm_json_need_int(root, "update", 0, INT64_MAX, &manifest->update));
    CM_TRY(cm_json_need(root, "files", CM_JSON_ARRAY, &files));
    for (const cm_json *row = cm_json_first(files); row; row = cm_json_next(row)) {
        const char *name = NULL, *hash = NULL;
        int64_t bytes = 0;
        CM_TRY(cm_json_need_string(row, "name", &name));
        CM_TRY(cm_json_need_string(row, "xxh3_128", &hash));
        CM_TRY(cm_json_need_int(row, "bytes", 0, INT64_MAX, &bytes));
        CM_TRY(cm_manifest_add(manifest, name, (uint64_t)bytes, hash));
    }
    return CM_OK;
}

cm_status cm_manifest_read(cm_manifest *manifest, const cm_dir *directory) {
    cm_json_doc *doc = NULL;
    cm_manifest_reset(manifest);
    if (cm_json_read_in(directory, file_name, &doc) != CM_OK) return cm_fail(CM_ERR_IO, "%s", cm_error_message());
    cm_status status = read_rows(manifest, cm_json_root(doc));
    cm_json_free(doc);
    if (status == CM_OK) return CM_OK;
    cm_manifest_reset(manifest);
    return cm_fail_in(CM_ERR_IO, "%s/%s", directory->path, file_name);
}

/* Reads an open file of that row; the checksum is not looked at. */
static cm_status read_row_file(int file, const cm_manifest_file *row, const cm_dir *directory, char **data,
                               size_t *size) {
    char path[PATH_MAX];
    struct stat about;
    CM_TRY(cm_path_join(path, sizeof path, directory->path, row->name));
    if (fstat(file, &about) == 0 && (uint64_t)about.st_size != row->bytes) {
        return cm_fail(CM_ERR_IO, "%s: has %lld bytes, must have %llu: %s", path, (long long)about.st_size,
                       (unsigned long long)row->bytes,
                       (uint64_t)about.st_size < row->bytes ? "the file is truncated" : "the file was changed");
    }
    return cm_file_read_open(file, path, (size_t)row->bytes, data, size);
}

cm_status cm_manifest_fetch(const cm_manifest *manifest, const cm_dir *directory, const char *name, char **data,
                            size_t *size) {
    char hash[CM_HASH_HEX];
    int file;
    *data = NULL, *size = 0;
    const cm_manifest_file *row = cm_manifest_find(manifest, name);
    if (!row)
        return cm_fail(CM_ERR_INPUT, "%s/%s: not in the manifest; this is another kind of checkpoint", directory->path,
                       name);
    CM_TRY(cm_dir_open_file(directory, name, O_RDONLY, &file));
    cm_status status = read_row_file(file, row, directory, data, size);
    close(file);
    CM_TRY(status);
    cm_hash_bytes(*data, *size, hash);
    if (*size == row->bytes && strcmp(hash, row->hash) == 0) return CM_OK;
    free(*data);
    *data = NULL, *size = 0;
    return cm_fail(CM_ERR_IO, "%s/%s: its checksum differs from the manifest's: the file is damaged", directory->path,
                   name);
}

cm_status cm_manifest_verify(const cm_manifest *manifest, const cm_dir *directory) {
    for (int i = 0; i < manifest->count; i++) {
        char *data = NULL;
        size_t size = 0;
        CM_TRY(cm_manifest_fetch(manifest, directory, manifest->file[i].name, &data, &size));
        free(data);
    }
    return CM_OK;
}
