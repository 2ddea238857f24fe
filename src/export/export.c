#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/protobuf.h"
#include "export/check.h"
#include "export/folder.h"
#include "export/onnx_file.h"
#include "export/torch.h"

/* ---- files ---- */

static cm_status write_weights(const cm_export_model *m, cm_export_folder *folder) {
    char path[PATH_MAX];
    CM_TRY(cm_export_folder_place(folder, "model.safetensors", path));
    return cm_safetensors_save(path, m->arrays, m->count);
}

static cm_status write_examples(const cm_export_model *m, int rows, cm_export_folder *folder) {
    char path[PATH_MAX];
    cm_export_examples examples = {.count = 0};
    if (rows == 0) return CM_OK;
    CM_TRY(cm_export_folder_place(folder, "examples.safetensors", path));
    cm_status status = cm_export_examples_make(&examples, &m->network, rows);
    if (status == CM_OK) status = cm_safetensors_save(path, examples.array, examples.count);
    cm_export_examples_free(&examples);
    return status;
}

/* A text that is freed. */
static cm_status write_text(cm_export_folder *folder, const char *name, char *text, cm_status status) {
    if (status == CM_OK) status = cm_export_folder_write(folder, name, text, strlen(text));
    free(text);
    return status;
}

static cm_status write_module(const cm_export_model *m, cm_export_folder *folder) {
    char *text = NULL;
    cm_status status = cm_torch_write(m->graph, m->graphs, &text);
    return write_text(folder, "network.py", text, status);
}

static cm_status write_card(const cm_export_model *m, cm_export_folder *folder) {
    char *text = NULL;
    cm_status status = cm_export_card(m, &text);
    return write_text(folder, "README.md", text, status);
}

static cm_status write_config(const cm_export_model *m, cm_export_folder *folder) {
    char path[PATH_MAX];
    cm_json_writer *json = NULL;
    CM_TRY(cm_export_folder_place(folder, "config.json", path));
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_put(json, NULL, cm_json_root(m->facts));
    cm_status status = cm_json_writer_save(json, path);
    cm_json_writer_destroy(json);
    return status;
}

/* Of the functions in the order of their kinds; the policy is last. */
static const char *const onnx_files[][2] = {{"initial_inference", "initial_inference.onnx"},
                                            {"afterstate_inference", "afterstate_inference.onnx"},
                                            {"recurrent_inference", "recurrent_inference.onnx"},
                                            {"policy", "policy.onnx"}};

static const char *onnx_file(const cm_onnx_graph *graph) {
    int i = 0;
    while (strcmp(onnx_files[i][0], graph->name) != 0) i++;
    return onnx_files[i][1];
}

static bool is_wanted(const cm_onnx_graph *graph, const cm_export_request *request) {
    return request->policy || strcmp(graph->name, "policy") != 0;
}

static cm_status write_graphs(const cm_export_model *m, const cm_export_request *request, cm_export_folder *folder) {
    const cm_onnx_about about = {m->origin.version, cm_json_root(m->facts)};
    cm_proto file = {.bytes = NULL};
    cm_status status = CM_OK;
    for (int g = 0; g < m->graphs && status == CM_OK; g++) {
        if (!is_wanted(m->graph[g], request)) continue;
        status = cm_onnx_write(m->graph[g], &about, &file);
        if (status == CM_OK) status = cm_export_folder_write(folder, onnx_file(m->graph[g]), file.bytes, file.size);
    }
    cm_proto_free(&file);
    return status;
}

/* ---- folders ---- */

static cm_status fill_onnx(const cm_export_model *m, const cm_export_request *request, cm_export_folder *folder) {
    return write_graphs(m, request, folder);
}

static cm_status fill_torch(const cm_export_model *m, const cm_export_request *request, cm_export_folder *folder) {
    (void)request;
    CM_TRY(write_weights(m, folder));
    CM_TRY(write_config(m, folder));
    return write_module(m, folder);
}

static cm_status fill_hub(const cm_export_model *m, const cm_export_request *request, cm_export_folder *folder) {
    CM_TRY(fill_torch(m, request, folder));
    return write_card(m, folder);
}

typedef cm_status (*filler)(const cm_export_model *m, const cm_export_request *request, cm_export_folder *folder);

static cm_status write_folder(const cm_export_model *m, const cm_export_request *request, const char *path,
                              filler fill) {
    cm_export_folder folder = {.files = 0};
    if (!path) return CM_OK;
    cm_status status = cm_export_folder_begin(&folder, path, request->overwrite);
    if (status == CM_OK) status = fill(m, request, &folder);
    if (status == CM_OK) status = write_examples(m, request->examples, &folder);
    if (status == CM_OK) return cm_export_folder_commit(&folder);
    cm_export_folder_abandon(&folder);
    return status;
}

/* ---- the check ---- */

cm_status cm_export_check_files(const cm_export_model *m, const cm_export_request *request) {
    char path[CM_FUNCTION_COUNT][PATH_MAX];
    const char *files[CM_FUNCTION_COUNT];
    const cm_check_limits limits = cm_network_has_ranges(m->network.network) ? CM_CHECK_INT8 : CM_CHECK_FLOAT;
    cm_export_examples examples = {.count = 0};
    int count = 0;
    for (int g = 0; g < m->graphs; g++) {
        if (!is_wanted(m->graph[g], request)) continue;
        CM_TRY(cm_path_join(path[count], PATH_MAX, request->onnx, onnx_file(m->graph[g])));
        files[count] = path[count];
        count++;
    }
    cm_status status = cm_export_examples_make(&examples, &m->network, CM_CHECK_ROWS);
    if (status == CM_OK) status = cm_export_check(&examples, limits, files, count);
    cm_export_examples_free(&examples);
    return status;
}

/* PyTorch has float32 alone. */
static cm_status check_kind(const cm_export_model *m, const cm_export_request *request) {
    if (!cm_network_has_ranges(m->network.network) || (!request->torch && !request->hub)) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s: the weights of this run are of 8 bits, which --onnx alone has: export the run "
                   "that it was made of",
                   request->torch ? "--torch" : "--hub");
}

cm_status cm_export_write(const cm_export_model *model, const cm_export_request *request) {
    const char *const paths[3] = {request->hub, request->torch, request->onnx};
    CM_TRY(check_kind(model, request));
    for (int i = 0; i < 3; i++)
        if (paths[i]) CM_TRY(cm_export_folder_check(paths[i], request->overwrite));
    CM_TRY(write_folder(model, request, request->hub, fill_hub));
    CM_TRY(write_folder(model, request, request->torch, fill_torch));
    return write_folder(model, request, request->onnx, fill_onnx);
}
