#include "env/board.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const cm_board_planes[CM_BOARD_PLANES] = {"own stones", "opponent's stones", "player 0 to move",
                                                      "player 1 to move"};

void cm_board_describe(cm_env_spec *spec, int rows, int columns, int actions) {
    spec->rank = 3;
    spec->shape[0] = rows, spec->shape[1] = columns, spec->shape[2] = CM_BOARD_PLANES;
    spec->channels = cm_board_planes;
    spec->cells = rows * columns;
    spec->actions = actions;
    spec->players = 2;
    spec->max_plies = spec->cells;
}

void cm_board_observe(const int32_t *cells, int count, int to_play, float *observation) {
    const int32_t own = to_play + 1, other = 2 - to_play;
    for (int c = 0; c < count; c++) {
        observation[4 * c] = cells[c] == own ? 1.0f : 0.0f;
        observation[4 * c + 1] = cells[c] == other ? 1.0f : 0.0f;
        observation[4 * c + 2] = to_play == 0 ? 1.0f : 0.0f;
        observation[4 * c + 3] = to_play == 1 ? 1.0f : 0.0f;
    }
}

void cm_board_dihedral(int index, int n, int actions, int32_t *cell_map, int32_t *action_map) {
    for (int cell = 0; cell < n * n; cell++) {
        int r = cell / n, c = cell % n;
        if (index >= 4) c = n - 1 - c;
        for (int turn = 0; turn < index % 4; turn++) {
            int old_r = r;
            r = c, c = n - 1 - old_r;
        }
        cell_map[cell] = r * n + c;
    }
    for (int a = 0; a < actions; a++) action_map[a] = a < n * n ? cell_map[a] : a;
}

static char stone_of(int32_t cell) {
    const char stones[] = {'.', 'x', 'o'};
    return cell >= 0 && cell < 3 ? stones[cell] : '?';
}

/* Of a picture; row r starts r * slant columns further right. */
typedef struct board_size {
    int rows, columns, slant;
} board_size;

/* How lines of a picture, from the top, and columns are labelled. */
typedef struct labels {
    const char *letters;
    bool from_below; /* rows */
} labels;

static const labels plain_labels = {"abcdefghijklmnopqrstuvwxyz", false};
static const labels point_labels = {"abcdefghjklmnopqrstuvwxyz", true};

static void draw_picture(const board_size *board, const labels *by, const int32_t *cells, char *text, size_t size) {
    size_t used = 0;
    for (int r = -1; r < board->rows; r++) {
        char line[128];
        int at = r < 0 ? snprintf(line, sizeof line, "  ")
                       : snprintf(line, sizeof line, "%2d", by->from_below ? board->rows - r : r + 1);
        for (int s = 0; s < board->slant * r; s++) line[at++] = ' ';
        for (int c = 0; c < board->columns; c++) {
            line[at++] = ' ';
            line[at++] = r < 0 ? by->letters[c] : stone_of(cells[r * board->columns + c]);
        }
        line[at++] = '\n';
        if (used + (size_t)at + 1 > size) break;
        memcpy(text + used, line, (size_t)at);
        used += (size_t)at;
    }
    if (size > 0) text[used] = '\0';
}

void cm_board_picture(const int32_t *cells, int rows, int columns, int slant, char *text, size_t size) {
    draw_picture(&(board_size){rows, columns, slant}, &plain_labels, cells, text, size);
}

void cm_board_points_picture(const int32_t *cells, int n, char *text, size_t size) {
    draw_picture(&(board_size){n, n, 0}, &point_labels, cells, text, size);
}

void cm_picture_line(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    if (used + 2 > size) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used - 1, format, arguments);
    va_end(arguments);
    memcpy(text + strlen(text), "\n", 2);
}

void cm_board_cell_name(int cell, int columns, char *text, size_t size) {
    snprintf(text, size, "%c%d", 'a' + cell % columns, cell / columns + 1);
}

void cm_board_point_name(int point, int n, char *text, size_t size) {
    if (point == n * n) {
        cm_name_pick(text, size, "pass");
    } else {
        snprintf(text, size, "%c%d", point_labels.letters[point % n], n - point / n);
    }
}

bool cm_board_serves(const cm_env_def *def, const cm_env_spec *spec, bool needs_planes) {
    const int rows = spec->shape[0], columns = spec->shape[1];
    if (!def->board || spec->players != 2 || spec->cells != rows * columns || spec->cells > CM_BOARD_CELLS)
        return false;
    return needs_planes ? spec->shape[2] == CM_BOARD_PLANES : rows < 100 && columns <= CM_BOARD_LETTERS;
}

bool cm_board_action_name(const cm_env_spec *spec, int action, char *text, size_t size) {
    const int columns = spec->shape[1], cells = spec->cells;
    if (spec->actions == cells || spec->actions == cells + 1) {
        if (action == cells) {
            cm_name_pick(text, size, "pass");
        } else {
            cm_board_cell_name(action, columns, text, size);
        }
        return true;
    }
    if (spec->actions == columns) snprintf(text, size, "%c", 'a' + action);
    return spec->actions == columns;
}

void cm_name_pick(char *text, size_t size, const char *name) { snprintf(text, size, "%s", name); }

static int count_bits(uint64_t bits) {
    int count = 0;
    for (; bits; bits &= bits - 1) count++;
    return count;
}

cm_status cm_board_check_stones(uint64_t first, uint64_t second, uint64_t cells, int steps) {
    if ((first | second) & ~cells) return cm_fail(CM_ERR_INPUT, "a stone of it is beyond the board");
    if (first & second) return cm_fail(CM_ERR_INPUT, "a cell of it has stones of both players");
    CM_TRY(cm_env_check_int("the number of player 0's stones", count_bits(first), (steps + 1) / 2, (steps + 1) / 2));
    return cm_env_check_int("the number of player 1's stones", count_bits(second), steps / 2, steps / 2);
}

cm_status cm_board_check_end(bool is_over, bool ended) {
    if (is_over == ended) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   ended ? "its episode has ended, its game has not" : "its game is over, its episode is not");
}
