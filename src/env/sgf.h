/* Games of Go as SGF, FF[4] (Hollosi, "SGF File Format FF[4]", www.red-bean.com/sgf): the main line of the first game
 * of a file, and files of games. */
#ifndef CM_ENV_SGF_H
#define CM_ENV_SGF_H

#include "core/file.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SGF_MOST_ITEMS = 1 << 20, CM_SGF_MOST_BYTES = 1 << 26 };

/* What stands in the nodes, in their order. */
typedef enum cm_sgf_kind {
    CM_SGF_MOVE,  /* of `player`, on a point; size * size: a pass */
    CM_SGF_ADD,   /* a stone of `player` is put there */
    CM_SGF_CLEAR, /* the point is made empty */
    CM_SGF_TURN,  /* `player` is to move; the point is 0 */
} cm_sgf_kind;

typedef struct cm_sgf_item {
    uint8_t kind, player; /* 0 Black, 1 White */
    uint16_t point;       /* row * size + column, from the upper left corner */
} cm_sgf_item;

typedef struct cm_sgf {
    int size; /* 1..19; 19 where the file says nothing */
    double komi;
    bool has_komi;
    cm_sgf_item *items; /* [count], owned */
    int count, capacity;
} cm_sgf;

/* Reads text[size], which may be any bytes: whatever stands in front of the first "(;" is skipped, as are variations
 * and properties that are not about stones. `what` names the text in messages. The caller frees *out, which is empty
 * after an error. Errors: CM_ERR_INPUT "WHAT:LINE: what is wrong"; CM_ERR_MEMORY. */
cm_status cm_sgf_parse(const char *what, const char *text, size_t size, cm_sgf *out) CM_MUST_USE;
/* The same of a file. Errors: also CM_ERR_IO. */
cm_status cm_sgf_read(const char *path, cm_sgf *out) CM_MUST_USE;
void cm_sgf_free(cm_sgf *sgf); /* leaves it empty */

/* A game to be written; all borrowed. */
typedef struct cm_sgf_game {
    int size;
    double komi;
    const char *black, *white; /* names */
    const char *result;        /* "B+3.5", "0", "?" */
    const int32_t *moves;      /* [count] of Black and White in turn, points or size * size */
    int count;
} cm_sgf_game;

/* Appends a game and a newline; a file of several is a collection. Errors: those of the file, CM_ERR_MEMORY. */
cm_status cm_sgf_append(cm_file_writer *file, const cm_sgf_game *game) CM_MUST_USE;

/* The result of finished play as SGF has it, "B+3.5" or "0", of Black's lead. */
void cm_sgf_result(double lead, char out[16]);

/* Whether an environment is Go as env/go.h has it, whose games these files hold. */
bool cm_sgf_serves(const cm_env *env);

#ifdef __cplusplus
}
#endif
#endif
