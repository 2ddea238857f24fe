#include "run/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/log.h"

#define INTEGER(name)                                                                                                  \
    { #name, offsetof(cm_metrics, name), true }
#define NUMBER(name)                                                                                                   \
    { #name, offsetof(cm_metrics, name), false }
static const cm_metrics_field fields[] = {
    INTEGER(iteration),
    INTEGER(env_steps),
    INTEGER(updates),
    INTEGER(episodes),
    NUMBER(seconds),
    NUMBER(env_steps_per_second),
    NUMBER(simulations_per_second),
    NUMBER(updates_per_second),
    NUMBER(mean_return),
    NUMBER(mean_length),
    NUMBER(total_loss),
    NUMBER(value_loss),
    NUMBER(policy_loss),
    NUMBER(reward_loss),
    NUMBER(consistency_loss),
    NUMBER(entropy),
    NUMBER(afterstate_loss),
    NUMBER(code_loss),
    NUMBER(commitment_loss),
    NUMBER(policy_drift),
    NUMBER(gradient_norm),
    NUMBER(learning_rate),
    NUMBER(clipped_targets),
    NUMBER(clipped_rewards),
    NUMBER(loss_scale),
    NUMBER(skipped_steps),
    NUMBER(temperature),
    NUMBER(replay_fill),
    NUMBER(eval_return),
    NUMBER(eval_std),
    NUMBER(eval_episodes),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

const cm_metrics_field *cm_metrics_fields(int *count) {
    *count = FIELDS;
    return fields;
}

const cm_metrics_field *cm_metrics_find(const char *name) {
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].name, name) == 0) return &fields[i];
    }
    return NULL;
}

double cm_metrics_number(const cm_metrics *metrics, const cm_metrics_field *field) {
    const char *at = (const char *)metrics + field->offset;
    return field->integer ? (double)*(const int64_t *)at : *(const double *)at;
}

static int64_t *integer_of(cm_metrics *m, const cm_metrics_field *f) { return (int64_t *)((char *)m + f->offset); }
static double *number_of(cm_metrics *m, const cm_metrics_field *f) { return (double *)((char *)m + f->offset); }

cm_metrics cm_metrics_empty(void) {
    cm_metrics metrics;
    memset(&metrics, 0, sizeof metrics);
    for (int i = 0; i < FIELDS; i++) {
        if (!fields[i].integer) *number_of(&metrics, &fields[i]) = NAN;
    }
    return metrics;
}

size_t cm_metrics_format(const cm_metrics *metrics, char *out, size_t size) {
    cm_metrics copy = *metrics;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        char value[40];
        if (fields[i].integer) {
            snprintf(value, sizeof value, "%lld", (long long)*integer_of(&copy, &fields[i]));
        } else if (isfinite(*number_of(&copy, &fields[i]))) {
            snprintf(value, sizeof value, "%.9g", *number_of(&copy, &fields[i]));
        } else {
            continue;
        }
        int n = snprintf(out + used, size - used, "%s\"%s\": %s", used ? ", " : "", fields[i].name, value);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    return used;
}

void cm_metrics_put(cm_json_writer *json, const char *key, const cm_metrics *metrics) {
    cm_metrics copy = *metrics;
    cm_json_begin_object(json, key);
    for (int i = 0; i < FIELDS; i++) {
        if (fields[i].integer) {
            cm_json_put_int(json, fields[i].name, *integer_of(&copy, &fields[i]));
        } else {
            cm_json_put_double(json, fields[i].name, *number_of(&copy, &fields[i]));
        }
    }
    cm_json_end_object(json);
}

/* One field of an object; `may_be_null`: a number that does not exist. */
static cm_status read_field(const cm_json *object, const cm_metrics_field *field, bool may_be_null, cm_metrics *out) {
    const cm_json *node = cm_json_get(object, field->name);
    if (!node || (may_be_null && !field->integer && cm_json_type(node) == CM_JSON_NULL)) return CM_OK;
    if (field->integer) return cm_json_need_int(object, field->name, 0, CM_JSON_MOST, integer_of(out, field));
    return cm_json_need_number(object, field->name, number_of(out, field));
}

static cm_status read_fields(const cm_json *object, bool may_be_null, cm_metrics *out) {
    *out = cm_metrics_empty();
    CM_TRY(cm_json_check(object, CM_JSON_OBJECT));
    for (int i = 0; i < FIELDS; i++) CM_TRY(read_field(object, &fields[i], may_be_null, out));
    return CM_OK;
}

cm_status cm_metrics_get(const cm_json *object, cm_metrics *out) { return read_fields(object, true, out); }

/* ---- the file ---- */

/* What a line says of its iteration; -1: nothing. */
static int64_t iteration_of(const char *line) {
    long long iteration = -1;
    return sscanf(line, "{\"iteration\": %lld", &iteration) == 1 ? (int64_t)iteration : -1;
}

/* The bytes of the whole lines within the first `limit` bytes, up to the first one of an iteration beyond `last`. */
static cm_status find_end(FILE *file, const char *path, int64_t limit, int64_t last, int64_t *end) {
    char *line = NULL;
    size_t space = 0;
    ssize_t n;
    *end = 0;
    rewind(file);
    while (*end < limit && (n = getline(&line, &space, file)) > 0 && line[n - 1] == '\n' && *end + n <= limit) {
        if (iteration_of(line) > last) break;
        *end += n;
    }
    const bool is_read = !ferror(file);
    free(line);
    return is_read ? CM_OK : cm_fail(CM_ERR_IO, "%s: cannot read", path);
}

static cm_status find_keep(FILE *file, const char *path, int64_t size, int64_t keep, int64_t last, int64_t *end) {
    if (keep < 0) keep = size;
    CM_TRY(find_end(file, path, keep < size ? keep : size, last, end));
    if (*end == keep) return CM_OK;
    CM_TRY(find_end(file, path, size, last, end));
    cm_log(CM_WARNING, "%s: was changed or torn behind the run's back: its whole lines up to iteration %lld are kept",
           path, (long long)last);
    return CM_OK;
}

/* The updates that the last whole line behind the first `keep` bytes speaks of, 0 if there is none. */
static int64_t updates_behind(FILE *file, int64_t keep) {
    static const char key[] = "\"updates\": ";
    char *line = NULL;
    size_t space = 0;
    ssize_t n;
    int64_t updates = 0;
    if (fseeko(file, keep, SEEK_SET) == 0) {
        while ((n = getline(&line, &space, file)) > 0 && line[n - 1] == '\n') {
            const char *at = strstr(line, key);
            if (at) updates = strtoll(at + sizeof key - 1, NULL, 10);
        }
    }
    free(line);
    return updates;
}

/* Finds what of an open file of `size` bytes stays. */
static cm_status find_cut(cm_metrics_file *file, FILE *text, const char *path, int64_t size, int64_t keep,
                          int64_t last) {
    CM_TRY(find_keep(text, path, size, keep, last, &file->bytes));
    file->cut_updates = file->bytes < size ? updates_behind(text, file->bytes) : 0;
    if (file->bytes == size || ftruncate(file->file, file->bytes) == 0) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: cannot cut it back to the checkpoint: %s", path, strerror(errno));
}

cm_status cm_metrics_open(cm_metrics_file *file, const cm_dir *dir, const char *name, int64_t keep, int64_t last) {
    char path[PATH_MAX];
    struct stat about;
    int reading = -1;
    file->file = -1;
    CM_TRY(cm_path_join(path, sizeof path, dir->path, name));
    CM_TRY(cm_dir_append(dir, name, &file->file));
    cm_status status = cm_dir_open_file(dir, name, O_RDONLY, &reading);
    FILE *text = status == CM_OK ? fdopen(reading, "r") : NULL;
    if (status == CM_OK && (!text || fstat(reading, &about) != 0))
        status = cm_fail(CM_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
    if (status == CM_OK) status = find_cut(file, text, path, about.st_size, keep, last);
    if (text) {
        fclose(text);
    } else if (reading >= 0) {
        close(reading);
    }
    if (status != CM_OK) cm_metrics_close(file);
    return status;
}

cm_status cm_metrics_write(cm_metrics_file *file, const cm_metrics *metrics) {
    char line[CM_METRICS_TEXT + 8];
    line[0] = '{';
    size_t n = 1 + cm_metrics_format(metrics, line + 1, CM_METRICS_TEXT);
    line[n++] = '}';
    line[n++] = '\n';
    ssize_t written = write(file->file, line, n);
    if (written == (ssize_t)n) {
        file->bytes += written;
        return CM_OK;
    }
    int reason = written < 0 ? errno : ENOSPC;
    if (written > 0 && ftruncate(file->file, file->bytes) != 0) reason = errno; /* no half lines */
    return cm_fail(CM_ERR_IO, "metrics.jsonl: cannot write: %s", strerror(reason));
}

void cm_metrics_close(cm_metrics_file *file) {
    if (file->file >= 0) close(file->file);
    file->file = -1;
}

/* ---- reading ---- */

typedef struct row_list {
    cm_metrics *rows; /* [space], owned */
    int count, space;
} row_list;

static cm_status read_row(void *context, const cm_json *line) {
    row_list *list = context;
    cm_metrics row;
    CM_TRY(read_fields(line, false, &row));
    if (list->count == list->space) {
        int space = 2 * list->space + 64;
        cm_metrics *rows = realloc(list->rows, (size_t)space * sizeof *rows);
        if (!rows) return cm_fail(CM_ERR_MEMORY, "metrics: no memory for %d rows", space);
        list->rows = rows, list->space = space;
    }
    list->rows[list->count++] = row;
    return CM_OK;
}

cm_status cm_metrics_read(const char *path, cm_metrics **rows, int *count) {
    row_list list = {.rows = NULL};
    *rows = NULL, *count = 0;
    cm_status status = cm_json_read_lines(path, true, read_row, &list);
    if (status != CM_OK) {
        free(list.rows);
        if (status != CM_ERR_INPUT) return status;
        return cm_fail_in(CM_ERR_IO, "a damaged line of metrics, which may be removed");
    }
    *rows = list.rows, *count = list.count;
    return CM_OK;
}
