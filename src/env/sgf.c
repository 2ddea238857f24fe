#include "env/sgf.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { MOST_SIZE = 19, VALUE = 64, NAME = 8, PASS = 255 };

typedef struct reader {
    const char *what, *at, *end;
    int line;
    cm_sgf *out;
    char name[NAME];   /* of the property that is read, its capitals alone */
    char value[VALUE]; /* that is read, as far as it fits */
} reader;

static cm_status wrong(const reader *r, const char *text) {
    return cm_fail(CM_ERR_INPUT, "%s:%d: %s", r->what, r->line, text);
}

/* ---- bytes ---- */

static int peek(const reader *r) { return r->at < r->end ? (unsigned char)*r->at : -1; }

static int take(reader *r) {
    const int c = peek(r);
    if (c >= 0) r->at++;
    r->line += c == '\n';
    return c;
}

static void skip_blanks(reader *r) {
    while (peek(r) >= 0 && isspace(peek(r))) take(r);
}

/* From '[' to its ']', before which a backslash may stand. */
static cm_status take_value(reader *r) {
    int used = 0, c;
    take(r);
    while ((c = take(r)) != ']') {
        if (c == '\\') c = take(r);
        if (c < 0) return wrong(r, "a value has no end, ]");
        if (used < VALUE - 1) r->value[used++] = (char)(c == '\0' ? '?' : c);
    }
    r->value[used] = '\0';
    return CM_OK;
}

static cm_status take_name(reader *r) {
    int used = 0;
    while (isalpha(peek(r))) {
        const int c = take(r);
        if (isupper(c) && used < NAME - 1) r->name[used++] = (char)c;
    }
    r->name[used] = '\0';
    skip_blanks(r);
    return peek(r) == '[' ? CM_OK : wrong(r, "a property has no value, [");
}

/* ---- properties ---- */

static bool is_named(const reader *r, const char *name) { return strcmp(r->name, name) == 0; }

/* Two letters as a column and a row; PASS for both: "" or "tt". The size may come later. */
static cm_status read_point(const reader *r, const char *text, int *column, int *row) {
    *column = text[0] - 'a', *row = text[0] ? text[1] - 'a' : 0;
    if (text[0] == '\0' || strcmp(text, "tt") == 0) *column = *row = PASS;
    const bool is_point =
        *column == PASS || (strlen(text) == 2 && *column >= 0 && *column < MOST_SIZE && *row >= 0 && *row < MOST_SIZE);
    return is_point ? CM_OK : wrong(r, "a point must be two letters of a..s, or empty for a pass");
}

/* Column and row in the bytes of its point, until the size is known. */
static cm_status add_item(reader *r, int kind, int player, int column, int row) {
    cm_sgf *out = r->out;
    if (out->count == CM_SGF_MOST_ITEMS) return wrong(r, "more moves and stones than a game has");
    if (out->count == out->capacity) {
        const int capacity = out->capacity > 0 ? 2 * out->capacity : 256;
        cm_sgf_item *items = realloc(out->items, (size_t)capacity * sizeof *items);
        if (!items) return cm_memory_fail((double)capacity * sizeof *items, "a game");
        out->items = items, out->capacity = capacity;
    }
    out->items[out->count++] = (cm_sgf_item){(uint8_t)kind, (uint8_t)player, (uint16_t)(row << 8 | column)};
    return CM_OK;
}

static cm_status read_move(reader *r, int player) {
    int column, row;
    CM_TRY(read_point(r, r->value, &column, &row));
    return add_item(r, CM_SGF_MOVE, player, column, row);
}

/* A point, or a rectangle "aa:cc". */
static cm_status read_stones(reader *r, int kind, int player) {
    char first[VALUE];
    int c0, r0, c1, r1;
    const size_t length = strcspn(r->value, ":");
    snprintf(first, sizeof first, "%.*s", (int)length, r->value);
    CM_TRY(read_point(r, first, &c0, &r0));
    CM_TRY(read_point(r, r->value[length] ? r->value + length + 1 : first, &c1, &r1));
    if (c0 == PASS || c1 == PASS || c1 < c0 || r1 < r0) return wrong(r, "stones must stand on points");
    for (int row = r0; row <= r1; row++)
        for (int column = c0; column <= c1; column++) CM_TRY(add_item(r, kind, player, column, row));
    return CM_OK;
}

static cm_status read_size(reader *r) {
    char *end = NULL;
    const long columns = strtol(r->value, &end, 10), rows = *end == ':' ? strtol(end + 1, &end, 10) : columns;
    if (*end != '\0' || columns != rows || columns < 1 || columns > MOST_SIZE)
        return wrong(r, "SZ must be a size of 1..19, the same for rows and columns");
    r->out->size = (int)columns;
    return CM_OK;
}

static cm_status read_komi(reader *r) {
    char *end = NULL;
    const double komi = strtod(r->value, &end);
    r->out->has_komi = end != r->value && isfinite(komi);
    if (r->out->has_komi) r->out->komi = komi;
    return CM_OK;
}

static cm_status read_turn(reader *r) {
    const int letter = toupper((unsigned char)r->value[0]);
    if (letter != 'B' && letter != 'W') return wrong(r, "PL must be B or W");
    return add_item(r, CM_SGF_TURN, letter == 'W', 0, 0);
}

static cm_status read_value(reader *r) {
    if (is_named(r, "B")) return read_move(r, 0);
    if (is_named(r, "W")) return read_move(r, 1);
    if (is_named(r, "AB")) return read_stones(r, CM_SGF_ADD, 0);
    if (is_named(r, "AW")) return read_stones(r, CM_SGF_ADD, 1);
    if (is_named(r, "AE")) return read_stones(r, CM_SGF_CLEAR, 0);
    if (is_named(r, "PL")) return read_turn(r);
    if (is_named(r, "SZ")) return read_size(r);
    if (is_named(r, "KM")) return read_komi(r);
    if (is_named(r, "GM") && strcmp(r->value, "1") != 0) return wrong(r, "it is no game of Go, GM[1]");
    return CM_OK;
}

/* ---- the main line ---- */

static cm_status read_property(reader *r) {
    CM_TRY(take_name(r));
    while (peek(r) == '[') {
        CM_TRY(take_value(r));
        CM_TRY(read_value(r));
        skip_blanks(r);
    }
    return CM_OK;
}

/* The first variation goes on, so that the main line ends at the first ')'. */
static cm_status read_line(reader *r) {
    for (;;) {
        skip_blanks(r);
        const int c = peek(r);
        if (c == ')') return CM_OK;
        if (c < 0) return wrong(r, "the game has no end, )");
        if (c == ';' || c == '(') {
            take(r);
        } else if (isalpha(c)) {
            CM_TRY(read_property(r));
        } else {
            return wrong(r, "neither a node, ; nor a property");
        }
    }
}

static bool find_game(reader *r) {
    while (peek(r) >= 0) {
        if (take(r) != '(') continue;
        skip_blanks(r);
        if (peek(r) == ';') return true;
    }
    return false;
}

/* Points by the size, which is known now. On boards up to 19 x 19 "tt" was a pass of older versions. */
static cm_status place_items(reader *r) {
    const int n = r->out->size;
    for (int i = 0; i < r->out->count; i++) {
        cm_sgf_item *item = &r->out->items[i];
        const int column = item->point & 0xff, row = item->point >> 8;
        if (column != PASS && (column >= n || row >= n)) return wrong(r, "a point is beyond the board");
        item->point = (uint16_t)(column == PASS ? n * n : row * n + column);
    }
    return CM_OK;
}

cm_status cm_sgf_parse(const char *what, const char *text, size_t size, cm_sgf *out) {
    *out = (cm_sgf){.size = MOST_SIZE};
    reader r = {.what = what, .at = text, .end = text + size, .line = 1, .out = out};
    cm_status status = find_game(&r) ? read_line(&r) : wrong(&r, "no game in SGF, which begins with (;");
    if (status == CM_OK) status = place_items(&r);
    if (status != CM_OK) cm_sgf_free(out);
    return status;
}

cm_status cm_sgf_read(const char *path, cm_sgf *out) {
    char *text;
    size_t size;
    *out = (cm_sgf){0};
    CM_TRY(cm_file_read(path, CM_SGF_MOST_BYTES, &text, &size));
    const cm_status status = cm_sgf_parse(path, text, size, out);
    free(text);
    return status;
}

void cm_sgf_free(cm_sgf *sgf) {
    free(sgf->items);
    *sgf = (cm_sgf){0};
}

/* ---- writing ---- */

static void print_text(FILE *file, const char *name, const char *text) {
    fprintf(file, "%s[", name);
    for (; *text; text++) {
        if (*text == ']' || *text == '\\' || *text == ':') fputc('\\', file);
        fputc(iscntrl((unsigned char)*text) ? ' ' : *text, file);
    }
    fputc(']', file);
}

static void print_game(FILE *file, const cm_sgf_game *game) {
    const int n = game->size;
    fprintf(file, "(;FF[4]GM[1]CA[UTF-8]AP[cumind]SZ[%d]KM[%g]RU[Chinese]", n, game->komi);
    print_text(file, "PB", game->black);
    print_text(file, "PW", game->white);
    print_text(file, "RE", game->result);
    for (int i = 0; i < game->count; i++) {
        const int32_t point = game->moves[i];
        fprintf(file, "%s;%c[", i % 16 == 0 ? "\n" : "", "BW"[i % 2]);
        if (point < n * n) fprintf(file, "%c%c", 'a' + point % n, 'a' + point / n);
        fputc(']', file);
    }
    fprintf(file, ")\n");
}

cm_status cm_sgf_append(cm_file_writer *file, const cm_sgf_game *game) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory) print_game(memory, game);
    const bool is_whole = memory && fclose(memory) == 0;
    const cm_status status = is_whole ? cm_file_append(file, text, size) : cm_memory_fail((double)size, "a game");
    free(text);
    return status;
}

void cm_sgf_result(double lead, char out[16]) {
    if (lead == 0.0) {
        snprintf(out, 16, "0");
    } else {
        snprintf(out, 16, "%c+%g", lead > 0.0 ? 'B' : 'W', fabs(lead));
    }
}

bool cm_sgf_serves(const cm_env *env) {
    return strcmp(env->def->name, "go") == 0 && (env->def->options & CM_ENV_KOMI) != 0;
}
