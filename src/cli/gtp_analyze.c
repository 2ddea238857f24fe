/* Analysis that goes on until the controller says something: lz-analyze of Leela Zero and kata-analyze of KataGo. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/gtp.h"
#include "cli/view.h"

/* ---- input while a search goes on ---- */

/* A thread that asks `stop` once there is something to read, or the end. */
typedef struct watcher {
    pthread_t thread;
    int file;
    cm_stop stop;
    int is_done; /* the thread ends soon */
} watcher;

static void *watch(void *context) {
    enum { MILLISECONDS = 20 };
    watcher *w = context;
    struct pollfd wait = {.fd = w->file, .events = POLLIN};
    while (__atomic_load_n(&w->is_done, __ATOMIC_ACQUIRE) == 0 && poll(&wait, 1, MILLISECONDS) <= 0) {
    }
    cm_stop_ask(&w->stop);
    return NULL;
}

static cm_status begin_watch(watcher *w, int file) {
    *w = (watcher){.file = file};
    if (pthread_create(&w->thread, NULL, watch, w) == 0) return CM_OK;
    return cm_fail(CM_ERR_MEMORY, "a thread that reads cannot be made");
}

static void end_watch(watcher *w) {
    __atomic_store_n(&w->is_done, 1, __ATOMIC_RELEASE);
    pthread_join(w->thread, NULL);
}

/* What is asked for. */
typedef struct request {
    bool is_kata;
    int player;
    double interval; /* seconds */
    int most;        /* moves that are told */
    bool has_visits; /* of each move of a variation */
} request;

/* ---- lines ---- */

/* A chance to win, 0..1, of a value -1..1. */
static double winrate_of(float value) { return 0.5 * ((double)value + 1.0); }

/* The variation that begins with the move. */
static cm_status print_line(const cm_gtp *gtp, int32_t action, const request *asked) {
    static cm_variation_move line[CM_VARIATION_MOST];
    char name[CM_GTP_VERTEX];
    int count;
    CM_TRY(cm_analyser_line(gtp->analyser, 0, action, CM_VARIATION_MOST, line, &count));
    for (int i = 0; i < count; i++) {
        cm_gtp_vertex(gtp->env, line[i].action, name);
        printf(" %s", name);
    }
    if (asked->has_visits) printf(" pvVisits");
    for (int i = 0; i < count && asked->has_visits; i++) printf(" %d", line[i].visits);
    return CM_OK;
}

static cm_status print_move(const cm_gtp *gtp, const cm_analysis *analysis, int32_t action, int order,
                            const request *asked) {
    char name[CM_GTP_VERTEX];
    const double winrate = winrate_of(analysis->q[action]), prior = (double)analysis->prior[action];
    cm_gtp_vertex(gtp->env, action, name);
    printf("%sinfo move %s visits %d ", order > 0 ? " " : "", name, analysis->visits[action]);
    if (asked->is_kata) {
        printf("utility %.6f winrate %.6f prior %.6f lcb %.6f", (double)analysis->q[action], winrate, prior, winrate);
    } else {
        printf("winrate %.0f prior %.0f lcb %.0f", 1e4 * winrate, 1e4 * prior, 1e4 * winrate);
    }
    printf(" order %d pv", order);
    return print_line(gtp, action, asked);
}

/* The moves that were searched, best first. */
static cm_status print_analysis(const cm_gtp *gtp, const request *asked) {
    static int32_t order[CM_ENV_MAX_SEARCHED];
    const cm_analysis analysis = cm_analyser_get(gtp->analyser, 0);
    const int count = cm_view_order(gtp->env, &analysis, order);
    int shown = 0;
    for (int i = 0; i < count && shown < asked->most; i++)
        if (analysis.visits[order[i]] > 0) CM_TRY(print_move(gtp, &analysis, order[i], shown++, asked));
    printf("\n");
    fflush(stdout);
    return CM_OK;
}

static bool is_whole(const cm_gtp *gtp) {
    const cm_analysis analysis = cm_analyser_get(gtp->analyser, 0);
    int visits = 0;
    for (int a = 0; a < gtp->env->spec.actions; a++) visits += analysis.visits[a];
    return visits >= cm_agent_get_config(gtp->loaded->agent)->evaluation.num_simulations;
}

/* ---- commands ---- */

/* Words that KataGo knows, and how many follow each; those that are not read ask for what there is not. */
static const struct {
    const char *name;
    int follow;
} words[] = {{"interval", 1},     {"maxmoves", 1},  {"minmoves", 1},       {"avoid", 3},
             {"allow", 3},        {"ownership", 1}, {"ownershipStdev", 1}, {"movesOwnership", 1},
             {"pvVisits", 1},     {"rootInfo", 1},  {"pvEdgeVisits", 1},   {"movesOwnershipStdev", 1},
             {"noResultValue", 1}};
enum { WORDS = sizeof words / sizeof *words };

/* Reads word `at` and what belongs to it; returns the next one's number in *next. A number alone is an interval. */
static cm_status read_word(const cm_gtp *gtp, int at, request *asked, int *next) {
    const char *word = gtp->word[at], *value = at + 1 < gtp->words ? gtp->word[at + 1] : "";
    int hundredths = 100, kind = 0;
    while (kind < WORDS && strcasecmp(word, words[kind].name) != 0) kind++;
    const bool is_interval = kind == 0 || kind == WORDS;
    *next = at + 1 + (kind < WORDS ? words[kind].follow : 0);
    if (*next > gtp->words) return cm_fail(CM_ERR_INPUT, "syntax error");
    if (is_interval) CM_TRY(cm_gtp_int(gtp, kind == 0 ? at + 1 : at, &hundredths));
    if (is_interval) asked->interval = 0.01 * hundredths;
    if (strcasecmp(word, "maxmoves") == 0) CM_TRY(cm_gtp_int(gtp, at + 1, &asked->most));
    if (strcasecmp(word, "pvVisits") == 0) asked->has_visits = strcasecmp(value, "true") == 0;
    return hundredths >= 1 && asked->most >= 1 ? CM_OK : cm_fail(CM_ERR_INPUT, "syntax error");
}

/* A colour, if any, and words. */
static cm_status read_arguments(const cm_gtp *gtp, request *asked) {
    int at = 1;
    asked->player = cm_gtp_position_to_play((cm_gtp_position *)&gtp->game);
    if (at < gtp->words && cm_gtp_colour(gtp, at, &asked->player) == CM_OK) at++;
    while (at < gtp->words) CM_TRY(read_word(gtp, at, asked, &at));
    return CM_OK;
}

static cm_status search_for(cm_gtp *gtp, double seconds, const request *asked) {
    cm_analyser_limit(gtp->analyser, seconds);
    CM_TRY(cm_analyser_run(gtp->analyser, 1));
    return print_analysis(gtp, asked);
}

/* Searches that take longer and longer, as each begins with the root again. */
static cm_status search_on(cm_gtp *gtp, const request *asked) {
    watcher w;
    cm_status status = CM_OK;
    CM_TRY(begin_watch(&w, gtp->input.file));
    cm_analyser_heed(gtp->analyser, &w.stop);
    for (double seconds = asked->interval; status == CM_OK && !is_whole(gtp) && !cm_stop_asked(&w.stop); seconds *= 2.0)
        status = search_for(gtp, seconds, asked);
    cm_analyser_heed(gtp->analyser, NULL);
    end_watch(&w);
    return status == CM_ERR_INTERRUPTED ? CM_OK : status;
}

static cm_status analyze(cm_gtp *gtp, bool is_kata) {
    request asked = {.is_kata = is_kata, .interval = 1.0, .most = CM_ENV_MAX_SEARCHED};
    CM_TRY(read_arguments(gtp, &asked));
    const void *state = cm_gtp_position_state(&gtp->game, asked.player);
    if (!state) return cm_fail(CM_ERR_INPUT, "the game is over, or the other player is to move");
    memcpy(cm_analyser_state(gtp->analyser, 0), state, gtp->env->spec.state_size);
    printf("=%s\n", gtp->number);
    fflush(stdout);
    gtp->is_answered = true;
    CM_TRY(search_for(gtp, asked.interval, &asked)); /* one, whatever has been sent since */
    if (!cm_line_input_is_ready(&gtp->input, 0.0)) CM_TRY(search_on(gtp, &asked));
    while (!cm_line_input_is_ready(&gtp->input, 3600.0)) {
    } /* all is said */
    return CM_OK;
}

static cm_status run_lz_analyze(cm_gtp *gtp) { return analyze(gtp, false); }
static cm_status run_kata_analyze(cm_gtp *gtp) { return analyze(gtp, true); }

const cm_gtp_command cm_gtp_analyze[] = {
    {"lz-analyze", 0, false, run_lz_analyze},
    {"kata-analyze", 0, false, run_kata_analyze},
    CM_GTP_END,
};
