#include "serve/plays.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/stop.h"

/* Orders that visitors do not give. */
enum { ORDER_OPEN = CM_PLAYS_TREE + 1, ORDER_CLOSE, NO_ORDER };

/* A table belongs to the thread while there is an order; the rest is shared, under the lock. */
typedef struct seat {
    cm_play_table table;
    bool is_open;
    cm_play_table_config config; /* of the next one */
    int game;                    /* -1: none */
    int order, action;
    uint64_t version, since; /* since: number of the order */
    double used;
    char *text, *tree; /* owned; NULL: none */
    char error[512];
} seat;

struct cm_plays {
    seat seats[CM_PLAYS];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ordered;
    cm_stop stop;
    bool has_thread, is_ending;
    int file, games;
    uint64_t orders;
};

/* ---- the thread ---- */

/* What there is to see of a table now. */
static void publish(cm_plays *p, seat *s, cm_status status, int next) {
    char *text = NULL, error[sizeof s->error] = "";
    if (status != CM_OK) snprintf(error, sizeof error, "%s", cm_error_message());
    if (s->is_open && cm_play_table_tell(&s->table, &text) != CM_OK)
        snprintf(error, sizeof error, "%s", cm_error_message());
    pthread_mutex_lock(&p->lock);
    free(s->text);
    s->text = text;
    s->version++;
    s->order = next;
    memcpy(s->error, error, sizeof error);
    pthread_mutex_unlock(&p->lock);
    eventfd_write(p->file, 1);
}

static void close_table(seat *s) {
    if (s->is_open) cm_play_table_close(&s->table);
    s->is_open = false;
}

static cm_status open_table(cm_plays *p, seat *s) {
    close_table(s);
    const cm_status status = cm_play_table_open(&s->config, &p->stop, &s->table);
    s->is_open = status == CM_OK;
    if (!s->is_open) cm_play_table_close(&s->table);
    return status;
}

/* The visitor's move is seen before the agent has thought about it. */
static cm_status answer(cm_plays *p, seat *s, cm_status status) {
    if (status != CM_OK || !cm_play_table_waits(&s->table)) return status;
    publish(p, s, CM_OK, s->order);
    return cm_play_table_reply(&s->table, false);
}

static cm_status grow_tree(cm_plays *p, seat *s) {
    char *tree = NULL;
    const cm_status status = cm_play_table_tree(&s->table, &p->stop, &tree);
    pthread_mutex_lock(&p->lock);
    free(s->tree);
    s->tree = tree;
    pthread_mutex_unlock(&p->lock);
    return status;
}

static cm_status carry_out(cm_plays *p, seat *s) {
    if (s->order == ORDER_OPEN) return answer(p, s, open_table(p, s));
    if (!s->is_open) return cm_fail(CM_ERR_STATE, "the game could not be opened");
    switch (s->order) {
    case CM_PLAYS_MOVE: return answer(p, s, cm_play_table_play(&s->table, s->action));
    case CM_PLAYS_STEP: return cm_play_table_reply(&s->table, true);
    case CM_PLAYS_HINT: return cm_play_table_hint(&s->table);
    case CM_PLAYS_UNDO: return answer(p, s, cm_play_table_undo(&s->table));
    case CM_PLAYS_TREE: return grow_tree(p, s);
    default: close_table(s); return CM_OK;
    }
}

static seat *next_order(cm_plays *p) {
    seat *next = NULL;
    for (int i = 0; i < CM_PLAYS; i++) {
        seat *s = &p->seats[i];
        if (s->order != NO_ORDER && (!next || s->since < next->since)) next = s;
    }
    return next;
}

static void *serve_tables(void *context) {
    cm_plays *p = context;
    for (;;) {
        seat *s = NULL;
        pthread_mutex_lock(&p->lock);
        while (!p->is_ending && !(s = next_order(p))) pthread_cond_wait(&p->ordered, &p->lock);
        const bool is_ending = p->is_ending;
        pthread_mutex_unlock(&p->lock);
        if (is_ending) return NULL;
        publish(p, s, carry_out(p, s), NO_ORDER);
    }
}

/* ---- the callers' side ---- */

static seat *find(cm_plays *p, int game) {
    for (int i = 0; i < CM_PLAYS; i++)
        if (game >= 0 && p->seats[i].game == game) return &p->seats[i];
    return NULL;
}

static void give(cm_plays *p, seat *s, int order) {
    s->order = order;
    s->since = ++p->orders;
    s->used = cm_clock_seconds();
    s->error[0] = '\0';
    pthread_cond_signal(&p->ordered);
}

static seat *find_free(cm_plays *p) {
    seat *oldest = NULL;
    for (int i = 0; i < CM_PLAYS; i++) {
        seat *s = &p->seats[i];
        if (s->order != NO_ORDER) continue;
        if (s->game < 0) return s;
        if (!oldest || s->used < oldest->used) oldest = s;
    }
    return oldest;
}

static void forget(seat *s) {
    free(s->text);
    free(s->tree);
    s->text = s->tree = NULL;
    s->version = 0;
}

cm_status cm_plays_begin(cm_plays *p, const cm_play_table_config *config, int *game) {
    pthread_mutex_lock(&p->lock);
    seat *s = find_free(p);
    if (s) {
        forget(s);
        s->config = *config;
        s->game = *game = p->games++ % 1000000; /* as many as a path takes */
        give(p, s, ORDER_OPEN);
    }
    pthread_mutex_unlock(&p->lock);
    return s ? CM_OK : cm_fail(CM_ERR_STATE, "%d games are being thought about; try again in a moment", CM_PLAYS);
}

cm_status cm_plays_order_of(cm_plays *p, int game, cm_plays_order order, int action) {
    cm_status status = CM_OK;
    pthread_mutex_lock(&p->lock);
    seat *s = find(p, game);
    if (!s) {
        status = cm_fail(CM_ERR_INPUT, "there is no game %d, or no longer", game);
    } else if (s->order != NO_ORDER) {
        status = cm_fail(CM_ERR_STATE, "the agent is still thinking");
    } else {
        s->action = action;
        give(p, s, (int)order);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

void cm_plays_tick(cm_plays *p) {
    const double now = cm_clock_seconds();
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < CM_PLAYS; i++) {
        seat *s = &p->seats[i];
        if (s->game < 0 || s->order != NO_ORDER || now - s->used < CM_PLAYS_IDLE) continue;
        forget(s);
        s->game = -1;
        give(p, s, ORDER_CLOSE);
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- what is told ---- */

static void put_seat(const seat *s, cm_json_writer *json) {
    cm_json_put_int(json, "game", s->game);
    cm_json_put_int(json, "version", (int64_t)s->version);
    cm_json_put_bool(json, "busy", s->order != NO_ORDER);
    if (*s->error) cm_json_put_string(json, "error", s->error);
}

void cm_plays_put(cm_plays *p, cm_json_writer *json) {
    pthread_mutex_lock(&p->lock);
    cm_json_begin_array(json, "games");
    for (int i = 0; i < CM_PLAYS; i++) {
        if (p->seats[i].game < 0) continue;
        cm_json_begin_object(json, NULL);
        put_seat(&p->seats[i], json);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
    pthread_mutex_unlock(&p->lock);
}

/* The object of a seat with the text, which is JSON already, as its last member. */
static cm_status tell(const seat *s, const char *text, const char *key, char **out) {
    cm_json_writer *json = NULL;
    size_t size;
    *out = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    put_seat(s, json);
    cm_json_end_object(json);
    const char *head = cm_json_writer_text(json, &size);
    if (!head || asprintf(out, "%.*s, \"%s\": %s}", (int)size - 1, head, key, text ? text : "null") < 0) *out = NULL;
    cm_json_writer_destroy(json);
    return *out ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a game");
}

cm_status cm_plays_tell(cm_plays *p, int game, bool tree, char **out) {
    pthread_mutex_lock(&p->lock);
    const seat *s = find(p, game);
    const cm_status status = s ? tell(s, tree ? s->tree : s->text, tree ? "tree" : "table", out)
                               : cm_fail(CM_ERR_INPUT, "there is no game %d, or no longer", game);
    pthread_mutex_unlock(&p->lock);
    return status;
}

int cm_plays_file(const cm_plays *p) { return p->file; }

/* ---- all of it ---- */

cm_status cm_plays_create(cm_plays **out) {
    cm_plays *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "games"));
    memset(p, 0, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ordered, NULL);
    for (int i = 0; i < CM_PLAYS; i++) p->seats[i].game = -1, p->seats[i].order = NO_ORDER;
    p->file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const int error = p->file < 0 ? errno : pthread_create(&p->thread, NULL, serve_tables, p);
    p->has_thread = error == 0;
    if (error == 0) {
        *out = p;
        return CM_OK;
    }
    cm_plays_destroy(p);
    return cm_fail(CM_ERR_IO, "no thread for games: %s", strerror(error));
}

void cm_plays_destroy(cm_plays *p) {
    if (!p) return;
    cm_stop_ask(&p->stop);
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    pthread_cond_signal(&p->ordered);
    pthread_mutex_unlock(&p->lock);
    if (p->has_thread) pthread_join(p->thread, NULL);
    for (int i = 0; i < CM_PLAYS; i++) {
        close_table(&p->seats[i]);
        forget(&p->seats[i]);
    }
    if (p->file >= 0) close(p->file);
    pthread_cond_destroy(&p->ordered);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
