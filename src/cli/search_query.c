#include "cli/search_query.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/variation.h"
#include "cli/search_answer.h"
#include "env/sgf.h"

#define RULES "the run plays by \"chinese-kgs\": positional superko, area scoring, no tax, no suicide, no button"

/* ---- members that are not heeded ---- */

typedef struct member {
    const char *name, *warning; /* NULL: it is heeded */
} member;

#define NO_OWNERSHIP "the network predicts no owners of points"
#define SETTINGS     "a search has the settings of the run; give another one to cumind search by --set"
#define ALL_MOVES    "every legal move may be searched"
#define AT_THE_END   "an answer comes at the end of its search"
static const member members[] = {
    {"id", NULL},
    {"moves", NULL},
    {"initialStones", NULL},
    {"initialPlayer", NULL},
    {"rules", NULL},
    {"komi", NULL},
    {"boardXSize", NULL},
    {"boardYSize", NULL},
    {"analyzeTurns", NULL},
    {"maxVisits", NULL},
    {"analysisPVLen", NULL},
    {"includePolicy", NULL},
    {"includePVVisits", NULL},
    {"priority", NULL},
    {"priorities", NULL},
    {"overrideSettings", NULL},
    {"includeOwnership", NO_OWNERSHIP},
    {"includeOwnershipStdev", NO_OWNERSHIP},
    {"includeMovesOwnership", NO_OWNERSHIP},
    {"includeMovesOwnershipStdev", NO_OWNERSHIP},
    {"includeNoResultValue", "no game ends without a result"},
    {"avoidMoves", ALL_MOVES},
    {"allowMoves", ALL_MOVES},
    {"rootPolicyTemperature", SETTINGS},
    {"rootFpuReductionMax", SETTINGS},
    {"reportDuringSearchEvery", AT_THE_END},
    {"firstReportDuringSearchAfter", AT_THE_END},
    {"whiteHandicapBonus", "handicap stones give White no points"},
    {NULL, "Unexpected or unused field"},
};

/* What is not heeded, and asks for nothing, is no matter. */
static bool asks_nothing(const cm_json *value) {
    return (cm_json_type(value) == CM_JSON_BOOL && !cm_json_is_true(value)) || cm_json_number(value, 1.0) == 0.0;
}

static cm_status warn_of_members(const cm_json *query, const char *id) {
    for (const cm_json *value = cm_json_first(query); value; value = cm_json_next(value)) {
        const member *known = members;
        while (known->name && strcmp(known->name, cm_json_key(value)) != 0) known++;
        if (!known->warning || (known->name && asks_nothing(value))) continue;
        CM_TRY(cm_search_answer_warning(id, cm_json_key(value), known->warning));
    }
    return CM_OK;
}

static bool text_is(const cm_json *value, const char *wanted) {
    const char *text = cm_json_string(value);
    return text && strcasecmp(text, wanted) == 0;
}

static cm_status read_settings(cm_query_reader *r, const cm_json *query, cm_query *out) {
    static const char *const views[] = {"BLACK", "WHITE", "SIDETOMOVE"};
    const cm_json *settings = cm_json_get(query, r->field = "overrideSettings");
    if (settings) CM_TRY(cm_json_check(settings, CM_JSON_OBJECT));
    for (const cm_json *value = cm_json_first(settings); value; value = cm_json_next(value)) {
        int view = -1;
        for (int i = 0; i < 3 && strcmp(cm_json_key(value), "reportAnalysisWinratesAs") == 0; i++)
            if (text_is(value, views[i])) view = i;
        if (view >= 0) out->view = (cm_query_view)view;
        if (view < 0) CM_TRY(cm_search_answer_warning(out->id, r->field, SETTINGS));
    }
    return CM_OK;
}

/* ---- rules ---- */

/* Rules that KataGo knows by name and that count areas: near enough, like other rules in JSON that do. */
static bool counts_areas(const cm_json *rules) {
    static const char *const names[] = {"tromp-taylor", "chinese", "ancient-area", "aga", "bga", "new-zealand",
                                        "aga-button",   "french",  "ing",          "goe", "nz",  "stone-scoring"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_is(rules, names[i])) return true;
    return cm_json_type(rules) == CM_JSON_OBJECT &&
           (!cm_json_get(rules, "scoring") || text_is(cm_json_get(rules, "scoring"), "AREA"));
}

static bool is_false(const cm_json *rules, const char *key) {
    const cm_json *value = cm_json_get(rules, key);
    return !value || (cm_json_type(value) == CM_JSON_BOOL && !cm_json_is_true(value));
}

static bool is_text(const cm_json *rules, const char *key, const char *wanted) {
    const cm_json *value = cm_json_get(rules, key);
    return !value || text_is(value, wanted);
}

static bool are_own(const cm_json *rules) {
    if (cm_json_type(rules) != CM_JSON_OBJECT) return text_is(rules, "chinese-kgs") || text_is(rules, "chinese-ogs");
    return is_text(rules, "ko", "POSITIONAL") && is_text(rules, "scoring", "AREA") && is_text(rules, "tax", "NONE") &&
           is_false(rules, "suicide") && is_false(rules, "hasButton") && is_text(rules, "whiteHandicapBonus", "0");
}

static cm_status check_rules(cm_query_reader *r, const cm_json *query, const char *id) {
    const cm_json *rules = cm_json_get(query, r->field = "rules");
    if (are_own(rules)) return CM_OK;
    if (counts_areas(rules)) return cm_search_answer_warning(id, r->field, RULES "; it is searched by these");
    return cm_fail(CM_ERR_INPUT, "rules: " RULES);
}

/* ---- what is asked ---- */

static cm_status check_size(cm_query_reader *r, const cm_json *query) {
    int64_t columns, rows;
    const int n = r->env->params.size;
    CM_TRY(cm_json_need_int(query, r->field = "boardXSize", 1, 99, &columns));
    CM_TRY(cm_json_need_int(query, r->field = "boardYSize", 1, 99, &rows));
    if (columns == n && rows == n) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "boardXSize, boardYSize: the network of the run is for %d x %d", n, n);
}

/* A member that may be left out; *out stays then as it is. */
static cm_status read_int(cm_query_reader *r, const cm_json *query, const char *key, int64_t min, int64_t max,
                          int64_t *out) {
    r->field = key;
    return cm_json_get(query, key) ? cm_json_need_int(query, key, min, max, out) : CM_OK;
}

static cm_status read_flag(cm_query_reader *r, const cm_json *query, const char *key, bool *out) {
    const cm_json *value = cm_json_get(query, r->field = key);
    if (value) CM_TRY(cm_json_check(value, CM_JSON_BOOL));
    *out = cm_json_is_true(value);
    return CM_OK;
}

static cm_status read_komi(cm_query_reader *r, const cm_json *query, cm_query *out) {
    cm_env_params params = r->env->params;
    const cm_json *komi = cm_json_get(query, r->field = "komi");
    if (komi) CM_TRY(cm_json_check(komi, CM_JSON_NUMBER));
    out->komi = cm_json_number(komi, r->own_komi);
    return cm_env_params_set(&params, "komi", out->komi);
}

static cm_status read_visits(cm_query_reader *r, const cm_json *query, cm_query *out) {
    char text[96];
    int64_t visits = 0;
    CM_TRY(read_int(r, query, "maxVisits", 1, (int64_t)1 << 50, &visits));
    out->visits = visits > r->most_visits ? r->most_visits : (int)visits;
    if (visits <= r->most_visits) return CM_OK;
    snprintf(text, sizeof text, "searches have %d simulations; give cumind search more by --simulations",
             r->most_visits);
    return cm_search_answer_warning(out->id, r->field, text);
}

static cm_status read_options(cm_query_reader *r, const cm_json *query, cm_query *out) {
    int64_t line = CM_VARIATION_MOST;
    CM_TRY(check_size(r, query));
    CM_TRY(check_rules(r, query, out->id));
    CM_TRY(read_komi(r, query, out));
    CM_TRY(read_visits(r, query, out));
    CM_TRY(read_int(r, query, "analysisPVLen", 1, 1000, &line));
    CM_TRY(read_flag(r, query, "includePolicy", &out->has_policy));
    CM_TRY(read_flag(r, query, "includePVVisits", &out->has_line_visits));
    out->line = line < CM_VARIATION_MOST ? (int)line : CM_VARIATION_MOST;
    return read_settings(r, query, out);
}

/* ---- positions ---- */

/* An element ["B", "D4"] of moves and stones. */
static cm_status read_move(const cm_query_reader *r, const cm_json *pair, cm_gtp_move *out) {
    const cm_json *first = cm_json_first(pair), *second = first ? cm_json_next(first) : NULL;
    const char *vertex = cm_json_string(second);
    out->player = text_is(first, "W");
    out->action = vertex ? cm_gtp_parse_vertex(r->env, vertex) : -1;
    if ((text_is(first, "B") || text_is(first, "W")) && out->action >= 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be pairs of a colour and a point of the board, [\"B\", \"C3\"]", r->field);
}

static cm_status set_stones(cm_query_reader *r, const cm_json *query) {
    int32_t stones[CM_GO_POINTS] = {0};
    const cm_json *list = cm_json_get(query, r->field = "initialStones");
    cm_gtp_move stone;
    if (list) CM_TRY(cm_json_check(list, CM_JSON_ARRAY));
    for (const cm_json *pair = cm_json_first(list); pair; pair = cm_json_next(pair)) {
        CM_TRY(read_move(r, pair, &stone));
        if (stone.action < r->env->spec.cells) stones[stone.action] = 1 + stone.player;
    }
    const cm_json *player = cm_json_get(query, r->field = "initialPlayer");
    if (player && !text_is(player, "B") && !text_is(player, "W"))
        return cm_fail(CM_ERR_INPUT, "initialPlayer: must be \"B\" or \"W\"");
    r->field = "initialStones";
    return cm_gtp_position_set_up(r->game, stones, text_is(player, "W"));
}

/* Makes the first `turn` moves. */
static cm_status set_position(cm_query_reader *r, const cm_json *query, int turn) {
    int made = 0;
    cm_gtp_move move;
    CM_TRY(set_stones(r, query));
    for (const cm_json *pair = cm_json_first(cm_json_get(query, r->field = "moves")); pair && made < turn; made++) {
        CM_TRY(read_move(r, pair, &move));
        CM_TRY(cm_gtp_position_play(r->game, move.player, move.action));
        pair = cm_json_next(pair);
    }
    if (made == turn) return CM_OK;
    r->field = "analyzeTurns";
    return cm_fail(CM_ERR_INPUT, "analyzeTurns: %d is more than the number of moves, %d", turn, made);
}

static cm_status add_turn(cm_query_reader *r, const cm_json *query, cm_queued *one, cm_search_queue *queue) {
    CM_TRY(set_position(r, query, one->turn));
    one->state = cm_gtp_position_state(r->game, cm_gtp_position_to_play(r->game));
    if (!one->state) return cm_fail(CM_ERR_INPUT, "moves: the environment has no such position");
    return cm_search_queue_add(queue, one, r->env->spec.state_size);
}

/* The numbers of `turns`, with a priority each or the same for all. */
static cm_status add_turns(cm_query_reader *r, const cm_json *query, const cm_json *turns, cm_queued *one,
                           cm_search_queue *queue) {
    const int64_t most = (int64_t)1 << 52;
    const cm_json *list = cm_json_get(query, "priorities"), *priority = cm_json_first(list);
    const int count = cm_json_size(turns);
    r->field = "analyzeTurns";
    CM_TRY(cm_json_check(turns, CM_JSON_ARRAY));
    if (count == 0 || count > CM_SEARCH_QUEUE_MOST)
        return cm_fail(CM_ERR_INPUT, "analyzeTurns: must be 1 to %d numbers of moves, got %d", CM_SEARCH_QUEUE_MOST,
                       count);
    if (list && cm_json_size(list) != count) {
        r->field = "priorities";
        return cm_fail(CM_ERR_INPUT, "priorities: must be as many as analyzeTurns");
    }
    for (const cm_json *turn = cm_json_first(turns); turn; turn = cm_json_next(turn)) {
        r->field = "analyzeTurns";
        if (!cm_json_is_integer(turn, 0, CM_SGF_MOST_ITEMS))
            return cm_fail(CM_ERR_INPUT, "analyzeTurns: must be numbers of moves");
        if (priority && !cm_json_is_integer(priority, -most, most)) {
            r->field = "priorities";
            return cm_fail(CM_ERR_INPUT, "priorities: must be whole numbers");
        }
        if (priority) one->priority = (int64_t)cm_json_number(priority, 0.0), priority = cm_json_next(priority);
        one->turn = (int)cm_json_number(turn, 0.0);
        CM_TRY(add_turn(r, query, one, queue));
    }
    return CM_OK;
}

static cm_status add_positions(cm_query_reader *r, const cm_json *query, cm_queued *one, cm_search_queue *queue) {
    const cm_json *moves, *turns = cm_json_get(query, "analyzeTurns");
    const int64_t most = (int64_t)1 << 52;
    CM_TRY(cm_json_need(query, r->field = "moves", CM_JSON_ARRAY, &moves));
    CM_TRY(read_int(r, query, "priority", -most, most, &one->priority));
    if (turns) return add_turns(r, query, turns, one, queue);
    one->turn = cm_json_size(moves);
    return add_turn(r, query, one, queue);
}

static bool came_since(const void *serial, const cm_queued *one) { return one->serial >= *(const uint64_t *)serial; }

cm_status cm_query_read(cm_query_reader *r, const cm_json *query, const char *id, cm_search_queue *queue) {
    const uint64_t first = queue->serial;
    cm_queued one = {.priority = 0};
    r->field = NULL;
    snprintf(one.query.id, CM_QUERY_ID, "%s", id);
    CM_TRY(warn_of_members(query, id));
    CM_TRY(read_options(r, query, &one.query));
    const cm_status status = add_positions(r, query, &one, queue);
    if (status != CM_OK) CM_TRY(cm_search_queue_remove(queue, came_since, &first, NULL, NULL));
    return status;
}
