#include "cli/search_answer.h"

#include <stdio.h>

#include "cli/gtp_position.h"
#include "cli/output.h"
#include "cli/view.h"

static cm_status begin(cm_json_writer **json) {
    CM_TRY(cm_json_writer_create(0, json));
    cm_json_begin_object(*json, NULL);
    return CM_OK;
}

/* Whoever asks may wait for the line. */
static cm_status end(cm_json_writer *json, cm_status status) {
    cm_json_end_object(json);
    CM_TRY(cm_cli_print(json, status));
    return fflush(stdout) == 0 ? CM_OK : cm_fail(CM_ERR_IO, "standard output: cannot write");
}

static cm_status answer_fault(const char *kind, const char *id, const char *field, const char *message) {
    cm_json_writer *json = NULL;
    CM_TRY(begin(&json));
    cm_json_put_string(json, kind, message);
    if (field) cm_json_put_string(json, "field", field);
    if (id) cm_json_put_string(json, "id", id);
    return end(json, CM_OK);
}

cm_status cm_search_answer_error(const char *id, const char *field, const char *message) {
    return answer_fault("error", id, field, message);
}

cm_status cm_search_answer_warning(const char *id, const char *field, const char *message) {
    return answer_fault("warning", id, field, message);
}

cm_status cm_search_answer_action(const cm_json *query, const char *version) {
    cm_json_writer *json = NULL;
    CM_TRY(begin(&json));
    for (const cm_json *member = cm_json_first(query); member; member = cm_json_next(member))
        cm_json_put(json, cm_json_key(member), member);
    if (version) cm_json_put_string(json, "version", version);
    if (version) cm_json_put_string(json, "git_hash", "<omitted>");
    return end(json, CM_OK);
}

cm_status cm_search_answer_nothing(void *unused, const cm_queued *one) {
    cm_json_writer *json = NULL;
    (void)unused;
    CM_TRY(begin(&json));
    cm_json_put_string(json, "id", one->query.id);
    cm_json_put_bool(json, "isDuringSearch", false);
    cm_json_put_bool(json, "noResults", true);
    cm_json_put_int(json, "turnNumber", one->turn);
    return end(json, CM_OK);
}

/* ---- what was found ---- */

typedef struct answer {
    cm_json_writer *json;
    cm_analyser *analyser;
    const cm_env *env;
    const cm_queued *one;
    cm_analysis found;
    int slot;
} answer;

/* A value of the player to move, -1..1, from the view that the query wants. */
static double utility_of(const answer *a, float value) {
    const int view = a->one->query.view;
    return view == CM_QUERY_MOVER || a->found.to_play == view ? (double)value : -(double)value;
}

static double winrate_of(double utility) { return 0.5 * (utility + 1.0); }

static void put_vertex(const answer *a, const char *key, int32_t action) {
    char name[CM_GTP_VERTEX];
    cm_gtp_vertex(a->env, action, name);
    cm_json_put_string(a->json, key, name);
}

static cm_status put_line(const answer *a, int32_t action) {
    static cm_variation_move line[CM_VARIATION_MOST];
    int count;
    CM_TRY(cm_analyser_line(a->analyser, a->slot, action, a->one->query.line, line, &count));
    cm_json_begin_array(a->json, "pv");
    for (int i = 0; i < count; i++) put_vertex(a, NULL, line[i].action);
    cm_json_end_array(a->json);
    if (!a->one->query.has_line_visits) return CM_OK;
    cm_json_begin_array(a->json, "pvVisits");
    for (int i = 0; i < count; i++) cm_json_put_int(a->json, NULL, line[i].visits);
    cm_json_end_array(a->json);
    return CM_OK;
}

static cm_status put_move(const answer *a, int32_t action, int order) {
    const double utility = utility_of(a, a->found.q[action]);
    cm_json_begin_object(a->json, NULL);
    put_vertex(a, "move", action);
    cm_json_put_int(a->json, "visits", a->found.visits[action]);
    cm_json_put_double(a->json, "winrate", winrate_of(utility));
    cm_json_put_double(a->json, "utility", utility);
    cm_json_put_double(a->json, "prior", (double)a->found.prior[action]);
    cm_json_put_double(a->json, "lcb", winrate_of(utility));
    cm_json_put_int(a->json, "order", order);
    const cm_status status = put_line(a, action);
    cm_json_end_object(a->json);
    return status;
}

static cm_status put_moves(const answer *a, int *visits) {
    static int32_t order[CM_ENV_MAX_SEARCHED];
    const int count = cm_view_order(a->env, &a->found, order);
    cm_status status = CM_OK;
    int shown = 0;
    *visits = 0;
    cm_json_begin_array(a->json, "moveInfos");
    for (int i = 0; i < count && status == CM_OK; i++) {
        *visits += a->found.visits[order[i]];
        if (a->found.visits[order[i]] > 0) status = put_move(a, order[i], shown++);
    }
    cm_json_end_array(a->json);
    return status;
}

static void put_root(const answer *a, int visits) {
    const double utility = utility_of(a, a->found.value);
    cm_json_begin_object(a->json, "rootInfo");
    cm_json_put_string(a->json, "currentPlayer", a->found.to_play == 0 ? "B" : "W");
    cm_json_put_int(a->json, "visits", visits);
    cm_json_put_double(a->json, "winrate", winrate_of(utility));
    cm_json_put_double(a->json, "utility", utility);
    cm_json_end_object(a->json);
}

/* Points in rows from above, then the pass: the actions of Go. */
static void put_policy(const answer *a) {
    if (!a->one->query.has_policy) return;
    cm_json_begin_array(a->json, "policy");
    for (int action = 0; action < a->env->spec.actions; action++)
        cm_json_put_float(a->json, NULL, a->found.legal[action] ? a->found.prior[action] : -1.0f);
    cm_json_end_array(a->json);
}

cm_status cm_search_answer_analysis(cm_analyser *analyser, const cm_env *env, int slot, const cm_queued *one) {
    answer a = {.analyser = analyser, .env = env, .one = one, .found = cm_analyser_get(analyser, slot), .slot = slot};
    int visits;
    CM_TRY(begin(&a.json));
    cm_json_put_string(a.json, "id", one->query.id);
    cm_json_put_bool(a.json, "isDuringSearch", false);
    cm_json_put_int(a.json, "turnNumber", one->turn);
    const cm_status status = put_moves(&a, &visits);
    put_root(&a, visits);
    put_policy(&a);
    return end(a.json, status);
}
