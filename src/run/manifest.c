#include "run/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/json.h"

static const char file_name[] = "manifest.json";

void cm_manifest_reset(cm_manifest *manifest) {
    free(manifest->file);
    free(manifest->place);
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

/* ---- rows ---- */

/* Where a name is in the hash table, or would be. The address makes the order another one in every process, so that
 * no one can choose names that meet in one place. */
static int32_t *find_place(cm_manifest *manifest, const char *name) {
    const uint64_t places = 2 * (uint64_t)manifest->capacity;
    uint64_t at = XXH3_64bits_withSeed(name, strlen(name), (uint64_t)(uintptr_t)manifest->place) % places;
    for (;; at = (at + 1) % places) {
        int32_t *place = &manifest->place[at];
        if (*place < 0) return place;
        manifest->compared++;
        if (strcmp(manifest->file[*place].name, name) == 0) return place;
    }
}

static cm_status grow(cm_manifest *manifest) {
    const int capacity = manifest->capacity ? 2 * manifest->capacity : 16;
    cm_manifest_file *rows = realloc(manifest->file, (size_t)capacity * sizeof *rows);
    if (rows) manifest->file = rows;
    int32_t *place = rows ? malloc(2 * (size_t)capacity * sizeof *place) : NULL;
    if (!place) return cm_fail(CM_ERR_MEMORY, "no memory for a manifest of %d files", capacity);
    free(manifest->place);
    manifest->place = place, manifest->capacity = capacity;
    memset(place, 0xff, 2 * (size_t)capacity * sizeof *place);
    for (int i = 0; i < manifest->count; i++) *find_place(manifest, rows[i].name) = i;
    return CM_OK;
}

cm_status cm_manifest_add(cm_manifest *manifest, const char *name, uint64_t bytes, const char *hash) {
    if (!name_is_plain(name)) return cm_fail(CM_ERR_INPUT, "\"%.60s\" is no name of a checkpoint file", name);
    if (!hash_is_plain(hash)) return cm_fail(CM_ERR_INPUT, "%s: its checksum must be 32 hexadecimal digits", name);
    if (manifest->count == CM_MANIFEST_FILES)
        return cm_fail(CM_ERR_INPUT, "%s: a checkpoint has at most %d files", name, CM_MANIFEST_FILES);
    if (manifest->count == manifest->capacity) CM_TRY(grow(manifest));
    int32_t *place = find_place(manifest, name);
    if (*place >= 0) return cm_fail(CM_ERR_INPUT, "%s: listed twice", name);
    *place = manifest->count;
    cm_manifest_file *row = &manifest->file[manifest->count++];
    memset(row, 0, sizeof *row);
    strcpy(row->name, name);
    strcpy(row->hash, hash);
    row->bytes = bytes;
    return CM_OK;
}

const cm_manifest_file *cm_manifest_find(cm_manifest *manifest, const char *name) {
    if (manifest->count == 0) return NULL;
    const int32_t place = *find_place(manifest, name);
    return place < 0 ? NULL : &manifest->file[place];
}

/* ---- manifest.json ---- */

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
    if (cm_json_read_in(directory, file_name, CM_MANIFEST_BYTES, &doc) != CM_OK)
        return cm_fail(CM_ERR_IO, "%s", cm_error_message());
    cm_status status = read_rows(manifest, cm_json_root(doc));
    cm_json_free(doc);
    if (status == CM_OK) return CM_OK;
    cm_manifest_reset(manifest);
    return cm_fail_in(CM_ERR_IO, "%s/%s", directory->path, file_name);
}

/* ---- the files ---- */

/* Whether a large file is holes with hardly anything between them. Runs write none, and a file system that compresses
 * makes few; a stranger's terabyte of them is a kilobyte, and would be read for an hour for its checksum. */
static bool is_hollow(int file, uint64_t size) {
    enum { LARGE = 64 << 20, SHARE = 64 }; /* one part of so many is stored at least */
    off_t data = 0, hole = 0;
    uint64_t stored = 0;
    while (size > LARGE && stored < size / SHARE) {
        data = lseek(file, hole, SEEK_DATA);
        if (data >= 0) hole = lseek(file, data, SEEK_HOLE);
        if (data < 0 || hole < 0) break;
        stored += (uint64_t)(hole - data);
    }
    const bool is_rest_a_hole = data < 0 && errno == ENXIO; /* else it is not known */
    return lseek(file, 0, SEEK_SET) != 0 || is_rest_a_hole;
}

/* Opens the file of a row, whose size is as it should be; the checksum is not looked at. */
static cm_status open_row(const cm_manifest_file *row, const cm_dir *directory, uint64_t most, cm_source *out) {
    char path[PATH_MAX];
    struct stat about;
    int file;
    CM_TRY(cm_path_join(path, sizeof path, directory->path, row->name));
    if (row->bytes > most)
        return cm_fail(CM_ERR_INPUT,
                       "%s: %llu bytes, where this run has at most %llu: it is of another run, or damaged", path,
                       (unsigned long long)row->bytes, (unsigned long long)most);
    CM_TRY(cm_dir_open_file(directory, row->name, O_RDONLY, &file));
    cm_source_file(out, file, row->bytes, path);
    const bool is_whole = fstat(file, &about) != 0 || (uint64_t)about.st_size == row->bytes;
    if (is_whole && !is_hollow(file, row->bytes)) return CM_OK;
    cm_source_close(out);
    if (is_whole)
        return cm_fail(CM_ERR_IO, "%s: its %llu bytes are hardly anything but holes: no run has written it", path,
                       (unsigned long long)row->bytes);
    return cm_fail(CM_ERR_IO, "%s: has %lld bytes, must have %llu: %s", path, (long long)about.st_size,
                   (unsigned long long)row->bytes,
                   (uint64_t)about.st_size < row->bytes ? "the file is truncated" : "the file was changed");
}

static cm_status find_row(cm_manifest *manifest, const cm_dir *directory, const char *name,
                          const cm_manifest_file **out) {
    *out = cm_manifest_find(manifest, name);
    if (*out) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s/%s: not in the manifest; this is another kind of checkpoint", directory->path,
                   name);
}

static cm_status check_hash(const cm_manifest_file *row, const cm_source *source) {
    char hash[CM_HASH_HEX];
    CM_TRY(cm_hash_source(source, hash));
    if (strcmp(hash, row->hash) == 0) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: its checksum differs from the manifest's: the file is damaged", source->path);
}

cm_status cm_manifest_open(cm_manifest *manifest, const cm_dir *directory, const char *name, uint64_t most,
                           cm_source *out) {
    const cm_manifest_file *row;
    out->file = -1;
    CM_TRY(find_row(manifest, directory, name, &row));
    CM_TRY(open_row(row, directory, most, out));
    cm_status status = check_hash(row, out);
    if (status != CM_OK) cm_source_close(out);
    return status;
}

cm_status cm_manifest_fetch(cm_manifest *manifest, const cm_dir *directory, const char *name, uint64_t most,
                            char **data, size_t *size) {
    cm_source file, memory;
    const cm_manifest_file *row;
    *data = NULL, *size = 0;
    CM_TRY(find_row(manifest, directory, name, &row));
    CM_TRY(open_row(row, directory, most, &file));
    cm_status status = cm_file_read_open(file.file, file.path, (size_t)row->bytes, data, size);
    cm_source_close(&file);
    CM_TRY(status);
    cm_source_memory(&memory, *data, *size, file.path);
    status = check_hash(row, &memory);
    if (status == CM_OK) return CM_OK;
    free(*data);
    *data = NULL, *size = 0;
    return status;
}

cm_status cm_manifest_verify(cm_manifest *manifest, const cm_dir *directory, const char *name) {
    cm_source file;
    CM_TRY(cm_manifest_open(manifest, directory, name, UINT64_MAX, &file));
    cm_source_close(&file);
    return CM_OK;
}
