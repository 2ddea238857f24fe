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

cm_status cm_counterpart_open(const cm_network *of, bool with_blocks, cm_counterpart *out) {
    cm_network_config config = *cm_network_get_config(of);
    config.fake_quantised = !config.fake_quantised;
    *out = (cm_counterpart){.of = of};
    CM_TRY(cm_network_create(&config, &out->network));
    const cm_param_table *table = cm_network_parameters(out->network);
    CM_TRY(cm_alloc(&out->ranges, (size_t)table->count + 1, sizeof *out->ranges, "ranges of layers"));
    if (!with_blocks) return CM_OK;
    CM_TRY(cm_alloc(&out->parameters, table->parameters + 1, sizeof *out->parameters, "a run's weights"));
    return cm_alloc(&out->state, table->states + 1, sizeof *out->state, "a run's weights");
}

void cm_counterpart_close(cm_counterpart *counterpart) {
    cm_network_destroy(counterpart->network);
    free(counterpart->parameters);
    free(counterpart->state);
    free(counterpart->ranges);
    *counterpart = (cm_counterpart){.of = NULL};
}

static void copy_array(const cm_counterpart *from, const cm_param *found, const cm_param *param, float *block) {
    const float *other = param->state ? from->state : from->parameters;
    if (!block) return;
    if (found) {
        memcpy(block + param->offset, other + found->offset, param->count * sizeof *block);
    } else {
        memset(block + param->offset, 0, param->count * sizeof *block);
    }
}

void cm_counterpart_copy(const cm_counterpart *from, float *parameters, float *state, float *ranges) {
    const cm_param_table *table = cm_network_parameters(from->of), *other = cm_network_parameters(from->network);
    for (int i = 0; i < table->count; i++) {
        const cm_param *param = &table->param[i], *found = cm_param_table_find(other, param->name);
        copy_array(from, found, param, param->state ? state : parameters);
        if (ranges) ranges[i] = found ? from->ranges[found - other->param] : 0.0f;
    }
}
