/* Named arrays of float32, or of 8 bits, in the safetensors format, and their hash.
 *
 * A file is 8 bytes (the header's length, little endian), a JSON header {"name": {"dtype": "F32", "shape": [...],
 * "data_offsets": [begin, end]}, ...} padded with spaces to a multiple of 8, and the data, row-major, little endian.
 * Reading trusts nothing: every name, shape and length is compared with the table that the caller expects before any of
 * the data is read, straight into its place; the header, the only memory that reading takes, is bounded by the table.
 * Nothing in a file is ever run. Source: the format's page in huggingface/safetensors.
 */
#ifndef CM_RUN_SAFETENSORS_H
#define CM_RUN_SAFETENSORS_H

#include "core/source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ARRAY_DIMS = 4, CM_ARRAY_NAME = 128, CM_HASH_HEX = 33 };

/* One row of a table of arrays; all pointers are borrowed. */
typedef struct cm_array {
    const char *name; /* shorter than CM_ARRAY_NAME; unique in its table */
    int ndim;         /* 1 .. CM_ARRAY_DIMS */
    int64_t dim[CM_ARRAY_DIMS];
    float *data;  /* [product of dim]; read by write and hash, filled by load, which checks the rest alone if NULL */
    bool is_int8; /* it is one of 8 bits, at `numbers` in place of data; such have no hash */
    int8_t *numbers;
} cm_array;

size_t cm_array_count(const cm_array *array); /* elements */

/* Bytes that cm_safetensors_write will write (exact). */
uint64_t cm_safetensors_bytes(const cm_array *arrays, int count);
cm_status cm_safetensors_write(const cm_array *arrays, int count, const cm_sink *sink) CM_MUST_USE;
cm_status cm_safetensors_save(const char *path, const cm_array *arrays,
                              int count) CM_MUST_USE; /* as one file, atomically */

/* Fills arrays[count], whose numbers must be finite. The file must hold exactly these names and shapes. Errors:
 * CM_ERR_INPUT, one line with file, tensor and reason, where some arrays may have been filled by then; CM_ERR_IO. */
cm_status cm_safetensors_load(const cm_source *file, const cm_array *arrays, int count) CM_MUST_USE;

/* XXH3-128 of the data of all arrays in the order of their names, as 32 hexadecimal digits. */
cm_status cm_array_hash(const cm_array *arrays, int count, char out[CM_HASH_HEX]) CM_MUST_USE;

/* XXH3-128 of bytes[size] as 32 hexadecimal digits. */
void cm_hash_bytes(const void *bytes, size_t size, char out[CM_HASH_HEX]);
/* The same, read in pieces. Errors: those of cm_source_read, CM_ERR_MEMORY. */
cm_status cm_hash_source(const cm_source *source, char out[CM_HASH_HEX]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
