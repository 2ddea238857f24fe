#include "cases/backend.h"

#include <stdlib.h>
#include <string.h>

#include "cases/backend_run.h"

typedef struct kind_row {
    const char *name;
    cm_case_runner run;
    bool uses_backend;
} kind_row;

static const kind_row kinds[] = {
    {"dense", cm_case_dense, true},
    {"conv2d", cm_case_conv2d, true},
    {"activation", cm_case_activation, true},
    {"layer_norm", cm_case_layer_norm, true},
    {"batch_norm", cm_case_batch_norm, true},
    {"avg_pool", cm_case_avg_pool, true},
    {"global_mean", cm_case_global_mean, true},
    {"minmax", cm_case_minmax, true},
    {"action_encoding", cm_case_action_encoding, true},
    {"embedding_add", cm_case_embedding_add, true},
    {"simnorm", cm_case_simnorm, true},
    {"softmax", cm_case_softmax, true},
    {"log_softmax", cm_case_log_softmax, true},
    {"lstm", cm_case_lstm, true},
    {"value_transform", cm_case_value_transform, true},
    {"two_hot", cm_case_two_hot, true},
    {"categorical_loss", cm_case_categorical_loss, true},
    {"policy_loss", cm_case_policy_loss, true},
    {"scalar_loss", cm_case_scalar_loss, true},
    {"consistency_loss", cm_case_consistency_loss, true},
    {"optimizer", cm_case_optimizer, true},
    {"schedule", cm_case_schedule, false},
};

static const kind_row *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

bool cm_backend_case_known(const char *kind) { return find_kind(kind) != NULL; }

bool cm_backend_case_uses_backend(const char *kind) {
    const kind_row *row = find_kind(kind);
    return row && row->uses_backend;
}

static cm_status run_kind(const cm_json *root, const kind_row *kind, cm_case_run *run) {
    CM_TRY(cm_json_need(root, "options", CM_JSON_OBJECT, &run->options));
    CM_TRY(cm_json_need(root, "inputs", CM_JSON_OBJECT, &run->inputs));
    CM_TRY(cm_case_begin(run->report, root, cm_dtype_name(run->compute)));
    CM_TRY(kind->run(run));
    return cm_case_end(run->report);
}

cm_status cm_backend_case_run(const cm_json *root, cm_stream *stream, cm_dtype dtype, cm_case_report *report) {
    const char *name;
    CM_TRY(cm_json_need_string(root, "kind", &name));
    const kind_row *kind = find_kind(name);
    if (!kind) return cm_fail(CM_ERR_INPUT, "kind: \"%s\" is unknown", name);
    cm_case_run run = {.stream = stream, .compute = dtype, .report = report};
    cm_status status = run_kind(root, kind, &run);
    for (int i = 0; i < run.buffers; i++) free(run.buffer[i]);
    return status;
}
