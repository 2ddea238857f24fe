/* /api/games: games against a run's agent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/routes.h"

static const char *const sides[CM_PLAY_SIDES] = {"first", "second", "none"};
static const char *const orders[] = {"move", "step", "hint", "undo", "tree"};
enum { ORDERS = sizeof orders / sizeof *orders, MOST = 1 << 24 };

/* The number of a word; -1: it is none of them. */
static int find_word(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (word && strcmp(word, words[i]) == 0) return i;
    return -1;
}

static bool parse(const cm_serve_call *call, cm_json_doc **doc, cm_answer *out) {
    if (cm_json_parse(call->body, call->request->body, "the request", doc) != CM_OK) {
        cm_answer_error(out, 400, "%s", cm_error_message());
        return false;
    }
    if (cm_json_check(cm_json_root(*doc), CM_JSON_OBJECT) == CM_OK) return true;
    cm_answer_error(out, 400, "%s", cm_error_message());
    cm_json_free(*doc);
    return false;
}

/* A member that may be left out. */
static cm_status integer_of(const cm_json *object, const char *key, int64_t most, int64_t *out) {
    return cm_json_get(object, key) ? cm_json_need_int(object, key, 0, most, out) : CM_OK;
}

static cm_status read_config(const cm_serve_call *call, const cm_json *object, cm_play_table_config *out) {
    int64_t run = 0, simulations = 0, seed = 0;
    const char *side = NULL;
    CM_TRY(cm_json_need_int(object, "run", 0, MOST, &run));
    if (run >= call->site->count) return cm_fail(CM_ERR_INPUT, "there is no run %d", (int)run);
    CM_TRY(cm_json_need_string(object, "side", &side));
    const int number = find_word(side, sides, CM_PLAY_SIDES);
    if (number < 0) return cm_fail(CM_ERR_INPUT, "side: first, second or none");
    CM_TRY(integer_of(object, "simulations", MOST, &simulations));
    CM_TRY(integer_of(object, "seed", MOST, &seed));
    *out = (cm_play_table_config){
        .side = (cm_play_table_side)number, .simulations = (int)simulations, .seed = (uint64_t)seed};
    snprintf(out->run, sizeof out->run, "%s", call->site->runs[run].path);
    return CM_OK;
}

static void fail(cm_status status, cm_answer *out) {
    cm_answer_error(out, status == CM_ERR_STATE ? 409 : status == CM_ERR_INPUT ? 400 : 503, "%s", cm_error_message());
}

static void accept_game(int game, cm_answer *out) {
    cm_json_writer *json = NULL;
    if (cm_json_writer_create(0, &json) != CM_OK) return;
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "game", game);
    cm_json_end_object(json);
    cm_answer_json(out, json);
    out->status = 202;
}

/* POST /api/games {"run": 0, "side": "first", "simulations": 50, "seed": 1} */
void cm_route_begin_game(const cm_serve_call *call, cm_answer *out) {
    cm_play_table_config config;
    cm_json_doc *doc = NULL;
    int game = 0;
    if (!parse(call, &doc, out)) return;
    cm_status status = read_config(call, cm_json_root(doc), &config);
    cm_json_free(doc);
    if (status == CM_OK) status = cm_plays_begin(call->routes->plays, &config, &game);
    if (status == CM_OK) {
        accept_game(game, out);
    } else {
        fail(status, out);
    }
}

static cm_status give_order(const cm_serve_call *call, const cm_json *object) {
    const char *word = NULL;
    int64_t action = 0;
    CM_TRY(cm_json_need_string(object, "do", &word));
    const int order = find_word(word, orders, ORDERS);
    if (order < 0) return cm_fail(CM_ERR_INPUT, "do: move, step, hint, undo or tree");
    if (order == CM_PLAYS_MOVE) CM_TRY(cm_json_need_int(object, "action", 0, MOST, &action));
    return cm_plays_order_of(call->routes->plays, call->number, (cm_plays_order)order, (int)action);
}

/* POST /api/games/G {"do": "move", "action": 4} */
void cm_route_order(const cm_serve_call *call, cm_answer *out) {
    cm_json_doc *doc = NULL;
    if (!parse(call, &doc, out)) return;
    const cm_status status = give_order(call, cm_json_root(doc));
    cm_json_free(doc);
    if (status == CM_OK) {
        accept_game(call->number, out);
    } else {
        fail(status, out);
    }
}

static void tell(const cm_serve_call *call, bool tree, cm_answer *out) {
    char *text = NULL;
    const cm_status status = cm_plays_tell(call->routes->plays, call->number, tree, &text);
    if (status != CM_OK) {
        cm_answer_error(out, status == CM_ERR_INPUT ? 404 : 503, "%s", cm_error_message());
    } else {
        *out = (cm_answer){.status = 200, .type = "application/json", .text = text, .size = strlen(text)};
    }
}

void cm_route_game(const cm_serve_call *call, cm_answer *out) { tell(call, false, out); }
void cm_route_tree(const cm_serve_call *call, cm_answer *out) { tell(call, true, out); }
