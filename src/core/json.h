/* JSON, strict: the whole text is one value, valid UTF-8, no duplicate keys, limited depth, length and number of
 * values, all of which is seen before any memory is allocated for them; errors name file and line. json.c is the only
 * file that sees cJSON. */
#ifndef CM_CORE_JSON_H
#define CM_CORE_JSON_H

#include "core/directory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_json cm_json;         /* a node; nodes are owned by their document */
typedef struct cm_json_doc cm_json_doc; /* a parsed text */

typedef enum cm_json_kind {
    CM_JSON_NULL,
    CM_JSON_BOOL,
    CM_JSON_NUMBER,
    CM_JSON_STRING,
    CM_JSON_ARRAY,
    CM_JSON_OBJECT
} cm_json_kind;

enum { CM_JSON_DEPTH = 64 };              /* deepest nesting accepted */
#define CM_JSON_BYTES  ((size_t)64 << 20) /* longest text accepted    */
#define CM_JSON_SMALL  ((size_t)1 << 20)  /* longest configuration, line of a file, or text of a run on itself */
#define CM_JSON_VALUES ((size_t)1 << 18)  /* most values accepted; one takes some 80 bytes of memory */
#define CM_JSON_MOST   ((int64_t)1 << 53) /* largest integer accepted: numbers are doubles */

/* Parses text[size]; `name` (a file name) prefixes errors: "NAME:LINE: what". Errors: CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_json_parse(const char *text, size_t size, const char *name, cm_json_doc **out) CM_MUST_USE;
cm_status cm_json_read(const char *path, cm_json_doc **out) CM_MUST_USE; /* reads a file and parses it */
cm_status cm_json_read_in(const cm_dir *dir, const char *name, size_t most,
                          cm_json_doc **out) CM_MUST_USE; /* of at most `most` bytes; see cm_dir_read */

/* A file of JSON lines, a value each, of any size: calls `read` with one after another, in order. The value is gone
 * after the call; cm_json_line counts lines of the file. Errors: those of the file and of its text; the first that
 * `read` returns ends it, with "PATH:LINE: " in front. */
typedef cm_status (*cm_json_line_reader)(void *context, const cm_json *value);
cm_status cm_json_read_lines(const char *path, cm_json_line_reader read, void *context) CM_MUST_USE;
/* The same of a file that may be in the middle of a write, and is no link: what stands after its last newline is left
 * out. A line of more than `most` bytes is an error. */
cm_status cm_json_read_growing(const char *path, size_t most, cm_json_line_reader read, void *context) CM_MUST_USE;

void cm_json_free(cm_json_doc *doc); /* NULL is allowed */
const cm_json *cm_json_root(const cm_json_doc *doc);

cm_json_kind cm_json_type(const cm_json *node); /* CM_JSON_NULL for NULL, what an absent member is */
int cm_json_size(const cm_json *node);          /* members or elements; 0 for others. O(n) */
const cm_json *cm_json_get(const cm_json *object, const char *key); /* NULL if absent or not an object */
const cm_json *cm_json_first(const cm_json *container);      /* first member or element, NULL if empty: iterate with */
const cm_json *cm_json_next(const cm_json *node);            /* ... the one after it, NULL at the end */
int cm_json_line(const cm_json *node);                       /* line of the text on which the value starts, from 1 */
const char *cm_json_key(const cm_json *node);                /* member's key, NULL for elements and the root */
const char *cm_json_string(const cm_json *node);             /* NULL unless a string */
double cm_json_number(const cm_json *node, double fallback); /* fallback unless a number */
bool cm_json_is_true(const cm_json *node);                   /* true only for the literal true */
bool cm_json_is_integer(const cm_json *node, int64_t min,
                        int64_t max); /* a number without fraction in [min, max]; beyond CM_JSON_MOST never */

/* Whether a value has that kind. Errors: CM_ERR_INPUT "must be an object, got an array". */
cm_status cm_json_check(const cm_json *node, cm_json_kind kind) CM_MUST_USE;

/* Required members. Errors: CM_ERR_INPUT "key: missing", "key: must be an integer in [min, max], got ...". */
cm_status cm_json_need(const cm_json *object, const char *key, cm_json_kind kind, const cm_json **out) CM_MUST_USE;
cm_status cm_json_need_int(const cm_json *object, const char *key, int64_t min, int64_t max, int64_t *out) CM_MUST_USE;
cm_status cm_json_need_number(const cm_json *object, const char *key, double *out) CM_MUST_USE; /* finite */
cm_status cm_json_need_string(const cm_json *object, const char *key,
                              const char **out) CM_MUST_USE; /* owned by the document */

/* The numbers of an array, nested arrays flattened in order. Exactly `count` of them, all finite, else CM_ERR_INPUT
 * that names `what`. out[count]; integers must be exact and in [min, max]. */
cm_status cm_json_floats(const cm_json *array, const char *what, size_t count, float *out) CM_MUST_USE;
cm_status cm_json_doubles(const cm_json *array, const char *what, size_t count, double *out) CM_MUST_USE;
cm_status cm_json_ints(const cm_json *array, const char *what, size_t count, int64_t min, int64_t max,
                       int32_t *out) CM_MUST_USE;
size_t cm_json_count_numbers(const cm_json *array); /* numbers in it, nested arrays flattened */

/* Writing: a growing text buffer with commas, quotes and indentation kept right, laid out as Python's json module does
 * it (one element per line with an indent; 0.001, 1e-06, 1.0). Bytes of a string that are not UTF-8 become U+FFFD.
 * Integers beyond +-2^53 do not survive reading: write them as strings. */
typedef struct cm_json_writer cm_json_writer;
cm_status cm_json_writer_create(int indent, cm_json_writer **out) CM_MUST_USE; /* 0: one line; else spaces per level */
void cm_json_writer_destroy(cm_json_writer *writer);
void cm_json_begin_object(cm_json_writer *writer, const char *key); /* key NULL inside arrays and at the top */
void cm_json_end_object(cm_json_writer *writer);
void cm_json_begin_array(cm_json_writer *writer, const char *key);
void cm_json_end_array(cm_json_writer *writer);
void cm_json_put_string(cm_json_writer *writer, const char *key, const char *value);
void cm_json_put_int(cm_json_writer *writer, const char *key, int64_t value);
void cm_json_put_double(cm_json_writer *writer, const char *key,
                        double value); /* shortest that reads back; null if not finite */
void cm_json_put_float(cm_json_writer *writer, const char *key, float value); /* at most 9 digits; null if not finite */
void cm_json_put_bool(cm_json_writer *writer, const char *key, bool value);
void cm_json_put_null(cm_json_writer *writer, const char *key);
void cm_json_put(cm_json_writer *writer, const char *key,
                 const cm_json *node); /* a copy of it with all that is in it */
/* The text so far (NUL-terminated), owned by the writer; NULL with the error kept if memory ran out on the way. */
const char *cm_json_writer_text(const cm_json_writer *writer, size_t *size);
cm_status cm_json_writer_save(cm_json_writer *writer,
                              const char *path) CM_MUST_USE; /* text and a newline, atomically */
cm_status cm_json_writer_save_in(cm_json_writer *writer, const cm_dir *dir, const char *name) CM_MUST_USE;
cm_status cm_json_writer_append(cm_json_writer *writer, cm_file_writer *file) CM_MUST_USE; /* the same, as a line */

/* The shortest decimal that reads back as `value` (finite): "0.001", "1e-06", "1.0". */
void cm_json_format_double(double value, char out[40]);

#ifdef __cplusplus
}
#endif
#endif
