#include "run/outline_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "run/outline_boards.h"

/* What the text is made of. */
typedef struct work {
    const cm_outline_search *asked;
    cm_planner *planner; /* owned, like the next ones */
    cm_outline outline;
    cm_outline_boards *boards;
    int32_t *action; /* [nodes] that leads to a node, or outcome; -1: not known */
    int32_t *name;   /* [nodes] number of its name */
    char (*names)[24];
    int name_count;
    float value;    /* of the root */
    int32_t chosen; /* action */
} work;

/* ---- the search ---- */

static cm_status search(work *w, cm_outline_text *out) {
    const cm_outline_search *a = w->asked;
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    CM_TRY(cm_env_check_listed(a->env, "a search tree"));
    if (cm_env_ended(a->state)) return cm_fail(CM_ERR_INPUT, "a search tree: the game is over in that position");
    CM_TRY(cm_agent_planner(a->agent, 1, false, &w->planner));
    cm_planner_heed(w->planner, a->stop);
    cm_planner_place(w->planner, 0, a->env, a->state);
    cm_env_legal(a->env, a->state, legal);
    const cm_roots roots = {.count = 1, .legal = a->env->def->legal ? legal : NULL};
    const cm_search_result result = {.value = &w->value, .action = &w->chosen};
    const cm_status status = cm_planner_run(w->planner, &roots, &result);
    out->simulations = cm_planner_simulations(w->planner);
    out->is_cut = status == CM_ERR_INTERRUPTED;
    return out->is_cut && out->simulations > 0 ? CM_OK : status;
}

/* ---- names of moves ---- */

/* The number of a name; new ones are appended. Few nodes have new names, and these stand at the end. */
static int32_t number_of_name(work *w, const char *name) {
    for (int32_t i = w->name_count - 1; i >= 0; i--)
        if (strcmp(w->names[i], name) == 0) return i;
    snprintf(w->names[w->name_count], sizeof *w->names, "%s", name);
    return w->name_count++;
}

/* Whether the columns of chance nodes are the environment's outcomes, and no codes that the network has learnt. */
static bool knows_outcomes(const work *w) {
    const cm_network_config *network = cm_network_get_config(cm_agent_get_config(w->asked->agent)->network);
    return network->model == CM_NETWORK_CHANCE && !network->encoder;
}

/* What the search's column of an edge stands for. Where it chooses among draws, those of the root alone are known. */
static int32_t action_of(const work *w, int i, int column) {
    const int parent = w->outline.parent[i];
    if (cm_outline_node(&w->outline, parent).is_chance) return knows_outcomes(w) ? column : -1;
    if (cm_agent_get_config(w->asked->agent)->draws == 0) return column;
    return parent == 0 ? cm_planner_root_action(w->planner, 0, column) : -1;
}

static void name_node(work *w, int i) {
    const int column = cm_outline_node(&w->outline, i).action_from_parent;
    char name[24];
    const bool is_chance = cm_outline_node(&w->outline, w->outline.parent[i]).is_chance;
    w->action[i] = action_of(w, i, column);
    if (w->action[i] >= 0 && !is_chance) {
        cm_env_action_name(w->asked->env, w->action[i], name, sizeof name);
    } else {
        snprintf(name, sizeof name, "%s %d", is_chance ? "outcome" : "draw", column);
    }
    w->name[i] = number_of_name(w, name);
}

static cm_status name_nodes(work *w) {
    const size_t n = (size_t)w->outline.count;
    CM_TRY(cm_alloc(&w->action, 2 * n, sizeof *w->action, "an outline"));
    CM_TRY(cm_alloc(&w->names, n, sizeof *w->names, "an outline"));
    w->name = w->action + n;
    for (int i = 1; i < w->outline.count; i++) name_node(w, i);
    return CM_OK;
}

/* ---- JSON ---- */

/* Four digits are more than is shown of a number. */
static double depth_of(const work *w, int i) { return w->outline.depth[i]; }
static double name_of(const work *w, int i) { return i ? w->name[i] : 0; }
static double visits_of(const work *w, int i) { return cm_outline_node(&w->outline, i).visits; }
static double q_of(const work *w, int i) { return i ? (double)cm_outline_edge(&w->outline, i).q : 0.0; }
static double prior_of(const work *w, int i) { return i ? (double)cm_outline_edge(&w->outline, i).prior : 0.0; }
static double value_of(const work *w, int i) { return (double)cm_outline_node(&w->outline, i).raw_value; }
static double reward_of(const work *w, int i) { return i ? (double)cm_outline_edge(&w->outline, i).reward : 0.0; }

static const struct {
    const char *key;
    int digits;
    double (*of)(const work *w, int i);
} columns[] = {{"depth", 9, depth_of}, {"name", 9, name_of},   {"visits", 9, visits_of}, {"q", 4, q_of},
               {"prior", 3, prior_of}, {"value", 4, value_of}, {"reward", 4, reward_of}};

static void put_columns(const work *w, FILE *out) {
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        fprintf(out, ",\"%s\":[", columns[c].key);
        for (int i = 0; i < w->outline.count; i++)
            fprintf(out, "%s%.*g", i ? "," : "", columns[c].digits, columns[c].of(w, i));
        fputc(']', out);
    }
}

static void put_lists(const work *w, FILE *out) {
    const char *between = "";
    fputs(",\"hidden\":[", out);
    for (int i = 0; i < w->outline.count; i++) {
        if (w->outline.hidden[i] == 0) continue;
        fprintf(out, "%s%d,%d", between, i, w->outline.hidden[i]);
        between = ",";
    }
    between = "";
    fputs("],\"chance\":[", out);
    for (int i = 0; i < w->outline.count; i++) {
        if (!cm_outline_node(&w->outline, i).is_chance) continue;
        fprintf(out, "%s%d", between, i);
        between = ",";
    }
    fputs("],\"names\":[", out);
    for (int i = 0; i < w->name_count; i++) {
        if (i) fputc(',', out);
        cm_outline_put_string(out, w->names[i]);
    }
    fputs("],\"mover\":\"", out);
    for (int i = 0; i < w->outline.count; i++) fputc('0' + cm_outline_boards_mover(w->boards, i), out);
    fputc('"', out);
}

static int chosen_node(const work *w) {
    for (int i = 1; i < w->outline.count; i++)
        if (w->outline.depth[i] == 1 && w->action[i] == w->chosen) return i;
    return -1;
}

static void put_head(const work *w, const cm_outline_text *text, FILE *out) {
    const cm_env_spec *spec = &w->asked->env->spec;
    fputs("{\"task\":", out);
    cm_outline_put_string(out, spec->name);
    fputs(",\"moves\":", out);
    cm_outline_put_string(out, w->asked->moves ? w->asked->moves : "");
    fprintf(out, ",\"players\":%d,\"simulations\":%lld,\"left_out\":%d,\"is_exact\":%s,\"mean\":%.4g,\"chosen\":%d",
            spec->players, (long long)text->simulations, w->outline.left_out,
            cm_agent_get_config(w->asked->agent)->rules ? "true" : "false", (double)w->value, chosen_node(w));
}

static void put_boards(const work *w, FILE *out, cm_outline_text *text) {
    const size_t most = w->asked->most_bytes, frame = 64 + (size_t)w->outline.count;
    const size_t used = (size_t)ftell(out) + frame;
    cm_outline_boards_fit(w->boards, most == 0 ? SIZE_MAX : most > used ? most - used : 0);
    fputs(",\"kind\":\"", out);
    for (int i = 0; i < w->outline.count; i++) {
        const cm_outline_kind kind = cm_outline_boards_kind(w->boards, i);
        text->drawings += cm_outline_is_drawn(kind);
        fputc((int)kind, out);
    }
    fputs("\",\"boards\":", out);
    cm_outline_boards_put(w->boards, out);
    fputc('}', out);
}

static cm_status write(const work *w, cm_outline_text *text) {
    FILE *out = open_memstream(&text->json, &text->size);
    if (!out) return cm_fail(CM_ERR_MEMORY, "no memory for the text of a tree");
    put_head(w, text, out);
    put_columns(w, out);
    put_lists(w, out);
    put_boards(w, out, text);
    return fclose(out) == 0 ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for the text of a tree");
}

static cm_status create(work *w, cm_outline_text *out) {
    const int slots = cm_agent_get_config(w->asked->agent)->evaluation.num_simulations + 1;
    const cm_search *trees;
    CM_TRY(search(w, out));
    CM_TRY(cm_planner_trees(w->planner, &trees));
    CM_TRY(cm_outline_create(trees, 0, slots, w->asked->most_nodes, &w->outline));
    out->nodes = w->outline.count;
    out->left_out = w->outline.left_out;
    CM_TRY(name_nodes(w));
    CM_TRY(cm_outline_boards_create(w->asked->env, w->asked->state, &w->outline, w->action, &w->boards));
    return write(w, out);
}

cm_status cm_outline_text_create(const cm_outline_search *asked, cm_outline_text *out) {
    work w = {.asked = asked};
    *out = (cm_outline_text){0};
    const cm_status status = create(&w, out);
    cm_outline_boards_destroy(w.boards);
    free(w.names);
    free(w.action);
    cm_outline_destroy(&w.outline);
    cm_planner_destroy(w.planner);
    if (status != CM_OK) cm_outline_text_destroy(out);
    return status;
}

void cm_outline_text_destroy(cm_outline_text *text) {
    free(text->json);
    *text = (cm_outline_text){0};
}
