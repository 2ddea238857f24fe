/* Games as text: the actions from the start position, as numbers or names with commas or blanks between them, in the
 * form in which they are shown ("4,0,8", "b2, a1, c3", "b2 a1 c3"; nothing: the start). A name may itself contain
 * commas and blanks. */
#ifndef CM_ENV_MOVES_H
#define CM_ENV_MOVES_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is left of a list while it is read. */
typedef struct cm_move_list {
    const cm_env *env;    /* borrowed */
    const char *at, *end; /* borrowed */
    bool is_open;         /* one more item is due */
} cm_move_list;

typedef struct cm_move_item {
    const char *text; /* without the blanks around it; part of the list */
    int length;       /* bytes of it */
    int number; /* of at most nine digits, whatever actions are called, else of the action of that name; -1: neither */
} cm_move_item;

/* Reads text[size] from its start; both the text and the environment that names actions outlive the list. */
cm_move_list cm_move_list_begin(const cm_env *env, const char *text, size_t size);

/* The next item; false at the end. What stands between two commas is an item, even if it is empty; what is no number
 * and begins with no name reaches to the next comma. */
bool cm_move_list_next(cm_move_list *list, cm_move_item *item);

/* An action as it may stand in a list: by its name where that is read as this action, else by its number. */
void cm_move_text(const cm_env *env, int action, char out[16]);

/* Plays text[size] on `state`, which goes on from where it is. Errors: CM_ERR_INPUT names the move (counted from 1)
 * that is no action, illegal, or after the end of the game; the state is then where that move would have
 * been played. */
cm_status cm_moves_play(const cm_env *env, void *state, const char *text, size_t size) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
