#include "run/tensorboard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "run/lost.h"

/* Numbers of fields and values of enums, by message. */
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_IMAGE = 4, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum {
    TENSOR_DTYPE = 1,
    TENSOR_SHAPE = 2,
    TENSOR_STRING = 8,
    SHAPE_DIM = 2,
    DIM_SIZE = 1,
    DT_FLOAT = 1,
    DT_STRING = 7
};
enum { LOG_STATUS = 1, LOG_START = 1 };
enum {
    HISTOGRAM_MIN = 1,
    HISTOGRAM_MAX,
    HISTOGRAM_COUNT,
    HISTOGRAM_SUM,
    HISTOGRAM_SQUARES,
    HISTOGRAM_LIMITS,
    HISTOGRAM_BUCKETS
};
enum {
    HPARAMS_START = 3,
    HPARAMS_END = 4,
    START_HPARAMS = 1,
    START_TIME = 5,
    END_STATUS = 1,
    END_TIME = 2,
    SUCCESS = 1
};
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, VALUE_NUMBER = 2, VALUE_STRING = 3, VALUE_BOOL = 4 };

static const char folder[] = "tensorboard";

/* ---- the folder ---- */

cm_status cm_tensorboard_cut(const cm_dir *run, int64_t last, cm_event_history *out) {
    cm_dir dir;
    *out = (cm_event_history){.known = -1};
    if (cm_dir_look(run, folder) == CM_DIR_NONE) return CM_OK;
    CM_TRY(cm_dir_enter(&dir, run, folder));
    cm_status status = cm_event_files_cut(&dir, last, out);
    cm_dir_close(&dir);
    return status;
}

cm_status cm_tensorboard_open(cm_tensorboard *out, const cm_dir *run, const cm_event_history *history) {
    cm_dir dir;
    *out = (cm_tensorboard){.file.records.file = -1};
    CM_TRY(cm_dir_make(run, folder));
    CM_TRY(cm_dir_enter(&dir, run, folder));
    cm_status status = cm_event_file_create(&out->file, &dir, history->newest);
    cm_dir_close(&dir);
    return status;
}

void cm_tensorboard_close(cm_tensorboard *board) { cm_event_file_close(&board->file); }

/* ---- events ---- */

static void end_event(cm_tensorboard *board) {
    cm_run_note_lost(&board->lost, 1, cm_event_end(&board->file), &board->file.records, "events");
}

/* A summary of one value: returns where it begins, in *value that value. */
static size_t begin_summary(cm_proto *event, const char *tag, size_t *value) {
    const size_t summary = cm_proto_begin(event, CM_EVENT_SUMMARY);
    *value = cm_proto_begin(event, SUMMARY_VALUE);
    cm_proto_put_text(event, VALUE_TAG, tag);
    return summary;
}

static void put_scalar(cm_proto *event, const char *tag, double number) {
    const size_t value = cm_proto_begin(event, SUMMARY_VALUE);
    cm_proto_put_text(event, VALUE_TAG, tag);
    cm_proto_put_float(event, VALUE_SIMPLE, (float)number);
    cm_proto_end(event, value);
}

void cm_tensorboard_put_row(cm_tensorboard *board, const cm_metrics *row, int64_t step, double time) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    cm_proto *event = cm_event_begin(&board->file, time, step);
    const size_t summary = cm_proto_begin(event, CM_EVENT_SUMMARY);
    for (int i = 0; i < count; i++) {
        const double number = cm_metrics_number(row, &fields[i]);
        if (isfinite(number)) put_scalar(event, fields[i].tag, number);
    }
    cm_proto_end(event, summary);
    end_event(board);
}

void cm_tensorboard_put_start(cm_tensorboard *board, int64_t last) {
    cm_proto *event = cm_event_begin(&board->file, cm_clock_unix(), last + 1);
    const size_t log = cm_proto_begin(event, CM_EVENT_SESSION_LOG);
    cm_proto_put_int(event, LOG_STATUS, LOG_START);
    cm_proto_end(event, log);
    end_event(board);
}

/* ---- the configuration ---- */

/* What a plugin is told of a value, without content of its own. */
static void put_plugin(cm_proto *event, const char *plugin) {
    const size_t metadata = cm_proto_begin(event, VALUE_METADATA), data = cm_proto_begin(event, METADATA_PLUGIN);
    cm_proto_put_text(event, PLUGIN_NAME, plugin);
    cm_proto_end(event, data);
    cm_proto_end(event, metadata);
}

/* `text` goes into a table of Markdown, whose columns a "|" ends. */
static void put_cell(cm_proto *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') cm_proto_append(out, "\\", 1);
        cm_proto_append(out, text, 1);
    }
}

static void put_table(cm_proto *out, const cm_config *config) {
    static const char head[] = "| key | value |\n|---|---|\n";
    char value[CM_OPTION_JSON];
    const cm_option *row;
    cm_proto_append(out, head, sizeof head - 1);
    for (int i = 0; (row = cm_config_row(config, i)); i++) {
        cm_config_value_text(config, row, value);
        cm_proto_append(out, "| ", 2);
        put_cell(out, row->section);
        cm_proto_append(out, ".", 1);
        put_cell(out, row->key);
        cm_proto_append(out, " | ", 3);
        put_cell(out, value);
        cm_proto_append(out, " |\n", 3);
    }
}

static void put_text(cm_tensorboard *board, const cm_config *config, int64_t step) {
    size_t value;
    cm_proto *event = cm_event_begin(&board->file, cm_clock_unix(), step);
    const size_t summary = begin_summary(event, "configuration", &value);
    const size_t tensor = cm_proto_begin(event, VALUE_TENSOR);
    cm_proto_put_int(event, TENSOR_DTYPE, DT_STRING);
    cm_proto_end(event, cm_proto_begin(event, TENSOR_SHAPE)); /* no dimension: one text */
    const size_t text = cm_proto_begin(event, TENSOR_STRING);
    put_table(event, config);
    cm_proto_end(event, text);
    cm_proto_end(event, tensor);
    put_plugin(event, "text");
    cm_proto_end(event, value);
    cm_proto_end(event, summary);
    end_event(board);
}

/* A value as JSON: true, 0.5 or "text"; what is neither of the first two, such as null, is a text. */
static void put_hparam_value(cm_proto *event, const char *json) {
    char *end;
    const double number = strtod(json, &end);
    const size_t value = cm_proto_begin(event, ENTRY_VALUE), length = strlen(json);
    if (strcmp(json, "true") == 0 || strcmp(json, "false") == 0) {
        cm_proto_put_int(event, VALUE_BOOL, json[0] == 't');
    } else if (end != json && *end == '\0' && isfinite(number)) {
        cm_proto_put_double(event, VALUE_NUMBER, number);
    } else {
        const bool is_quoted = length >= 2 && json[0] == '"';
        cm_proto_put_bytes(event, VALUE_STRING, json + is_quoted, length - 2 * (size_t)is_quoted);
    }
    cm_proto_end(event, value);
}

static void put_hparams(cm_proto *event, const cm_config *config) {
    char json[CM_OPTION_JSON];
    const cm_option *row;
    for (int i = 0; (row = cm_config_row(config, i)); i++) {
        const size_t entry = cm_proto_begin(event, START_HPARAMS);
        cm_config_value_text(config, row, json);
        cm_proto_put_text(event, ENTRY_KEY, row->key);
        put_hparam_value(event, json);
        cm_proto_end(event, entry);
    }
}

/* The data of the plugin for hyper-parameters stand in its metadata, and the value is an empty tensor. */
static void put_session(cm_tensorboard *board, const char *tag, const cm_config *config, int64_t step) {
    size_t value;
    const double now = cm_clock_unix();
    cm_proto *event = cm_event_begin(&board->file, now, step);
    const size_t summary = begin_summary(event, tag, &value), tensor = cm_proto_begin(event, VALUE_TENSOR);
    cm_proto_put_int(event, TENSOR_DTYPE, DT_FLOAT);
    const size_t shape = cm_proto_begin(event, TENSOR_SHAPE), dim = cm_proto_begin(event, SHAPE_DIM);
    cm_proto_put_int(event, DIM_SIZE, 0);
    cm_proto_end(event, dim);
    cm_proto_end(event, shape);
    cm_proto_end(event, tensor);
    const size_t metadata = cm_proto_begin(event, VALUE_METADATA), plugin = cm_proto_begin(event, METADATA_PLUGIN);
    cm_proto_put_text(event, PLUGIN_NAME, "hparams");
    const size_t content = cm_proto_begin(event, PLUGIN_CONTENT);
    const size_t session = cm_proto_begin(event, config ? HPARAMS_START : HPARAMS_END);
    if (config) put_hparams(event, config);
    if (!config) cm_proto_put_int(event, END_STATUS, SUCCESS);
    cm_proto_put_double(event, config ? START_TIME : END_TIME, now);
    cm_proto_end(event, session);
    cm_proto_end(event, content);
    cm_proto_end(event, plugin);
    cm_proto_end(event, metadata);
    cm_proto_end(event, value);
    cm_proto_end(event, summary);
    end_event(board);
}

void cm_tensorboard_put_configuration(cm_tensorboard *board, const cm_config *config, int64_t step) {
    put_session(board, "_hparams_/session_start_info", config, step);
    put_text(board, config, step);
}

void cm_tensorboard_put_end(cm_tensorboard *board, int64_t step) {
    put_session(board, "_hparams_/session_end_info", NULL, step);
}

/* ---- pictures ---- */

enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH = 2, IMAGE_COLOURS = 3, IMAGE_BYTES = 4, RGB = 3 };

void cm_tensorboard_put_image(cm_tensorboard *board, const char *tag, const void *bytes, size_t size, int width,
                              int height, int64_t step) {
    size_t value;
    cm_proto *event = cm_event_begin(&board->file, cm_clock_unix(), step);
    const size_t summary = begin_summary(event, tag, &value), image = cm_proto_begin(event, VALUE_IMAGE);
    cm_proto_put_int(event, IMAGE_HEIGHT, height);
    cm_proto_put_int(event, IMAGE_WIDTH, width);
    cm_proto_put_int(event, IMAGE_COLOURS, RGB);
    cm_proto_put_bytes(event, IMAGE_BYTES, bytes, size);
    cm_proto_end(event, image);
    cm_proto_end(event, value);
    cm_proto_end(event, summary);
    end_event(board);
}

/* ---- histograms ---- */

enum { BUCKETS = 30 };

typedef struct histogram {
    double min, max, sum, squares;
    double limit[BUCKETS], bucket[BUCKETS]; /* numbers up to each limit and beyond the one before */
} histogram;

/* False: there is no number, or one that is not finite. */
static bool measure(const float *data, size_t n, double scale, histogram *out) {
    *out = (histogram){.min = HUGE_VAL, .max = -HUGE_VAL};
    for (size_t i = 0; i < n; i++) {
        const double x = scale * (double)data[i];
        out->min = fmin(out->min, x), out->max = fmax(out->max, x);
        out->sum += x, out->squares += x * x;
    }
    return n > 0 && isfinite(out->squares);
}

static void fill(const float *data, size_t n, double scale, histogram *out) {
    const double width = (out->max - out->min) / BUCKETS;
    for (int b = 0; b < BUCKETS; b++) out->limit[b] = b + 1 < BUCKETS ? out->min + width * (b + 1) : out->max;
    for (size_t i = 0; i < n; i++) {
        const double at = width > 0.0 ? (scale * (double)data[i] - out->min) / width : 0.0;
        out->bucket[at < BUCKETS ? (int)at : BUCKETS - 1] += 1.0;
    }
}

static void put_numbers(cm_proto *event, const histogram *h, size_t n) {
    cm_proto_put_double(event, HISTOGRAM_MIN, h->min);
    cm_proto_put_double(event, HISTOGRAM_MAX, h->max);
    cm_proto_put_double(event, HISTOGRAM_COUNT, (double)n);
    cm_proto_put_double(event, HISTOGRAM_SUM, h->sum);
    cm_proto_put_double(event, HISTOGRAM_SQUARES, h->squares);
    cm_proto_put_doubles(event, HISTOGRAM_LIMITS, h->limit, BUCKETS);
    cm_proto_put_doubles(event, HISTOGRAM_BUCKETS, h->bucket, BUCKETS);
}

void cm_tensorboard_put_histogram(cm_tensorboard *board, const char *group, const char *name, const float *data,
                                  size_t n, float scale, int64_t step) {
    char tag[256];
    histogram h;
    size_t value;
    if (!measure(data, n, (double)scale, &h)) return;
    fill(data, n, (double)scale, &h);
    snprintf(tag, sizeof tag, "%s/%s", group, name);
    cm_proto *event = cm_event_begin(&board->file, cm_clock_unix(), step);
    const size_t summary = begin_summary(event, tag, &value), numbers = cm_proto_begin(event, VALUE_HISTOGRAM);
    put_numbers(event, &h, n);
    cm_proto_end(event, numbers);
    cm_proto_end(event, value);
    cm_proto_end(event, summary);
    end_event(board);
}
