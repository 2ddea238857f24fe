#include "cli/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "core/terminal.h"
#include "env/board.h"
#include "env/draw.h"

enum {
    PLAIN_COLUMNS = 80,
    GAP = 3,         /* between board and table */
    NUMBERS = 28,    /* columns of a table's row without name and bar */
    SIDE_TABLE = 36, /* a table of fewer columns stands below its board */
    TABLE = 64,      /* a table is never wider */
    LEAST_BAR = 3,
    MOST_BAR = 32
};

/* ---- the terminal ---- */

cm_status cm_view_need_columns(const char *command, int columns) {
    const int there = cm_terminal_of(STDOUT_FILENO).columns;
    if (there == 0 || there >= columns) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: needs a terminal of at least %d columns, this one has %d", command, columns,
                   there);
}

cm_view cm_view_of_stdout(const cm_arguments *arguments) {
    cm_progress_style style = cm_cli_style(arguments);
    const cm_terminal terminal = style.tty ? cm_terminal_of(STDOUT_FILENO) : (cm_terminal){.columns = 0};
    const int columns = terminal.columns > 0 ? terminal.columns : PLAIN_COLUMNS;
    return (cm_view){.tty = style.tty,
                     .colour = style.colour,
                     .utf8 = style.utf8,
                     .columns = columns > CM_VIEW_LEAST ? columns - 1 : CM_VIEW_LEAST,
                     .rows = terminal.rows};
}

/* ---- boards ---- */

static const char stones[] = ".xo";

const char *cm_view_player(const cm_view *view, int player) {
    static const char *const coloured[] = {"\033[1;31mx\033[0m", "\033[1;36mo\033[0m"};
    static const char *const plain[] = {"x", "o"};
    return view->colour ? coloured[player] : plain[player];
}

int cm_view_new_cell(const cm_env *env, const void *before, const void *after) {
    return cm_env_moment_of(env, before, -1, after).cell;
}

static void paint_cell(const cm_view *view, int32_t content, bool is_last, bool is_best, cm_text *out) {
    if (content > 0) {
        cm_text_add(out, "%s%s", is_last && view->colour ? "\033[7m" : "", cm_view_player(view, content - 1));
    } else if (is_best) {
        cm_text_add(out, "%s", view->colour ? "\033[1;33m*\033[0m" : "*");
    } else {
        cm_text_add(out, "%c", stones[0]);
    }
}

int cm_view_cell(const cm_env *env, const void *state, int32_t action, void *scratch) {
    cm_env_outcome outcome;
    memcpy(scratch, state, env->spec.state_size);
    if (cm_env_step(env, scratch, action, &outcome) != CM_OK) return -1;
    return cm_view_new_cell(env, state, scratch);
}

/* The colour of a letter of the picture, '\0' if it has none. */
static char colour_of(const cm_env *env, char letter) {
    for (const char *at = env->def->colours; at && at[0] && at[1]; at += 2)
        if (*at == letter) return at[1];
    return '\0';
}

/* As many lines as the grid has rows in the colours of the row's letters, those below them as they are. */
static void paint_grid(const cm_env *env, const char *picture, cm_text *out) {
    for (int row = 0; *picture; picture++) {
        const char colour = row < env->spec.shape[0] ? colour_of(env, *picture) : '\0';
        row += *picture == '\n';
        if (colour) cm_text_add(out, "\033[1;3%cm%c\033[0m", colour, *picture);
        if (!colour) cm_text_add(out, "%c", *picture);
    }
}

/* Below the line of column names a row is its number and its cells; what follows the last cell stays as it is. */
void cm_view_board(const cm_view *view, const cm_env *env, const void *state, int last, int best, cm_text *out) {
    char picture[CM_ENV_PICTURE_BYTES];
    int32_t cells[CM_BOARD_CELLS];
    cm_env_picture(env, state, picture, sizeof picture);
    const char *at = strchr(picture, '\n');
    if (view->colour && env->def->colours && at) {
        paint_grid(env, picture, out);
        return;
    }
    if (!at || !cm_board_read_stones(env, state, cells)) {
        cm_text_add(out, "%s%s", picture, at ? "" : "\n");
        return;
    }
    cm_text_add(out, "%.*s", (int)(at - picture), picture);
    for (int cell = 0; *at && cell < env->spec.cells; at++) {
        if (*at == stones[cells[cell]]) {
            paint_cell(view, cells[cell], cell == last, cell == best, out);
            cell++;
        } else {
            cm_text_add(out, "%c", *at);
        }
    }
    cm_text_add(out, "%s", at);
}

/* ---- tables ---- */

/* Whether action a belongs before action b, which has the lower number. */
static bool comes_before(const cm_analysis *analysis, int a, int b) {
    if (analysis->visits[a] != analysis->visits[b]) return analysis->visits[a] > analysis->visits[b];
    if (a == analysis->action || b == analysis->action) return a == analysis->action;
    return analysis->prior[a] > analysis->prior[b];
}

int cm_view_order(const cm_env *env, const cm_analysis *analysis, int32_t *order) {
    int count = 0;
    for (int a = 0; a < env->spec.actions; a++) {
        if (!cm_analysis_has(analysis, a)) continue;
        int at = count++;
        for (; at > 0 && comes_before(analysis, a, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = a;
    }
    return count;
}

/* A bar of share [0, 1] of `columns` columns, padded with blanks. */
static void add_bar(const cm_view *view, double share, int columns, cm_text *out) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int parts = (int)lround(share * columns * 8), full = parts / 8, rest = parts % 8;
    if (!view->utf8) full = (parts + 4) / 8, rest = 0;
    if (view->colour) cm_text_add(out, "\033[36m");
    for (int i = 0; i < full; i++) cm_text_add(out, "%s", view->utf8 ? "█" : "#");
    cm_text_add(out, "%s", eighths[rest]);
    if (view->colour) cm_text_add(out, "\033[0m");
    cm_text_add(out, "%*s", columns - full - (rest > 0), "");
}

void cm_view_value(double q, char out[16]) {
    double size = fabs(q);
    snprintf(out, 16, size < 0.005 ? "0.00" : size < 9.995 ? "%+.2f" : size < 99.95 ? "%+.1f" : "%+.0f", q);
}

/* What the rows of a table have in common. */
typedef struct moves_table {
    const cm_view *view;
    const cm_env *env;
    const cm_analysis *analysis;
    int name_width, bar; /* columns; bar 0: none */
    int64_t sum;         /* of visits */
    int32_t most;
} moves_table;

static void add_row(const moves_table *table, int action, cm_text *out) {
    char name[16], q[16] = "-";
    int32_t visits = table->analysis->visits[action];
    bool chosen = action == table->analysis->action;
    const char *bold = chosen && table->view->colour ? "\033[1m" : "", *plain = *bold ? "\033[0m" : "";
    double share = table->sum > 0 ? (double)visits / (double)table->sum : 0.0;
    cm_env_action_name(table->env, action, name, sizeof name);
    if (visits > 0) cm_view_value((double)table->analysis->q[action], q);
    cm_text_add(out, "%s%c %-*s%7d ", bold, chosen ? '*' : ' ', table->name_width, name, visits);
    if (table->bar > 0) add_bar(table->view, (double)visits / table->most, table->bar, out);
    cm_text_add(out, "%s%4.0f%% %6s %4.0f%%%s\n", bold, 100.0 * share, q,
                100.0 * (double)table->analysis->prior[action], plain);
}

static int widest_name(const cm_env *env, const int32_t *actions, int count) {
    int most = 4;
    for (int i = 0; i < count; i++) {
        char name[16];
        cm_env_action_name(env, actions[i], name, sizeof name);
        if ((int)strlen(name) > most) most = (int)strlen(name);
    }
    return most;
}

int cm_view_least_columns(const cm_env *env, const void *state) {
    int32_t actions[CM_ENV_MAX_ACTIONS];
    cm_text board = {0};
    char picture[CM_ENV_PICTURE_BYTES];
    cm_env_picture(env, state, picture, sizeof picture);
    cm_text_add(&board, "%s", picture);
    for (int a = 0; a < env->spec.actions; a++) actions[a] = a;
    int table = NUMBERS + widest_name(env, actions, env->spec.actions), width = cm_text_width(&board);
    return table > width ? table : width;
}

static int count_legal(const cm_env *env, const cm_analysis *analysis) {
    int count = 0;
    for (int a = 0; a < env->spec.actions; a++) count += analysis->legal[a];
    return count;
}

void cm_view_moves(const cm_view *view, const cm_env *env, const cm_analysis *analysis, int columns, int most,
                   cm_text *out) {
    int32_t order[CM_ENV_MAX_ACTIONS];
    int count = cm_view_order(env, analysis, order), shown = count < most ? count : most;
    moves_table table = {view, env, analysis, widest_name(env, order, shown), 0, 0, 1};
    for (int i = 0; i < count; i++) {
        int32_t visits = analysis->visits[order[i]];
        table.sum += visits;
        if (visits > table.most) table.most = visits;
    }
    int space = columns - NUMBERS - table.name_width;
    table.bar = space < LEAST_BAR ? 0 : space > MOST_BAR ? MOST_BAR : space;
    const char *dim = view->colour ? "\033[2m" : "", *plain = view->colour ? "\033[0m" : "";
    cm_text_add(out, "%s  %-*s visits %*sshare      Q prior%s\n", dim, table.name_width, "move", table.bar, "", plain);
    for (int i = 0; i < shown; i++) add_row(&table, order[i], out);
    if (count > shown) cm_text_add(out, "%s  and %d more%s\n", dim, count - shown, plain);
    if (analysis->drawn > 0)
        cm_text_add(out, "%s  drawn: %d of %d actions%s\n", dim, count, count_legal(env, analysis), plain);
}

/* ---- side by side ---- */

int cm_view_table_columns(const cm_view *view, const cm_text *board) {
    int space = view->columns - cm_text_width(board) - GAP;
    int columns = space >= SIDE_TABLE ? space : view->columns;
    return columns < TABLE ? columns : TABLE;
}

void cm_view_together(const cm_view *view, const cm_text *board, const cm_text *table, int least, cm_text *out) {
    const int width = cm_text_width(table), space = width > least ? width : least;
    if (cm_text_width(board) + GAP + space <= view->columns) {
        cm_text_side_by_side(out, board, table, GAP);
    } else {
        cm_text_add(out, "%s%s", board->bytes, table->bytes);
    }
}
