/* Writes a run's network for other programs: ONNX, PyTorch, model hubs. */
#include "export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reader.h"
#include "core/arena.h"
#include "core/printable.h"
#include "env/trust.h"

enum { EXAMPLES_MOST = 4096 };

/* ---- what is asked for ---- */

static cm_status read_request(const cm_arguments *arguments, cm_export_request *out) {
    int64_t examples = 0;
    CM_TRY(cm_argument_int(arguments, "--examples", 1, EXAMPLES_MOST, &examples));
    *out = (cm_export_request){.onnx = cm_argument(arguments, "--onnx"),
                               .torch = cm_argument(arguments, "--torch"),
                               .hub = cm_argument(arguments, "--hub"),
                               .policy = cm_argument_is_set(arguments, "--policy"),
                               .overwrite = cm_argument_is_set(arguments, "--overwrite"),
                               .examples = (int)examples,
                               .check = cm_argument_is_set(arguments, "--check")};
    if (!out->onnx && !out->torch && !out->hub)
        return cm_fail(CM_ERR_INPUT, "export: say what to write, with --onnx DIR, --torch DIR or --hub DIR");
    if (!out->onnx && (out->policy || out->check))
        return cm_fail(CM_ERR_INPUT, "%s: goes together with --onnx", out->policy ? "--policy" : "--check");
    return CM_OK;
}

static cm_status read_options(const cm_arguments *arguments, const cm_env_spec *spec, cm_function_options *out) {
    *out = (cm_function_options){.decodes = cm_argument_is_set(arguments, "--decode")};
    if (!cm_argument_is_set(arguments, "--scale")) return CM_OK;
    if (!(spec->observation_unit > 0.0f))
        return cm_fail(CM_ERR_INPUT, "--scale: observations of %s are no bytes: leave it out", spec->name);
    out->unit = spec->observation_unit;
    return CM_OK;
}

/* The folder's own name, also of ".". */
static const char *name_of(const char *run, char out[PATH_MAX]) {
    const char *slash = realpath(run, out) ? strrchr(out, '/') : NULL;
    return slash ? slash + 1 : "";
}

/* ---- writing ---- */

static void say_written(const cm_export_request *request) {
    const char *const paths[3] = {request->hub, request->torch, request->onnx};
    for (int i = 0; i < 3; i++)
        if (paths[i]) printf("written to %s\n", CM_PRINTABLE(paths[i]));
    fflush(stdout);
}

static cm_status write_model(const cm_export_network *network, const cm_export_origin *origin,
                             const cm_export_request *request) {
    cm_export_model model;
    cm_status status = cm_export_model_open(&model, network, origin);
    if (status == CM_OK) status = cm_export_write(&model, request);
    if (status == CM_OK) say_written(request);
    if (status == CM_OK && request->check) status = cm_export_check_files(&model, request);
    cm_export_model_close(&model);
    return status;
}

/* A checkpoint that is to be read. */
typedef struct source {
    const char *run;
    int64_t checkpoint;
    const cm_session *session;
} source;

static cm_status write_weights(const cm_arguments *arguments, const source *from, float *parameters, float *state) {
    char name[PATH_MAX];
    cm_export_request request;
    cm_run_facts facts;
    const bool prefer_average = from->session->configuration.trainer.ema_evaluates;
    cm_export_network network = {
        from->session->network, {cm_network_parameters(from->session->network), parameters, state}, {.decodes = false}};
    CM_TRY(read_request(arguments, &request));
    CM_TRY(read_options(arguments, &from->session->env.spec, &network.options));
    CM_TRY(cm_run_read_weights(from->run, from->checkpoint, from->session, prefer_average, parameters, state, &facts));
    const cm_export_origin origin = {CM_VERSION, name_of(from->run, name), from->session, &facts,
                                     facts.averaged && prefer_average};
    return write_model(&network, &origin, &request);
}

static cm_status write_run(const cm_arguments *arguments, const source *from) {
    const cm_param_table *table = cm_network_parameters(from->session->network);
    cm_arena arena;
    CM_TRY(cm_run_read_ranges(from->run, from->checkpoint, from->session));
    CM_TRY(cm_arena_create(&arena, (table->parameters + table->states + 1) * sizeof(float) + 2 * CM_ALIGN,
                           "a run's weights"));
    float *parameters = cm_arena_alloc(&arena, (table->parameters + 1) * sizeof(float));
    float *state = cm_arena_alloc(&arena, table->states * sizeof(float));
    cm_status status = write_weights(arguments, from, parameters, state);
    cm_arena_destroy(&arena);
    return status;
}

static cm_status run_export(cm_arguments *arguments) {
    source from = {.checkpoint = CM_CHECKPOINT_PREFERRED};
    cm_export_request request;
    cm_reader reader;
    cm_env_trust(CM_ENV_TRUST_NAMED);
    CM_TRY(read_request(arguments, &request));
    CM_TRY(cm_cli_need_run(arguments, &from.run));
    CM_TRY(cm_cli_checkpoint(arguments, &from.checkpoint));
    cm_status status = cm_reader_open(arguments, from.run, from.checkpoint, &reader);
    from.session = reader.session;
    if (status == CM_OK) status = write_run(arguments, &from);
    cm_reader_close(&reader);
    return status;
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    CM_FLAG_CHECKPOINT,
    {"--onnx", "DIR", "Write the network's functions as ONNX files, FUNCTION.onnx each."},
    {"--policy", NULL, "With --onnx: also policy.onnx, from an observation to action probabilities and value."},
    {"--check", NULL,
     "With --onnx: have ONNX Runtime, in python3, compute random inputs in batches of 1, 7 and 64, and print the "
     "largest difference from the reference implementation."},
    {"--torch", "DIR", "Write a Python module, network.py, and weights that load the network in PyTorch."},
    {"--hub", "DIR", "Write a folder for a model hub: model card, configuration, weights, and that module."},
    {"--decode", NULL, "Values and rewards leave the functions as numbers, not as logits of their supports."},
    {"--scale", NULL, "Observations enter as bytes, which the functions scale as the environment does."},
    {"--examples", "N",
     "Also write examples.safetensors: N random inputs of each function, and what the reference implementation makes "
     "of them."},
    {"--overwrite", NULL, "Folders may have files: those of the same names are replaced."},
    {"--set", "KEY=VALUE", "As in inspect: env_name=PATH opens an environment that is code."},
    CM_FLAGS_END,
};

const cm_command cm_command_export = {
    .name = "export",
    .about = "a run's network for other programs: ONNX, PyTorch, model hubs",
    .positional = "",
    .details =
        "Of --run, or the newest run, the weights that it plays with. A folder is new or empty, unless --overwrite "
        "is given, and appears when all its files are complete. docs/EXPORT.md says what the functions take and "
        "return.",
    .flags = flags,
    .examples = "  cumind export --run cartpole --onnx cartpole.onnx --policy --check\n"
                "  cumind export --run cartpole --hub cartpole.hub\n",
    .run = run_export,
};
