/* A person plays at the terminal: board, the agent's thoughts about its last move, a prompt; moves by name, and
 * commands (hint, undo, moves, side, new, help, quit). Input may be a pipe: it is shown after the prompts then. */
#ifndef CM_CLI_DIALOGUE_H
#define CM_CLI_DIALOGUE_H

#include "cli/game_view.h"

typedef struct cm_dialogue_config {
    const cm_arguments *arguments; /* for the style of the output; borrowed, like `agent` */
    const char *agent;             /* about the agent, in a few words */
    int64_t games;                 /* ends after so many; 0: when the player ends it */
    uint64_t seed;                 /* game i starts from seed + i */
} cm_dialogue_config;

/* Plays until the last game, `quit`, the end of the input or an interrupt. The movers of `game`, at least one of them
 * human, are seated; they are changed by `side`. Errors: those of playing and searching. */
cm_status cm_dialogue_run(cm_game *game, const cm_dialogue_config *config) CM_MUST_USE;
#endif
