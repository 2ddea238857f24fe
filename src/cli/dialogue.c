#include "cli/dialogue.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "core/printable.h"

enum { LINE = 256, SHOWN = 24 };

typedef struct dialogue {
    const cm_dialogue_config *config;
    cm_game *game;
    cm_view view;   /* of the output that is being made */
    cm_text note;   /* about the last move, for the next drawing */
    bool is_echoed; /* input is no terminal: it is shown */
    bool is_due;    /* the position has changed since it was drawn */
    bool is_ended;
    int64_t finished; /* games */
    int result[3];    /* of them: lost, drawn, won by the one human */
} dialogue;

typedef struct command {
    const char *name, *letter, *about;
    cm_status (*run)(dialogue *d);
} command;

/* ---- output ---- */

static void print(const cm_text *text) {
    fputs(text->bytes, stdout);
    fflush(stdout);
}

/* Sentences, broken between words. */
static void say(const dialogue *d, const char *text) {
    cm_text out = {0};
    char word[LINE];
    const char *sentences = CM_PRINTABLE(text);
    while (*sentences) {
        size_t length = strcspn(sentences, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, sentences);
        cm_text_word(&out, d->view.columns, word);
        sentences += length + (sentences[length] == ' ');
    }
    cm_text_add(&out, "\n");
    print(&out);
}

static bool has_two_players(const dialogue *d) { return d->game->env->spec.players == 2; }

/* The player that the one human is; -1 if both are human. */
static int human_of(const dialogue *d) {
    const cm_mover *mover = d->game->mover;
    if (has_two_players(d) && mover[0] == mover[1]) return -1;
    return mover[0] == CM_MOVER_HUMAN ? 0 : 1;
}

static void name_of(const dialogue *d, int32_t action, char name[16]) {
    cm_env_action_name(d->game->env, action, name, 16);
}

/* A legal move as an example: the one in the middle. */
static void example_move(const dialogue *d, char name[16]) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    int actions = d->game->env->spec.actions, action = actions / 2;
    cm_env_legal(d->game->env, d->game->state, legal);
    for (int i = 0; i < actions && !legal[action]; i++) action = (action + 1) % actions;
    name_of(d, action, name);
}

static void draw(dialogue *d, int best, const cm_text *note) {
    cm_text out = {0};
    cm_text_add(&out, "\n");
    cm_game_draw(d->game, &d->view, best, note, &out);
    print(&out);
}

static void introduce(const dialogue *d) {
    char text[LINE], name[16];
    const char *game = d->game->env->spec.name;
    int human = human_of(d);
    const char *other = human >= 0 && d->game->mover[1 - human] == CM_MOVER_AGENT ? d->config->agent : "random moves";
    if (!has_two_players(d)) {
        snprintf(text, sizeof text, "%s: you decide every move.", game);
    } else if (human < 0) {
        snprintf(text, sizeof text, "%s: you move both x and o; x moves first.", game);
    } else {
        snprintf(text, sizeof text, "%s: you are %s; you play against %s.", game,
                 human == 0 ? "x and move first" : "o and move second", other);
    }
    say(d, text);
    example_move(d, name);
    snprintf(text, sizeof text, "Type a move such as %s, or help.", name);
    say(d, text);
}

/* ---- input ---- */

/* Without the blanks around it, and fit to be shown: control characters become question marks. */
static void clean(char *line) {
    size_t first = strspn(line, " \t\r\n"), end = strlen(line);
    while (end > first && isspace((unsigned char)line[end - 1])) end--;
    memmove(line, line + first, end - first);
    line[end - first] = '\0';
    for (; *line; line++) *line = iscntrl((unsigned char)*line) ? '?' : *line;
}

/* A line without the blanks around it; false at the end of the input. What is too long for a line is not read. */
static bool ask(const dialogue *d, const char *prompt, char line[LINE]) {
    fputs(prompt, stdout);
    fflush(stdout);
    if (cm_interrupted() || !fgets(line, LINE, stdin)) return false;
    bool is_whole = strchr(line, '\n') != NULL;
    for (int c = 0; !is_whole && c != '\n' && c != EOF;) c = getchar();
    clean(line);
    if (d->is_echoed) printf("%s\n", CM_PRINTABLE(line));
    return true;
}

static const command *find_command(const command *commands, const char *word) {
    for (const command *c = commands; c->name; c++) {
        if (strcasecmp(word, c->name) == 0 || strcasecmp(word, c->letter) == 0) return c;
    }
    return NULL;
}

/* What was typed, fit for a message. */
static void quote(const char *line, char out[SHOWN + 4]) {
    int length = (int)strlen(line), shown = length < SHOWN ? length : SHOWN;
    while (shown < length && ((unsigned char)line[shown] & 0xC0) == 0x80) shown--; /* not within a character */
    snprintf(out, SHOWN + 4, "%.*s%s", shown, line, shown < length ? "..." : "");
}

/* The action that a line names, -1 if none. On a board the number of an action, which counts from 0, would be taken for
 * that of a column: there it counts only if it is the action's name. */
static int32_t parse_move(const dialogue *d, const char *line) {
    char name[16];
    int32_t action = cm_env_action_parse(d->game->env, line);
    if (action < 0 || !has_two_players(d)) return action;
    cm_env_action_name(d->game->env, action, name, sizeof name);
    return strcasecmp(name, line) == 0 ? action : -1;
}

/* ---- moves ---- */

static cm_status play(dialogue *d, int32_t action) {
    d->is_due = true;
    return cm_game_play(d->game, action);
}

static cm_status play_human(dialogue *d, int32_t action) {
    char name[16];
    int player = cm_game_to_play(d->game);
    CM_TRY(play(d, action));
    name_of(d, action, name);
    cm_text_clear(&d->note);
    if (has_two_players(d)) {
        cm_text_add(&d->note, "%s has played %s\n", cm_view_player(&d->view, player), name);
    } else {
        cm_text_add(&d->note, "step %d: %s, return %g\n", d->game->count, name, d->game->total);
    }
    return CM_OK;
}

static cm_status think(const dialogue *d, cm_analysis *out) {
    if (d->view.tty) fputs("thinking ...", stdout);
    fflush(stdout);
    cm_status status = cm_game_think(d->game, out);
    if (d->view.tty) fputs("\r\033[K", stdout);
    return status;
}

static cm_status play_other(dialogue *d) {
    char who[32];
    cm_analysis analysis;
    int player = cm_game_to_play(d->game);
    bool is_random = d->game->mover[player] == CM_MOVER_RANDOM;
    if (!is_random) CM_TRY(think(d, &analysis));
    int32_t action = is_random ? cm_game_random_action(d->game) : analysis.action;
    snprintf(who, sizeof who, "%s plays", cm_view_player(&d->view, player));
    cm_text_clear(&d->note);
    cm_game_tell_move(d->game, &d->view, who, action, is_random ? NULL : &analysis, &d->note);
    return play(d, action);
}

/* ---- commands ---- */

static cm_status run_hint(dialogue *d) {
    cm_text note = {0};
    cm_analysis analysis;
    if (!d->game->analyser) {
        say(d, "There is no agent to ask; play with --run DIR.");
        return CM_OK;
    }
    CM_TRY(think(d, &analysis));
    cm_game_tell_move(d->game, &d->view, "the agent would play", analysis.action, &analysis, &note);
    draw(d, cm_view_cell(d->game->env, d->game->state, analysis.action, d->game->scratch), &note);
    return CM_OK;
}

static cm_status run_undo(dialogue *d) {
    int taken = 0;
    CM_TRY(cm_game_undo(d->game, &taken));
    if (taken == 0) {
        say(d, "You have not moved yet: there is nothing to take back.");
        return CM_OK;
    }
    cm_text_clear(&d->note);
    cm_text_add(&d->note, "%d move%s taken back\n", taken, taken == 1 ? "" : "s");
    d->is_due = true;
    return CM_OK;
}

static cm_status run_moves(dialogue *d) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    char name[16];
    cm_text out = {0};
    cm_env_legal(d->game->env, d->game->state, legal);
    cm_text_word(&out, d->view.columns, "legal moves:");
    for (int a = 0; a < d->game->env->spec.actions; a++) {
        if (!legal[a]) continue;
        name_of(d, a, name);
        cm_text_word(&out, d->view.columns, name);
    }
    cm_text_add(&out, "\n");
    print(&out);
    return CM_OK;
}

static void begin(dialogue *d) {
    cm_game_begin(d->game, d->config->seed + (uint64_t)d->finished);
    cm_text_clear(&d->note);
    d->is_due = true;
}

static cm_status run_new(dialogue *d) {
    begin(d);
    return CM_OK;
}

static cm_status run_side(dialogue *d) {
    char text[LINE];
    cm_mover *mover = d->game->mover, first = mover[0];
    if (human_of(d) < 0 || !has_two_players(d)) {
        say(d, "You decide every move: there is no other side to take.");
        return CM_OK;
    }
    mover[0] = mover[1], mover[1] = first;
    snprintf(text, sizeof text, "You are %s now.", human_of(d) == 0 ? "x" : "o");
    say(d, text);
    d->is_due = true;
    return CM_OK;
}

static cm_status run_quit(dialogue *d) {
    d->is_ended = true;
    return CM_OK;
}

static cm_status run_help(dialogue *d);

static const command commands[] = {
    {"hint", "h", "what the agent would play", run_hint},
    {"undo", "u", "take back your last move", run_undo},
    {"moves", "m", "the legal moves", run_moves},
    {"side", "s", "change sides", run_side},
    {"new", "n", "a new game", run_new},
    {"help", "?", "this list", run_help},
    {"quit", "q", "end", run_quit},
    {NULL, NULL, NULL, NULL},
};

static cm_status run_help(dialogue *d) {
    char name[16];
    cm_text out = {0};
    example_move(d, name);
    cm_text_add(&out, "  %-8s play this move\n", name);
    for (const command *c = commands; c->name; c++) cm_text_add(&out, "  %-5s %s  %s\n", c->name, c->letter, c->about);
    print(&out);
    if (!d->game->analyser) return CM_OK;
    say(d, has_two_players(d)
               ? "In tables, visits are the simulations through a move. Q is what the move is worth to the player who "
                 "makes it: +1 is a win, -1 a loss. Prior is the network's guess before any search."
               : "In tables, visits are the simulations through a move. Q is the return to come. Prior is the "
                 "network's guess before any search.");
    return CM_OK;
}

/* ---- a game ---- */

static cm_status ask_move(dialogue *d) {
    char line[LINE], prompt[64], text[LINE], shown[SHOWN + 4], name[16];
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    const char *stone = cm_view_player(&d->view, cm_game_to_play(d->game));
    snprintf(prompt, sizeof prompt, has_two_players(d) ? "your move (%s): " : "your move: ", stone);
    if (!ask(d, prompt, line)) {
        printf("\n");
        return run_quit(d);
    }
    int32_t action = parse_move(d, line);
    const command *order = action < 0 ? find_command(commands, line) : NULL;
    if (order) return order->run(d);
    if (line[0] == '\0') return CM_OK;
    cm_env_legal(d->game->env, d->game->state, legal);
    if (action >= 0 && legal[action]) return play_human(d, action);
    quote(line, shown);
    example_move(d, name);
    if (action >= 0) {
        snprintf(text, sizeof text, "%s is taken or not allowed now; try %s, or type moves for a list.", shown, name);
    } else {
        snprintf(text, sizeof text, "\"%s\" is no move; type one such as %s, or help.", shown, name);
    }
    say(d, text);
    return CM_OK;
}

/* Says how the game has ended; counts it in `result`. */
static void tell_result(dialogue *d) {
    char text[LINE];
    const cm_game *game = d->game;
    int human = human_of(d), winner = game->total > 0.0 ? 0 : 1;
    if (!has_two_players(d)) {
        snprintf(text, sizeof text, "The end: return %g in %d steps%s.", game->total, game->count,
                 game->truncated ? " (time limit)" : "");
    } else if (game->total == 0.0) {
        snprintf(text, sizeof text, "A draw.");
    } else {
        snprintf(text, sizeof text, "%s wins%s.", winner == 0 ? "x" : "o",
                 human < 0         ? ""
                 : human == winner ? ": you have won"
                                   : ": you have lost");
    }
    say(d, text);
}

/* The game counts once it can no longer be taken back. */
static cm_status count_result(dialogue *d, int human) {
    double result = human == 0 ? d->game->total : -d->game->total;
    d->finished++;
    d->result[result > 0.0 ? 2 : result < 0.0 ? 0 : 1] += human >= 0;
    return cm_game_save(d->game);
}

static cm_status end_game(dialogue *d) {
    static const command choices[] = {{"undo", "u", "", run_undo}, {"side", "s", "", run_side},
                                      {"new", "n", "", run_new},   {"quit", "q", "", run_quit},
                                      {"", "", "", run_new},       {NULL, NULL, NULL, NULL}};
    char line[LINE];
    int human = human_of(d);
    tell_result(d);
    if (d->config->games > 0 && d->finished + 1 >= d->config->games) {
        CM_TRY(count_result(d, human));
        return run_quit(d);
    }
    const command *choice = NULL;
    while (!choice) {
        bool is_there = ask(d, "again (enter), undo, side or quit: ", line);
        if (!is_there) printf("\n");
        choice = find_command(choices, is_there ? line : "quit");
    }
    if (choice->run == run_undo) return run_undo(d);
    CM_TRY(count_result(d, human));
    CM_TRY(choice->run(d));
    if (!d->is_ended) begin(d);
    return CM_OK;
}

static cm_status play_turn(dialogue *d) {
    bool is_over = cm_env_ended(d->game->state);
    d->view = cm_view_of_stdout(d->config->arguments);
    if (!is_over && d->game->mover[cm_game_to_play(d->game)] != CM_MOVER_HUMAN) return play_other(d);
    if (d->is_due) draw(d, -1, &d->note);
    d->is_due = false;
    return is_over ? end_game(d) : ask_move(d);
}

static void tell_tally(const dialogue *d) {
    int sum = d->result[0] + d->result[1] + d->result[2];
    if (sum == 0) return;
    printf("%d game%s: you won %d, drew %d, lost %d\n", sum, sum == 1 ? "" : "s", d->result[2], d->result[1],
           d->result[0]);
}

cm_status cm_dialogue_run(cm_game *game, const cm_dialogue_config *config) {
    dialogue d = {.config = config, .game = game, .is_echoed = !isatty(STDIN_FILENO)};
    cm_status status = CM_OK;
    cm_interrupt_catch();
    d.view = cm_view_of_stdout(config->arguments);
    begin(&d);
    introduce(&d);
    while (status == CM_OK && !d.is_ended) status = play_turn(&d);
    tell_tally(&d);
    return status;
}
