#include "serve/follow.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arena.h"

enum { MOST_LINE = 64 * 1024 };
static const char NAME[] = "metrics.jsonl";

/* ---- rows ---- */

cm_status cm_follow_begin(cm_follow *f) {
    *f = (cm_follow){.stride = 1};
    return cm_alloc(&f->rows, CM_FOLLOW_ROWS, sizeof *f->rows, "the curves of a run");
}

void cm_follow_free(cm_follow *f) {
    free(f->rows);
    *f = (cm_follow){0};
}

static void begin_again(cm_follow *f) {
    f->count = 0;
    f->stride = 1;
    f->lines = f->damaged = 0;
    memset(f->left_out, 0, sizeof f->left_out);
    f->offset = 0;
    f->is_within = false;
    f->generation++;
}

static bool is_evaluated(const cm_metrics *row) { return isfinite(row->eval_return); }

/* Rows have the seconds since the row before, so those of a row that is left out belong to the next one. */
static void add_times(double to[CM_TIMES], const double times[CM_TIMES]) {
    for (int part = 0; part < CM_TIMES; part++)
        if (isfinite(times[part])) to[part] += times[part];
}

static void keep_row(cm_follow *f, const cm_metrics *row) {
    cm_metrics *kept = &f->rows[f->count++];
    *kept = *row;
    add_times(kept->time, f->left_out);
    memset(f->left_out, 0, sizeof f->left_out);
}

/* Leaves every second row, or of those without an evaluation. */
static void thin_once(cm_follow *f, bool keeps_evaluated) {
    const int all = f->count;
    double after[CM_TIMES]; /* left out behind the last row */
    int seen = 0;
    memcpy(after, f->left_out, sizeof after);
    memset(f->left_out, 0, sizeof f->left_out);
    f->count = 0;
    for (int i = 0; i < all; i++) {
        const cm_metrics row = f->rows[i];
        const bool is_kept = (keeps_evaluated && is_evaluated(&row)) || seen++ % 2 == 0;
        if (is_kept) keep_row(f, &row);
        if (!is_kept) add_times(f->left_out, row.time);
    }
    add_times(f->left_out, after);
}

static void thin(cm_follow *f) {
    thin_once(f, true);
    if (f->count > CM_FOLLOW_ROWS * 3 / 4) thin_once(f, false);
    f->stride *= 2;
    f->generation++;
}

static bool parse(const char *line, size_t size, cm_metrics *out) {
    cm_json_doc *doc = NULL;
    if (cm_json_parse(line, size, NAME, &doc) != CM_OK) return false;
    const bool is_row = cm_metrics_get(cm_json_root(doc), out) == CM_OK;
    cm_json_free(doc);
    return is_row;
}

static void add_line(cm_follow *f, const char *line, size_t size) {
    cm_metrics row;
    if (size > MOST_LINE || !parse(line, size, &row)) {
        f->damaged++;
        return;
    }
    if (f->lines++ % f->stride != 0 && !is_evaluated(&row)) {
        add_times(f->left_out, row.time);
        return;
    }
    if (f->count == CM_FOLLOW_ROWS) thin(f);
    keep_row(f, &row);
}

/* ---- the file ---- */

/* Takes the whole lines of text[size] and returns their bytes; of a line that is too long what there is of it. */
static size_t take_lines(cm_follow *f, const char *text, size_t size) {
    size_t at = 0;
    for (const char *end; (end = memchr(text + at, '\n', size - at)); at = (size_t)(end - text) + 1) {
        if (!f->is_within) add_line(f, text + at, (size_t)(end - text) - at);
        f->is_within = false;
    }
    if (size - at <= MOST_LINE) return at;
    f->damaged += !f->is_within;
    f->is_within = true;
    return size;
}

static bool read_step(cm_follow *f, int file, size_t size) {
    char *text = malloc(size);
    const ssize_t there = text ? pread(file, text, size, f->offset) : -1;
    const size_t taken = there > 0 ? take_lines(f, text, (size_t)there) : 0;
    f->offset += (off_t)taken;
    free(text);
    return taken > 0;
}

static int open_metrics(const char *run, struct stat *about) {
    cm_dir dir;
    int file = -1;
    if (cm_dir_open(&dir, run) != CM_OK) return -1;
    if (cm_dir_open_file(&dir, NAME, O_RDONLY, &file) != CM_OK) file = -1;
    cm_dir_close(&dir);
    if (file < 0 || fstat(file, about) == 0) return file;
    close(file);
    return -1;
}

bool cm_follow_read(cm_follow *f, const char *run) {
    struct stat about;
    const int file = open_metrics(run, &about);
    const uint64_t generation = f->generation;
    bool has_changed = false;
    f->is_behind = false;
    if (file < 0) return false;
    if (f->inode != about.st_ino || about.st_size < f->offset) {
        if (f->inode != 0) begin_again(f);
        f->inode = about.st_ino;
    }
    if (about.st_size > f->offset) {
        const off_t left = about.st_size - f->offset;
        has_changed = read_step(f, file, left < CM_FOLLOW_STEP ? (size_t)left : CM_FOLLOW_STEP);
        f->is_behind = has_changed && left > CM_FOLLOW_STEP;
    }
    close(file);
    return has_changed || f->generation != generation;
}

/* The last whole line of text[size]; *length 0: there is none. */
static const char *last_line(const char *text, size_t size, size_t *length) {
    const char *end = memrchr(text, '\n', size);
    *length = 0;
    if (!end) return text;
    const char *before = end > text ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
    const char *line = before ? before + 1 : text;
    *length = (size_t)(end - line);
    return line;
}

bool cm_follow_last(const char *run, cm_metrics *out) {
    struct stat about;
    const int file = open_metrics(run, &about);
    if (file < 0) return false;
    const off_t from = about.st_size > 2 * MOST_LINE ? about.st_size - 2 * MOST_LINE : 0;
    const size_t size = (size_t)(about.st_size - from);
    char *text = malloc(size + 1);
    const ssize_t there = text ? pread(file, text, size, from) : -1;
    size_t length = 0;
    const char *line = there > 0 ? last_line(text, (size_t)there, &length) : NULL;
    const bool is_there = length > 0 && parse(line, length, out);
    free(text);
    close(file);
    return is_there;
}
