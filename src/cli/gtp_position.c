#include "cli/gtp_position.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/arena.h"
#include "core/memory.h"
#include "env/board.h"
#include "env/sgf.h"

/* ---- which games ---- */

cm_status cm_gtp_check_game(const cm_env *env) {
    const cm_env_spec *spec = &env->spec;
    const bool is_board = spec->players == 2 && spec->cells > 0 && spec->actions >= spec->cells &&
                          spec->chance_outcomes == 0 && env->def->board && cm_gtp_columns(env) <= CM_GTP_COLUMNS;
    if (is_board) return CM_OK;
    return cm_fail(
        CM_ERR_INPUT,
        "gtp: plays games of two whose moves are the cells of a board (go, othello, gomoku, hex, tictactoe), "
        "and %s is none; cumind play --run DIR plays it",
        spec->name);
}

/* ---- memory ---- */

cm_status cm_gtp_position_open(cm_gtp_position *p, const cm_env *env) {
    *p = (cm_gtp_position){.env = env};
    cm_status status = cm_alloc(&p->state, 1, env->spec.state_size, "a game");
    if (status == CM_OK && cm_sgf_serves(env)) {
        status = cm_alloc(&p->go, 1, sizeof *p->go, "a board");
        if (status == CM_OK) status = cm_alloc(&p->setup, (size_t)env->spec.cells, sizeof *p->setup, "a board");
    }
    if (status == CM_OK) cm_gtp_position_clear(p);
    return status;
}

void cm_gtp_position_close(cm_gtp_position *p) {
    free(p->state);
    free(p->go);
    free(p->setup);
    free(p->moves);
    *p = (cm_gtp_position){0};
}

static cm_status reserve(cm_gtp_position *p) {
    if (p->count < p->capacity) return CM_OK;
    const int capacity = p->capacity > 0 ? 2 * p->capacity : 128;
    cm_gtp_move *moves = realloc(p->moves, (size_t)capacity * sizeof *moves);
    if (!moves) return cm_memory_fail((double)capacity * sizeof *moves, "a game");
    p->moves = moves, p->capacity = capacity;
    return CM_OK;
}

/* ---- Go's own board ---- */

/* Puts a stone or a pass, whoever has moved last. */
static void put(cm_go *go, int player, int32_t action) {
    go->ply = player;
    (void)cm_go_play(go, action); /* its end is none of the protocol's */
}

static cm_status judge(cm_gtp_position *p, int player, int32_t action) {
    cm_go *go = p->go;
    char name[CM_GTP_VERTEX];
    const int points = p->env->spec.cells;
    if (action == points) return CM_OK;
    cm_gtp_vertex(p->env, action, name);
    go->ply = player;
    if (cm_go_colour(go, action) != 0) return cm_fail(CM_ERR_INPUT, "illegal move: %s is occupied", name);
    if (points + go->positions >= CM_GO_WORDS)
        return cm_fail(CM_ERR_INPUT, "illegal move: the game has %d stones already", go->positions - 1);
    if (cm_go_is_legal(go, action)) return CM_OK;
    uint64_t filter[CM_GO_FILTER];
    memcpy(filter, go->filter, sizeof filter);
    memset(go->filter, 0, sizeof filter); /* for once no position has been */
    const bool is_repeated = cm_go_is_legal(go, action);
    memcpy(go->filter, filter, sizeof filter);
    return cm_fail(CM_ERR_INPUT,
                   is_repeated ? "illegal move: %s makes a position that has been (positional superko)"
                               : "illegal move: %s is suicide",
                   name);
}

static void rebuild(cm_gtp_position *p) {
    const int n = p->env->params.size;
    cm_go_reset(p->go, n);
    for (int cell = 0; cell < n * n; cell++)
        if (p->setup[cell] > 0) put(p->go, p->setup[cell] - 1, cell);
    p->go->positions = 0;
    memset(p->go->filter, 0, sizeof p->go->filter);
    cm_go_remember(p->go);
    for (int i = 0; i < p->count; i++) put(p->go, p->moves[i].player, p->moves[i].action);
}

/* ---- states of the environment ---- */

static cm_status step(cm_gtp_position *p, int32_t action) {
    cm_env_outcome outcome;
    return cm_env_step(p->env, p->state, action, &outcome);
}

/* A list of actions for players who alternate. */
typedef struct actions {
    int32_t *action;
    int count;
    int32_t pass;
} actions;

/* The other one is to move: by a pass, or by one less, for two in a row would end the game. */
static void turn(actions *list) {
    if (list->count > 0 && list->action[list->count - 1] == list->pass) {
        list->count--;
    } else {
        list->action[list->count++] = list->pass;
    }
}

static void add(actions *list, int player, int32_t action) {
    if (list->count % 2 != player) turn(list);
    if (action == list->pass) {
        turn(list);
    } else {
        list->action[list->count++] = action;
    }
}

/* Stones of both colours in turn, so that few passes are needed. */
static void add_stones(actions *list, const int32_t *cells, int count) {
    int at[2] = {0, 0};
    for (int left = 1; left > 0;) {
        left = 0;
        for (int player = 0; player < 2; player++) {
            while (at[player] < count && cells[at[player]] != player + 1) at[player]++;
            if (at[player] == count) continue;
            add(list, player, at[player]++);
            left++;
        }
    }
}

/* Whether the environment has such a game, with `player` to move and not over. */
static bool replay(cm_gtp_position *p, const actions *list) {
    cm_env_reset(p->env, p->state, 0);
    for (int i = 0; i < list->count; i++)
        if (step(p, list->action[i]) != CM_OK) return false;
    return !cm_env_ended(p->state);
}

/* From the start; where that is longer than the environment's games, from the stones that stand there. */
static bool make_go_state(cm_gtp_position *p, int player, actions *list) {
    add_stones(list, p->setup, p->env->spec.cells);
    for (int i = 0; i < p->count; i++) add(list, p->moves[i].player, p->moves[i].action);
    if (list->count % 2 != player) turn(list);
    if (replay(p, list)) return true;
    int32_t cells[CM_GO_POINTS];
    list->count = 0;
    for (int cell = 0; cell < p->env->spec.cells; cell++) cells[cell] = cm_go_colour(p->go, cell);
    add_stones(list, cells, p->env->spec.cells);
    if (list->count % 2 != player) turn(list);
    return replay(p, list);
}

/* A move may follow a pass that the environment has and the protocol left out. */
static cm_status step_as(cm_gtp_position *p, int player, int32_t action) {
    const cm_env *env = p->env;
    if (cm_env_ended(p->state)) return cm_fail(CM_ERR_INPUT, "illegal move: the game is over");
    if (cm_env_to_play(env, p->state) != player) {
        if (env->spec.actions != env->spec.cells + 1 || step(p, env->spec.cells) != CM_OK)
            return cm_fail(CM_ERR_INPUT, "illegal move: %s is to move", player == 0 ? "white" : "black");
    }
    char name[CM_GTP_VERTEX];
    cm_gtp_vertex(env, action, name);
    return step(p, action) == CM_OK ? CM_OK : cm_fail(CM_ERR_INPUT, "illegal move: %s is not allowed now", name);
}

/* The state after all moves but those from `count` on. */
static void replay_moves(cm_gtp_position *p, int count) {
    cm_env_reset(p->env, p->state, 0);
    for (int i = 0; i < count; i++)
        if (step_as(p, p->moves[i].player, p->moves[i].action) != CM_OK) return; /* they were played before */
}

/* Whether a pass is all that is left to the one to move: then the protocol may leave it out. */
static bool must_pass(const cm_gtp_position *p) {
    const cm_env *env = p->env;
    uint8_t legal[CM_ENV_MAX_SEARCHED];
    if (env->spec.actions != env->spec.cells + 1 || env->spec.actions > CM_ENV_MAX_SEARCHED) return false;
    cm_env_legal(env, p->state, legal);
    for (int a = 0; a < env->spec.cells; a++)
        if (legal[a]) return false;
    return legal[env->spec.cells] == 1;
}

static cm_status open_actions(const cm_gtp_position *p, actions *list) {
    const size_t most = 2 * ((size_t)p->count + (size_t)p->env->spec.cells) + 2;
    *list = (actions){.pass = p->env->spec.cells};
    return cm_alloc(&list->action, most, sizeof *list->action, "a game");
}

cm_status cm_gtp_position_actions(cm_gtp_position *p, int player, char **text) {
    enum { NUMBER = 8 };
    actions list;
    size_t used = 0;
    *text = NULL;
    CM_TRY(open_actions(p, &list));
    cm_status status = make_go_state(p, player, &list)
                           ? cm_alloc(text, (size_t)list.count * NUMBER + 1, 1, "a game")
                           : cm_fail(CM_ERR_INPUT, "there is no such position in the environment's games");
    for (int i = 0; status == CM_OK && i < list.count; i++)
        used += (size_t)snprintf(*text + used, NUMBER, "%s%d", i > 0 ? "," : "", list.action[i]);
    free(list.action);
    return status;
}

static void *find_go_state(cm_gtp_position *p, int player) {
    actions list;
    if (open_actions(p, &list) != CM_OK) return NULL;
    const bool is_there = make_go_state(p, player, &list);
    free(list.action);
    return is_there ? p->state : NULL;
}

void *cm_gtp_position_state(cm_gtp_position *p, int player) {
    if (p->go) return find_go_state(p, player);
    replay_moves(p, p->count);
    if (!cm_env_ended(p->state) && cm_env_to_play(p->env, p->state) != player && must_pass(p))
        (void)!step(p, p->env->spec.cells);
    if (cm_env_ended(p->state) || cm_env_to_play(p->env, p->state) != player) return NULL;
    return p->state;
}

/* ---- moves ---- */

void cm_gtp_position_clear(cm_gtp_position *p) {
    p->count = p->first = 0;
    if (!p->go) return;
    memset(p->setup, 0, (size_t)p->env->spec.cells * sizeof *p->setup);
    rebuild(p);
}

cm_status cm_gtp_position_set_up(cm_gtp_position *p, const int32_t *stones, int first) {
    cm_gtp_position_clear(p);
    memcpy(p->setup, stones, (size_t)p->env->spec.cells * sizeof *stones);
    rebuild(p);
    p->first = first;
    for (int cell = 0; cell < p->env->spec.cells; cell++) {
        if (cm_go_colour(p->go, cell) == stones[cell]) continue;
        cm_gtp_position_clear(p);
        return cm_fail(CM_ERR_INPUT, "stones of the position have no liberty");
    }
    return CM_OK;
}

cm_status cm_gtp_position_play(cm_gtp_position *p, int player, int32_t action) {
    CM_TRY(reserve(p));
    if (p->go) {
        CM_TRY(judge(p, player, action));
        put(p->go, player, action);
    } else {
        replay_moves(p, p->count);
        CM_TRY(step_as(p, player, action));
    }
    p->moves[p->count++] = (cm_gtp_move){player, action};
    return CM_OK;
}

cm_status cm_gtp_position_undo(cm_gtp_position *p) {
    if (p->count == 0) return cm_fail(CM_ERR_INPUT, "cannot undo");
    p->count--;
    if (p->go) rebuild(p);
    return CM_OK;
}

int cm_gtp_position_to_play(cm_gtp_position *p) {
    if (p->go) return p->count > 0 ? 1 - p->moves[p->count - 1].player : p->first;
    replay_moves(p, p->count);
    return cm_env_to_play(p->env, p->state);
}

void cm_gtp_position_legal(cm_gtp_position *p, int player, uint8_t *legal) {
    const cm_env_spec *spec = &p->env->spec;
    memset(legal, 0, (size_t)spec->actions);
    if (!p->go) {
        if (cm_gtp_position_state(p, player)) cm_env_legal(p->env, p->state, legal);
        return;
    }
    for (int a = 0; a < spec->actions; a++) legal[a] = judge(p, player, a) == CM_OK;
}

void cm_gtp_position_cells(cm_gtp_position *p, int32_t *cells) {
    if (!p->go) {
        replay_moves(p, p->count);
        cm_env_board(p->env, p->state, cells);
        return;
    }
    for (int cell = 0; cell < p->env->spec.cells; cell++) cells[cell] = cm_go_colour(p->go, cell);
}

/* ---- results ---- */

static bool ends_with_two_passes(const cm_gtp_position *p) {
    const int32_t pass = p->env->spec.cells;
    return p->count >= 2 && p->moves[p->count - 1].action == pass && p->moves[p->count - 2].action == pass;
}

/* Of discs; at the end the winner gets the empty cells, by the rules of Othello's tournaments. */
static int count_lead(const cm_gtp_position *p, const int32_t *cells, bool is_over) {
    int lead = 0, empty = 0;
    for (int cell = 0; cell < p->env->spec.cells; cell++) {
        lead += (cells[cell] == 1) - (cells[cell] == 2);
        empty += cells[cell] == 0;
    }
    return is_over ? lead + empty * ((lead > 0) - (lead < 0)) : lead;
}

/* Of player 0, by the rewards of the game. */
static int find_winner(cm_gtp_position *p) {
    cm_env_outcome outcome;
    if (p->count == 0) return 0;
    replay_moves(p, p->count - 1);
    const cm_gtp_move last = p->moves[p->count - 1];
    while (!cm_env_ended(p->state) && cm_env_to_play(p->env, p->state) != last.player && must_pass(p))
        (void)!step(p, p->env->spec.cells);
    if (cm_env_step(p->env, p->state, last.action, &outcome) != CM_OK) return 0;
    const int sign = (outcome.reward > 0.0) - (outcome.reward < 0.0);
    return last.player == 0 ? sign : -sign;
}

int cm_gtp_position_lead(cm_gtp_position *p, bool *is_over) {
    int32_t cells[CM_BOARD_CELLS];
    if (p->go) {
        *is_over = ends_with_two_passes(p);
        return cm_go_area(p->go);
    }
    cm_gtp_position_cells(p, cells);
    *is_over = cm_env_ended(p->state);
    return strcmp(p->env->def->name, "othello") == 0 ? count_lead(p, cells, *is_over) : find_winner(p);
}

/* ---- vertices ---- */

int cm_gtp_rows(const cm_env *env) { return env->spec.shape[0]; }
int cm_gtp_columns(const cm_env *env) { return env->spec.shape[1]; }

/* Of the first row, by the name that its first cell has in the game. */
static bool counts_from_top(const cm_env *env) {
    char name[CM_GTP_VERTEX];
    cm_env_action_name(env, 0, name, sizeof name);
    return atoi(name + 1) == 1;
}

int cm_gtp_cell(const cm_env *env, int line, int column) {
    const int row = counts_from_top(env) ? cm_gtp_rows(env) - 1 - line : line;
    return row * cm_gtp_columns(env) + column;
}

int cm_gtp_row_number(const cm_env *env, int line) { return cm_gtp_rows(env) - line; }

char cm_gtp_letter(int column) { return "ABCDEFGHJKLMNOPQRSTUVWXYZ"[column]; }

void cm_gtp_vertex(const cm_env *env, int32_t action, char out[CM_GTP_VERTEX]) {
    const int columns = cm_gtp_columns(env), row = action / columns;
    if (action < env->spec.cells) {
        snprintf(out, CM_GTP_VERTEX, "%c%d", cm_gtp_letter(action % columns),
                 counts_from_top(env) ? row + 1 : cm_gtp_rows(env) - row);
        return;
    }
    cm_env_action_name(env, action, out, CM_GTP_VERTEX);
    if (strcmp(out, "swap") == 0) snprintf(out, CM_GTP_VERTEX, "swap-pieces");
}

int32_t cm_gtp_parse_vertex(const cm_env *env, const char *text) {
    char name[CM_GTP_VERTEX];
    for (int32_t action = 0; action < env->spec.actions; action++) {
        cm_gtp_vertex(env, action, name);
        if (strcasecmp(name, text) == 0) return action;
    }
    return -1;
}
