#include "run/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/arena.h"
#include "core/directory.h"
#include "core/json.h"

enum { PREFIX = 8, FOREIGN_HEADER = 64 * 1024, BLOCK = 64 * 1024 };

size_t cm_array_count(const cm_array *array) {
    size_t count = 1;
    for (int i = 0; i < array->ndim; i++) count *= (size_t)array->dim[i];
    return count;
}

static size_t array_bytes(const cm_array *array) {
    return cm_array_count(array) * (array->is_int8 ? sizeof(int8_t) : sizeof(float));
}

static void *data_of(const cm_array *array) { return array->is_int8 ? (void *)array->numbers : (void *)array->data; }
static const char *dtype_of(const cm_array *array) { return array->is_int8 ? "I8" : "F32"; }

/* ---- writing ---- */

static void write_entry(cm_json_writer *json, const cm_array *array, uint64_t begin) {
    cm_json_begin_object(json, array->name);
    cm_json_put_string(json, "dtype", dtype_of(array));
    cm_json_begin_array(json, "shape");
    for (int d = 0; d < array->ndim; d++) cm_json_put_int(json, NULL, array->dim[d]);
    cm_json_end_array(json);
    cm_json_begin_array(json, "data_offsets");
    cm_json_put_int(json, NULL, (int64_t)begin);
    cm_json_put_int(json, NULL, (int64_t)(begin + array_bytes(array)));
    cm_json_end_array(json);
    cm_json_end_object(json);
}

/* The header's text in *json (to be destroyed by the caller) and its length padded to a multiple of PREFIX. */
static cm_status make_header(const cm_array *arrays, int count, cm_json_writer **json, uint64_t *padded) {
    CM_TRY(cm_json_writer_create(0, json));
    uint64_t at = 0;
    cm_json_begin_object(*json, NULL);
    for (int i = 0; i < count; i++) {
        write_entry(*json, &arrays[i], at);
        at += array_bytes(&arrays[i]);
    }
    cm_json_end_object(*json);
    size_t size = 0;
    if (!cm_json_writer_text(*json, &size)) {
        cm_json_writer_destroy(*json);
        return CM_ERR_MEMORY;
    }
    *padded = (size + PREFIX - 1) / PREFIX * PREFIX;
    return CM_OK;
}

static uint64_t header_bytes(const cm_array *arrays, int count) {
    cm_json_writer *json = NULL;
    uint64_t padded = 0;
    if (make_header(arrays, count, &json, &padded) == CM_OK) cm_json_writer_destroy(json);
    return padded;
}

static uint64_t data_bytes(const cm_array *arrays, int count) {
    uint64_t total = 0;
    for (int i = 0; i < count; i++) total += array_bytes(&arrays[i]);
    return total;
}

uint64_t cm_safetensors_bytes(const cm_array *arrays, int count) {
    return PREFIX + header_bytes(arrays, count) + data_bytes(arrays, count);
}

/* Longest header that is read: others leave out spaces, or put more of them, and add what they like to say. */
static uint64_t header_most(const cm_array *arrays, int count) {
    return 4 * header_bytes(arrays, count) + FOREIGN_HEADER;
}

static cm_status write_header(cm_json_writer *json, uint64_t padded, const cm_sink *sink) {
    unsigned char prefix[PREFIX];
    for (int i = 0; i < PREFIX; i++) prefix[i] = (unsigned char)(padded >> (8 * i));
    CM_TRY(sink->write(sink->context, prefix, PREFIX));
    size_t size = 0;
    const char *text = cm_json_writer_text(json, &size);
    CM_TRY(sink->write(sink->context, text, size));
    return sink->write(sink->context, "        ", (size_t)padded - size);
}

cm_status cm_safetensors_write(const cm_array *arrays, int count, const cm_sink *sink) {
    cm_json_writer *json = NULL;
    uint64_t padded = 0;
    CM_TRY(make_header(arrays, count, &json, &padded));
    cm_status status = write_header(json, padded, sink);
    cm_json_writer_destroy(json);
    for (int i = 0; i < count && status == CM_OK; i++) {
        status = sink->write(sink->context, data_of(&arrays[i]), array_bytes(&arrays[i]));
    }
    return status;
}

static cm_status append(void *context, const void *data, size_t size) { return cm_file_append(context, data, size); }

cm_status cm_safetensors_save(const char *path, const cm_array *arrays, int count) {
    cm_file_writer *writer = NULL;
    CM_TRY(cm_dir_begin(NULL, path, &writer));
    cm_sink sink = {writer, append};
    cm_status status = cm_safetensors_write(arrays, count, &sink);
    if (status == CM_OK) return cm_file_commit(writer);
    cm_file_abandon(writer);
    return status;
}

/* ---- reading ---- */

static void format_shape(const int64_t *dim, int ndim, char *out, size_t size) {
    size_t at = 0;
    for (int d = 0; d < ndim && at < size; d++) {
        int more = snprintf(out + at, size - at, "%s%lld", d ? ", " : "", (long long)dim[d]);
        at += more > 0 ? (size_t)more : 0;
    }
    if (ndim == 0) out[0] = '\0';
}

/* Reads an array of at most `most` whole numbers in [0, 2^53]; -1 if it is none. */
static int read_integers(const cm_json *array, int64_t *out, int most) {
    if (!array || cm_json_type(array) != CM_JSON_ARRAY) return -1;
    int n = 0;
    for (const cm_json *e = cm_json_first(array); e; e = cm_json_next(e)) {
        if (n == most || !cm_json_is_integer(e, 0, (int64_t)1 << 53)) return -1;
        out[n++] = (int64_t)cm_json_number(e, 0.0);
    }
    return n;
}

static cm_status check_shape(const char *file, const cm_array *want, const int64_t *dim, int ndim) {
    if (ndim == want->ndim && memcmp(dim, want->dim, sizeof *dim * (size_t)ndim) == 0) return CM_OK;
    char got_text[128], want_text[128];
    format_shape(dim, ndim, got_text, sizeof got_text);
    format_shape(want->dim, want->ndim, want_text, sizeof want_text);
    return cm_fail(CM_ERR_INPUT,
                   "%s: tensor \"%s\" has shape [%s], this network has [%s]: it is of another task or network", file,
                   want->name, got_text, want_text);
}

/* Checks the entry of one array among data of `size` bytes; where it begins there. */
static cm_status check_entry(const char *file, const cm_json *header, uint64_t size, const cm_array *want,
                             uint64_t *begin) {
    const cm_json *entry = cm_json_get(header, want->name);
    if (!entry) return cm_fail(CM_ERR_INPUT, "%s: tensor \"%s\" is missing", file, want->name);
    const char *dtype = cm_json_string(cm_json_get(entry, "dtype"));
    if (!dtype || strcmp(dtype, dtype_of(want)) != 0) {
        return cm_fail(CM_ERR_INPUT, "%s: tensor \"%s\" has dtype %s, must be %s", file, want->name,
                       dtype ? dtype : "(none)", dtype_of(want));
    }
    int64_t dim[CM_ARRAY_DIMS] = {0}, range[2];
    int ndim = read_integers(cm_json_get(entry, "shape"), dim, CM_ARRAY_DIMS);
    if (ndim < 0) return cm_fail(CM_ERR_INPUT, "%s: tensor \"%s\" has no valid shape", file, want->name);
    CM_TRY(check_shape(file, want, dim, ndim));
    if (read_integers(cm_json_get(entry, "data_offsets"), range, 2) != 2 || range[0] > range[1] ||
        (uint64_t)range[1] > size || (uint64_t)(range[1] - range[0]) != array_bytes(want)) {
        return cm_fail(CM_ERR_INPUT, "%s: tensor \"%s\" has data_offsets that do not fit its shape or the file", file,
                       want->name);
    }
    *begin = (uint64_t)range[0];
    return CM_OK;
}

/* A tensor's bytes. */
typedef struct span {
    uint64_t begin, bytes;
} span;

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin)
                                : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Checks that arrays, which take as much as there is, have bytes of their own each. */
static cm_status check_apart(const char *file, const cm_array *arrays, int count, const uint64_t *begins) {
    span *spans = NULL;
    uint64_t end = 0;
    bool are_apart = true;
    CM_TRY(cm_alloc(&spans, (size_t)count, sizeof *spans, "a header of tensors"));
    for (int i = 0; i < count; i++) spans[i] = (span){begins[i], array_bytes(&arrays[i])};
    qsort(spans, (size_t)count, sizeof *spans, by_begin);
    for (int i = 0; i < count; i++) {
        are_apart = are_apart && spans[i].begin == end;
        end += spans[i].bytes;
    }
    free(spans);
    return are_apart ? CM_OK : cm_fail(CM_ERR_INPUT, "%s: tensors overlap in its data_offsets", file);
}

static cm_status check_all(const char *file, const cm_json *header, uint64_t size, const cm_array *arrays, int count,
                           uint64_t *begins) {
    int known = cm_json_get(header, "__metadata__") != NULL;
    if (cm_json_type(header) != CM_JSON_OBJECT) return cm_fail(CM_ERR_INPUT, "%s: its header is no JSON object", file);
    for (int i = 0; i < count; i++) CM_TRY(check_entry(file, header, size, &arrays[i], &begins[i]));
    int found = cm_json_size(header);
    if (found != count + known) {
        return cm_fail(CM_ERR_INPUT, "%s: holds %d tensors, this network has %d", file, found - known, count);
    }
    if (data_bytes(arrays, count) != size) {
        return cm_fail(CM_ERR_INPUT, "%s: holds %llu bytes of data, its tensors have %llu", file,
                       (unsigned long long)size, (unsigned long long)data_bytes(arrays, count));
    }
    return check_apart(file, arrays, count, begins);
}

static cm_status check_finite(const char *file, const cm_array *array) {
    const size_t count = array->is_int8 ? 0 : cm_array_count(array);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(array->data[i])) continue;
        return cm_fail(CM_ERR_INPUT,
                       "%s: tensor \"%s\" holds %g (number %zu of %zu), so that nothing sensible can be computed with "
                       "it: take another checkpoint (--checkpoint N)",
                       file, array->name, (double)array->data[i], i + 1, count);
    }
    return CM_OK;
}

/* Reads the header, all of which is checked; where each array begins in the file. */
static cm_status read_header(const cm_source *file, const cm_array *arrays, int count, char *text, uint64_t length,
                             uint64_t *begins) {
    const uint64_t data = PREFIX + length;
    cm_json_doc *doc = NULL;
    CM_TRY(cm_source_read(file, PREFIX, text, (size_t)length));
    CM_TRY(cm_json_parse(text, (size_t)length, file->path, &doc));
    cm_status status = check_all(file->path, cm_json_root(doc), file->size - data, arrays, count, begins);
    cm_json_free(doc);
    for (int i = 0; i < count && status == CM_OK; i++) begins[i] += data;
    return status;
}

static cm_status read_length(const cm_source *file, const cm_array *arrays, int count, uint64_t *length) {
    unsigned char prefix[PREFIX];
    if (file->size < PREFIX)
        return cm_fail(CM_ERR_INPUT, "%s: %llu bytes are no safetensors file", file->path,
                       (unsigned long long)file->size);
    CM_TRY(cm_source_read(file, 0, prefix, sizeof prefix));
    *length = 0;
    for (int i = 0; i < PREFIX; i++) *length |= (uint64_t)prefix[i] << (8 * i);
    const uint64_t most = header_most(arrays, count);
    if (*length > file->size - PREFIX)
        return cm_fail(CM_ERR_INPUT,
                       "%s: its header claims %llu bytes, the file has %llu: truncated or no safetensors file",
                       file->path, (unsigned long long)*length, (unsigned long long)file->size);
    if (*length <= most) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its header has %llu bytes, that of this network at most %llu", file->path,
                   (unsigned long long)*length, (unsigned long long)most);
}

static cm_status load(const cm_source *file, const cm_array *arrays, int count, char *text, uint64_t length,
                      uint64_t *begins) {
    CM_TRY(read_header(file, arrays, count, text, length, begins));
    for (int i = 0; i < count; i++) {
        if (!data_of(&arrays[i])) continue;
        CM_TRY(cm_source_read(file, begins[i], data_of(&arrays[i]), array_bytes(&arrays[i])));
        CM_TRY(check_finite(file->path, &arrays[i]));
    }
    return CM_OK;
}

cm_status cm_safetensors_load(const cm_source *file, const cm_array *arrays, int count) {
    uint64_t length = 0, *begins = NULL;
    char *text = NULL;
    CM_TRY(read_length(file, arrays, count, &length));
    cm_status status = cm_alloc(&begins, (size_t)count, sizeof *begins, "a header of tensors");
    if (status == CM_OK) status = cm_alloc(&text, (size_t)length + 1, 1, "a header of tensors");
    if (status == CM_OK) status = load(file, arrays, count, text, length, begins);
    free(text);
    free(begins);
    return status;
}

/* ---- hashes ---- */

static void format_hash(XXH128_hash_t hash, char out[CM_HASH_HEX]) {
    snprintf(out, CM_HASH_HEX, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

void cm_hash_bytes(const void *bytes, size_t size, char out[CM_HASH_HEX]) {
    format_hash(XXH3_128bits(bytes, size), out);
}

static cm_status hash_blocks(const cm_source *source, XXH3_state_t *state, char *block, char out[CM_HASH_HEX]) {
    XXH3_128bits_reset(state);
    for (uint64_t at = 0; at < source->size;) {
        const size_t size = source->size - at < BLOCK ? (size_t)(source->size - at) : BLOCK;
        CM_TRY(cm_source_read(source, at, block, size));
        XXH3_128bits_update(state, block, size);
        at += size;
    }
    format_hash(XXH3_128bits_digest(state), out);
    return CM_OK;
}

cm_status cm_hash_source(const cm_source *source, char out[CM_HASH_HEX]) {
    char *block = NULL;
    CM_TRY(cm_alloc(&block, BLOCK, 1, "a checksum"));
    XXH3_state_t *state = XXH3_createState();
    cm_status status =
        state ? hash_blocks(source, state, block, out) : cm_fail(CM_ERR_MEMORY, "no memory for a checksum");
    XXH3_freeState(state);
    free(block);
    return status;
}

static int by_name(const void *a, const void *b) {
    const cm_array *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

cm_status cm_array_hash(const cm_array *arrays, int count, char out[CM_HASH_HEX]) {
    const cm_array **order = NULL;
    CM_TRY(cm_alloc(&order, (size_t)count + 1, sizeof *order, "the hash of the parameters"));
    XXH3_state_t *state = XXH3_createState();
    if (!state) {
        free(order);
        return cm_fail(CM_ERR_MEMORY, "no memory for the hash of the parameters");
    }
    for (int i = 0; i < count; i++) order[i] = &arrays[i];
    qsort(order, (size_t)count, sizeof *order, by_name);
    XXH3_128bits_reset(state);
    for (int i = 0; i < count; i++) XXH3_128bits_update(state, order[i]->data, array_bytes(order[i]));
    format_hash(XXH3_128bits_digest(state), out);
    XXH3_freeState(state);
    free(order);
    return CM_OK;
}
