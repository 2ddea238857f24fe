/* Games in SGF as positions of the Go Text Protocol. */
#ifndef CM_CLI_GTP_SGF_H
#define CM_CLI_GTP_SGF_H

#include "cli/gtp_position.h"
#include "env/sgf.h"

/* Plays what a file holds up to the position before move `before`, counted from 1; 0: all. Errors: CM_ERR_INPUT for
 * another size of board, for an illegal move, for fewer moves than that; CM_ERR_MEMORY. The position stays then. */
cm_status cm_gtp_sgf_play(cm_gtp_position *position, const cm_sgf *sgf, int before) CM_MUST_USE;

/* The position after move `move` of a file (-1: after the last) as a list of actions for env/moves.h, to be freed by
 * the caller. Errors: as above; those of reading; CM_ERR_INPUT if the environment is not Go. */
cm_status cm_gtp_sgf_moves(const cm_env *env, const char *path, int move, char **text) CM_MUST_USE;
#endif
