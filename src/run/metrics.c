#include "run/metrics.h"

#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/lines.h"
#include "core/log.h"

#define INTEGER(name, tag)                                                                                             \
    { #name, offsetof(cm_metrics, name), true, tag }
#define NUMBER(name, tag)                                                                                              \
    { #name, offsetof(cm_metrics, name), false, tag }
#define LOSS(term, metric, ...) {#metric, offsetof(cm_metrics, loss[CM_LOSS_##term]), false, "train/" #metric},
static const cm_metrics_field fields[] = {
    INTEGER(iteration, "time/iterations"),
    INTEGER(env_steps, "time/total_timesteps"),
    INTEGER(updates, "train/n_updates"),
    INTEGER(episodes, "time/episodes"),
    NUMBER(seconds, "time/time_elapsed"),
    NUMBER(env_steps_per_second, "time/fps"),
    NUMBER(simulations_per_second, "time/simulations_per_second"),
    NUMBER(updates_per_second, "time/updates_per_second"),
#define CM_TIME(part, name, tag) {#name, offsetof(cm_metrics, time[CM_TIME_##part]), false, tag},
#include "run/times.def"
    NUMBER(gpu_use, "gpu/use"),
    NUMBER(gpu_memory, "gpu/memory"),
    NUMBER(mean_return, "rollout/ep_rew_mean"),
    NUMBER(mean_length, "rollout/ep_len_mean"),
    NUMBER(total_loss, "train/loss"),
#define CM_LOSS LOSS
#define CM_OPTIONAL_LOSS(...)
#include "trainer/losses.def"
    NUMBER(entropy, "train/entropy"),
#define CM_OPTIONAL_LOSS LOSS
#include "trainer/losses.def"
    NUMBER(policy_drift, "train/policy_drift"),
    NUMBER(gradient_norm, "train/gradient_norm"),
    NUMBER(learning_rate, "train/learning_rate"),
    NUMBER(clipped_targets, "train/clipped_targets"),
    NUMBER(clipped_rewards, "train/clipped_rewards"),
    NUMBER(loss_scale, "train/loss_scale"),
    NUMBER(skipped_steps, "train/skipped_steps"),
    NUMBER(temperature, "rollout/temperature"),
    NUMBER(replay_fill, "rollout/replay_fill"),
    NUMBER(eval_return, "eval/mean_reward"),
    NUMBER(eval_std, "eval/std_reward"),
    NUMBER(eval_length, "eval/mean_ep_length"),
    NUMBER(eval_episodes, "eval/episodes"),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

enum { LINE_BYTES = 64 * 1024, MOST_ROWS = 1 << 16, LINES_PER_DOUBLING = 4096 };

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

static int64_t updates_of(const char *line) {
    static const char key[] = "\"updates\": ";
    const char *at = strstr(line, key);
    return at ? strtoll(at + sizeof key - 1, NULL, 10) : 0;
}

/* What a file holds: bytes of its whole lines up to the first one of an iteration beyond `last`, of all of them and of
 * those within the first `keep` bytes; where its last whole line ends, and the updates that it speaks of. */
typedef struct content {
    int64_t whole, known, end, updates;
} content;

static cm_status look_through(cm_lines *lines, int64_t keep, int64_t last, content *out) {
    bool is_there = true, is_beyond = false;
    *out = (content){.whole = 0};
    while (true) {
        CM_TRY(cm_lines_next(lines, &is_there));
        if (!is_there || !lines->is_whole) return CM_OK;
        out->end += (int64_t)lines->bytes;
        out->updates = updates_of(lines->text);
        is_beyond = is_beyond || iteration_of(lines->text) > last;
        if (!is_beyond) out->whole = out->end;
        if (!is_beyond && out->end <= keep) out->known = out->end;
    }
}

/* Cuts an open file. */
static cm_status cut_back(cm_metrics_file *file, cm_lines *lines, int64_t keep, int64_t last) {
    const char *path = file->lines.path;
    content c;
    if (keep < 0) keep = file->lines.bytes;
    cm_status status = look_through(lines, keep, last, &c);
    if (status != CM_OK) return cm_fail_in(status, "%s", path);
    const int64_t kept = c.known == keep ? keep : c.whole;
    file->cut_updates = c.end > kept ? c.updates : 0;
    if (c.known != keep)
        cm_log(CM_WARNING,
               "%s: was changed or torn behind the run's back: its whole lines up to iteration %lld are kept", path,
               (long long)last);
    return kept == file->lines.bytes ? CM_OK : cm_append_cut(&file->lines, kept);
}

cm_status cm_metrics_open(cm_metrics_file *file, const cm_dir *dir, const char *name, int64_t keep, int64_t last) {
    cm_lines lines = {.file = NULL};
    int reading;
    CM_TRY(cm_append_open(&file->lines, dir, name));
    cm_status status = cm_dir_open_file(dir, name, O_RDONLY, &reading);
    if (status == CM_OK) status = cm_lines_open(&lines, reading, LINE_BYTES);
    if (status == CM_OK) status = cut_back(file, &lines, keep, last);
    cm_lines_close(&lines);
    if (status != CM_OK) cm_metrics_close(file);
    return status;
}

bool cm_metrics_is_due(int64_t iteration, int64_t interval) {
    int64_t line = iteration / interval, stride = 1;
    for (; line >= 2 * LINES_PER_DOUBLING; line /= 2) stride *= 2;
    return iteration % (interval * stride) == 0;
}

cm_status cm_metrics_write(cm_metrics_file *file, const cm_metrics *metrics) {
    char line[CM_METRICS_TEXT + 8];
    line[0] = '{';
    size_t n = 1 + cm_metrics_format(metrics, line + 1, CM_METRICS_TEXT);
    line[n++] = '}';
    line[n++] = '\n';
    return cm_append_write(&file->lines, line, n);
}

void cm_metrics_close(cm_metrics_file *file) { cm_append_close(&file->lines); }

/* ---- reading ---- */

typedef struct row_list {
    cm_metrics *rows; /* [capacity], owned */
    int count, capacity, evaluated;
    int64_t plain, stride; /* rows without an evaluation that were seen, of which one in so many is kept */
    cm_metrics last;       /* the one that was seen last */
} row_list;

static bool is_evaluated(const cm_metrics *row) { return isfinite(row->eval_return); }

/* Halves what is kept: every second row without an evaluation goes, and, if those with one are too many, of them, too.
 */
static void thin(row_list *list) {
    const bool both = list->evaluated > MOST_ROWS / 2;
    int kept = 0, seen[2] = {0, 0};
    list->evaluated = 0;
    for (int i = 0; i < list->count; i++) {
        const bool evaluated = is_evaluated(&list->rows[i]);
        if (seen[evaluated]++ % 2 == 1 && (both || !evaluated)) continue;
        list->evaluated += evaluated;
        list->rows[kept++] = list->rows[i];
    }
    list->count = kept;
    list->stride *= 2;
}

static cm_status append_row(row_list *list, const cm_metrics *row) {
    if (list->count == list->capacity) {
        int capacity = 2 * list->capacity + 64;
        cm_metrics *rows = realloc(list->rows, (size_t)capacity * sizeof *rows);
        if (!rows) return cm_fail(CM_ERR_MEMORY, "metrics: no memory for %d rows", capacity);
        list->rows = rows, list->capacity = capacity;
    }
    list->rows[list->count++] = *row;
    list->evaluated += is_evaluated(row);
    if (list->count >= MOST_ROWS) thin(list);
    return CM_OK;
}

static cm_status read_row(void *context, const cm_json *line) {
    row_list *list = context;
    CM_TRY(read_fields(line, false, &list->last));
    if (!is_evaluated(&list->last) && list->plain++ % list->stride != 0) return CM_OK;
    return append_row(list, &list->last);
}

/* The newest row is always there. */
static cm_status end_rows(row_list *list) {
    if (list->count == 0 || list->rows[list->count - 1].iteration == list->last.iteration) return CM_OK;
    return append_row(list, &list->last);
}

cm_status cm_metrics_read(const char *path, cm_metrics **rows, int *count) {
    row_list list = {.stride = 1};
    *rows = NULL, *count = 0;
    cm_status status = cm_json_read_growing(path, LINE_BYTES, read_row, &list);
    if (status == CM_OK) status = end_rows(&list);
    if (status != CM_OK) {
        free(list.rows);
        if (status != CM_ERR_INPUT) return status;
        return cm_fail_in(CM_ERR_IO, "a damaged line of metrics, which may be removed");
    }
    *rows = list.rows, *count = list.count;
    return CM_OK;
}
