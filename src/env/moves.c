#include "env/moves.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DIGITS = 9, SHOWN = 24, NAME_BYTES = 16 };

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

cm_move_list cm_move_list_begin(const cm_env *env, const char *text, size_t size) {
    cm_move_list list = {env, text, text + size, false};
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

/* -1 unless text[length] is the name of an action. */
static int named(const cm_env *env, const char *text, int length) {
    char name[NAME_BYTES], own[NAME_BYTES];
    if (length < 1 || length >= NAME_BYTES || memchr(text, '\0', (size_t)length)) return -1;
    snprintf(name, sizeof name, "%.*s", length, text);
    const int action = cm_env_action_parse(env, name);
    if (action < 0) return -1;
    cm_env_action_name(env, action, own, sizeof own); /* it reads numbers of other forms, too */
    return strcasecmp(own, name) == 0 ? action : -1;
}

static bool is_between(char c) { return c == ',' || is_blank(c); }

/* The end of the item that begins at `first`: of a number, else of the longest name, which may have blanks and commas
 * of its own, else the next comma. */
static const char *end_of_item(const cm_env *env, const char *first, const char *end, int *number) {
    const char *word = first;
    while (word < end && !is_between(*word)) word++;
    *number = number_of(first, (int)(word - first));
    if (*number >= 0) return word;
    for (const char *last = end - first < NAME_BYTES ? end : first + NAME_BYTES - 1; last > first; last--) {
        if ((last < end && !is_between(*last)) || is_blank(last[-1])) continue;
        *number = named(env, first, (int)(last - first));
        if (*number >= 0) return last;
    }
    while (word < end && *word != ',') word++;
    return word;
}

bool cm_move_list_next(cm_move_list *list, cm_move_item *item) {
    if (!list->is_open) return false;
    const char *first = list->at, *rest;
    while (first < list->end && is_blank(*first)) first++;
    const char *last = rest = end_of_item(list->env, first, list->end, &item->number);
    while (rest < list->end && is_blank(*rest)) rest++;
    const bool has_comma = rest < list->end && *rest == ',';
    list->at = rest + has_comma;
    list->is_open = has_comma || rest < list->end;
    while (first < last && is_blank(last[-1])) last--;
    item->text = first;
    item->length = (int)(last - first);
    return true;
}

void cm_move_text(const cm_env *env, int action, char out[16]) {
    cm_move_item item;
    cm_env_action_name(env, action, out, NAME_BYTES);
    cm_move_list list = cm_move_list_begin(env, out, strlen(out));
    if (!cm_move_list_next(&list, &item) || item.number != action || list.is_open)
        snprintf(out, NAME_BYTES, "%d", action);
}

/* Where actions have names that a list may hold, that they do: " or a name such as b2", else nothing. */
static void mention_names(const cm_env *env, char *out, size_t size) {
    char name[NAME_BYTES];
    cm_env_action_name(env, 0, name, sizeof name);
    const int length = (int)strlen(name);
    const bool is_taken = !strchr(name, ',') && number_of(name, length) < 0 && named(env, name, length) == 0;
    out[0] = '\0';
    if (is_taken) snprintf(out, size, " or a name such as %s", name);
}

/* What is wrong with move `number` of a list, as far as it can be said without playing it. */
static cm_status check_item(const cm_env *env, const void *state, const cm_move_item *item, int number) {
    if (cm_env_ended(state)) {
        return cm_fail(CM_ERR_INPUT, "move %d: the game is over after %d moves", number, number - 1);
    }
    if (item->number >= 0 && item->number < env->spec.actions) return CM_OK;
    char names[2 * SHOWN];
    mention_names(env, names, sizeof names);
    int shown = item->length < SHOWN ? item->length : SHOWN;
    return cm_fail(CM_ERR_INPUT, "move %d: must be an action, 0 to %d%s, got \"%.*s\"", number, env->spec.actions - 1,
                   names, shown, item->text);
}

cm_status cm_moves_play(const cm_env *env, void *state, const char *text, size_t size) {
    cm_move_list list = cm_move_list_begin(env, text, size);
    cm_move_item item;
    for (int number = 1; cm_move_list_next(&list, &item); number++) {
        cm_env_outcome outcome;
        CM_TRY(check_item(env, state, &item, number));
        cm_status status = cm_env_step(env, state, item.number, &outcome);
        if (status != CM_OK) return cm_fail_in(status, "move %d", number);
    }
    return CM_OK;
}
