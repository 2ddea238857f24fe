/* The positions at the nodes of an outline, as drawings that share their shapes: what a page needs to draw them, in few
 * bytes.
 *
 * A position is known where the rules can play the moves of the path: the environment's state of the root is copied and
 * stepped. Each shape of all drawings (draw/scene.h) is told once; a node's drawing is told by what it has that its
 * parent's has not.
 */
#ifndef CM_RUN_OUTLINE_BOARDS_H
#define CM_RUN_OUTLINE_BOARDS_H

#include <stdio.h>

#include "env/env.h"
#include "run/outline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of the position at a node; the letters stand in JSON. Below one that is not known nothing is. */
typedef enum cm_outline_kind {
    CM_OUTLINE_BOARD = 'b',    /* the position */
    CM_OUTLINE_END = 'e',      /* the position, in which the game is over */
    CM_OUTLINE_HALF = 'h',     /* the position between a move and what chance brings */
    CM_OUTLINE_AFTER = 'a',    /* after the end of the game: the model alone goes on */
    CM_OUTLINE_ILLEGAL = 'i',  /* the rules forbid a move or an outcome of the path: the model alone plays it */
    CM_OUTLINE_CHANCE = 'c',   /* chance takes part, and what it has done is not known */
    CM_OUTLINE_DRAWN = 'd',    /* which action a draw stands for is known to the model alone */
    CM_OUTLINE_NO_COPY = 'n',  /* the environment cannot play on from a copy of a state */
    CM_OUTLINE_NO_SPACE = 's', /* known, and left out for the sake of the size */
} cm_outline_kind;

typedef struct cm_outline_boards cm_outline_boards;

/* Plays and draws all of an outline from `state` [state_size], which its root stands for. actions[count]: that lead to
 * the nodes, below a chance node the outcomes of the environment; -1 where that is not known. Environment and outline
 * are borrowed. Errors: CM_ERR_MEMORY. */
cm_status cm_outline_boards_create(const cm_env *env, const void *state, const cm_outline *outline,
                                   const int32_t *actions, cm_outline_boards **out) CM_MUST_USE;
void cm_outline_boards_destroy(cm_outline_boards *boards); /* NULL is allowed */

/* Leaves drawings out, those of nodes with few visits first, so that cm_outline_boards_put writes at most `bytes`. */
void cm_outline_boards_fit(cm_outline_boards *boards, size_t bytes);

/* Whether a node of that kind has a drawing. */
static inline bool cm_outline_is_drawn(int kind) {
    return kind == CM_OUTLINE_BOARD || kind == CM_OUTLINE_END || kind == CM_OUTLINE_HALF;
}

cm_outline_kind cm_outline_boards_kind(const cm_outline_boards *boards, int i);
int cm_outline_boards_mover(const cm_outline_boards *boards, int i); /* the player to move at node i, as is thought */

/* Writes an object of JSON {width, height, shapes, scenes}, without a "<". shapes: rows [0, colour, x, y, width,
 * height, corner] a rectangle, [1, colour, x, y, radius] a circle, [2, colour, x1, y1, x2, y2, thickness] a line, [3,
 * colour, x, y, ...] a polygon, [4, colour, x, y, size, anchor (0 start, 1 middle, 2 end), text] a text, [5, x, y,
 * width, height, address] an image; colour is 0xRRGGBB. scenes[count]: how a node's list of shapes is made of its
 * parent's (the root's of the empty one), by numbers of base 36: "=n" takes over n shapes, "-n" leaves n out, "+n" adds
 * shape n; the rest is taken over. "" where there is no drawing. */
void cm_outline_boards_put(const cm_outline_boards *boards, FILE *out);

/* Writes a text as JSON has it, without what acts on a terminal, and without the "<" that would end the script in which
 * JSON stands in a page. */
void cm_outline_put_string(FILE *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif
