/* A game that is being played by hand: its position, its moves and their players. */
#ifndef CM_ARENA_GAME_H
#define CM_ARENA_GAME_H

#include "arena/analyse.h"
#include "arena/time_limit.h"
#include "core/file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What decides the moves of a player. */
typedef enum cm_mover { CM_MOVER_AGENT, CM_MOVER_HUMAN, CM_MOVER_RANDOM } cm_mover;

typedef struct cm_game_move {
    int32_t action;
    int player;
} cm_game_move;

typedef struct cm_game {
    const cm_env *env;     /* borrowed */
    cm_analyser *analyser; /* owned; NULL: there is no agent */
    cm_mover mover[2];     /* of players 0 and 1 */
    cm_time_control time;  /* of the agent's moves, and hints */
    uint64_t seed;         /* of the start */
    void *state, *scratch; /* owned; scratch is another position while one is asked for */
    cm_game_move *moves;   /* [count], owned */
    int count, capacity;
    int last_cell;         /* that the last move has filled; -1: none */
    double total;          /* return so far, of player 0 */
    bool truncated;        /* it has ended by a limit of time */
    cm_file_writer *saved; /* owned: games in SGF; NULL: they are not kept */
    int saved_games;       /* that are in it */
    bool is_saved;         /* this one is */
    int note_width; /* columns of the widest note that was drawn, or is to come: all stand on one side of the position
                     */
} cm_game;

/* `agent` and `pool` are borrowed; agent NULL: none. The caller seats the movers and closes the game. */
cm_status cm_game_open(cm_game *game, const cm_env *env, cm_agent *agent, cm_pool *pool) CM_MUST_USE;
void cm_game_close(cm_game *game); /* a zeroed one is fine */

/* A new game from the start of `seed`. */
void cm_game_begin(cm_game *game, uint64_t seed);

/* From now on games are kept for a file in SGF. Errors: CM_ERR_INPUT if the game is not Go, or the path ends otherwise
 * than with .sgf; CM_ERR_IO. */
cm_status cm_game_save_to(cm_game *game, const char *path) CM_MUST_USE;
/* The game; one that has not ended has the result "?". Does nothing without a file, moves, or if it was saved as it is.
 */
cm_status cm_game_save(cm_game *game) CM_MUST_USE;
/* Saves the last game as well and writes the file, whatever `status`, which is returned unless writing fails. Without a
 * game a file that was there stays. */
cm_status cm_game_save_end(cm_game *game, cm_status status) CM_MUST_USE;

int cm_game_to_play(const cm_game *game);

/* Plays a legal action. Errors: those of cm_env_step, CM_ERR_MEMORY. */
cm_status cm_game_play(cm_game *game, int32_t action) CM_MUST_USE;

/* Takes back the last moves, so that the last one of a human is open again. Returns how many; 0 if no human has moved.
 */
cm_status cm_game_undo(cm_game *game, int *taken) CM_MUST_USE;

/* What the agent thinks of the position; valid until the next call. Errors: those of the search; CM_ERR_INPUT without
 * an agent. */
cm_status cm_game_think(cm_game *game, cm_analysis *out) CM_MUST_USE;

/* A legal action of the position, uniformly at random; the same at every call. */
int32_t cm_game_random_action(const cm_game *game);

#ifdef __cplusplus
}
#endif
#endif
