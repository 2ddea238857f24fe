#include "env/area.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

struct cm_area {
    cm_area_axis rows, columns;
    int channels;
    int32_t *first[2], *count[2]; /* of rows, of columns; what the axes point at */
    float *weight[2];
    int32_t *source; /* [columns.most, columns.to * channels]: numbers of a source row that a target row's have */
    float *factor;   /* [the same]: their weights */
    uint8_t *larger; /* [2, columns.from * channels]: the bytes of a source row, and of the one before */
    float *number;   /* [columns.from * channels]: the same as float32 */
    float *line;     /* [columns.to * channels]: a source row, resized along it */
    float *sum;      /* [columns.to * channels]: a target row */
    cm_arena arena;
};

/* ---- weights ---- */

typedef struct span {
    int first, count;
    double weight[CM_AREA_SIDE + 2];
} span;

static void add_source(span *s, int cell, double weight) {
    if (s->count == 0) s->first = cell;
    s->weight[s->count++] = weight;
}

/* The sources of target cell d, in order; what covers less than a thousandth of a cell counts as none. */
static void find_sources(int from, int to, int d, span *out) {
    const double scale = (double)from / to, start = d * scale, end = start + scale, least = 1e-3;
    const double width = fmin(scale, from - start);
    const int last = (int)fmin(floor(end), from - 1), first = (int)fmin(ceil(start), last);
    *out = (span){.count = 0};
    if (first - start > least) add_source(out, first - 1, (first - start) / width);
    for (int cell = first; cell < last; cell++) add_source(out, cell, 1.0 / width);
    if (end - last > least) add_source(out, last, fmin(fmin(end - last, 1.0), width) / width);
}

static int most_sources(int from, int to) {
    int most = 0;
    span s;
    for (int d = 0; d < to; d++) {
        find_sources(from, to, d, &s);
        if (s.count > most) most = s.count;
    }
    return most;
}

static void fill_axis(cm_area *area, int which, cm_area_axis *axis) {
    span s;
    for (int d = 0; d < axis->to; d++) {
        find_sources(axis->from, axis->to, d, &s);
        area->first[which][d] = s.first, area->count[which][d] = s.count;
        for (int k = 0; k < axis->most; k++)
            area->weight[which][d * axis->most + k] = k < s.count ? (float)s.weight[k] : 0.0f;
    }
    axis->first = area->first[which], axis->count = area->count[which], axis->weight = area->weight[which];
}

/* Weight k of all numbers of a target row, one after another; where a cell has fewer, it is 0, which adds nothing. */
static void fill_sources(cm_area *area) {
    const cm_area_axis *a = &area->columns;
    const int channels = area->channels, numbers = a->to * channels;
    for (int k = 0; k < a->most; k++) {
        for (int i = 0; i < numbers; i++) {
            const int x = i / channels, cell = k < a->count[x] ? a->first[x] + k : a->first[x];
            area->source[k * numbers + i] = cell * channels + i % channels;
            area->factor[k * numbers + i] = a->weight[x * a->most + k];
        }
    }
}

/* ---- life ---- */

static void alloc_arrays(cm_area *area, cm_arena *arena) {
    const cm_area_axis *axes[2] = {&area->rows, &area->columns};
    const size_t wide = (size_t)area->columns.from * (size_t)area->channels;
    const size_t narrow = (size_t)area->columns.to * (size_t)area->channels, most = (size_t)area->columns.most;
    for (int i = 0; i < 2; i++) {
        const size_t cells = (size_t)axes[i]->to;
        area->first[i] = cm_arena_alloc(arena, cells * sizeof(int32_t));
        area->count[i] = cm_arena_alloc(arena, cells * sizeof(int32_t));
        area->weight[i] = cm_arena_alloc(arena, cells * (size_t)axes[i]->most * sizeof(float));
    }
    area->source = cm_arena_alloc(arena, most * narrow * sizeof(int32_t));
    area->factor = cm_arena_alloc(arena, most * narrow * sizeof(float));
    area->larger = cm_arena_alloc(arena, 2 * wide);
    area->number = cm_arena_alloc(arena, wide * sizeof(float));
    area->line = cm_arena_alloc(arena, narrow * sizeof(float));
    area->sum = cm_arena_alloc(arena, narrow * sizeof(float));
}

static cm_status check_side(const char *what, int from, int to) {
    if (from >= 1 && from <= CM_AREA_SIDE && to >= 1 && to <= from) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%d to %d %s: pictures only become smaller, from at most %d", from, to, what,
                   CM_AREA_SIDE);
}

static cm_status create(const cm_area *shape, cm_area **out) {
    cm_area *area;
    cm_arena measure = {NULL, SIZE_MAX, 0};
    CM_TRY(cm_alloc(&area, 1, sizeof *area, "resizing of pictures"));
    *area = *shape;
    alloc_arrays(area, &measure);
    const cm_status status = cm_arena_create(&area->arena, measure.used, "resizing of pictures");
    if (status != CM_OK) {
        free(area);
        return status;
    }
    alloc_arrays(area, &area->arena);
    fill_axis(area, 0, &area->rows);
    fill_axis(area, 1, &area->columns);
    fill_sources(area);
    *out = area;
    return CM_OK;
}

cm_status cm_area_create(int height, int width, int channels, int rows, int columns, cm_area **out) {
    *out = NULL;
    CM_TRY(check_side("rows", height, rows));
    CM_TRY(check_side("columns", width, columns));
    if (channels < 1 || channels > CM_AREA_SIDE)
        return cm_fail(CM_ERR_INPUT, "%d channels; must be 1..%d", channels, CM_AREA_SIDE);
    const cm_area shape = {.rows = {.from = height, .to = rows, .most = most_sources(height, rows)},
                           .columns = {.from = width, .to = columns, .most = most_sources(width, columns)},
                           .channels = channels};
    return create(&shape, out);
}

void cm_area_destroy(cm_area *area) {
    if (!area) return;
    cm_arena_destroy(&area->arena);
    free(area);
}

const cm_area_axis *cm_area_rows(const cm_area *area) { return &area->rows; }
const cm_area_axis *cm_area_columns(const cm_area *area) { return &area->columns; }

/* ---- a picture ---- */

/* line <- the bytes of a source row, resized along it. */
static void resize_row(cm_area *area, const uint8_t *restrict bytes) {
    const int wide = area->columns.from * area->channels, narrow = area->columns.to * area->channels;
    float *restrict number = area->number, *restrict line = area->line;
    for (int i = 0; i < wide; i++) number[i] = (float)bytes[i];
    memset(line, 0, (size_t)narrow * sizeof *line);
    for (int k = 0; k < area->columns.most; k++) {
        const int32_t *restrict source = area->source + k * narrow;
        const float *restrict factor = area->factor + k * narrow;
        for (int i = 0; i < narrow; i++) line[i] += number[source[i]] * factor[i];
    }
}

static void take_larger(uint8_t *restrict out, const uint8_t *restrict a, const uint8_t *restrict b, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = a[i] > b[i] ? a[i] : b[i];
}

static void add_row(float *restrict sum, const float *restrict line, float weight, int count, bool is_first) {
    if (is_first) {
        for (int i = 0; i < count; i++) sum[i] = weight * line[i];
    } else {
        for (int i = 0; i < count; i++) sum[i] += weight * line[i];
    }
}

static void write_row(const float *restrict sum, uint8_t *restrict out, int count) {
    for (int i = 0; i < count; i++) out[i] = cm_area_round(sum[i]);
}

/* line <- source row r, which costs nothing where it has the bytes of the one before, as half of the rows of a screen
 * have; `made` is that one, -1: none. */
static void make_line(cm_area *area, const uint8_t *picture, const uint8_t *other, int r, int *made) {
    const size_t bytes = (size_t)area->columns.from * (size_t)area->channels, at = (size_t)r * bytes;
    uint8_t *now = area->larger + (r & 1) * bytes, *before = area->larger + (~r & 1) * bytes;
    if (r == *made) return;
    if (other) {
        take_larger(now, picture + at, other + at, bytes);
    } else {
        memcpy(now, picture + at, bytes);
    }
    if (*made != r - 1 || r == 0 || memcmp(now, before, bytes) != 0) resize_row(area, now);
    *made = r;
}

void cm_area_resize(cm_area *area, const uint8_t *picture, const uint8_t *other, uint8_t *out) {
    const cm_area_axis *rows = &area->rows;
    const int narrow = area->columns.to * area->channels;
    int made = -1;
    for (int y = 0; y < rows->to; y++) {
        for (int i = 0; i < rows->count[y]; i++) {
            make_line(area, picture, other, rows->first[y] + i, &made);
            add_row(area->sum, area->line, rows->weight[y * rows->most + i], narrow, i == 0);
        }
        write_row(area->sum, out + (size_t)y * (size_t)narrow, narrow);
    }
}
