/* The model card: README.md with metadata as model hubs read it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/model.h"

/* A text between quotes, as JSON and so YAML has it. */
static void put_quoted(FILE *out, const char *text) {
    cm_json_writer *json = NULL;
    if (cm_json_writer_create(0, &json) != CM_OK) return;
    cm_json_put_string(json, NULL, text);
    const char *quoted = cm_json_writer_text(json, &(size_t){0});
    if (quoted) fputs(quoted, out);
    cm_json_writer_destroy(json);
}

/* A text from outside within Markdown: in backquotes, of which it has none. */
static void put_code(FILE *out, const char *text) {
    fputc('`', out);
    for (const char *c = text; *c; c++) fputc(*c == '`' || *c == '\n' || *c == '\r' ? ' ' : *c, out);
    fputc('`', out);
}

static void put_result(FILE *out, const cm_export_origin *o) {
    fprintf(out, "model-index:\n- name: ");
    put_quoted(out, o->run);
    fprintf(out, "\n  results:\n  - task:\n      type: reinforcement-learning\n      name: reinforcement-learning\n"
                 "    dataset:\n      name: ");
    put_quoted(out, o->session->env.spec.name);
    fprintf(out, "\n      type: ");
    put_quoted(out, o->session->env.spec.name);
    fprintf(out,
            "\n    metrics:\n    - type: mean_reward\n      name: mean_reward\n      value: %.2f\n"
            "      verified: false\n",
            o->facts->best_return);
}

static void put_metadata(FILE *out, const cm_export_origin *o) {
    fprintf(out, "---\nlibrary_name: cumind\npipeline_tag: reinforcement-learning\ntags:\n- reinforcement-learning\n"
                 "- muzero\n- ");
    put_quoted(out, o->session->env.spec.name);
    fprintf(out, "\n");
    if (isfinite(o->facts->best_return)) put_result(out, o);
    fprintf(out, "---\n\n");
}

static void put_training(FILE *out, const cm_export_model *m) {
    const cm_export_origin *o = &m->origin;
    fprintf(out, "# ");
    put_code(out, o->session->env.spec.name);
    fprintf(out, ", run ");
    put_code(out, o->run);
    fprintf(out,
            "\n\nThe network of an agent that cumind %s has trained by tree search on %s.\n\n"
            "| | |\n|---|---|\n| updates | %lld |\n| environment steps | %lld |\n| episodes | %lld |\n",
            o->version,
            cm_network_get_config(m->network.network)->model == CM_NETWORK_PREDICTION ? "the rules" : "a learnt model",
            (long long)o->facts->updates, (long long)o->facts->env_steps, (long long)o->facts->episodes);
    if (isfinite(o->facts->best_return))
        fprintf(out, "| mean return, best evaluation | %.2f |\n", o->facts->best_return);
    fprintf(out, "| weights | %s |\n| parameter hash | `%s` |\n\n", o->is_average ? "moving average" : "as trained",
            m->hash);
}

static void put_ports(FILE *out, const cm_onnx_graph *graph, const cm_onnx_value *ports, int count) {
    for (int i = 0; i < count; i++) {
        const cm_onnx_info *info = &graph->value[ports[i]];
        fprintf(out, "%s`%s` [batch", i ? ", " : "", info->name);
        for (int d = 1; d < info->ndim; d++) fprintf(out, ", %lld", (long long)info->dim[d]);
        fprintf(out, "]");
    }
}

static void put_functions(FILE *out, const cm_export_model *m) {
    fprintf(out, "| function | takes | returns |\n|---|---|---|\n");
    for (int g = 0; g < m->graphs; g++) {
        const cm_onnx_graph *graph = m->graph[g];
        fprintf(out, "| `%s` | ", graph->name);
        put_ports(out, graph, graph->input, graph->inputs);
        fprintf(out, " | ");
        put_ports(out, graph, graph->output, graph->outputs);
        fprintf(out, " |\n");
    }
}

static void put_use(FILE *out) {
    fprintf(out, "\nAction names, supports of values and rewards, and the discount are in `config.json`.\n\n"
                 "```python\nimport torch\nfrom network import Network  # network.py of this folder\n\n"
                 "network = Network.load(\".\")\nwith torch.no_grad():\n"
                 "    policy, value = network.policy(observation)\n```\n");
}

cm_status cm_export_card(const cm_export_model *model, char **out) {
    size_t size = 0;
    *out = NULL;
    FILE *text = open_memstream(out, &size);
    if (text) {
        put_metadata(text, &model->origin);
        put_training(text, model);
        put_functions(text, model);
        put_use(text);
    }
    const bool is_whole = text && !ferror(text);
    if (text && fclose(text) == 0 && is_whole) return CM_OK;
    free(*out);
    *out = NULL;
    return cm_fail(CM_ERR_MEMORY, "no memory for a model card");
}
