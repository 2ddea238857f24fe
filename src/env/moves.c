#include "env/moves.h"

#include <string.h>

enum { DIGITS = 9, SHOWN = 24 };

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

cm_move_list cm_move_list_begin(const char *text, size_t size) {
    cm_move_list list = {text, text + size, false};
    while (list.at < list.end && is_blank(*list.at)) list.at++;
    list.is_open = list.at < list.end;
    return list;
}

/* -1 unless text[length] is a number of one to nine digits. */
static int number_of(const char *text, int length) {
    int number = 0;
    if (length < 1 || length > DIGITS) return -1;
    for (int i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

bool cm_move_list_next(cm_move_list *list, cm_move_item *item) {
    if (!list->is_open) return false;
    const char *comma = memchr(list->at, ',', (size_t)(list->end - list->at));
    const char *first = list->at, *last = comma ? comma : list->end;
    list->is_open = comma != NULL;
    list->at = comma ? comma + 1 : list->end;
    while (first < last && is_blank(*first)) first++;
    while (first < last && is_blank(last[-1])) last--;
    *item = (cm_move_item){first, (int)(last - first), number_of(first, (int)(last - first))};
    return true;
}

/* What is wrong with move `number` of a list, as far as it can be said without playing it. */
static cm_status check_item(const cm_env *env, const void *state, const cm_move_item *item, int number) {
    if (cm_env_ended(state)) {
        return cm_fail(CM_ERR_INPUT, "move %d: the game is over after %d moves", number, number - 1);
    }
    if (item->number >= 0 && item->number < env->spec.actions) return CM_OK;
    int shown = item->length < SHOWN ? item->length : SHOWN;
    return cm_fail(CM_ERR_INPUT, "move %d: must be an action, 0 to %d, got \"%.*s\"", number, env->spec.actions - 1,
                   shown, item->text);
}

cm_status cm_moves_play(const cm_env *env, void *state, const char *text, size_t size) {
    cm_move_list list = cm_move_list_begin(text, size);
    cm_move_item item;
    for (int number = 1; cm_move_list_next(&list, &item); number++) {
        cm_env_outcome outcome;
        CM_TRY(check_item(env, state, &item, number));
        cm_status status = cm_env_step(env, state, item.number, &outcome);
        if (status != CM_OK) return cm_fail_in(status, "move %d", number);
    }
    return CM_OK;
}
