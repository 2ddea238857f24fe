/* A game between a visitor and a run's agent, and what is told of it. For one thread; the agent searches on one core of
 * the CPU, whatever the run has trained on. */
#ifndef CM_SERVE_TABLE_H
#define CM_SERVE_TABLE_H

#include "arena/game.h"
#include "run/loaded.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PLAY_SHOWN = 16 /* moves that are told of a search */ };

typedef enum cm_play_table_side { CM_PLAY_FIRST, CM_PLAY_SECOND, CM_PLAY_NONE, CM_PLAY_SIDES } cm_play_table_side;

/* What a visitor asks for. */
typedef struct cm_play_table_config {
    char run[PATH_MAX];
    cm_play_table_side side; /* that the visitor plays; CM_PLAY_NONE: the agent plays, a move whenever it is asked to */
    int simulations;         /* of a move; 0: those of the run's evaluation */
    uint64_t seed;           /* of the start */
} cm_play_table_config;

typedef struct cm_play_table_move {
    char name[32];
    int action, visits;
    double q, prior;
} cm_play_table_move;

/* A search: of the position now (a hint), or of the one before the agent's last move. */
typedef struct cm_play_table_thought {
    bool is_there, is_hint;
    int player, action, count, visits; /* count: of moves; visits: of all */
    double value;
    cm_play_table_move moves[CM_PLAY_SHOWN];
} cm_play_table_thought;

typedef struct cm_play_table {
    cm_play_table_config config;
    cm_loaded loaded;
    cm_game game;
    cm_env_moment moment;
    cm_play_table_thought thought;
    void *before; /* [state_size] the position before the last move, owned */
} cm_play_table;

/* Opens the run's agent: its best checkpoint, or the latest. Errors: those of reading it, and CM_ERR_INPUT where the
 * environment is code, which is not opened. The caller closes the table also after one. `stop` (borrowed) ends searches
 * early. */
cm_status cm_play_table_open(const cm_play_table_config *config, const cm_stop *stop, cm_play_table *out) CM_MUST_USE;
void cm_play_table_close(cm_play_table *table);

/* Plays a move of the visitor's; the agent's with cm_play_table_reply. Errors: CM_ERR_INPUT for one that is not legal.
 */
cm_status cm_play_table_play(cm_play_table *table, int action) CM_MUST_USE;
/* The agent moves if it is its turn, or if `is_asked` whoever is to move. */
cm_status cm_play_table_reply(cm_play_table *table, bool is_asked) CM_MUST_USE;
cm_status cm_play_table_hint(cm_play_table *table) CM_MUST_USE;
/* Takes the visitor's last move back, with those after it; without a visitor the last one. */
cm_status cm_play_table_undo(cm_play_table *table) CM_MUST_USE;

/* Whether the agent is to move. */
bool cm_play_table_waits(const cm_play_table *table);

/* The table as JSON, of malloc(). Errors: CM_ERR_MEMORY. */
cm_status cm_play_table_tell(cm_play_table *table, char **out) CM_MUST_USE;

/* The search tree of the position, as cm_outline_text_create has it, of malloc(). Errors: its. */
cm_status cm_play_table_tree(cm_play_table *table, const cm_stop *stop, char **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
