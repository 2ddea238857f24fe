#include "cli/ticker.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"
#include "core/clock.h"
#include "core/terminal.h"

static const double redraw_seconds = 0.2;

static void clear(const cm_ticker *t) {
    if (!t->is_drawn) return;
    printf("\r\033[K");
    fflush(stdout);
}

/* The last parts go where a terminal has no space: a line that is broken cannot be drawn again. 0 columns: it does not
 * say how many. */
static void cut(char *line, int columns) {
    for (char *comma; columns > 0 && (int)strlen(line) >= columns && (comma = strrchr(line, ',')) != NULL;)
        *comma = '\0';
}

static void show(const cm_ticker *t) {
    const cm_tally now = cm_tally_read(&t->tally);
    char line[160], of[32] = "", parts[64] = "", time[16];
    if (t->total > 0) snprintf(of, sizeof of, " of %lld", (long long)t->total);
    if (t->parts) snprintf(parts, sizeof parts, ", %lld %s", (long long)now.moves, t->parts);
    cm_clock_format_duration(cm_clock_seconds() - t->start, time);
    snprintf(line, sizeof line, "%lld%s %s%s, %s", (long long)now.games, of, t->what, parts, time);
    if (t->is_drawn) {
        cut(line, cm_terminal_of(STDOUT_FILENO).columns);
        printf("\r\033[K%s", line);
        fflush(stdout);
    } else {
        fprintf(stderr, "%s\n", line);
    }
}

static struct timespec after(struct timespec start, double seconds) {
    const long whole = (long)seconds, rest = start.tv_nsec + (long)(1e9 * (seconds - (double)whole));
    return (struct timespec){start.tv_sec + whole + rest / 1000000000, rest % 1000000000};
}

static void *run(void *context) {
    cm_ticker *t = context;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&t->lock);
    while (!t->is_over) {
        next = after(next, t->interval);
        while (!t->is_over && pthread_cond_timedwait(&t->end, &t->lock, &next) == 0) {
        }
        if (!t->is_over) show(t);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

void cm_ticker_begin(cm_ticker *ticker, const cm_arguments *arguments, double seconds, const char *what,
                     const char *parts, int64_t total) {
    const cm_progress_style style = cm_cli_style(arguments);
    pthread_condattr_t attributes;
    memset(ticker, 0, sizeof *ticker);
    ticker->is_drawn = style.tty && !style.json;
    ticker->interval = ticker->is_drawn ? redraw_seconds : seconds > 0.0 ? seconds : 1.0;
    ticker->start = cm_clock_seconds();
    ticker->what = what, ticker->parts = parts, ticker->total = total;
    pthread_mutex_init(&ticker->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker->end, &attributes);
    pthread_condattr_destroy(&attributes);
    ticker->has_thread = pthread_create(&ticker->thread, NULL, run, ticker) == 0;
}

void cm_ticker_turn(cm_ticker *ticker, const char *what, const char *parts, int64_t total) {
    pthread_mutex_lock(&ticker->lock);
    ticker->tally = (cm_tally){0, 0};
    ticker->what = what, ticker->parts = parts, ticker->total = total;
    pthread_mutex_unlock(&ticker->lock);
}

void cm_ticker_hold(cm_ticker *ticker) {
    pthread_mutex_lock(&ticker->lock);
    clear(ticker);
}

void cm_ticker_release(cm_ticker *ticker) { pthread_mutex_unlock(&ticker->lock); }

void cm_ticker_end(cm_ticker *ticker) {
    pthread_mutex_lock(&ticker->lock);
    ticker->is_over = true;
    pthread_cond_signal(&ticker->end);
    pthread_mutex_unlock(&ticker->lock);
    if (ticker->has_thread) pthread_join(ticker->thread, NULL);
    clear(ticker);
    pthread_cond_destroy(&ticker->end);
    pthread_mutex_destroy(&ticker->lock);
}
