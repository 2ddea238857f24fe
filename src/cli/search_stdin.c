#include "cli/search_stdin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena/analyse.h"
#include "cli/gtp_position.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "cli/loaded.h"
#include "cli/view.h"
#include "core/arena.h"
#include "core/memory.h"
#include "env/sgf.h"

enum { ID = 256, PER_THREAD = 64 };

/* A position that waits for its search. */
typedef struct waiting {
    char id[ID];
    int turn;
} waiting;

typedef struct engine {
    cm_env *env; /* of the session: its komi is that of the queries that wait */
    const cm_agent *agent;
    cm_analyser *analyser; /* owned, like the next ones */
    cm_gtp_position game;
    cm_line_input input;
    waiting *queue; /* [capacity] */
    int count, capacity;
    int visits; /* of those that wait; 0: all that a search has */
    double own_komi;
} engine;

/* ---- answers ---- */

static cm_status put_error(const char *id, const char *message) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "error", message);
    if (id) cm_json_put_string(json, "id", id);
    cm_json_end_object(json);
    CM_TRY(cm_cli_print(json, CM_OK));
    return fflush(stdout) == 0 ? CM_OK : cm_fail(CM_ERR_IO, "standard output: cannot write");
}

/* Values are Black's, as KataGo's example configuration has them. */
static double of_black(const cm_analysis *a, float value) { return a->to_play == 0 ? (double)value : -(double)value; }
static double winrate_of(double value) { return 0.5 * (value + 1.0); }

static void put_move(const engine *e, cm_json_writer *json, const cm_analysis *a, int32_t action, int order) {
    char name[CM_GTP_VERTEX];
    const double utility = of_black(a, a->q[action]);
    cm_gtp_vertex(e->env, action, name);
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "move", name);
    cm_json_put_int(json, "visits", a->visits[action]);
    cm_json_put_double(json, "winrate", winrate_of(utility));
    cm_json_put_double(json, "utility", utility);
    cm_json_put_double(json, "prior", (double)a->prior[action]);
    cm_json_put_double(json, "lcb", winrate_of(utility));
    cm_json_put_int(json, "order", order);
    cm_json_begin_array(json, "pv");
    cm_json_put_string(json, NULL, name);
    cm_json_end_array(json);
    cm_json_end_object(json);
}

static void put_root(cm_json_writer *json, const cm_analysis *a, int visits) {
    const double utility = of_black(a, a->value);
    cm_json_begin_object(json, "rootInfo");
    cm_json_put_string(json, "currentPlayer", a->to_play == 0 ? "B" : "W");
    cm_json_put_int(json, "visits", visits);
    cm_json_put_double(json, "winrate", winrate_of(utility));
    cm_json_put_double(json, "utility", utility);
    cm_json_end_object(json);
}

static cm_status put_answer(const engine *e, int slot) {
    static int32_t order[CM_ENV_MAX_SEARCHED];
    cm_json_writer *json = NULL;
    const cm_analysis a = cm_analyser_get(e->analyser, slot);
    const int count = cm_view_order(e->env, &a, order);
    int visits = 0, shown = 0;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "id", e->queue[slot].id);
    cm_json_put_bool(json, "isDuringSearch", false);
    cm_json_put_int(json, "turnNumber", e->queue[slot].turn);
    cm_json_begin_array(json, "moveInfos");
    for (int i = 0; i < count; i++) {
        visits += a.visits[order[i]];
        if (a.visits[order[i]] > 0) put_move(e, json, &a, order[i], shown++);
    }
    cm_json_end_array(json);
    put_root(json, &a, visits);
    cm_json_end_object(json);
    return cm_cli_print(json, CM_OK);
}

/* Searches what waits. */
static cm_status flush_queue(engine *e) {
    if (e->count == 0) return CM_OK;
    cm_analyser_simulations(e->analyser, e->visits);
    CM_TRY(cm_analyser_run(e->analyser, e->count));
    for (int i = 0; i < e->count; i++) CM_TRY(put_answer(e, i));
    e->count = 0;
    return fflush(stdout) == 0 ? CM_OK : cm_fail(CM_ERR_IO, "standard output: cannot write");
}

/* ---- queries ---- */

/* An element ["B", "D4"] of moves and stones. */
static cm_status read_move(const engine *e, const cm_json *pair, const char *what, cm_gtp_move *out) {
    const cm_json *first = cm_json_first(pair);
    const char *colour = cm_json_string(first), *vertex = first ? cm_json_string(cm_json_next(first)) : NULL;
    const bool is_black = colour && strcasecmp(colour, "B") == 0, is_white = colour && strcasecmp(colour, "W") == 0;
    out->player = is_white;
    out->action = vertex ? cm_gtp_parse_vertex(e->env, vertex) : -1;
    if ((is_black || is_white) && out->action >= 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be pairs of a colour and a point of the board, [\"B\", \"C3\"]", what);
}

static cm_status set_stones(engine *e, const cm_json *query) {
    int32_t stones[CM_GO_POINTS] = {0};
    const char *player = cm_json_string(cm_json_get(query, "initialPlayer"));
    const cm_json *list = cm_json_get(query, "initialStones");
    cm_gtp_move stone;
    for (const cm_json *pair = cm_json_first(list); pair; pair = cm_json_next(pair)) {
        CM_TRY(read_move(e, pair, "initialStones", &stone));
        if (stone.action < e->env->spec.cells) stones[stone.action] = 1 + stone.player;
    }
    return cm_gtp_position_set_up(&e->game, stones, player && strcasecmp(player, "W") == 0);
}

/* The position after `turn` moves, as one more that waits. */
static cm_status add_turn(engine *e, const cm_json *query, const char *id, int turn) {
    int made = 0;
    cm_gtp_move move;
    CM_TRY(set_stones(e, query));
    for (const cm_json *pair = cm_json_first(cm_json_get(query, "moves")); pair && made < turn; made++) {
        CM_TRY(read_move(e, pair, "moves", &move));
        CM_TRY(cm_gtp_position_play(&e->game, move.player, move.action));
        pair = cm_json_next(pair);
    }
    if (made < turn) return cm_fail(CM_ERR_INPUT, "analyzeTurns: %d is more than the number of moves, %d", turn, made);
    const void *state = cm_gtp_position_state(&e->game, cm_gtp_position_to_play(&e->game));
    if (!state) return cm_fail(CM_ERR_INPUT, "moves: the environment has no such position");
    if (e->count == e->capacity) CM_TRY(flush_queue(e));
    memcpy(cm_analyser_state(e->analyser, e->count), state, e->env->spec.state_size);
    snprintf(e->queue[e->count].id, ID, "%s", id);
    e->queue[e->count++].turn = turn;
    return CM_OK;
}

static cm_status check_size(const engine *e, const cm_json *query) {
    int64_t columns, rows;
    const int n = e->env->params.size;
    CM_TRY(cm_json_need_int(query, "boardXSize", 1, 99, &columns));
    CM_TRY(cm_json_need_int(query, "boardYSize", 1, 99, &rows));
    if (columns == n && rows == n) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "boardXSize, boardYSize: the network of the run is for %d x %d", n, n);
}

/* Rules by their name; those in JSON are not looked at beyond that. */
static cm_status check_rules(const cm_json *query) {
    const char *rules = cm_json_string(cm_json_get(query, "rules"));
    if (rules && (strcasecmp(rules, "chinese-kgs") == 0 || strcasecmp(rules, "chinese-ogs") == 0)) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "rules: the run plays by \"chinese-kgs\": positional superko, area scoring, no suicide");
}

/* Komi and visits; another komi or another number of visits is searched by itself. */
static cm_status agree(engine *e, const cm_json *query) {
    cm_env_params params = e->env->params;
    int64_t visits = 0;
    const int most = cm_agent_get_config(e->agent)->evaluation.num_simulations;
    const double komi = cm_json_number(cm_json_get(query, "komi"), e->own_komi);
    if (cm_json_get(query, "maxVisits")) CM_TRY(cm_json_need_int(query, "maxVisits", 1, INT32_MAX, &visits));
    CM_TRY(cm_env_params_set(&params, "komi", komi));
    if (visits > most) visits = most;
    if (visits != e->visits || komi != e->env->params.komi) CM_TRY(flush_queue(e));
    e->visits = (int)visits;
    e->env->params.komi = komi;
    return CM_OK;
}

static cm_status add_query(engine *e, const cm_json *query, const char *id) {
    const cm_json *moves, *turns = cm_json_get(query, "analyzeTurns");
    CM_TRY(check_size(e, query));
    CM_TRY(check_rules(query));
    CM_TRY(cm_json_need(query, "moves", CM_JSON_ARRAY, &moves));
    CM_TRY(agree(e, query));
    if (!turns) return add_turn(e, query, id, cm_json_size(moves));
    for (const cm_json *turn = cm_json_first(turns); turn; turn = cm_json_next(turn)) {
        if (!cm_json_is_integer(turn, 0, CM_SGF_MOST_ITEMS))
            return cm_fail(CM_ERR_INPUT, "analyzeTurns: must be numbers of moves");
        CM_TRY(add_turn(e, query, id, (int)cm_json_number(turn, 0.0)));
    }
    return CM_OK;
}

/* What waits is searched before: then nothing is left that could be terminated. */
static cm_status act(engine *e, const char *action, const char *id) {
    static const char *const known[] = {"query_version", "terminate", "terminate_all", "clear_cache"};
    bool is_known = false;
    cm_json_writer *json = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) is_known |= strcmp(action, known[i]) == 0;
    if (!is_known) return cm_fail(CM_ERR_INPUT, "action: \"%.40s\" is not known", action);
    CM_TRY(flush_queue(e));
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "id", id);
    cm_json_put_string(json, "action", action);
    if (strcmp(action, "query_version") == 0) cm_json_put_string(json, "version", CM_VERSION);
    cm_json_end_object(json);
    return cm_cli_print(json, CM_OK);
}

/* Mistakes of a query are answered; other errors end the command. */
static cm_status take_query(engine *e, const cm_json *query) {
    const char *id = cm_json_string(cm_json_get(query, "id")), *action = cm_json_string(cm_json_get(query, "action"));
    if (!id || strlen(id) >= ID) return put_error(NULL, "id: must be a text of less than 256 bytes");
    const cm_status status = action ? act(e, action, id) : add_query(e, query, id);
    return status == CM_ERR_INPUT ? put_error(id, cm_error_message()) : status;
}

static cm_status take_line(engine *e, const char *line, size_t size) {
    cm_json_doc *query = NULL;
    if (line[strspn(line, " \t")] == '\0') return CM_OK;
    if (cm_json_parse(line, size, "query", &query) != CM_OK) return put_error(NULL, cm_error_message());
    const cm_status status = take_query(e, cm_json_root(query));
    cm_json_free(query);
    return status;
}

static cm_status converse(engine *e) {
    for (;;) {
        char *line;
        size_t size;
        CM_TRY(cm_line_input_next(&e->input, &line, &size));
        if (line) CM_TRY(take_line(e, line, size));
        if (!line || !cm_line_input_is_ready(&e->input, 0.0)) CM_TRY(flush_queue(e));
        if (!line) return CM_OK;
    }
}

/* ---- the command ---- */

static cm_status open_engine(engine *e, cm_loaded *loaded) {
    e->env = &loaded->session->env;
    e->agent = loaded->agent;
    if (!cm_sgf_serves(e->env))
        return cm_fail(CM_ERR_INPUT, "search: --stdin is for runs of go, not of %s; --positions - reads moves of it",
                       e->env->spec.name);
    e->own_komi = e->env->params.komi;
    CM_TRY(cm_gtp_position_open(&e->game, e->env));
    CM_TRY(cm_analyser_create(loaded->agent, e->env, loaded->session->pool,
                              PER_THREAD * cm_pool_size(loaded->session->pool), &e->analyser));
    e->capacity = cm_analyser_capacity(e->analyser);
    return cm_alloc(&e->queue, (size_t)e->capacity, sizeof *e->queue, "queries");
}

static void close_engine(engine *e) {
    cm_analyser_destroy(e->analyser);
    cm_gtp_position_close(&e->game);
    cm_line_input_close(&e->input);
    free(e->queue);
}

cm_status cm_cli_search_stdin(cm_arguments *arguments) {
    engine e = {.count = 0};
    cm_loaded loaded = {0};
    const char *run = NULL;
    CM_TRY(cm_cli_need_run(arguments, &run));
    CM_TRY(cm_loaded_open(arguments, &loaded));
    cm_interrupt_ends("search");
    cm_status status = open_engine(&e, &loaded);
    if (status == CM_OK) status = converse(&e);
    close_engine(&e);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --simulations");
}
