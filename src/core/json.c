#include "core/json.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/json_scan.h"
#include "core/lines.h"

/* A cm_json is a cJSON node. Its member valueint, of no use to us, holds the line on which the value starts. */
struct cm_json_doc {
    cJSON *root;
};

static const cJSON *inner(const cm_json *node) { return (const cJSON *)node; }
static const cm_json *outer(const cJSON *node) { return (const cm_json *)node; }

/* --- parsing --- */

static int compare_keys(const void *a, const void *b) {
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* Refuses a key that stands twice in one object; `sorted` has space for its members. */
static cm_status check_keys(const cJSON *object, const cJSON **sorted, const char *name) {
    size_t n = 0;
    for (const cJSON *member = object->child; member; member = member->next) sorted[n++] = member;
    qsort(sorted, n, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i - 1]->string, sorted[i]->string) != 0) continue;
        int line = sorted[i]->valueint > sorted[i - 1]->valueint ? sorted[i]->valueint : sorted[i - 1]->valueint;
        return cm_fail(CM_ERR_INPUT, "%s:%d: the key \"%.60s\" stands twice in one object", name, line,
                       sorted[i]->string);
    }
    return CM_OK;
}

/* Gives every node its line, and refuses what the scan cannot see. */
static cm_status finish_node(cJSON *node, const int **line, const cJSON **sorted, const char *name) {
    node->valueint = *(*line)++;
    if (cJSON_IsNumber(node) && !isfinite(node->valuedouble))
        return cm_fail(CM_ERR_INPUT, "%s:%d: a number is too large", name, node->valueint);
    for (cJSON *child = node->child; child; child = child->next) CM_TRY(finish_node(child, line, sorted, name));
    return cJSON_IsObject(node) ? check_keys(node, sorted, name) : CM_OK;
}

static cm_status build_tree(const char *text, size_t size, const char *name, const cm_json_lines *lines, cJSON **root) {
    *root = cJSON_ParseWithLength(text, size);
    if (!*root) return cm_fail(CM_ERR_MEMORY, "%s: no memory for its values", name);
    const cJSON **sorted = NULL;
    const int *line = lines->line;
    CM_TRY(cm_alloc(&sorted, lines->count, sizeof *sorted, name));
    cm_status status = finish_node(*root, &line, sorted, name);
    free(sorted);
    return status;
}

/* Like cm_json_parse; the text starts on line `first`. */
static cm_status parse(const char *text, size_t size, const char *name, int first, cm_json_doc **out) {
    *out = NULL;
    if (size > CM_JSON_BYTES)
        return cm_fail(CM_ERR_INPUT, "%s: %zu bytes, but at most %zu are accepted", name, size, CM_JSON_BYTES);
    cm_json_lines lines = {0};
    cJSON *root = NULL;
    cm_status status = cm_json_scan(text, size, name, first, &lines);
    if (status == CM_OK) status = build_tree(text, size, name, &lines, &root);
    free(lines.line);
    if (status == CM_OK) status = cm_alloc(out, 1, sizeof **out, name);
    if (status == CM_OK) {
        (*out)->root = root;
    } else {
        cJSON_Delete(root);
    }
    return status;
}

cm_status cm_json_parse(const char *text, size_t size, const char *name, cm_json_doc **out) {
    return parse(text, size, name, 1, out);
}

cm_status cm_json_read(const char *path, cm_json_doc **out) {
    char *text = NULL;
    size_t size = 0;
    *out = NULL;
    CM_TRY(cm_file_read(path, CM_JSON_BYTES, &text, &size));
    cm_status status = cm_json_parse(text, size, path, out);
    free(text);
    return status;
}

cm_status cm_json_read_in(const cm_dir *dir, const char *name, size_t most, cm_json_doc **out) {
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    *out = NULL;
    CM_TRY(cm_path_join(path, sizeof path, dir->path, name));
    CM_TRY(cm_dir_read(dir, name, most, &text, &size));
    cm_status status = cm_json_parse(text, size, path, out);
    free(text);
    return status;
}

static cm_status read_line(const cm_lines *lines, const char *path, cm_json_line_reader read, void *context) {
    cm_json_doc *doc = NULL;
    if (lines->is_long)
        return cm_fail(CM_ERR_INPUT, "%s:%d: a line of more than %zu bytes", path, lines->number, lines->most);
    CM_TRY(parse(lines->text, lines->size, path, lines->number, &doc));
    cm_status status = read(context, cm_json_root(doc));
    cm_json_free(doc);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s:%d", path, lines->number);
}

static cm_status read_all(cm_lines *lines, const char *path, bool is_growing, cm_json_line_reader read, void *context) {
    bool is_there = true;
    while (true) {
        cm_status status = cm_lines_next(lines, &is_there);
        if (status != CM_OK) return cm_fail_in(status, "%s", path);
        if (!is_there || (is_growing && !lines->is_whole && !lines->is_long)) return CM_OK;
        CM_TRY(read_line(lines, path, read, context));
    }
}

static cm_status read_lines(int file, const char *path, size_t most, bool is_growing, cm_json_line_reader read,
                            void *context) {
    cm_lines lines;
    cm_status status = cm_lines_open(&lines, file, most);
    status = status == CM_OK ? read_all(&lines, path, is_growing, read, context) : cm_fail_in(status, "%s", path);
    cm_lines_close(&lines);
    return status;
}

cm_status cm_json_read_lines(const char *path, cm_json_line_reader read, void *context) {
    int file;
    CM_TRY(cm_file_open(path, &file));
    return read_lines(file, path, CM_JSON_SMALL, false, read, context);
}

cm_status cm_json_read_growing(const char *path, size_t most, cm_json_line_reader read, void *context) {
    int file;
    CM_TRY(cm_dir_open_file(NULL, path, O_RDONLY, &file));
    return read_lines(file, path, most, true, read, context);
}

void cm_json_free(cm_json_doc *doc) {
    if (!doc) return;
    cJSON_Delete(doc->root);
    free(doc);
}

const cm_json *cm_json_root(const cm_json_doc *doc) { return outer(doc->root); }

/* --- looking --- */

cm_json_kind cm_json_type(const cm_json *node) {
    switch (node ? inner(node)->type & 0xff : cJSON_NULL) {
    case cJSON_False:
    case cJSON_True: return CM_JSON_BOOL;
    case cJSON_Number: return CM_JSON_NUMBER;
    case cJSON_String: return CM_JSON_STRING;
    case cJSON_Array: return CM_JSON_ARRAY;
    case cJSON_Object: return CM_JSON_OBJECT;
    default: return CM_JSON_NULL;
    }
}

static const char *kind_name(cm_json_kind kind) {
    static const char *const names[] = {"null", "true or false", "a number", "a string", "an array", "an object"};
    return names[kind];
}

int cm_json_line(const cm_json *node) { return inner(node)->valueint; }

int cm_json_size(const cm_json *node) { return node ? cJSON_GetArraySize(inner(node)) : 0; }

const cm_json *cm_json_get(const cm_json *object, const char *key) {
    return object && cJSON_IsObject(inner(object)) ? outer(cJSON_GetObjectItemCaseSensitive(inner(object), key)) : NULL;
}

const cm_json *cm_json_first(const cm_json *container) { return container ? outer(inner(container)->child) : NULL; }
const cm_json *cm_json_next(const cm_json *node) { return node ? outer(inner(node)->next) : NULL; }
const char *cm_json_key(const cm_json *node) { return inner(node)->string; }
const char *cm_json_string(const cm_json *node) { return node ? cJSON_GetStringValue(inner(node)) : NULL; }

double cm_json_number(const cm_json *node, double fallback) {
    return node && cJSON_IsNumber(inner(node)) ? inner(node)->valuedouble : fallback;
}

bool cm_json_is_true(const cm_json *node) { return node && cJSON_IsTrue(inner(node)); }

bool cm_json_is_integer(const cm_json *node, int64_t min, int64_t max) {
    if (!node || !cJSON_IsNumber(inner(node))) return false;
    double x = inner(node)->valuedouble;
    if (!(fabs(x) <= (double)CM_JSON_MOST) || x != floor(x)) return false;
    return (int64_t)x >= min && (int64_t)x <= max;
}

/* --- required members --- */

cm_status cm_json_check(const cm_json *node, cm_json_kind kind) {
    if (cm_json_type(node) == kind) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "must be %s, got %s", kind_name(kind), kind_name(cm_json_type(node)));
}

cm_status cm_json_need(const cm_json *object, const char *key, cm_json_kind kind, const cm_json **out) {
    const cm_json *node = cm_json_get(object, key);
    *out = NULL;
    if (!node) return cm_fail(CM_ERR_INPUT, "%s: missing", key);
    if (cm_json_check(node, kind) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "%s", key);
    *out = node;
    return CM_OK;
}

cm_status cm_json_need_int(const cm_json *object, const char *key, int64_t min, int64_t max, int64_t *out) {
    const cm_json *node;
    *out = 0;
    CM_TRY(cm_json_need(object, key, CM_JSON_NUMBER, &node));
    double x = inner(node)->valuedouble;
    if (!cm_json_is_integer(node, min, max))
        return cm_fail(CM_ERR_INPUT, "%s: must be an integer in [%lld, %lld], got %.17g", key,
                       (long long)(min < -CM_JSON_MOST ? -CM_JSON_MOST : min),
                       (long long)(max > CM_JSON_MOST ? CM_JSON_MOST : max), x);
    *out = (int64_t)x;
    return CM_OK;
}

cm_status cm_json_need_number(const cm_json *object, const char *key, double *out) {
    const cm_json *node;
    *out = 0.0;
    CM_TRY(cm_json_need(object, key, CM_JSON_NUMBER, &node));
    *out = inner(node)->valuedouble;
    return CM_OK;
}

cm_status cm_json_need_string(const cm_json *object, const char *key, const char **out) {
    const cm_json *node;
    *out = NULL;
    CM_TRY(cm_json_need(object, key, CM_JSON_STRING, &node));
    *out = inner(node)->valuestring;
    return CM_OK;
}

/* --- arrays of numbers --- */

/* Where flattened numbers go: one function and the array it fills. */
typedef struct numbers {
    const char *what;
    size_t count, at;
    cm_status (*put)(struct numbers *flat, double value);
    void *out;
    int64_t min, max;
} numbers;

static cm_status put_float(numbers *flat, double value) {
    ((float *)flat->out)[flat->at] = (float)value;
    return CM_OK;
}

static cm_status put_double(numbers *flat, double value) {
    ((double *)flat->out)[flat->at] = value;
    return CM_OK;
}

static cm_status put_int(numbers *flat, double value) {
    if (value != floor(value) || value < (double)flat->min || value > (double)flat->max)
        return cm_fail(CM_ERR_INPUT, "%s[%zu]: must be an integer in [%lld, %lld], got %.17g", flat->what, flat->at,
                       (long long)flat->min, (long long)flat->max, value);
    ((int32_t *)flat->out)[flat->at] = (int32_t)value;
    return CM_OK;
}

static cm_status flatten(const cJSON *node, numbers *flat) {
    if (cJSON_IsArray(node)) {
        for (const cJSON *child = node->child; child; child = child->next) CM_TRY(flatten(child, flat));
        return CM_OK;
    }
    if (!cJSON_IsNumber(node))
        return cm_fail(CM_ERR_INPUT, "%s[%zu]: must be a number, got %s", flat->what, flat->at,
                       kind_name(cm_json_type(outer(node))));
    if (flat->at == flat->count)
        return cm_fail(CM_ERR_INPUT, "%s: must have %zu numbers, got more", flat->what, flat->count);
    CM_TRY(flat->put(flat, node->valuedouble));
    flat->at++;
    return CM_OK;
}

static cm_status flatten_all(const cm_json *array, numbers flat) {
    if (!array) return cm_fail(CM_ERR_INPUT, "%s: missing", flat.what);
    if (!cJSON_IsArray(inner(array)))
        return cm_fail(CM_ERR_INPUT, "%s: must be an array, got %s", flat.what, kind_name(cm_json_type(array)));
    CM_TRY(flatten(inner(array), &flat));
    if (flat.at < flat.count)
        return cm_fail(CM_ERR_INPUT, "%s: must have %zu numbers, got %zu", flat.what, flat.count, flat.at);
    return CM_OK;
}

cm_status cm_json_floats(const cm_json *array, const char *what, size_t count, float *out) {
    return flatten_all(array, (numbers){.what = what, .count = count, .put = put_float, .out = out});
}

cm_status cm_json_doubles(const cm_json *array, const char *what, size_t count, double *out) {
    return flatten_all(array, (numbers){.what = what, .count = count, .put = put_double, .out = out});
}

cm_status cm_json_ints(const cm_json *array, const char *what, size_t count, int64_t min, int64_t max, int32_t *out) {
    min = min < INT32_MIN ? INT32_MIN : min, max = max > INT32_MAX ? INT32_MAX : max;
    return flatten_all(array,
                       (numbers){.what = what, .count = count, .put = put_int, .out = out, .min = min, .max = max});
}

size_t cm_json_count_numbers(const cm_json *array) {
    size_t n = 0;
    for (const cm_json *node = cm_json_first(array); node; node = cm_json_next(node))
        n += cJSON_IsArray(inner(node)) ? cm_json_count_numbers(node) : cJSON_IsNumber(inner(node)) ? 1 : 0;
    return n;
}
