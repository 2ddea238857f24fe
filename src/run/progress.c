#include "run/progress.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/busy.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/terminal.h"
#include "core/text.h"

enum { HISTORY = 32, SPARKS = 10, LINE = 1024, PARTS = 12, PART_BYTES = 96 };
enum { LABEL = 10, NARROW = 60 }; /* columns: of a label and the blanks after it; of a terminal with space for few */

struct cm_progress {
    cm_progress_style style;
    bool is_terminal;        /* whatever its kind */
    double shown_at;         /* clock of the last line of an iteration */
    double spoke_at;         /* clock of the last line of any kind */
    cm_metrics shown;        /* the last iteration's, with times and GPU of the last row that was written */
    double share;            /* and its share; below 0: there was none */
    bool visible;            /* the live line is on the screen */
    bool has_tail;           /* which says what goes on */
    bool saying;             /* a line of `say` is on its way to the log */
    double history[HISTORY]; /* returns of past iterations or evaluations, oldest first */
    int known;               /* of them */
    char line[LINE];         /* the live line */
    cm_log_hook before;      /* whose the lines of the log were */
    void *before_context;
    int error;        /* of the first line that could not be written */
    pthread_t thread; /* that shows what goes on, if there is one */
    bool has_thread;
    atomic_bool is_over;
};

/* ---- formatting ---- */

void cm_format_count(double value, char out[16]) {
    double size = fabs(value);
    if (!isfinite(value)) {
        snprintf(out, 16, "-");
    } else if (size < 9999.5) {
        snprintf(out, 16, "%.*f",
                 size < 10 && size != floor(size)    ? 2
                 : size < 100 && size != floor(size) ? 1
                                                     : 0,
                 value);
    } else if (size < 999950.0) {
        snprintf(out, 16, "%.*fk", size < 99950.0 ? 1 : 0, value / 1e3);
    } else if (size < 999.95e6) {
        snprintf(out, 16, "%.*fM", size < 9.995e6 ? 2 : 1, value / 1e6);
    } else {
        snprintf(out, 16, "%.3gG", value / 1e9);
    }
}

const char *cm_format_end(const char *text, int most) {
    const int length = (int)strlen(text);
    if (length > most) text += length - most;
    while (((unsigned char)*text & 0xC0) == 0x80) text++; /* not within a character */
    return text;
}

void cm_format_sparkline(const double *values, int n, bool utf8, char *out, size_t size) {
    static const char *const blocks[8] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const plain[8] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < n; i++) {
        const char *mark = " ";
        if (isfinite(values[i])) {
            int level = high > low ? (int)((values[i] - low) / (high - low) * 7.999) : 3;
            mark = utf8 ? blocks[level] : plain[level];
        }
        size_t length = strlen(mark);
        if (used + length + 1 > size) break;
        memcpy(out + used, mark, length + 1);
        used += length;
    }
}

/* A part of the line; the least important one goes first when there is no space. */
typedef struct part {
    int importance; /* the higher, the longer it stays */
    char text[PART_BYTES];
} part;

static void add_part(part *parts, int *count, int importance, const char *format, ...) CM_PRINTF(4, 5);
static void add_part(part *parts, int *count, int importance, const char *format, ...) {
    part *p = &parts[(*count)++];
    va_list arguments;
    p->importance = importance;
    va_start(arguments, format);
    vsnprintf(p->text, sizeof p->text, format, arguments);
    va_end(arguments);
}

static bool somebody_acts(const cm_metrics *m) { return isfinite(m->env_steps_per_second); }

/* That of recent episodes; offline, of the last evaluation. */
static double return_of(const cm_metrics *m, const double *history, int n) {
    if (somebody_acts(m)) return m->mean_return;
    return n > 0 ? history[n - 1] : (double)NAN;
}

/* Of the time of acting and learning, the share of acting. */
static double acting_of(const cm_metrics *m) {
    const double acting = m->time[CM_TIME_ACTING];
    const double learning = m->time[CM_TIME_LEARNING] + m->time[CM_TIME_REANALYSIS];
    return somebody_acts(m) && acting + learning > 0.0 ? acting / (acting + learning) : (double)NAN;
}

static int make_parts(const cm_metrics *m, const double *history, int n, double share, const cm_progress_style *style,
                      part *parts) {
    int count = 0;
    char a[16], b[16], c[16], spark[3 * SPARKS + 1];
    const char *bold = style->colour ? "\033[1m" : "", *plain = style->colour ? "\033[0m" : "";
    cm_format_count((double)m->iteration, a);
    add_part(parts, &count, 7, "it %s", a);
    cm_format_count(m->updates_per_second, b);
    if (somebody_acts(m)) {
        cm_format_count((double)m->env_steps, a);
        cm_format_count(m->env_steps_per_second, c);
        add_part(parts, &count, 9, "%s steps %s/s", a, c);
        cm_format_count(m->simulations_per_second, a);
        add_part(parts, &count, 2, "%s sim/s", a);
        add_part(parts, &count, 3, "%s upd/s", b);
    } else {
        cm_format_count((double)m->updates, a);
        add_part(parts, &count, 9, "%s updates %s/s", a, b);
    }
    if (isfinite(acting_of(m))) add_part(parts, &count, 5, "act %.0f %%", 100.0 * acting_of(m));
    if (isfinite(m->gpu_use)) add_part(parts, &count, 6, "GPU %.0f %%", 100.0 * m->gpu_use);
    int from = n > SPARKS ? n - SPARKS : 0;
    cm_format_count(return_of(m, history, n), a);
    cm_format_sparkline(history + from, n - from, style->utf8, spark, sizeof spark);
    add_part(parts, &count, 10, "%s %s%s%s", style->self_play && somebody_acts(m) ? "self-play" : "return", bold, a,
             plain);
    if (*spark) add_part(parts, &count, 4, "%s", spark);
    if (isfinite(m->total_loss)) {
        add_part(parts, &count, 1, "loss %.2f", m->total_loss);
        add_part(parts, &count, 0, "(value %.2f policy %.2f reward %.2f)", m->loss[CM_LOSS_value],
                 m->loss[CM_LOSS_policy], m->loss[CM_LOSS_reward]);
    }
    if (share > 0.0) {
        cm_clock_format_duration(m->seconds * (1.0 - fmin(share, 1.0)) / share, a);
        add_part(parts, &count, 8, "ETA %s", a);
    }
    return count;
}

static void drop_least(part *parts, int *count) {
    int least = 0;
    for (int i = 1; i < *count; i++) least = parts[i].importance < parts[least].importance ? i : least;
    memmove(&parts[least], &parts[least + 1], (size_t)(*count - least - 1) * sizeof *parts);
    (*count)--;
}

void cm_format_progress(const cm_metrics *metrics, const double *history, int n, double share,
                        const cm_progress_style *style, char *out, size_t size) {
    part parts[PARTS];
    int count = make_parts(metrics, history, n, share, style, parts);
    for (; count > 0; drop_least(parts, &count)) {
        int width = 2 * (count - 1);
        for (int i = 0; i < count; i++) width += cm_text_line_width(parts[i].text);
        if (width <= style->columns) break;
    }
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < count && used < size; i++) {
        int length = snprintf(out + used, size - used, "%s%s", i ? "  " : "", parts[i].text);
        used += length > 0 ? (size_t)length : 0;
    }
}

/* ---- the display ---- */

/* The run goes on whatever becomes of its lines. */
static void write_text(cm_progress *p, const char *text, size_t size) {
    while (size > 0) {
        ssize_t n = write(p->style.file, text, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && p->error == 0 && !cm_file_is_unread(errno, p->is_terminal)) p->error = errno;
        if (n <= 0) return;
        text += n, size -= (size_t)n;
    }
}

static void write_line(cm_progress *p, const char *text) {
    char line[LINE + CM_METRICS_TEXT];
    int n = snprintf(line, sizeof line, "%s\n", text);
    if (n > 0) write_text(p, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void hide(cm_progress *p) {
    if (p->visible) write_text(p, "\r\033[K", 4);
    p->visible = false;
}

static void draw(cm_progress *p) {
    char text[LINE + 8];
    int n = snprintf(text, sizeof text, "\r\033[K%s", p->line);
    if (n > 0) write_text(p, text, (size_t)n);
    p->visible = true;
}

/* A log line goes above the live line, written by the log itself or by who has asked for its lines before. What `say`
 * says goes to the latter and to the log's file only. */
static bool step_aside(void *context, cm_log_level level, const char *line) {
    cm_progress *p = context;
    const bool is_said = p->saying && level == CM_INFO;
    if (!is_said) hide(p);
    return (p->before && p->before(p->before_context, level, line)) || is_said;
}

cm_status cm_progress_create(const cm_progress_style *style, cm_progress **out) {
    cm_progress *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "the progress display"));
    p->style = *style;
    p->is_terminal = isatty(style->file);
    p->shown_at = -1e9, p->share = -1.0;
    p->shown = cm_metrics_empty();
    p->spoke_at = cm_clock_seconds();
    if (!(p->style.interval > 0.0)) p->style.interval = 1.0;
    p->style.colour = style->colour && style->tty;
    cm_log_get_hook(&p->before, &p->before_context);
    cm_log_set_hook(step_aside, p);
    *out = p;
    return CM_OK;
}

void cm_progress_destroy(cm_progress *p) {
    if (!p) return;
    atomic_store(&p->is_over, true);
    if (p->has_thread) pthread_join(p->thread, NULL);
    cm_log_set_hook(p->before, p->before_context);
    hide(p);
    free(p);
}

static int columns_of(const cm_progress *p) {
    if (p->style.columns > 0) return p->style.columns;
    if (!p->style.tty) return 160;
    const int columns = cm_terminal_of(p->style.file).columns;
    return columns > 0 ? columns - 1 : 79;
}

void cm_progress_call_self_play(cm_progress *p) { p->style.self_play = true; }

bool cm_progress_is_narrow(const cm_progress *p) { return p->style.tty && columns_of(p) < NARROW; }

/* The live line. */
static void put(cm_progress *p, double now) {
    p->spoke_at = now;
    if (p->style.tty) {
        draw(p);
    } else {
        write_line(p, p->line);
    }
}

static void remember(cm_progress *p, double value) {
    if (p->known == HISTORY) memmove(p->history, p->history + 1, (HISTORY - 1) * sizeof *p->history);
    if (p->known < HISTORY) p->known++;
    p->history[p->known - 1] = value;
}

/* The line of the last iteration, if there was one, and after it `tail`, which stays where the line is too narrow. */
static void show_tail(cm_progress *p, const char *tail, double now) {
    cm_progress_style style = p->style;
    const int columns = columns_of(p), width = (int)strlen(tail);
    char line[LINE] = "";
    style.columns = columns - width - 2;
    if (p->share >= 0.0 && style.tty && style.columns > 0)
        cm_format_progress(&p->shown, p->history, p->known, p->share, &style, line, sizeof line);
    snprintf(p->line, sizeof p->line, "%.800s%s%.*s", line, *line ? "  " : "", columns, tail);
    p->has_tail = style.tty;
    put(p, now);
}

/* Rows that are not written lack what is measured from row to row: there the last one's is shown. */
static void keep_known(const cm_metrics *last, cm_metrics *row) {
    if (isfinite(row->time[CM_TIME_ACTING])) return;
    memcpy(row->time, last->time, sizeof row->time);
    row->gpu_use = last->gpu_use;
}

static void show(cm_progress *p, const cm_metrics *metrics, double share) {
    const double value = somebody_acts(metrics) ? metrics->mean_return : metrics->eval_return;
    const double now = cm_clock_seconds();
    if (isfinite(value)) remember(p, value);
    cm_metrics row = *metrics;
    keep_known(&p->shown, &row);
    p->shown = row, p->share = fmax(0.0, share);
    if (p->style.json || p->style.quiet || now - p->shown_at < (p->style.tty ? 0.1 : p->style.interval)) return;
    cm_progress_style style = p->style;
    style.columns = columns_of(p);
    cm_format_progress(&row, p->history, p->known, share, &style, p->line, sizeof p->line);
    p->shown_at = now, p->has_tail = false;
    put(p, now);
}

void cm_progress_show(cm_progress *p, const cm_metrics *metrics, double share) {
    char text[CM_METRICS_TEXT];
    if (p->style.json) {
        cm_metrics_format(metrics, text, sizeof text);
        cm_progress_event(p, "iteration", text);
    }
    cm_log_hold();
    show(p, metrics, share);
    cm_log_release();
}

/* ---- between iterations ---- */

void cm_progress_pulse(cm_progress *p, double now) {
    const double still = p->style.tty ? 1.0 : fmax(1.0, p->style.interval);
    char what[96], time[16], tail[128];
    double since;
    if (p->style.json || p->style.quiet) return;
    cm_log_hold();
    cm_busy_format(what, &since);
    if (now - p->spoke_at >= still || (p->has_tail && now - p->spoke_at >= 0.2)) {
        cm_clock_format_duration(fmax(0.0, now - since), time);
        snprintf(tail, sizeof tail, "%s, %s", what, time);
        show_tail(p, tail, now);
    }
    cm_log_release();
}

static void *watch(void *context) {
    cm_progress *p = context;
    while (!atomic_load(&p->is_over)) {
        cm_progress_pulse(p, cm_clock_seconds());
        for (int i = 0; i < 5 && !atomic_load(&p->is_over); i++)
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return NULL;
}

void cm_progress_watch(cm_progress *p) {
    sigset_t all, old;
    if (p->style.json || p->style.quiet || p->has_thread) return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    p->has_thread = pthread_create(&p->thread, NULL, watch, p) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- lines ---- */

/* Where a line goes on: below what follows its label, or a little after its start. */
static int indent_of(const char *text) {
    return strlen(text) > LABEL && text[0] != ' ' && strncmp(text + LABEL - 2, "  ", 2) == 0 ? LABEL : 4;
}

/* A line that may be too wide for the terminal. */
static void write_wrapped(cm_progress *p, const char *text) {
    char lines[2 * LINE] = "";
    cm_terminal_fold(text, columns_of(p) + 1, indent_of(text), lines, sizeof lines);
    write_text(p, lines, strlen(lines));
}

/* A command that is too wide to stand after what it is there for stands below that. */
static void write_apart(cm_progress *p, char *text) {
    char *gap = strstr(text, "  ");
    if (!gap) gap = text + strlen(text);
    const char *command = gap + strspn(gap, " ");
    char line[LINE];
    snprintf(line, sizeof line, "  %s", command);
    *gap = '\0';
    write_line(p, text);
    if (*command) write_line(p, line);
}

/* What becomes of a line: its command can be copied, it may break, or only the log's file has it. */
typedef enum manner { COMMAND, TEXT, LOGGED } manner;

static void say(cm_progress *p, manner how, const char *format, va_list arguments) {
    char said[LINE], text[LINE];
    vsnprintf(said, sizeof said, format, arguments);
    cm_printable(said, text, sizeof text);
    p->saying = true;
    cm_log(CM_INFO, "%s", text);
    p->saying = false;
    if (p->style.json || p->style.quiet || how == LOGGED) return;
    cm_log_hold();
    hide(p);
    if (how == TEXT && p->style.tty) {
        write_wrapped(p, text);
    } else if (p->style.tty && cm_text_line_width(text) > columns_of(p)) {
        write_apart(p, text);
    } else {
        write_line(p, text);
    }
    p->spoke_at = cm_clock_seconds(), p->has_tail = false;
    cm_log_release();
}

void cm_progress_say(cm_progress *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(p, TEXT, format, arguments);
    va_end(arguments);
}

void cm_progress_detail(cm_progress *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(p, p->style.verbose ? TEXT : LOGGED, format, arguments);
    va_end(arguments);
}

void cm_progress_offer(cm_progress *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(p, COMMAND, format, arguments);
    va_end(arguments);
}

void cm_progress_event(cm_progress *p, const char *event, const char *members) {
    if (!p->style.json) return;
    char text[CM_METRICS_TEXT + 64];
    snprintf(text, sizeof text, "{\"event\": \"%s\"%s%s}", event, members && *members ? ", " : "",
             members ? members : "");
    cm_log_hold();
    write_line(p, text);
    cm_log_release();
}

int cm_progress_error(const cm_progress *p) {
    cm_log_hold();
    const int error = p->error;
    cm_log_release();
    return error;
}
