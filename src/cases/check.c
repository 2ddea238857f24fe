#include "cases/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

static bool is_leaf(const cm_json *node) {
    return cm_json_type(node) == CM_JSON_NUMBER ||
           (cm_json_type(node) == CM_JSON_OBJECT && cm_json_get(node, "shape") && cm_json_get(node, "data"));
}

static int count_leaves(const cm_json *node) {
    if (is_leaf(node)) return 1;
    int count = 0;
    for (const cm_json *child = cm_json_first(node); child; child = cm_json_next(child)) count += count_leaves(child);
    return count;
}

/* The member or element of `node` that the first part of *path names; moves *path after it. NULL if there is none. */
static const cm_json *descend(const cm_json *node, const char **path) {
    size_t length = strcspn(*path, "/");
    int position = 0;
    for (const cm_json *child = cm_json_first(node); child; child = cm_json_next(child), position++) {
        char number[16];
        const char *name = cm_json_key(child);
        if (!name) {
            snprintf(number, sizeof number, "%d", position);
            name = number;
        }
        if (strlen(name) != length || memcmp(name, *path, length) != 0) continue;
        *path += length + ((*path)[length] == '/');
        return child;
    }
    return NULL;
}

static const cm_json *find(const cm_json *node, const char *path) {
    while (node && *path) node = descend(node, &path);
    return node;
}

static cm_status parse_shape(const cm_json *node, const char *name, cm_case_array *out) {
    const cm_json *shape;
    CM_TRY(cm_json_need(node, "shape", CM_JSON_ARRAY, &shape));
    int rank = cm_json_size(shape);
    if (rank > CM_CASE_RANK)
        return cm_fail(CM_ERR_INPUT, "%s: rank %d, at most %d is allowed", name, rank, CM_CASE_RANK);
    out->rank = rank;
    out->count = 1;
    int axis = 0;
    for (const cm_json *size = cm_json_first(shape); size; size = cm_json_next(size), axis++) {
        if (!cm_json_is_integer(size, 0, INT32_MAX))
            return cm_fail(CM_ERR_INPUT, "%s: axis %d of its shape is not a size", name, axis);
        out->shape[axis] = (int64_t)cm_json_number(size, 0);
        if (__builtin_mul_overflow(out->count, (size_t)out->shape[axis], &out->count))
            return cm_fail(CM_ERR_INPUT, "%s: its shape is too large", name);
    }
    return CM_OK;
}

static cm_status parse_array(const cm_json *node, const char *name, cm_case_array *out) {
    if (cm_json_type(node) == CM_JSON_NUMBER) {
        out->count = 1;
        CM_TRY(cm_alloc(&out->data, 1, sizeof *out->data, name));
        out->data[0] = (float)cm_json_number(node, 0);
        return CM_OK;
    }
    const cm_json *data;
    CM_TRY(parse_shape(node, name, out));
    CM_TRY(cm_json_need(node, "data", CM_JSON_ARRAY, &data));
    size_t numbers = cm_json_count_numbers(data);
    if (numbers != out->count)
        return cm_fail(CM_ERR_INPUT, "%s: %zu numbers do not fill its shape of %zu", name, numbers, out->count);
    CM_TRY(cm_alloc(&out->data, out->count ? out->count : 1, sizeof *out->data, name));
    return cm_json_floats(data, name, out->count, out->data);
}

cm_status cm_case_array_parse(const cm_json *node, const char *name, cm_case_array *out) {
    memset(out, 0, sizeof *out);
    cm_status status = parse_array(node, name, out);
    if (status != CM_OK) cm_case_array_free(out);
    return status;
}

cm_status cm_case_array_read(const cm_json *object, const char *name, cm_case_array *out) {
    memset(out, 0, sizeof *out);
    const cm_json *node = cm_json_get(object, name);
    if (!node) return cm_fail(CM_ERR_INPUT, "%s: missing", name);
    return cm_case_array_parse(node, name, out);
}

void cm_case_array_free(cm_case_array *array) {
    free(array->data);
    memset(array, 0, sizeof *array);
}

static const char *type_of_tolerances(const char *dtype) { return strcmp(dtype, "float16") ? dtype : "bfloat16"; }

bool cm_case_has_dtype(const cm_json *root, const char *dtype) {
    return cm_json_get(cm_json_get(root, "tolerance"), type_of_tolerances(dtype)) != NULL;
}

cm_status cm_case_begin(cm_case_report *report, const cm_json *root, const char *dtype) {
    memset(report, 0, sizeof *report);
    report->ok = true;
    CM_TRY(cm_json_need(root, "expected", CM_JSON_OBJECT, &report->expected));
    const cm_json *tolerance;
    CM_TRY(cm_json_need(root, "tolerance", CM_JSON_OBJECT, &tolerance));
    if (cm_json_need(tolerance, type_of_tolerances(dtype), CM_JSON_OBJECT, &report->tolerance) != CM_OK)
        return cm_fail_in(CM_ERR_INPUT, "tolerance");
    return CM_OK;
}

typedef struct bounds {
    double abs, rel, l2; /* l2 is infinite if the case has none */
} bounds;

static cm_status read_bounds(const cm_json *table, const char *path, bounds *out) {
    const cm_json *row = cm_json_get(table, path);
    if (cm_json_type(row) != CM_JSON_ARRAY || cm_json_size(row) != 3)
        return cm_fail(CM_ERR_INPUT, "tolerance of %s: must be [abs, rel, l2]", path);
    const cm_json *abs = cm_json_first(row), *rel = cm_json_next(abs), *l2 = cm_json_next(rel);
    bool numbers = cm_json_type(abs) == CM_JSON_NUMBER && cm_json_type(rel) == CM_JSON_NUMBER &&
                   (cm_json_type(l2) == CM_JSON_NUMBER || cm_json_type(l2) == CM_JSON_NULL);
    if (!numbers) return cm_fail(CM_ERR_INPUT, "tolerance of %s: must be [abs, rel, l2]", path);
    out->abs = cm_json_number(abs, 0);
    out->rel = cm_json_number(rel, 0);
    out->l2 = cm_json_number(l2, HUGE_VAL);
    return CM_OK;
}

static void keep_failure(cm_case_report *report, const char *path, int64_t index, double got, double want) {
    if (!report->ok) return;
    report->ok = false;
    report->index = index;
    report->got = got;
    report->want = want;
    snprintf(report->path, sizeof report->path, "%s", path);
    if (index < 0)
        snprintf(report->message, sizeof report->message, "%s: l2 distance %.9g, at most %.9g allowed", path, got,
                 want);
    else
        snprintf(report->message, sizeof report->message, "%s[%lld]: got %.9g, want %.9g", path, (long long)index, got,
                 want);
}

static void compare(cm_case_report *report, const char *path, const bounds *limit, const float *got, size_t n,
                    const double *want) {
    double square = 0.0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - want[i]);
        if (!isfinite((double)got[i]) || !(error <= limit->abs + limit->rel * fabs(want[i])))
            keep_failure(report, path, (int64_t)i, (double)got[i], want[i]);
        square += error * error;
    }
    if (!(sqrt(square) <= limit->l2)) keep_failure(report, path, -1, sqrt(square), limit->l2);
}

static cm_status read_expected(const cm_json *leaf, const char *path, size_t n, double *want) {
    if (cm_json_type(leaf) == CM_JSON_NUMBER) {
        want[0] = cm_json_number(leaf, 0);
        return CM_OK;
    }
    return cm_json_doubles(cm_json_get(leaf, "data"), path, n, want);
}

cm_status cm_case_check(cm_case_report *report, const float *got, size_t n, const char *path, ...) {
    char name[CM_CASE_PATH];
    va_list arguments;
    va_start(arguments, path);
    int length = vsnprintf(name, sizeof name, path, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof name) return cm_fail(CM_ERR_INPUT, "%s: path too long", name);

    const cm_json *leaf = find(report->expected, name);
    if (!leaf || !is_leaf(leaf)) return cm_fail(CM_ERR_INPUT, "expected/%s: missing", name);
    cm_case_array shape = {.count = 1};
    if (cm_json_type(leaf) == CM_JSON_OBJECT) CM_TRY(parse_shape(leaf, name, &shape));
    if (shape.count != n)
        return cm_fail(CM_ERR_INPUT, "expected/%s: has %zu elements, the result has %zu", name, shape.count, n);
    bounds limit = {0};
    CM_TRY(read_bounds(report->tolerance, name, &limit));

    double *want = NULL;
    CM_TRY(cm_alloc(&want, n ? n : 1, sizeof *want, name));
    cm_status status = read_expected(leaf, name, n, want);
    if (status == CM_OK) {
        compare(report, name, &limit, got, n, want);
        report->compared++;
    }
    free(want);
    return status;
}

cm_status cm_case_end(const cm_case_report *report) {
    int leaves = count_leaves(report->expected);
    if (leaves != report->compared)
        return cm_fail(CM_ERR_INPUT, "expected has %d arrays, %d were compared", leaves, report->compared);
    return CM_OK;
}
