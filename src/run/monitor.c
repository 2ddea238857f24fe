#include "run/monitor.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/lines.h"
#include "core/log.h"
#include "run/lost.h"

enum { LINE_BYTES = CM_MONITOR_HEADER, ROW_BYTES = 128, TEXT_BYTES = 8192 };

static const char name[] = CM_MONITOR_NAME, titles[] = "r,l,t";

/* ---- what is there ---- */

static bool is_header(const cm_lines *line) {
    return line->number == 1 ? line->text[0] == '#' : strcmp(line->text, titles) == 0;
}

/* Whether a line is an episode, and its time. */
static bool read_row(const cm_lines *line, double *seconds) {
    double total;
    long long length;
    int end = 0;
    if (sscanf(line->text, "%lf,%lld,%lf%n", &total, &length, seconds, &end) != 3) return false;
    return (size_t)end == line->size && length > 0 && isfinite(*seconds);
}

/* *kept <- bytes of the whole lines up to the first that is beyond or none of ours; *is_ours: it was the former, or the
 * end. A header that is torn is as good as none. */
static cm_status look_through(cm_lines *lines, double last, int64_t *kept, bool *is_ours) {
    bool is_there;
    int64_t end = 0;
    *kept = 0, *is_ours = true;
    while (true) {
        double seconds = -HUGE_VAL;
        CM_TRY(cm_lines_next(lines, &is_there));
        *is_ours = !lines->is_long;
        if (!is_there || !lines->is_whole) return CM_OK;
        *is_ours = lines->number <= 2 ? is_header(lines) : read_row(lines, &seconds);
        if (!*is_ours || seconds > last) return CM_OK;
        end += (int64_t)lines->bytes;
        if (lines->number >= 2) *kept = end;
    }
}

static cm_status cut_back(cm_monitor *monitor, const cm_dir *run, double last) {
    cm_append_file *rows = &monitor->rows;
    cm_lines lines = {.file = NULL};
    int64_t kept;
    bool is_ours;
    int reading;
    CM_TRY(cm_dir_open_file(run, name, O_RDONLY, &reading));
    cm_status status = cm_lines_open(&lines, reading, LINE_BYTES);
    if (status == CM_OK) status = look_through(&lines, last, &kept, &is_ours);
    if (status == CM_OK && !is_ours)
        cm_log(CM_WARNING, "%s: was changed behind the run's back: its lines up to line %d are kept", rows->path,
               lines.number - 1);
    cm_lines_close(&lines);
    if (status != CM_OK) return cm_fail_in(status, "%s", rows->path);
    return kept < rows->bytes ? cm_append_cut(rows, kept) : CM_OK;
}

/* ---- writing ---- */

/* The time since which the run would have trained without a break. */
static void make_header(cm_monitor *monitor, const char *env, double seconds) {
    char plain[256];
    size_t n = 0;
    for (const char *c = env; *c && n + 1 < sizeof plain; c++) plain[n++] = *c == '"' || *c == '\\' ? '_' : *c;
    plain[n] = '\0';
    snprintf(monitor->header, sizeof monitor->header, "#{\"t_start\": %.6f, \"env_id\": \"%s\"}\n%s\n",
             cm_clock_unix() - seconds, plain, titles);
}

/* No row goes in front of the header. */
static cm_status append(cm_monitor *monitor, const char *text, size_t size) {
    if (monitor->rows.bytes == 0) CM_TRY(cm_append_write(&monitor->rows, monitor->header, strlen(monitor->header)));
    return size > 0 ? cm_append_write(&monitor->rows, text, size) : CM_OK;
}

static void flush(cm_monitor *monitor, const char *text, size_t size, int64_t episodes) {
    cm_run_note_lost(&monitor->lost, episodes, append(monitor, text, size), &monitor->rows, "episodes");
}

cm_status cm_monitor_open(cm_monitor *out, const cm_dir *run, const char *env, double seconds) {
    out->lost = 0;
    make_header(out, env, seconds);
    CM_TRY(cm_append_open(&out->rows, run, name));
    cm_status status = cut_back(out, run, seconds);
    if (status == CM_OK) {
        flush(out, "", 0, 0);
    } else {
        cm_monitor_close(out);
    }
    return status;
}

void cm_monitor_close(cm_monitor *monitor) { cm_append_close(&monitor->rows); }

/* As Stable-Baselines3 rounds: to six digits behind the point, of which one stays. */
static int put_number(char *out, size_t size, double number) {
    int n = snprintf(out, size, fabs(number) < 1e15 ? "%.6f" : "%.9e", number);
    if (fabs(number) >= 1e15) return n;
    while (out[n - 1] == '0' && out[n - 2] != '.') n--;
    return n;
}

/* Returns its bytes, fewer than ROW_BYTES. */
static size_t put_row(char out[ROW_BYTES], const cm_episode *episode, double seconds) {
    int n = put_number(out, ROW_BYTES, episode->total);
    n += snprintf(out + n, (size_t)(ROW_BYTES - n), ",%lld,", (long long)episode->length);
    n += put_number(out + n, (size_t)(ROW_BYTES - n), seconds);
    out[n++] = '\n';
    return (size_t)n;
}

void cm_monitor_write(cm_monitor *monitor, const cm_episode *episodes, int64_t count, double seconds) {
    char text[TEXT_BYTES];
    size_t used = 0;
    int64_t rows = 0;
    for (int64_t i = 0; i < count; i++) {
        if (episodes[i].length == 0) continue;
        used += put_row(text + used, &episodes[i], seconds), rows++;
        if (used + ROW_BYTES <= TEXT_BYTES) continue;
        flush(monitor, text, used, rows);
        used = 0, rows = 0;
    }
    if (rows > 0) flush(monitor, text, used, rows);
}
