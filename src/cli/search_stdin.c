#include "cli/search_stdin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/analyse.h"
#include "cli/gtp_position.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "cli/loaded.h"
#include "cli/search_answer.h"
#include "cli/search_query.h"
#include "core/arena.h"
#include "core/memory.h"
#include "env/sgf.h"

enum { PER_THREAD = 64 };

typedef struct engine {
    cm_env *env;           /* of the session: its komi is that of the search that goes on */
    cm_analyser *analyser; /* owned, like the next ones */
    cm_gtp_position game;
    cm_line_input input;
    cm_search_queue queue;
    cm_query_reader reader;
    cm_queued *batch; /* [capacity] */
    int batch_count, capacity;
    bool is_ended; /* the input */
} engine;

/* ---- searches ---- */

static bool goes_with(const cm_query *a, const cm_query *b) { return a->komi == b->komi && a->visits == b->visits; }

static bool is_in_batch(const void *context, const cm_queued *one) {
    const engine *e = context;
    for (int i = 0; i < e->batch_count; i++)
        if (e->batch[i].serial == one->serial) return true;
    return false;
}

/* Takes the first of the queue, and what can be searched with it, into the batch. */
static cm_status take_batch(engine *e) {
    e->batch_count = 0;
    for (int i = 0; i < e->queue.count && e->batch_count < e->capacity; i++) {
        const cm_queued *one = &e->queue.at[i];
        if (!goes_with(&one->query, &e->queue.at[0].query)) continue;
        memcpy(cm_analyser_state(e->analyser, e->batch_count), one->state, e->env->spec.state_size);
        e->batch[e->batch_count++] = *one;
    }
    return cm_search_queue_remove(&e->queue, is_in_batch, e, NULL, NULL);
}

static cm_status search_batch(engine *e) {
    CM_TRY(take_batch(e));
    e->env->params.komi = e->batch[0].query.komi;
    cm_analyser_simulations(e->analyser, e->batch[0].query.visits);
    CM_TRY(cm_analyser_run(e->analyser, e->batch_count));
    for (int i = 0; i < e->batch_count; i++) CM_TRY(cm_search_answer_analysis(e->analyser, e->env, i, &e->batch[i]));
    return CM_OK;
}

/* ---- actions ---- */

/* Positions of an id, NULL: of any, at these turns, NULL: at any. */
typedef struct wanted {
    const char *id;
    const cm_json *turns;
} wanted;

static bool is_wanted(const void *context, const cm_queued *one) {
    const wanted *w = context;
    if (w->id && strcmp(w->id, one->query.id) != 0) return false;
    if (!w->turns) return true;
    for (const cm_json *turn = cm_json_first(w->turns); turn; turn = cm_json_next(turn))
        if (cm_json_number(turn, -1.0) == one->turn) return true;
    return false;
}

static cm_status terminate(engine *e, const cm_json *query, bool is_all) {
    wanted w = {.turns = cm_json_get(query, e->reader.field = "turnNumbers")};
    if (w.turns) CM_TRY(cm_json_check(w.turns, CM_JSON_ARRAY));
    if (!is_all) CM_TRY(cm_json_need_string(query, e->reader.field = "terminateId", &w.id));
    CM_TRY(cm_search_answer_action(query, NULL));
    return cm_search_queue_remove(&e->queue, is_wanted, &w, cm_search_answer_nothing, NULL);
}

static cm_status act(engine *e, const cm_json *query, const char *action) {
    e->reader.field = "action";
    if (strcmp(action, "query_version") == 0) return cm_search_answer_action(query, CM_VERSION);
    if (strcmp(action, "clear_cache") == 0) return cm_search_answer_action(query, NULL); /* there is none */
    if (strcmp(action, "terminate") == 0) return terminate(e, query, false);
    if (strcmp(action, "terminate_all") == 0) return terminate(e, query, true);
    return cm_fail(CM_ERR_INPUT, "action: \"%.40s\" is not known", action);
}

/* ---- lines ---- */

/* Mistakes of a query are answered; other errors end the command. */
static cm_status take_query(engine *e, const cm_json *query) {
    const char *id = cm_json_string(cm_json_get(query, "id")), *action = cm_json_string(cm_json_get(query, "action"));
    if (!id || strlen(id) >= CM_QUERY_ID)
        return cm_search_answer_error(NULL, "id", "id: must be a text of less than 256 bytes");
    const cm_status status = action ? act(e, query, action) : cm_query_read(&e->reader, query, id, &e->queue);
    return status == CM_ERR_INPUT ? cm_search_answer_error(id, e->reader.field, cm_error_message()) : status;
}

static cm_status take_line(engine *e, const char *line, size_t size) {
    cm_json_doc *query = NULL;
    if (line[strspn(line, " \t")] == '\0') return CM_OK;
    if (cm_json_parse(line, size, "query", &query) != CM_OK)
        return cm_search_answer_error(NULL, NULL, cm_error_message());
    const cm_status status = take_query(e, cm_json_root(query));
    cm_json_free(query);
    return status;
}

static cm_status read_line(engine *e) {
    char *line;
    size_t size;
    CM_TRY(cm_line_input_next(&e->input, &line, &size));
    e->is_ended = line == NULL;
    return line ? take_line(e, line, size) : CM_OK;
}

/* Whether the next line is to be read before anything is searched: then a query of higher priority comes first, and
 * one that was terminated not at all. */
static bool wants_line(engine *e) {
    if (e->is_ended || e->queue.count >= CM_SEARCH_QUEUE_MOST) return false;
    return e->queue.count == 0 || cm_line_input_is_ready(&e->input, 0.0);
}

static cm_status converse(engine *e) {
    while (!e->is_ended || e->queue.count > 0) CM_TRY(wants_line(e) ? read_line(e) : search_batch(e));
    return CM_OK;
}

/* ---- the command ---- */

static cm_status open_engine(engine *e, cm_loaded *loaded) {
    e->env = &loaded->session->env;
    if (!cm_sgf_serves(e->env))
        return cm_fail(CM_ERR_INPUT, "search: --stdin is for runs of go, not of %s; --positions - reads moves of it",
                       e->env->spec.name);
    CM_TRY(cm_gtp_position_open(&e->game, e->env));
    e->reader = (cm_query_reader){.env = e->env,
                                  .game = &e->game,
                                  .own_komi = e->env->params.komi,
                                  .most_visits = cm_agent_get_config(loaded->agent)->evaluation.num_simulations};
    CM_TRY(cm_analyser_create(loaded->agent, e->env, loaded->session->pool,
                              PER_THREAD * cm_pool_size(loaded->session->pool), &e->analyser));
    e->capacity = cm_analyser_capacity(e->analyser);
    return cm_alloc(&e->batch, (size_t)e->capacity, sizeof *e->batch, "queries");
}

static void close_engine(engine *e) {
    cm_analyser_destroy(e->analyser);
    cm_gtp_position_close(&e->game);
    cm_line_input_close(&e->input);
    cm_search_queue_close(&e->queue);
    free(e->batch);
}

cm_status cm_cli_search_stdin(cm_arguments *arguments) {
    engine e = {.capacity = 0};
    cm_loaded loaded = {0};
    const char *run = NULL;
    CM_TRY(cm_cli_need_run(arguments, &run));
    CM_TRY(cm_loaded_open(arguments, &loaded));
    cm_interrupt_ends("search");
    cm_status status = open_engine(&e, &loaded);
    if (status == CM_OK) status = converse(&e);
    close_engine(&e);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --simulations");
}
