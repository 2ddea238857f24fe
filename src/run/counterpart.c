#include "run/counterpart.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "run/quantised.h"
#include "run/run_internal.h"

bool cm_counterpart_has_ranges(const cm_json *state) {
    const cm_json *has_ranges = cm_json_get(state, CM_STATE_TRAINED_RANGES);
    if (has_ranges) return cm_json_is_true(has_ranges);
    const char *value = cm_json_string(cm_json_get(cm_json_get(state, CM_STATE_FIXED), "quantization"));
    return value && strcmp(value, "\"qat\"") == 0; /* a value as JSON has it */
}

/* Of all arrays that both tables have. */
static void copy_shared(const cm_param_table *from, const float *const blocks[2], const cm_param_table *to,
                        float *const out[2]) {
    for (int i = 0; i < to->count; i++) {
        const cm_param *param = &to->param[i], *found = cm_param_table_find(from, param->name);
        if (!found || !out[param->state]) continue;
        memcpy(out[param->state] + param->offset, blocks[param->state] + found->offset, param->count * sizeof(float));
    }
}

cm_status cm_counterpart_open(const cm_network *of, const float *parameters, const float *state, cm_counterpart *out) {
    cm_network_config config = *cm_network_get_config(of);
    config.fake_quantised = !config.fake_quantised;
    *out = (cm_counterpart){.of = of};
    CM_TRY(cm_network_create(&config, &out->network));
    const cm_param_table *table = cm_network_parameters(out->network);
    CM_TRY(cm_alloc(&out->ranges, (size_t)table->count + 1, sizeof *out->ranges, "ranges of layers"));
    if (!parameters) return CM_OK;
    CM_TRY(cm_alloc(&out->parameters, table->parameters + 1, sizeof *out->parameters, "a run's weights"));
    CM_TRY(cm_alloc(&out->state, table->states + 1, sizeof *out->state, "a run's weights"));
    const float *const own[2] = {parameters, state};
    float *const blocks[2] = {out->parameters, state ? out->state : NULL};
    copy_shared(cm_network_parameters(of), own, table, blocks);
    return CM_OK;
}

void cm_counterpart_close(cm_counterpart *counterpart) {
    cm_network_destroy(counterpart->network);
    free(counterpart->parameters);
    free(counterpart->state);
    free(counterpart->ranges);
    *counterpart = (cm_counterpart){.of = NULL};
}

void cm_counterpart_copy(const cm_counterpart *from, float *parameters, float *state, float *ranges) {
    const cm_param_table *table = cm_network_parameters(from->of), *other = cm_network_parameters(from->network);
    const float *const blocks[2] = {from->parameters, from->state};
    float *const out[2] = {parameters, state};
    for (int i = 0; i < table->count; i++) {
        const cm_param *param = &table->param[i], *found = cm_param_table_find(other, param->name);
        float *block = out[param->state];
        if (!found && block) memset(block + param->offset, 0, param->count * sizeof *block);
        if (ranges) ranges[i] = found ? from->ranges[found - other->param] : 0.0f;
    }
    copy_shared(other, blocks, table, out);
}
