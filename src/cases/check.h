/* Reference cases of format "cumind-learning-case-1": reads their arrays and compares results with what they expect.
 *
 * A case is a JSON object with `inputs`, `expected` and `tolerance`. `expected` is a tree whose leaves are numbers or
 * arrays {"shape": [...], "data": [...]}; the path of a leaf joins its keys and list positions by '/', for example
 * "steps/3/parameters/layer.weight". A runner compares every leaf once:
 *
 *     cm_case_report report;
 *     CM_TRY(cm_case_begin(&report, root, "float32"));
 *     CM_TRY(cm_case_check(&report, y, count, "y"));
 *     CM_TRY(cm_case_check(&report, dw, size, "gradients/%s", name));
 *     CM_TRY(cm_case_end(&report));
 *     if (!report.ok) print report.message
 *
 * A status says that the case itself cannot be used (missing field, wrong shape); numbers that are out of tolerance are
 * not an error: they clear report.ok, and the first of them is kept. Tolerance [abs, rel, l2]: every element has
 * |got - want| <= abs + rel * |want| and, unless l2 is null, sqrt(sum (got - want)^2) <= l2. NaN and Inf fail.
 */
#ifndef CM_CASES_CHECK_H
#define CM_CASES_CHECK_H

#include "core/json.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_CASE_PATH = 192, CM_CASE_RANK = 8 };

typedef struct cm_case_report {
    /* constant after cm_case_begin; borrowed from the document */
    const cm_json *expected;
    const cm_json *tolerance; /* of the data type under test */
    /* result */
    bool ok;                          /* no comparison has failed yet                                             */
    int compared;                     /* leaves compared                                                          */
    char path[CM_CASE_PATH];          /* of the first failure, "" if none                                         */
    int64_t index;                    /* its element; -1 if the array as a whole is beyond its l2 bound           */
    double got, want;                 /* its numbers; for index -1 the l2 distance and its bound                  */
    char message[CM_CASE_PATH + 128]; /* "PATH[INDEX]: got G, want W", "" if none                        */
} cm_case_report;

/* Starts a report on the case `root` in `dtype` ("float32", "bfloat16", or "float16", which is judged by the tolerances
 * of bfloat16, that rounds more). Errors: CM_ERR_INPUT if `expected` or the tolerance of that type is missing. */
cm_status cm_case_begin(cm_case_report *report, const cm_json *root, const char *dtype) CM_MUST_USE;

/* Compares got[n] with the leaf at the path given in printf style. Errors: CM_ERR_INPUT if the case has no such leaf, a
 * leaf of another size, or no tolerance for it. */
cm_status cm_case_check(cm_case_report *report, const float *got, size_t n, const char *path, ...) CM_MUST_USE
    CM_PRINTF(4, 5);

/* CM_ERR_INPUT if the runner has compared fewer or more leaves than `expected` has. */
cm_status cm_case_end(const cm_case_report *report) CM_MUST_USE;

/* True if the case has tolerances for `dtype`: it is to be run in it. */
bool cm_case_has_dtype(const cm_json *root, const char *dtype);

/* An array of a case: values rounded to float32, row-major; a number is an array of rank 0. `data` is owned. */
typedef struct cm_case_array {
    int rank;
    int64_t shape[CM_CASE_RANK];
    size_t count; /* product of the shape */
    float *data;  /* [count]; not NULL even if count is 0 */
} cm_case_array;

/* Reads member `name` of `object`. Errors: CM_ERR_INPUT if it is missing or its data does not fill its shape. On an
 * error *out is empty and cm_case_array_free is allowed. */
cm_status cm_case_array_read(const cm_json *object, const char *name, cm_case_array *out) CM_MUST_USE;

/* The same for a node itself, which `name` describes in errors. */
cm_status cm_case_array_parse(const cm_json *node, const char *name, cm_case_array *out) CM_MUST_USE;

void cm_case_array_free(cm_case_array *array); /* leaves it empty */

#ifdef __cplusplus
}
#endif
#endif
