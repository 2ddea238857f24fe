/* What a user sees while a run goes on: one line that redraws itself on a terminal, plain lines elsewhere, JSON lines
 * if asked for, nothing if asked for.
 *
 * The line holds iteration, environment steps and their rate, simulations/s, updates/s, mean return of recent episodes
 * with a sparkline, losses and the time left; offline updates and the return of the last evaluation. "act 62 %" is the
 * share of acting in the time of acting and learning: what has more than half of it is what the other waits for, where
 * they run side by side. "GPU 87 %" is gpu_use. On a narrow terminal the less important parts are left out, so that it
 * never wraps. Log lines of core/log.h pass through while a progress is alive: the line steps aside for them.
 */
#ifndef CM_RUN_PROGRESS_H
#define CM_RUN_PROGRESS_H

#include "core/status.h"
#include "run/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_progress_style {
    int file;        /* descriptor to write to, usually 1                                       */
    bool tty;        /* redraw one line; else a line of its own about every `interval` seconds  */
    bool colour;     /* bold and green, only on a terminal                                      */
    bool utf8;       /* sparkline of block characters; else of ASCII                            */
    bool json;       /* one JSON object per line and nothing else                               */
    bool quiet;      /* nothing but what `say` is told to write always                          */
    bool verbose;    /* details too                                                             */
    bool self_play;  /* the agent's returns are those against itself                            */
    int columns;     /* width; 0: ask the terminal every time                                   */
    double interval; /* seconds between plain lines; 0: 1 s */
} cm_progress_style;

typedef struct cm_progress cm_progress;

cm_status cm_progress_create(const cm_progress_style *style, cm_progress **out) CM_MUST_USE;
void cm_progress_destroy(cm_progress *progress); /* clears the line; NULL is allowed */

/* Shows an iteration; `share` in [0, 1] of the run is done (for the time left). Allocates nothing. */
void cm_progress_show(cm_progress *progress, const cm_metrics *metrics, double share);

/* What goes on now is shown where no other line was for a second (on a terminal, after the live line), or for an
 * interval: at time `now` of the clock. cm_progress_watch calls this on a thread of its own until the display is
 * destroyed; without one, it is not called. Not with --json, nor if quiet. */
void cm_progress_pulse(cm_progress *progress, double now);
void cm_progress_watch(cm_progress *progress);

/* A line for people: not with --json, not if quiet; always into the log's file, if one is open. No newline in it. On a
 * terminal one that is too wide goes on below itself: after its label ("machine   ") if it has one, of at most 8
 * characters and blanks up to 10. */
void cm_progress_say(cm_progress *progress, const char *format, ...) CM_PRINTF(2, 3);

/* From now on returns of episodes are those of games of the agent against itself. */
void cm_progress_call_self_play(cm_progress *progress);

/* A terminal of fewer than 60 columns, where what can be left out is a detail. */
bool cm_progress_is_narrow(const cm_progress *progress);

/* The same of what fills a screen and that few look for: only if verbose; always into the log's file. */
void cm_progress_detail(cm_progress *progress, const char *format, ...) CM_PRINTF(2, 3);

/* The same as `say` for a command that is there to be copied: it is not broken, but begins a line of its own if it is
 * too wide to stand after what is in front of it and two blanks. */
void cm_progress_offer(cm_progress *progress, const char *format, ...) CM_PRINTF(2, 3);

/* A line for programs: {"event": event, members}, only with --json; members as `"a": 1, "b": "c"`, may be empty. */
void cm_progress_event(cm_progress *progress, const char *event, const char *members);

/* Why a line could not be written, as errno has it; 0: all were, or no one reads them (a closed pipe, no descriptor,
 * a terminal that was closed). */
int cm_progress_error(const cm_progress *progress);

/* The parts, for other displays. */

/* "950", "12.3k", "4.56M", "-" for NAN. */
void cm_format_count(double value, char out[16]);

/* A long text without its beginning, at most `most` bytes: paths differ at their ends. */
const char *cm_format_end(const char *text, int most);

/* Values as bars, one character each, lowest to highest; NAN is a blank. Bytes written are at most 3 n + 1. */
void cm_format_sparkline(const double *values, int n, bool utf8, char *out, size_t size);

/* The line itself, at most `columns` characters wide. `history` [n] holds returns, oldest first; of evaluations where
 * the run is offline, which is where there is no env_steps_per_second. */
void cm_format_progress(const cm_metrics *metrics, const double *history, int n, double share,
                        const cm_progress_style *style, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
