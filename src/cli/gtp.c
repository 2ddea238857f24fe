/* cumind gtp: a run's agent as an engine of the Go Text Protocol. */
#include "cli/gtp.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/interrupt.h"
#include "core/memory.h"
#include "core/printable.h"

/* ---- arguments ---- */

static cm_status syntax_error(void) { return cm_fail(CM_ERR_INPUT, "syntax error"); }

cm_status cm_gtp_colour(const cm_gtp *gtp, int index, int *player) {
    static const char *const words[] = {"b", "w", "black", "white"};
    for (int i = 0; index < gtp->words && i < 4; i++) {
        if (strcasecmp(gtp->word[index], words[i]) != 0) continue;
        *player = i % 2;
        return CM_OK;
    }
    return syntax_error();
}

cm_status cm_gtp_vertex_of(const cm_gtp *gtp, int index, int32_t *action) {
    *action = index < gtp->words ? cm_gtp_parse_vertex(gtp->env, gtp->word[index]) : -1;
    return *action >= 0 ? CM_OK : syntax_error();
}

cm_status cm_gtp_real(const cm_gtp *gtp, int index, double *value) {
    char *end = NULL;
    if (index >= gtp->words) return syntax_error();
    *value = strtod(gtp->word[index], &end);
    return end != gtp->word[index] && *end == '\0' && isfinite(*value) ? CM_OK : syntax_error();
}

cm_status cm_gtp_int(const cm_gtp *gtp, int index, int *value) {
    double number;
    CM_TRY(cm_gtp_real(gtp, index, &number));
    if (number != floor(number) || fabs(number) > 2147483647.0) return syntax_error();
    *value = (int)number;
    return CM_OK;
}

/* ---- the protocol ---- */

static const cm_gtp_command *const tables[] = {cm_gtp_core, cm_gtp_go, cm_gtp_gogui, cm_gtp_time, cm_gtp_analyze, NULL};

static const cm_gtp_command *find_command(const cm_gtp *gtp, const char *name) {
    for (int t = 0; tables[t]; t++)
        for (const cm_gtp_command *c = tables[t]; c->name; c++)
            if (strcmp(c->name, name) == 0 && (!c->of_go || gtp->game.go)) return c;
    return NULL;
}

/* Without a comment and control characters; tabs are blanks. */
static void clean(char *line) {
    char *to = line;
    for (const char *from = line; *from && *from != '#'; from++) {
        if (*from == '\t') {
            *to++ = ' ';
        } else if (!iscntrl((unsigned char)*from)) {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Divides the line; what is beyond the most words stays in none. */
static void divide(cm_gtp *gtp, char *line) {
    char *rest = NULL;
    gtp->words = 0;
    for (char *word = strtok_r(line, " ", &rest); word && gtp->words < CM_GTP_WORDS; word = strtok_r(NULL, " ", &rest))
        gtp->word[gtp->words++] = word;
}

/* Takes the number in front of a command away from its words; "" if there is none. */
static const char *take_number(cm_gtp *gtp) {
    if (gtp->words == 0 || strspn(gtp->word[0], "0123456789") != strlen(gtp->word[0])) return "";
    const char *number = gtp->word[0];
    gtp->words--;
    memmove(gtp->word, gtp->word + 1, (size_t)gtp->words * sizeof *gtp->word);
    return number;
}

static cm_status run_command(cm_gtp *gtp) {
    const cm_gtp_command *command = gtp->words > 0 ? find_command(gtp, gtp->word[0]) : NULL;
    if (!command) return cm_fail(CM_ERR_INPUT, "unknown command");
    if (gtp->words - 1 < command->least) return syntax_error();
    return command->run(gtp);
}

/* The empty line behind it. */
static cm_status end_answer(void) {
    printf("\n");
    return fflush(stdout) == 0 ? CM_OK : cm_fail(CM_ERR_IO, "standard output: cannot write: %s", strerror(errno));
}

static cm_status print(const char *number, char sign, const char *text) {
    printf("%c%s%s%s\n", sign, number, *text ? " " : "", text);
    return end_answer();
}

static cm_status answer(cm_gtp *gtp, char *line) {
    clean(line);
    divide(gtp, line);
    if (gtp->words == 0) return CM_OK;
    gtp->number = take_number(gtp);
    gtp->is_answered = false;
    cm_text_clear(&gtp->answer);
    const cm_status status = run_command(gtp);
    if (gtp->is_answered) return end_answer();
    if (status == CM_OK) return print(gtp->number, '=', gtp->answer.bytes);
    return print(gtp->number, '?', CM_PRINTABLE(cm_error_message()));
}

static cm_status converse(cm_gtp *gtp) {
    while (!gtp->is_ended) {
        char *line;
        size_t size;
        CM_TRY(cm_line_input_next(&gtp->input, &line, &size));
        if (!line) return CM_OK;
        CM_TRY(answer(gtp, line));
    }
    return CM_OK;
}

/* ---- moves ---- */

static int32_t pass_of(const cm_env *env) { return env->spec.actions > env->spec.cells ? env->spec.cells : -1; }

/* The move of most visits that the protocol's board allows: the environment may know fewer positions of the past. */
static int32_t find_best(const cm_gtp *gtp, const cm_analysis *analysis, const uint8_t *legal) {
    int32_t best = -1;
    if (analysis->action >= 0 && legal[analysis->action]) return analysis->action;
    for (int32_t a = 0; a < gtp->env->spec.actions; a++)
        if (legal[a] && analysis->legal[a] && (best < 0 || analysis->visits[a] > analysis->visits[best])) best = a;
    return best;
}

static cm_status think(cm_gtp *gtp, int player, const void *state) {
    const double begun = cm_clock_seconds();
    memcpy(cm_analyser_state(gtp->analyser, 0), state, gtp->env->spec.state_size);
    cm_analyser_limit(gtp->analyser, cm_gtp_clock_next(&gtp->clock, &gtp->env->spec, player));
    const cm_status status = cm_analyser_run(gtp->analyser, 1);
    cm_gtp_clock_count(&gtp->clock, player, cm_clock_seconds() - begun);
    return status;
}

cm_status cm_gtp_choose(cm_gtp *gtp, int player, const uint8_t *barred, int32_t *action) {
    uint8_t legal[CM_ENV_MAX_SEARCHED];
    cm_gtp_position_legal(&gtp->game, player, legal);
    const void *state = cm_gtp_position_state(&gtp->game, player);
    *action = pass_of(gtp->env);
    for (int a = 0; barred && a < gtp->env->spec.actions; a++) legal[a] &= !barred[a];
    if (!state && gtp->game.go) return CM_OK;
    if (!state) return cm_fail(CM_ERR_INPUT, "the game is over, or the other player is to move");
    CM_TRY(think(gtp, player, state));
    const cm_analysis analysis = cm_analyser_get(gtp->analyser, 0);
    const int32_t best = find_best(gtp, &analysis, legal);
    if (best >= 0) *action = best;
    return *action >= 0 ? CM_OK : cm_fail(CM_ERR_INPUT, "there is no move");
}

/* ---- commands for every game ---- */

static cm_status run_protocol_version(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "2");
    return CM_OK;
}

static cm_status run_name(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "cumind");
    return CM_OK;
}

static cm_status run_version(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "%s", CM_VERSION);
    return CM_OK;
}

static cm_status run_known_command(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "%s", find_command(gtp, gtp->word[1]) ? "true" : "false");
    return CM_OK;
}

static cm_status run_list_commands(cm_gtp *gtp) {
    for (int t = 0; tables[t]; t++)
        for (const cm_gtp_command *c = tables[t]; c->name; c++)
            if (find_command(gtp, c->name)) cm_text_add(&gtp->answer, "%s%s", gtp->answer.used ? "\n" : "", c->name);
    return CM_OK;
}

static cm_status run_quit(cm_gtp *gtp) {
    gtp->is_ended = true;
    return CM_OK;
}

static cm_status run_boardsize(cm_gtp *gtp) {
    int size;
    const int rows = cm_gtp_rows(gtp->env), columns = cm_gtp_columns(gtp->env);
    CM_TRY(cm_gtp_int(gtp, 1, &size));
    if (size != rows || size != columns)
        return cm_fail(CM_ERR_INPUT, "unacceptable size: the network of the run is for %d x %d", rows, columns);
    cm_gtp_position_clear(&gtp->game);
    return CM_OK;
}

static cm_status run_clear_board(cm_gtp *gtp) {
    cm_gtp_position_clear(&gtp->game);
    cm_gtp_clock_begin(&gtp->clock);
    return CM_OK;
}

static cm_status run_play(cm_gtp *gtp) {
    int player;
    int32_t action;
    CM_TRY(cm_gtp_colour(gtp, 1, &player));
    CM_TRY(cm_gtp_vertex_of(gtp, 2, &action));
    return cm_gtp_position_play(&gtp->game, player, action);
}

static void add_vertex(cm_gtp *gtp, int32_t action) {
    char name[CM_GTP_VERTEX];
    cm_gtp_vertex(gtp->env, action, name);
    cm_text_add(&gtp->answer, "%s", name);
}

cm_status cm_gtp_play_chosen(cm_gtp *gtp, int player, int32_t action) {
    CM_TRY(cm_gtp_position_play(&gtp->game, player, action));
    add_vertex(gtp, action);
    return CM_OK;
}

static cm_status run_genmove(cm_gtp *gtp) {
    int player;
    int32_t action;
    CM_TRY(cm_gtp_colour(gtp, 1, &player));
    CM_TRY(cm_gtp_choose(gtp, player, NULL, &action));
    return cm_gtp_play_chosen(gtp, player, action);
}

static cm_status run_reg_genmove(cm_gtp *gtp) {
    int player;
    int32_t action;
    CM_TRY(cm_gtp_colour(gtp, 1, &player));
    CM_TRY(cm_gtp_choose(gtp, player, NULL, &action));
    add_vertex(gtp, action);
    return CM_OK;
}

static cm_status run_undo(cm_gtp *gtp) { return cm_gtp_position_undo(&gtp->game); }

static void add_letters(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "\n  ");
    for (int c = 0; c < cm_gtp_columns(gtp->env); c++) cm_text_add(&gtp->answer, " %c", cm_gtp_letter(c));
}

static cm_status run_showboard(cm_gtp *gtp) {
    int32_t cells[CM_ENV_MAX_SEARCHED];
    const cm_env *env = gtp->env;
    cm_gtp_position_cells(&gtp->game, cells);
    add_letters(gtp);
    for (int line = 0; line < cm_gtp_rows(env); line++) {
        const int number = cm_gtp_row_number(env, line);
        cm_text_add(&gtp->answer, "\n%2d", number);
        for (int c = 0; c < cm_gtp_columns(env); c++)
            cm_text_add(&gtp->answer, " %c", ".XO"[cells[cm_gtp_cell(env, line, c)]]);
        cm_text_add(&gtp->answer, " %d", number);
    }
    add_letters(gtp);
    return CM_OK;
}

/* Of games that are won by one point or another: only who has won. */
static cm_status run_final_score(cm_gtp *gtp) {
    bool is_over;
    const double lead = cm_gtp_position_lead(&gtp->game, &is_over) - (gtp->game.go ? gtp->env->params.komi : 0.0);
    const bool has_points = gtp->game.go || strcmp(gtp->env->def->name, "othello") == 0;
    if (!gtp->game.go && !is_over) return cm_fail(CM_ERR_INPUT, "cannot score: the game is not over");
    if (lead == 0.0) {
        cm_text_add(&gtp->answer, "0");
    } else {
        cm_text_add(&gtp->answer, "%c+", lead > 0.0 ? 'B' : 'W');
        if (has_points) cm_text_add(&gtp->answer, "%g", fabs(lead));
    }
    return CM_OK;
}

const cm_gtp_command cm_gtp_core[] = {
    {"protocol_version", 0, false, run_protocol_version},
    {"name", 0, false, run_name},
    {"version", 0, false, run_version},
    {"known_command", 1, false, run_known_command},
    {"list_commands", 0, false, run_list_commands},
    {"quit", 0, false, run_quit},
    {"boardsize", 1, false, run_boardsize},
    {"clear_board", 0, false, run_clear_board},
    {"play", 2, false, run_play},
    {"genmove", 1, false, run_genmove},
    {"reg_genmove", 1, false, run_reg_genmove},
    {"undo", 0, false, run_undo},
    {"showboard", 0, false, run_showboard},
    {"final_score", 0, false, run_final_score},
    CM_GTP_END,
};

/* ---- the command ---- */

static cm_status open_engine(cm_gtp *gtp, cm_loaded *loaded) {
    gtp->loaded = loaded;
    gtp->env = &loaded->session->env;
    CM_TRY(cm_env_check_listed(gtp->env, "gtp"));
    CM_TRY(cm_gtp_check_game(gtp->env));
    CM_TRY(cm_gtp_position_open(&gtp->game, gtp->env));
    return cm_analyser_create(loaded->agent, gtp->env, loaded->session->pool, 1, &gtp->analyser);
}

static void close_engine(cm_gtp *gtp) {
    cm_line_input_close(&gtp->input);
    cm_gtp_position_close(&gtp->game);
    cm_analyser_destroy(gtp->analyser);
}

static cm_status run(cm_arguments *arguments) {
    static cm_gtp gtp;
    const char *path = NULL;
    cm_loaded loaded = {0};
    CM_TRY(cm_cli_need_run(arguments, &path));
    CM_TRY(cm_cli_time_control(arguments, &gtp.clock.own));
    CM_TRY(cm_loaded_open(arguments, &loaded));
    cm_status status = open_engine(&gtp, &loaded);
    cm_interrupt_ends("gtp");
    cm_interrupt_leaves("gtp", "the game is not kept");
    if (status == CM_OK) status = converse(&gtp);
    close_engine(&gtp);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --simulations");
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    CM_FLAG_CHECKPOINT,
    CM_FLAG_SIMULATIONS,
    CM_FLAGS_TIME,
    {"--set", "KEY=VALUE", "Set one key on top of the run's configuration; may be repeated."},
    CM_FLAGS_MACHINE,
    CM_FLAGS_END,
};

const cm_command cm_command_gtp = {
    .name = "gtp",
    .about = "play as an engine of the Go Text Protocol",
    .positional = "",
    .details =
        "Reads commands of GTP 2 on stdin and answers on stdout, as GoGui, Sabaki, KGS's client and other engines' "
        "referees expect it. Go, and with GoGui's rule commands the other games on boards whose moves are cells: "
        "Othello, Gomoku, Hex, TicTacToe.\n"
        "Go is played by the run's rules: area scoring, positional superko, no suicide, on the size that its network "
        "was trained for. A komi may be set, and counts in scores; the network has learnt the run's.\n" CM_TIME_DETAILS,
    .flags = flags,
    .examples = "  cumind gtp --run RUN --simulations 400\n"
                "  cumind gtp --run RUN --simulations 20k --seconds-per-move 5\n"
                "  echo genmove b | cumind gtp --run RUN\n",
    .run = run,
};
