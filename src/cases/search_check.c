/* Writing the arrays of a case and comparing them with "expected". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cases/search_internal.h"

static void put_level(cm_json_writer *writer, const char *key, const cm_search_case_row *row,
                      cm_search_case_array array, const size_t *dims, int rank, size_t *at) {
    cm_json_begin_array(writer, key);
    for (size_t i = 0; i < dims[0]; i++) {
        if (rank > 1) {
            put_level(writer, NULL, row, array, dims + 1, rank - 1, at);
        } else if (row->is_integer) {
            cm_json_put_int(writer, NULL, array.i[(*at)++]);
        } else {
            cm_json_put_float(writer, NULL, array.f[(*at)++]);
        }
    }
    cm_json_end_array(writer);
}

void cm_search_case_write(const cm_search_case *searched, cm_json_writer *writer) {
    cm_json_begin_object(writer, NULL);
    for (int field = 0; field < CM_FIELD_FIELDS; field++) {
        size_t dims[3], at = 0;
        int rank = cm_search_case_dims(searched, (cm_search_case_field)field, dims);
        const cm_search_case_row *row = &cm_search_case_rows[field];
        put_level(writer, row->name, row, searched->got[field], dims, rank, &at);
    }
    cm_json_end_object(writer);
}

/* |got - want| <= 1e-5 * max(|want|, unit), NaN is different. */
static bool close_enough(float got, float want, float unit) {
    double tolerance = 1e-5 * fmax(fabs((double)want), (double)unit);
    return fabs((double)got - (double)want) <= tolerance;
}

static bool is_equal(const cm_search_case *searched, cm_search_case_field field, size_t at) {
    const cm_search_case_row *row = &cm_search_case_rows[field];
    cm_search_case_array got = searched->got[field], want = searched->want[field];
    if (row->is_integer) return got.i[at] == want.i[at];
    return close_enough(got.f[at], want.f[at], row->has_unit ? searched->unit : 1.0f);
}

static void describe(const cm_search_case *searched, cm_search_case_field field, size_t at, char *text, size_t size) {
    const cm_search_case_row *row = &cm_search_case_rows[field];
    cm_search_case_array got = searched->got[field], want = searched->want[field];
    size_t dims[3], index[3] = {0};
    int rank = cm_search_case_dims(searched, field, dims);
    for (int i = rank - 1; i >= 0; i--) index[i] = at % dims[i], at /= dims[i];
    size_t flat = 0;
    int used = snprintf(text, size, "%s", row->name);
    for (int i = 0; i < rank; i++) {
        flat = flat * dims[i] + index[i];
        if (used >= 0 && (size_t)used < size) used += snprintf(text + used, size - (size_t)used, "[%zu]", index[i]);
    }
    if (used < 0 || (size_t)used >= size) return;
    if (row->is_integer) {
        snprintf(text + used, size - (size_t)used, ": got %" PRId32 ", want %" PRId32, got.i[flat], want.i[flat]);
    } else {
        snprintf(text + used, size - (size_t)used, ": got %.9g, want %.9g", (double)got.f[flat], (double)want.f[flat]);
    }
}

/* A sampled action may be any that the expected probabilities allow. */
static int64_t compare_sampled(const cm_search_case *searched, char *first, size_t size) {
    int64_t different = 0;
    for (int b = 0; b < searched->batch; b++) {
        int32_t action = searched->got[CM_FIELD_ACTION].i[b];
        size_t row = (size_t)b * (size_t)searched->num_actions;
        bool fine = action >= 0 && action < searched->num_actions;
        if (fine) fine = searched->want[CM_FIELD_ACTION_PROBS].f[row + (size_t)action] > 0.0f;
        if (!fine && different++ == 0 && !*first) {
            snprintf(first, size, "action[%d]: got %" PRId32 ", want one with action_probs above 0", b, action);
        }
    }
    return different;
}

int64_t cm_search_case_compare(const cm_search_case *searched, char *first, size_t size) {
    int64_t different = 0;
    if (size > 0) *first = '\0';
    for (int field = 0; field < CM_FIELD_FIELDS; field++) {
        if (!searched->want[field].data) continue;
        for (size_t at = 0, count = cm_search_case_count(searched, (cm_search_case_field)field); at < count; at++) {
            if (is_equal(searched, (cm_search_case_field)field, at)) continue;
            if (different++ == 0) describe(searched, (cm_search_case_field)field, at, first, size);
        }
    }
    if (searched->is_sampled) different += compare_sampled(searched, first, size);
    return different;
}
