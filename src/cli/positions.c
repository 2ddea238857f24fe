#include "cli/positions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/analyse.h"
#include "cli/gtp_sgf.h"
#include "cli/interrupt.h"
#include "cli/loaded.h"
#include "cli/ticker.h"
#include "cli/view.h"
#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "env/moves.h"

enum { LINE_BYTES = 1 << 18, LINES_PER_THREAD = 64, ERROR_BYTES = 160, MOVES_SHOWN = 24, ROWS = 10 };

typedef struct line {
    char *text; /* owned */
    size_t size;
    int slot;                /* of the analyser; -1: not a legal game */
    char error[ERROR_BYTES]; /* why */
} line;

typedef struct positions {
    const cm_env *env;
    const char *path;
    FILE *file;
    char *text;            /* of --sgf as that file, owned */
    cm_analyser *analyser; /* owned, like `lines`; NULL until the first lines are there */
    line *lines;           /* [capacity] */
    int capacity, count;   /* lines that are held */
    int64_t done, bad;     /* lines of the file that are answered; of these, not legal games */
    uint64_t seed;
    bool json;
    cm_view view;
    void *scratch;       /* a state block, owned */
    int simulations;     /* of a whole search */
    const cm_stop *stop; /* what an interrupt asks while positions are searched, borrowed; NULL: none were yet */
    bool is_broken;      /* off, by that */
    cm_ticker *ticker;   /* borrowed; NULL: lines may be typed, and nothing may come between */
} positions;

/* ---- reading ---- */

/* The game of --sgf as a line of actions. */
static cm_status open_sgf(positions *p, const cm_arguments *arguments, const cm_env *env) {
    int64_t move = -1;
    CM_TRY(cm_argument_int(arguments, "--move", 0, CM_SGF_MOST_ITEMS, &move));
    CM_TRY(cm_gtp_sgf_moves(env, p->path, (int)move, &p->text));
    const size_t size = strlen(p->text);
    p->text[size] = '\n'; /* a start without a move is a line, too */
    p->file = fmemopen(p->text, size + 1, "r");
    return p->file ? CM_OK : cm_memory_fail((double)size, "a game");
}

static cm_status open_file(positions *p) {
    p->file = strcmp(p->path, "-") == 0 ? stdin : fopen(p->path, "r");
    if (p->file) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "--positions %s: cannot be read: %s", p->path, strerror(errno));
}

static cm_status grow(line *l, size_t *capacity) {
    *capacity = *capacity ? 2 * *capacity : 128;
    char *grown = realloc(l->text, *capacity);
    if (!grown) return cm_memory_fail((double)*capacity, "a line of --positions");
    l->text = grown;
    return CM_OK;
}

/* The next line without its end, if there is one. What is too long is no list of moves, perhaps no text at all. */
static cm_status read_line(positions *p, line *l, bool *is_there) {
    size_t size = 0, capacity = 0;
    int c = 0;
    free(l->text);
    l->text = NULL;
    while ((c = getc(p->file)) != EOF && c != '\n') {
        if (size == LINE_BYTES)
            return cm_fail(CM_ERR_INPUT, "--positions %s:%lld: a line longer than %d bytes; a line is a list of moves",
                           p->path, (long long)(p->done + p->count + 1), LINE_BYTES);
        if (size + 1 >= capacity) CM_TRY(grow(l, &capacity));
        l->text[size++] = (char)c;
    }
    *is_there = size > 0 || c == '\n';
    if (*is_there && !l->text) CM_TRY(grow(l, &capacity));
    if (*is_there) l->text[size] = '\0';
    l->size = size;
    return CM_OK;
}

/* Fills the lines as far as the file has them. */
static cm_status read_lines(positions *p) {
    p->count = 0;
    while (p->count < p->capacity) {
        bool is_there = false;
        errno = 0;
        CM_TRY(read_line(p, &p->lines[p->count], &is_there));
        if (!is_there) break;
        p->count++;
    }
    if (!ferror(p->file)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "--positions %s: cannot be read: %s", p->path, strerror(errno));
}

/* ---- answers ---- */

static int searched(const cm_env *env, const cm_analysis *answer) {
    int sum = 0;
    for (int a = 0; a < env->spec.actions; a++) sum += answer->visits[a];
    return sum;
}

/* A search that was broken off before its end. */
static bool is_cut(const positions *p, const cm_analysis *answer) {
    return p->is_broken && answer->action != CM_NO_ACTION && searched(p->env, answer) < p->simulations;
}

/* Actions as numbers, anything else as it was written. */
static void put_moves(const positions *p, cm_json_writer *json, const line *l) {
    cm_move_list list = cm_move_list_begin(p->env, l->text, l->size);
    cm_move_item item;
    cm_json_begin_array(json, "moves");
    while (cm_move_list_next(&list, &item)) {
        char text[ERROR_BYTES];
        snprintf(text, sizeof text, "%.*s", item.length, item.text);
        if (item.number >= 0) cm_json_put_int(json, NULL, item.number);
        if (item.number < 0) cm_json_put_string(json, NULL, text);
    }
    cm_json_end_array(json);
}

static void put_floats(cm_json_writer *json, const char *key, const float *x, int n) {
    cm_json_begin_array(json, key);
    for (int i = 0; i < n; i++) cm_json_put_float(json, NULL, x[i]);
    cm_json_end_array(json);
}

static void put_answer(cm_json_writer *json, const cm_analysis *answer, int actions) {
    cm_json_put_int(json, "to_play", answer->to_play);
    cm_json_begin_array(json, "legal");
    for (int a = 0; a < actions; a++) cm_json_put_int(json, NULL, answer->legal[a]);
    cm_json_end_array(json);
    put_floats(json, "prior", answer->prior, actions);
    cm_json_begin_array(json, "visits");
    for (int a = 0; a < actions; a++) cm_json_put_int(json, NULL, answer->visits[a]);
    cm_json_end_array(json);
    put_floats(json, "q", answer->q, actions);
    cm_json_put_float(json, "value", answer->value);
    if (answer->action == CM_NO_ACTION) {
        cm_json_put_null(json, "action");
    } else {
        cm_json_put_int(json, "action", answer->action);
    }
}

static cm_status print_json(const positions *p, const line *l) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    put_moves(p, json, l);
    if (l->slot < 0) {
        cm_json_put_string(json, "error", l->error);
    } else {
        cm_analysis answer = cm_analyser_get(p->analyser, l->slot);
        put_answer(json, &answer, p->env->spec.actions);
        if (is_cut(p, &answer)) cm_json_put_bool(json, "interrupted", true);
    }
    cm_json_end_object(json);
    return cm_cli_print(json, CM_OK);
}

/* The last moves of a legal game by their names. */
static void add_moves(const positions *p, const line *l, cm_text *out) {
    cm_move_item item;
    int count = 0, skipped = 0;
    cm_move_list list = cm_move_list_begin(p->env, l->text, l->size);
    while (cm_move_list_next(&list, &item)) count++;
    if (count == 0) cm_text_word(out, p->view.columns, "the start");
    if (count > MOVES_SHOWN) cm_text_word(out, p->view.columns, "...");
    list = cm_move_list_begin(p->env, l->text, l->size);
    while (cm_move_list_next(&list, &item)) {
        char name[16];
        if (count - skipped++ > MOVES_SHOWN) continue;
        cm_move_text(p->env, item.number, name);
        cm_text_word(out, p->view.columns, name);
    }
    cm_text_add(out, "\n");
}

static void add_position(const positions *p, const line *l, cm_text *out) {
    cm_text board = {0}, table = {0};
    const void *state = cm_analyser_state(p->analyser, l->slot);
    cm_analysis answer = cm_analyser_get(p->analyser, l->slot);
    int best = cm_view_cell(p->env, state, answer.action, p->scratch);
    cm_view_board(&p->view, p->env, state, -1, best, &board);
    if (answer.action == CM_NO_ACTION) {
        cm_text_add(&table, "the game is over\n");
    } else {
        char name[16], value[16];
        cm_env_action_name(p->env, answer.action, name, sizeof name);
        cm_view_value((double)answer.value, value);
        if (p->env->spec.players == 2) cm_text_add(&table, "%s to move, ", cm_view_player(&p->view, answer.to_play));
        cm_text_add(&table, "plays %s, value %s\n", name, value);
        if (is_cut(p, &answer))
            cm_text_add(&table, "after %d of %d simulations\n", searched(p->env, &answer), p->simulations);
        cm_view_moves(&p->view, p->env, &answer, cm_view_table_columns(&p->view, &board), ROWS, &table);
    }
    cm_view_together(&p->view, &board, &table, 0, out);
}

static cm_status print_text(const positions *p, const line *l, int64_t number) {
    cm_text out = {0};
    if (number > 1) cm_text_add(&out, "\n");
    cm_text_add(&out, "position %lld:", (long long)number);
    if (l->slot < 0) {
        cm_text_add(&out, " not a legal game: %s\n", l->error);
    } else {
        add_moves(p, l, &out);
        add_position(p, l, &out);
    }
    if (fputs(out.bytes, stdout) >= 0 && fflush(stdout) == 0) return CM_OK;
    return cm_fail(CM_ERR_IO, "standard output: cannot write: %s", strerror(errno));
}

/* ---- searching ---- */

/* Puts lines first .. last-1 into the analyser; returns how many are legal games. */
static int set_up(positions *p, int first, int last) {
    int slots = 0;
    for (int i = first; i < last; i++) {
        line *l = &p->lines[i];
        void *state = cm_analyser_state(p->analyser, slots);
        cm_env_reset(p->env, state, p->seed);
        bool legal = cm_moves_play(p->env, state, l->text, l->size) == CM_OK;
        l->slot = legal ? slots++ : -1;
        if (!legal) snprintf(l->error, sizeof l->error, "%s", cm_error_message());
        p->bad += !legal;
    }
    return slots;
}

static void say_what_is_left(const positions *p) {
    char left[64];
    snprintf(left, sizeof left, "%lld positions are answered", (long long)p->done);
    cm_interrupt_leaves("search", p->done > 0 ? left : "it has no result");
}

static cm_status print_lines(positions *p, int first, int last) {
    for (int i = first; i < last; i++) {
        p->done++;
        CM_TRY(p->json ? print_json(p, &p->lines[i]) : print_text(p, &p->lines[i], p->done));
    }
    fflush(stdout);
    say_what_is_left(p);
    return CM_OK;
}

/* The first line of these that there is no answer for, as the search was broken off before it began with it. */
static int find_unanswered(const positions *p, int first, int last) {
    for (int i = first; i < last; i++) {
        const int slot = p->lines[i].slot;
        if (slot < 0 || cm_env_ended(cm_analyser_state(p->analyser, slot))) continue;
        if (cm_analyser_get(p->analyser, slot).action == CM_NO_ACTION) return i;
    }
    return last;
}

static cm_status search_slots(positions *p, int count) {
    const cm_status status = count > 0 ? cm_analyser_run(p->analyser, count) : CM_OK;
    p->is_broken = status == CM_ERR_INTERRUPTED || cm_stop_asked(p->stop);
    return status == CM_ERR_INTERRUPTED ? CM_OK : status;
}

static cm_status answer_lines(positions *p) {
    int step = cm_analyser_capacity(p->analyser);
    for (int first = 0; first < p->count && !p->is_broken; first += step) {
        int last = p->count - first < step ? p->count : first + step;
        CM_TRY(search_slots(p, set_up(p, first, last)));
        last = find_unanswered(p, first, last);
        if (p->ticker) cm_ticker_hold(p->ticker);
        cm_status status = print_lines(p, first, last);
        if (p->ticker) cm_tally_add(&p->ticker->tally, last - first, 0);
        if (p->ticker) cm_ticker_release(p->ticker);
        CM_TRY(status);
    }
    return CM_OK;
}

static cm_status answer_file(positions *p, cm_loaded *loaded) {
    cm_pool *pool = loaded->session->pool;
    p->env = &loaded->session->env;
    p->capacity = LINES_PER_THREAD * cm_pool_size(pool);
    CM_TRY(cm_alloc(&p->lines, (size_t)p->capacity, sizeof *p->lines, "positions"));
    CM_TRY(cm_alloc(&p->scratch, 1, p->env->spec.state_size, "a position"));
    p->simulations = cm_agent_get_config(loaded->agent)->evaluation.num_simulations;
    for (;;) {
        cm_interrupt_ends("search"); /* while it waits for lines */
        say_what_is_left(p);
        p->is_broken |= cm_stop_asked(p->stop);
        if (!p->is_broken) CM_TRY(read_lines(p));
        if (p->is_broken || p->count == 0) return CM_OK;
        if (!p->analyser) CM_TRY(cm_analyser_create(loaded->agent, p->env, pool, p->count, &p->analyser));
        p->stop = cm_interrupt_asks();
        cm_analyser_heed(p->analyser, p->stop);
        CM_TRY(answer_lines(p));
    }
}

static cm_status answer_with_ticker(const cm_arguments *arguments, positions *p, cm_loaded *loaded) {
    cm_ticker ticker;
    if (p->file == stdin) return answer_file(p, loaded);
    cm_ticker_begin(&ticker, arguments, loaded->session->configuration.run.log_interval, "positions answered", NULL, 0);
    p->ticker = &ticker;
    cm_status status = answer_file(p, loaded);
    p->ticker = NULL;
    cm_ticker_end(&ticker);
    return status;
}

/* What an interrupt has left was printed. */
static cm_status report_interrupted(cm_arguments *arguments, const positions *p) {
    if (p->done == 0) return cm_fail(CM_ERR_INTERRUPTED, "search: interrupted; it has no result");
    cm_log(CM_WARNING, "search: interrupted; %lld positions are answered", (long long)p->done);
    arguments->verdict = CM_EXIT_INTERRUPTED;
    return CM_OK;
}

static void close_positions(positions *p) {
    for (int i = 0; p->lines && i < p->capacity; i++) free(p->lines[i].text);
    free(p->lines);
    free(p->text);
    free(p->scratch);
    cm_analyser_destroy(p->analyser);
    if (p->file && p->file != stdin) (void)fclose(p->file);
}

cm_status cm_cli_search_positions(cm_arguments *arguments) {
    positions p = {.path = cm_argument(arguments, "--positions"), .json = cm_argument_is_set(arguments, "--json")};
    const char *run = NULL;
    int64_t seed = 0;
    cm_loaded loaded = {0};
    CM_TRY(cm_cli_need_run(arguments, &run));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &seed));
    p.seed = (uint64_t)seed;
    p.view = cm_view_of_stdout(arguments);
    cm_interrupt_ends("search");
    const char *sgf = cm_argument(arguments, "--sgf");
    if (sgf) p.path = sgf;
    cm_status status = sgf ? CM_OK : open_file(&p);
    if (status == CM_OK) status = cm_loaded_open(arguments, &loaded);
    if (status == CM_OK && sgf) status = open_sgf(&p, arguments, &loaded.session->env);
    if (status == CM_OK) status = answer_with_ticker(arguments, &p, &loaded);
    if (status == CM_OK && p.is_broken) status = report_interrupted(arguments, &p);
    if (status == CM_OK && p.bad > 0 && !p.is_broken) {
        cm_log(CM_WARNING, "--positions %s: %lld of %lld lines are not legal games; their answers say why", p.path,
               (long long)p.bad, (long long)p.done);
        arguments->verdict = 1;
    }
    close_positions(&p);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --simulations");
}
