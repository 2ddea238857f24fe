#include "cli/search_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gtp_sgf.h"
#include "cli/interrupt.h"
#include "cli/loaded.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/text.h"
#include "env/moves.h"
#include "run/outline.h"
#include "run/outline_page.h"

enum { LINE_BYTES = 1 << 18 };

typedef struct job {
    const char *path;      /* of --tree */
    const char *positions; /* of --positions or --sgf, NULL: the start */
    const char *flag;      /* which of the two */
    int move;              /* of --sgf, -1: the last */
    bool is_page;          /* else JSON */
    uint64_t seed;
    char *line;  /* owned: the moves */
    void *state; /* owned */
    cm_text moves;
    cm_outline_text text; /* owned */
} job;

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static cm_status read_flags(const cm_arguments *arguments, job *j) {
    const char *sgf = cm_argument(arguments, "--sgf");
    int64_t seed = 0, move = -1;
    j->path = cm_argument(arguments, "--tree");
    j->flag = sgf ? "--sgf" : "--positions";
    j->positions = cm_argument(arguments, j->flag);
    j->is_page = ends_with(j->path, ".html");
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &seed));
    CM_TRY(cm_argument_int(arguments, "--move", 0, CM_SGF_MOST_ITEMS, &move));
    j->seed = (uint64_t)seed, j->move = (int)move;
    if (j->is_page || ends_with(j->path, ".json")) return cm_cli_try_file("--tree", j->path);
    return cm_fail(CM_ERR_INPUT, "--tree %s: must end with .html, a page, or .json, its data", j->path);
}

/* ---- the position ---- */

static cm_status fail_lines(const job *j, const char *what) {
    return cm_fail(CM_ERR_INPUT, "--positions %s: %s; --tree draws one position, so it must have one line of moves",
                   j->positions, what);
}

static cm_status read_file(job *j, FILE *file) {
    const size_t size = fread(j->line, 1, LINE_BYTES - 1, file);
    if (ferror(file)) return cm_fail(CM_ERR_INPUT, "--positions %s: cannot be read: %s", j->positions, strerror(errno));
    j->line[size] = '\0';
    char *end = strchr(j->line, '\n');
    if (size == LINE_BYTES - 1) return fail_lines(j, "too long");
    if (end && end[1] != '\0') return fail_lines(j, "has several lines");
    if (end) *end = '\0';
    return CM_OK;
}

static cm_status read_line(job *j, const cm_env *env) {
    if (strcmp(j->flag, "--sgf") == 0) return cm_gtp_sgf_moves(env, j->positions, j->move, &j->line);
    CM_TRY(cm_alloc(&j->line, LINE_BYTES, 1, "a line of --positions"));
    if (!j->positions) return CM_OK;
    FILE *file = strcmp(j->positions, "-") == 0 ? stdin : fopen(j->positions, "r");
    if (!file) return cm_fail(CM_ERR_INPUT, "--positions %s: cannot be read: %s", j->positions, strerror(errno));
    const cm_status status = read_file(j, file);
    if (file != stdin) (void)fclose(file);
    return status;
}

static void name_moves(const cm_env *env, job *j) {
    cm_move_list list = cm_move_list_begin(env, j->line, strlen(j->line));
    cm_move_item item;
    while (cm_move_list_next(&list, &item)) {
        char name[16];
        cm_move_text(env, item.number, name);
        cm_text_add(&j->moves, "%s%s", j->moves.used ? ", " : "", name);
    }
}

static cm_status play_line(const cm_env *env, job *j) {
    CM_TRY(cm_alloc(&j->state, 1, env->spec.state_size, "a position"));
    cm_env_reset(env, j->state, j->seed);
    if (cm_moves_play(env, j->state, j->line, strlen(j->line)) != CM_OK)
        return cm_fail(CM_ERR_INPUT, "%s %s: not a legal game: %s", j->flag, j->positions, cm_error_message());
    if (cm_env_ended(j->state))
        return cm_fail(CM_ERR_INPUT, "%s %s: the game is over after these moves, so there is nothing to search",
                       j->flag, j->positions);
    name_moves(env, j);
    return CM_OK;
}

/* ---- the file ---- */

static cm_status write_file(const job *j, size_t *bytes) {
    char *page;
    if (!j->is_page) {
        *bytes = j->text.size;
        return cm_file_write(j->path, j->text.json, j->text.size);
    }
    CM_TRY(cm_outline_page_create(&j->text, &page, bytes));
    const cm_status status = cm_file_write(j->path, page, *bytes);
    free(page);
    return status;
}

static cm_status write_tree(cm_arguments *arguments, job *j, const cm_loaded *loaded) {
    size_t bytes = 0;
    CM_TRY(read_line(j, &loaded->session->env));
    CM_TRY(play_line(&loaded->session->env, j));
    const cm_outline_search asked = {.agent = loaded->agent,
                                     .env = &loaded->session->env,
                                     .state = j->state,
                                     .moves = j->moves.bytes,
                                     .stop = cm_interrupt_asks(),
                                     .most_nodes = CM_OUTLINE_MOST,
                                     .most_bytes = CM_OUTLINE_PAGE_BYTES - cm_outline_page_frame()};
    CM_TRY(cm_outline_text_create(&asked, &j->text));
    CM_TRY(write_file(j, &bytes));
    printf("%s: %d nodes%s, %d with their position, %lld simulations, %.0f kB\n", j->path, j->text.nodes,
           j->text.left_out ? ", those with the most visits" : "", j->text.drawings, (long long)j->text.simulations,
           (double)bytes / 1000.0);
    if (!j->text.is_cut) return CM_OK;
    cm_log(CM_WARNING, "search: interrupted; the tree is that of the simulations so far");
    arguments->verdict = CM_EXIT_INTERRUPTED;
    return CM_OK;
}

cm_status cm_cli_search_tree(cm_arguments *arguments) {
    job j = {0};
    cm_loaded loaded = {0};
    const char *run = NULL;
    CM_TRY(read_flags(arguments, &j));
    CM_TRY(cm_cli_need_run(arguments, &run));
    cm_interrupt_ends("search");
    cm_status status = cm_loaded_open(arguments, &loaded);
    if (status == CM_OK) status = write_tree(arguments, &j, &loaded);
    cm_outline_text_destroy(&j.text);
    free(j.state);
    free(j.line);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --simulations");
}
