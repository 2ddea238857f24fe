/* How far long play is: a line that is redrawn where stdout is a terminal, else a line on stderr every few seconds, so
 * that nothing but results goes to a file or down a pipe. A thread of its own shows it, as a single move may take
 * minutes. */
#ifndef CM_CLI_TICKER_H
#define CM_CLI_TICKER_H

#include <pthread.h>

#include "arena/tally.h"
#include "cli/command.h"

typedef struct cm_ticker {
    cm_tally tally;       /* that players count in */
    bool is_drawn;        /* redrawn on stdout              */
    double interval;      /* seconds between two showings   */
    double start;         /* of all that is shown           */
    pthread_mutex_t lock; /* of what follows, and of the line that is drawn */
    pthread_cond_t end;
    const char *what, *parts;
    int64_t total;
    bool is_over;
    bool has_thread;
    pthread_t thread;
} cm_ticker;

/* Begins to show "3 of `total` `what`, 47 `parts`, 12s" (`parts` NULL: without these; `total` 0, which is not known: "3
 * `what`, ..."), outside of a terminal every `seconds` (0: every second). The ticker may not move until cm_ticker_end.
 * Where no thread can be had nothing is shown. */
void cm_ticker_begin(cm_ticker *ticker, const cm_arguments *arguments, double seconds, const char *what,
                     const char *parts, int64_t total);
/* Counts something else from 0. */
void cm_ticker_turn(cm_ticker *ticker, const char *what, const char *parts, int64_t total);
void cm_ticker_hold(cm_ticker *ticker); /* clears the line and shows nothing, so that something else can be printed */
void cm_ticker_release(cm_ticker *ticker); /* after that */
void cm_ticker_end(cm_ticker *ticker);     /* clears the line for the last time */
#endif
