#include "run/quantised.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/int8.h"
#include "core/arena.h"
#include "run/array_table.h"
#include "run/layer_ranges.h"
#include "run/weights.h"

/* The arrays of the file, and memory for those that no block has. */
typedef struct file_arrays {
    cm_array_table table;
    int8_t *numbers; /* of all layers in 8 bits, one after the other; owned */
    float *steps;    /* of their rows; owned */
    bool is_inference_only;
} file_arrays;

bool cm_quantised_is(const cm_checkpoint_reader *reader) {
    for (int i = 0; i < cm_checkpoint_files(reader); i++)
        if (strcmp(cm_checkpoint_file(reader, i), CM_FILE_QUANTISED) == 0) return true;
    return false;
}

/* ---- the table ---- */

static void free_arrays(file_arrays *f) {
    cm_array_table_free(&f->table);
    free(f->numbers);
    free(f->steps);
}

static cm_array array_of(const cm_param *param, const char *name) {
    cm_array array = {.name = name, .ndim = param->ndim};
    for (int d = 0; d < param->ndim; d++) array.dim[d] = param->dim[d];
    return array;
}

/* A layer's numbers, at `number`, and their steps. */
static cm_status add_layer(file_arrays *f, const cm_param *param, size_t number, size_t step) {
    char name[CM_ARRAY_NAME];
    cm_array numbers = array_of(param, param->name);
    numbers.is_int8 = true;
    numbers.numbers = f->numbers ? f->numbers + number : NULL;
    snprintf(name, sizeof name, "%s.step", param->name);
    const cm_array steps = {.name = name, .ndim = 1, .dim = {param->dim[0]}, .data = f->steps ? f->steps + step : NULL};
    CM_TRY(cm_array_table_append(&f->table, &numbers));
    return cm_array_table_append(&f->table, &steps);
}

static cm_status add_all(file_arrays *f, const cm_network *network, const float *ranges, float *const blocks[2]) {
    const cm_param_table *params = cm_network_parameters(network);
    size_t number = 0, step = 0;
    for (int i = 0; i < params->count; i++) {
        const cm_param *param = &params->param[i];
        if (f->is_inference_only && cm_network_is_for_training(network, i)) continue;
        if (ranges[i] > 0.0f) {
            CM_TRY(add_layer(f, param, number, step));
            number += param->count, step += (size_t)param->dim[0];
            continue;
        }
        cm_array array = array_of(param, param->name);
        float *block = blocks[param->state];
        array.data = block ? block + param->offset : NULL;
        CM_TRY(cm_array_table_append(&f->table, &array));
    }
    return CM_OK;
}

/* blocks: parameters and state; NULL where arrays have no data. */
static cm_status make_arrays(const cm_network *network, const float *ranges, bool is_inference_only,
                             float *const blocks[2], file_arrays *out) {
    const cm_param_table *params = cm_network_parameters(network);
    size_t numbers = 0, steps = 0;
    *out = (file_arrays){.is_inference_only = is_inference_only};
    for (int i = 0; i < params->count; i++) {
        if (ranges[i] <= 0.0f) continue;
        numbers += params->param[i].count, steps += (size_t)params->param[i].dim[0];
    }
    if (blocks[0]) CM_TRY(cm_alloc(&out->numbers, numbers + 1, 1, "weights of 8 bits"));
    if (blocks[0]) CM_TRY(cm_alloc(&out->steps, steps + 1, sizeof *out->steps, "weights of 8 bits"));
    return add_all(out, network, ranges, blocks);
}

/* ---- floats and numbers ---- */

typedef void (*convert_row)(float *weight, size_t n, int8_t *numbers, float *step);

static void to_numbers(float *weight, size_t n, int8_t *numbers, float *step) {
    const float range = cm_int8_range(weight, n), inverse = cm_int8_inverse(range);
    *step = cm_int8_step(range);
    for (size_t i = 0; i < n; i++) numbers[i] = (int8_t)cm_int8_of(weight[i], inverse);
}

static void to_floats(float *weight, size_t n, int8_t *numbers, float *step) {
    for (size_t i = 0; i < n; i++) weight[i] = (float)numbers[i] * *step;
}

static void convert_all(const cm_network *network, const float *ranges, float *parameters, const file_arrays *f,
                        convert_row convert) {
    const cm_param_table *params = cm_network_parameters(network);
    int8_t *numbers = f->numbers;
    float *step = f->steps;
    for (int i = 0; i < params->count; i++) {
        const cm_param *param = &params->param[i];
        const size_t row = param->count / (size_t)param->dim[0];
        for (int r = 0; ranges[i] > 0.0f && r < param->dim[0]; r++, numbers += row, step++)
            convert(parameters + param->offset + (size_t)r * row, row, numbers, step);
    }
}

/* ---- writing ---- */

uint64_t cm_quantised_bytes(const cm_network *network, const float *ranges) {
    float *const none[2] = {NULL, NULL};
    file_arrays f;
    uint64_t bytes = 0;
    if (make_arrays(network, ranges, true, none, &f) == CM_OK)
        bytes = cm_safetensors_bytes(f.table.arrays, f.table.count);
    free_arrays(&f);
    return bytes;
}

uint64_t cm_quantised_bytes_left_out(const cm_network *network) {
    const cm_param_table *params = cm_network_parameters(network);
    uint64_t numbers = 0;
    for (int i = 0; i < params->count; i++)
        if (cm_network_is_for_training(network, i)) numbers += params->param[i].count;
    return numbers * sizeof(float);
}

static cm_status put_weights(const cm_quantised_source *s, cm_checkpoint_writer *writer) {
    float *const blocks[2] = {(float *)(uintptr_t)s->parameters, (float *)(uintptr_t)s->state};
    file_arrays f;
    cm_status status = make_arrays(s->network, s->ranges, true, blocks, &f);
    if (status == CM_OK) {
        convert_all(s->network, s->ranges, blocks[0], &f, to_numbers);
        status = cm_checkpoint_put_arrays(writer, CM_FILE_QUANTISED, f.table.arrays, f.table.count);
    }
    free_arrays(&f);
    return status;
}

static cm_status put_state(const cm_quantised_source *s, cm_checkpoint_writer *writer) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_object(json, NULL);
    for (const cm_json *member = cm_json_first(s->of); member; member = cm_json_next(member))
        cm_json_put(json, cm_json_key(member), member);
    cm_layer_ranges_put(s->network, s->ranges, CM_STATE_QUANTISED, json);
    cm_json_put_bool(json, CM_STATE_TRAINED_RANGES, cm_network_get_config(s->network)->fake_quantised);
    cm_json_put_bool(json, CM_STATE_INFERENCE_ONLY, true);
    cm_json_end_object(json);
    cm_status status = cm_checkpoint_put_json(writer, CM_FILE_STATE, json);
    cm_json_writer_destroy(json);
    return status;
}

cm_status cm_quantised_put(const cm_quantised_source *source, cm_checkpoint_writer *writer) {
    CM_TRY(put_state(source, writer));
    return put_weights(source, writer);
}

/* ---- reading ---- */

static cm_status read_ranges(cm_checkpoint_reader *reader, const cm_network *network, float *ranges,
                             bool *is_inference_only) {
    cm_json_doc *doc = NULL;
    const cm_json *layers = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc));
    cm_status status = cm_json_need(cm_json_root(doc), CM_STATE_QUANTISED, CM_JSON_OBJECT, &layers);
    if (status == CM_OK) status = cm_layer_ranges_read(network, layers, ranges);
    *is_inference_only = cm_json_is_true(cm_json_get(cm_json_root(doc), CM_STATE_INFERENCE_ONLY));
    cm_json_free(doc);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s", CM_FILE_STATE);
}

static cm_status check_steps(const file_arrays *f) {
    for (int i = 0; i < f->table.count; i++) {
        const cm_array *steps = &f->table.arrays[i];
        if (i == 0 || !steps[-1].is_int8) continue;
        for (size_t k = 0; k < cm_array_count(steps); k++)
            if (!(steps->data[k] >= 0.0f && steps->data[k] <= FLT_MAX / 128.0f))
                return cm_fail(CM_ERR_INPUT, "%s: tensor \"%s\" holds %g, which is no step", CM_FILE_QUANTISED,
                               steps->name, (double)steps->data[k]);
    }
    return CM_OK;
}

static cm_status load_arrays(cm_checkpoint_reader *reader, const cm_network *network, const float *ranges,
                             bool is_inference_only, float *const blocks[2]) {
    file_arrays f;
    cm_status status = make_arrays(network, ranges, is_inference_only, blocks, &f);
    if (status == CM_OK) status = cm_array_table_load(&f.table, reader, CM_FILE_QUANTISED);
    if (status == CM_OK && blocks[0]) status = check_steps(&f);
    if (status == CM_OK && blocks[0]) convert_all(network, ranges, blocks[0], &f, to_floats);
    free_arrays(&f);
    return status;
}

cm_status cm_quantised_load(cm_checkpoint_reader *reader, const cm_network *network, float *parameters, float *state,
                            float *ranges) {
    const cm_param_table *params = cm_network_parameters(network);
    float *const blocks[2] = {parameters, state};
    float *read = NULL;
    bool is_inference_only;
    CM_TRY(cm_alloc(&read, (size_t)params->count + 1, sizeof *read, "ranges of layers"));
    cm_status status = read_ranges(reader, network, read, &is_inference_only);
    if (status == CM_OK) status = load_arrays(reader, network, read, is_inference_only, blocks);
    if (status == CM_OK && ranges) memcpy(ranges, read, (size_t)params->count * sizeof *read);
    free(read);
    return status;
}
