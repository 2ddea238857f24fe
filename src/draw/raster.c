/* Shapes become polygons, whose edges are added up: the signed area that each covers of the pixels of its rows, as font
 * renderers do it (Levien 2016, font-rs). Running sums along a row are how far each pixel is covered; where contours
 * overlap, the sum is cut at 1. */
#include "draw/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "draw/font.h"

/* ---- images ---- */

void cm_image_free(cm_image *image) {
    free(image->rgb);
    free(image->cover);
    *image = (cm_image){.rgb = NULL};
}

cm_status cm_image_resize(cm_image *image, int width, int height) {
    if (width < 1 || height < 1 || width > CM_IMAGE_SIDE || height > CM_IMAGE_SIDE)
        return cm_fail(CM_ERR_INPUT, "a picture of %d x %d pixels; a side must have 1..%d", width, height,
                       CM_IMAGE_SIDE);
    const size_t pixels = (size_t)(width + 2) * (size_t)height;
    if (3 * pixels > image->space) {
        cm_image_free(image);
        image->rgb = calloc(pixels, 3);
        image->cover = calloc(pixels, sizeof *image->cover);
        if (!image->rgb || !image->cover) {
            cm_image_free(image);
            return cm_fail(CM_ERR_MEMORY, "a picture of %d x %d pixels does not fit into memory", width, height);
        }
        image->space = 3 * pixels;
    }
    image->width = width, image->height = height;
    return CM_OK;
}

/* ---- areas ---- */

typedef struct canvas {
    cm_image *image;
    double scale;
    int top, bottom, left, right; /* rows and columns that the shape reaches, ends excluded */
} canvas;

static void begin_shape(canvas *c) {
    c->top = c->image->height, c->bottom = 0;
    c->left = c->image->width, c->right = 0;
}

static double clamp(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

/* The area left of x, of height 1, under an edge that rises from 0 at `left` to 1 at `right`. */
static double area_until(double x, double left, double right) {
    if (x <= left) return 0.0;
    if (x >= right) return x - 0.5 * (left + right);
    return 0.5 * (x - left) * (x - left) / (right - left);
}

/* An edge that crosses `height` of a row, with its sign, between the columns left and right, which are in order. */
static void cover_row(canvas *c, int row, double height, double left, double right) {
    const int width = c->image->width;
    float *line = c->image->cover + (size_t)row * (size_t)(width + 2);
    left = clamp(left, 0.0, width), right = clamp(right, 0.0, width);
    const int first = (int)left, last = (int)right;
    double before = 0.0, covered = 0.0;
    for (int k = first; k <= last; k++) {
        const double until = area_until(k + 1.0, left, right), here = until - before;
        line[k] += (float)(height * (here - covered));
        before = until, covered = here;
    }
    line[last + 1] += (float)(height * (1.0 - covered));
    if (first < c->left) c->left = first;
    if (last + 1 > c->right) c->right = last + 1 < width ? last + 1 : width;
}

/* An edge in pixels. */
static void cover_edge(canvas *c, double x1, double y1, double x2, double y2) {
    if (y1 == y2) return;
    const double sign = y1 < y2 ? 1.0 : -1.0, slope = (x2 - x1) / (y2 - y1);
    const double high = clamp(fmin(y1, y2), 0.0, c->image->height), low = clamp(fmax(y1, y2), 0.0, c->image->height);
    const int first = (int)high, end = (int)ceil(low);
    for (int row = first; row < end; row++) {
        const double from = fmax(high, row), to = fmin(low, row + 1.0);
        const double a = x1 + (from - y1) * slope, b = x1 + (to - y1) * slope;
        cover_row(c, row, sign * (to - from), fmin(a, b), fmax(a, b));
    }
    if (first < c->top) c->top = first;
    if (end > c->bottom) c->bottom = end;
}

static uint8_t blend(uint8_t below, unsigned above, float share) {
    return (uint8_t)((float)below + share * ((float)above - (float)below) + 0.5f);
}

/* Paints `count` pixels that are covered alike; less than half a shade is nothing, or all. */
static void paint(uint8_t *pixel, int count, cm_colour colour, float share) {
    const uint8_t rgb[3] = {(uint8_t)(colour >> 16), (uint8_t)(colour >> 8), (uint8_t)colour};
    if (share < 1.0f / 512.0f) return;
    for (const uint8_t *end = pixel + 3 * count; pixel < end; pixel += 3)
        for (int k = 0; k < 3; k++) pixel[k] = share > 511.0f / 512.0f ? rgb[k] : blend(pixel[k], rgb[k], share);
}

/* Paints what the edges enclose, and clears what they left. Between two edges of a row all pixels are covered alike. */
static void fill(const canvas *c, cm_colour colour) {
    for (int row = c->top; row < c->bottom; row++) {
        float *line = c->image->cover + (size_t)row * (size_t)(c->image->width + 2), sum = 0.0f;
        uint8_t *pixels = c->image->rgb + 3 * (size_t)row * (size_t)c->image->width;
        for (int x = c->left, end; x < c->right; x = end) {
            sum += line[x];
            for (end = x + 1; end < c->right && line[end] == 0.0f;) end++;
            paint(pixels + 3 * (size_t)x, end - x, colour, fminf(fabsf(sum), 1.0f));
        }
        memset(line + c->left, 0, (size_t)(c->right - c->left + 2) * sizeof *line);
    }
}

/* ---- shapes ---- */

/* xy[2 * count] in units. */
static void cover_polygon(canvas *c, const double *xy, size_t count) {
    for (size_t i = 0, j = count - 1; i < count; j = i++)
        cover_edge(c, c->scale * xy[2 * j], c->scale * xy[2 * j + 1], c->scale * xy[2 * i], c->scale * xy[2 * i + 1]);
}

enum { ARC = 24 }; /* pieces of a quarter of a circle at most */
static const double pi = 3.14159265358979323846;

/* Appends the points of an arc to xy from the angle `from` on, in quarters; returns how many. */
static int arc(double *xy, double x, double y, double radius, double scale, double from, double quarters) {
    const int pieces = (int)clamp(3.0 + sqrt(radius * scale) * 1.5 * quarters, 3.0, ARC * quarters);
    for (int i = 0; i <= pieces; i++) {
        const double angle = 0.5 * pi * (from + quarters * i / pieces);
        xy[2 * i] = x + radius * cos(angle), xy[2 * i + 1] = y + radius * sin(angle);
    }
    return pieces + 1;
}

static void draw_circle(canvas *c, const cm_shape *s) {
    double xy[2 * (4 * ARC + 1)] = {0};
    cover_polygon(c, xy, (size_t)arc(xy, s->x, s->y, s->size, c->scale, 0.0, 4.0));
}

static void draw_rectangle(canvas *c, const cm_shape *s) {
    const double corner = fmax(0.0, fmin(s->size, 0.5 * fmin(s->width, s->height)));
    const double left = s->x + corner, right = s->x + s->width - corner;
    const double top = s->y + corner, bottom = s->y + s->height - corner;
    const double centre[4][2] = {{right, bottom}, {left, bottom}, {left, top}, {right, top}};
    double xy[2 * 4 * (ARC + 1)] = {0};
    int count = 0;
    for (int i = 0; i < 4; i++)
        count += corner > 0.0 ? arc(xy + 2 * count, centre[i][0], centre[i][1], corner, c->scale, i, 1.0)
                              : (xy[2 * count] = centre[i][0], xy[2 * count + 1] = centre[i][1], 1);
    cover_polygon(c, xy, (size_t)count);
}

/* Half a circle at each end. */
static void draw_line(canvas *c, const cm_shape *s) {
    double xy[2 * 2 * (2 * ARC + 1)] = {0};
    const double along = atan2(s->height, s->width) / (0.5 * pi), radius = 0.5 * s->size;
    int count = arc(xy, s->x, s->y, radius, c->scale, along + 1.0, 2.0);
    count += arc(xy + 2 * count, s->x + s->width, s->y + s->height, radius, c->scale, along - 1.0, 2.0);
    cover_polygon(c, xy, (size_t)count);
}

static void draw_letter(canvas *c, unsigned code, double x, double y, double size) {
    int count;
    const int16_t *outline = cm_font_outline(code, &count), *end = outline + count;
    const double unit = c->scale * size / CM_FONT_EM, px = c->scale * x, py = c->scale * y;
    while (outline < end) {
        const int points = *outline++;
        for (int i = 0, j = points - 1; i < points; j = i++)
            cover_edge(c, px + unit * outline[2 * j], py - unit * outline[2 * j + 1], px + unit * outline[2 * i],
                       py - unit * outline[2 * i + 1]);
        outline += 2 * points;
    }
}

static void draw_text(canvas *c, const cm_scene *scene, const cm_shape *s) {
    const char *text = (const char *)scene->byte + s->first;
    const double advance = CM_TEXT_ADVANCE * s->size;
    size_t letters = 0, length;
    for (size_t at = 0; at < s->count; at += length, letters++)
        length = cm_utf8_length(text + at, s->count - at), length += length == 0;
    double x = s->x - (s->anchor == CM_ANCHOR_START    ? 0.0
                       : s->anchor == CM_ANCHOR_MIDDLE ? 0.5
                                                       : 1.0) *
                          advance * (double)letters;
    for (size_t at = 0; at < s->count; at += length, x += advance) {
        length = cm_utf8_length(text + at, s->count - at);
        draw_letter(c, length > 0 ? cm_utf8_code(text + at, length) : '?', x, s->y, s->size);
        length += length == 0;
    }
}

/* The first pixel of an image in [a, b) of its length; where that is less than a pixel, the one in its middle. */
static int first_in(double a, double b, int length) { return (int)clamp(fmin(a + 0.5, 0.5 * (a + b)), 0, length - 1); }

/* Of one pixel that lies on [x1, x2) x [y1, y2) of an image: the mean of all that it covers. */
static void sample(const uint8_t *rgb, const cm_shape *s, double x1, double y1, double x2, double y2, uint8_t *out) {
    const int left = first_in(x1, x2, s->columns), top = first_in(y1, y2, s->rows);
    const int right = (int)clamp(x2 + 0.5, left + 1, s->columns), bottom = (int)clamp(y2 + 0.5, top + 1, s->rows);
    const unsigned count = (unsigned)((right - left) * (bottom - top));
    unsigned sum[3] = {count / 2, count / 2, count / 2};
    for (int y = top; y < bottom; y++) {
        const uint8_t *pixel = rgb + 3 * ((size_t)y * (size_t)s->columns + (size_t)left);
        for (int x = left; x < right; x++, pixel += 3)
            for (int k = 0; k < 3; k++) sum[k] += pixel[k];
    }
    for (int k = 0; k < 3; k++) out[k] = (uint8_t)(sum[k] / count);
}

static void draw_image(const canvas *c, const cm_scene *scene, const cm_shape *s) {
    const uint8_t *rgb = scene->byte + s->first;
    const int left = (int)clamp(c->scale * s->x + 0.5, 0, c->image->width),
              top = (int)clamp(c->scale * s->y + 0.5, 0, c->image->height);
    const int right = (int)clamp(c->scale * (s->x + s->width) + 0.5, left, c->image->width);
    const int bottom = (int)clamp(c->scale * (s->y + s->height) + 0.5, top, c->image->height);
    const double dx = s->columns / (c->scale * s->width), dy = s->rows / (c->scale * s->height);
    for (int y = top; y < bottom; y++) {
        uint8_t *out = c->image->rgb + 3 * ((size_t)y * (size_t)c->image->width + (size_t)left);
        for (int x = left; x < right; x++, out += 3)
            sample(rgb, s, (x - left) * dx, (y - top) * dy, (x - left + 1) * dx, (y - top + 1) * dy, out);
    }
}

/* What has no place, as where an environment has gone wrong, is not drawn: half of it would enclose anything. */
static bool is_finite(const cm_scene *scene, const cm_shape *s) {
    double sum = s->x + s->y + s->width + s->height + s->size;
    for (size_t i = 0; s->kind == CM_SHAPE_POLYGON && i < s->count; i++) sum += scene->number[s->first + i];
    return isfinite(sum);
}

static void draw(canvas *c, const cm_scene *scene, const cm_shape *s) {
    if (!is_finite(scene, s)) return;
    begin_shape(c);
    switch (s->kind) {
    case CM_SHAPE_RECTANGLE: draw_rectangle(c, s); break;
    case CM_SHAPE_CIRCLE: draw_circle(c, s); break;
    case CM_SHAPE_LINE: draw_line(c, s); break;
    case CM_SHAPE_POLYGON: cover_polygon(c, scene->number + s->first, s->count / 2); break;
    case CM_SHAPE_TEXT: draw_text(c, scene, s); break;
    case CM_SHAPE_IMAGE: draw_image(c, scene, s); return;
    }
    fill(c, s->colour);
}

cm_status cm_scene_render(const cm_scene *scene, double scale, cm_image *image) {
    if (scene->status != CM_OK) return cm_fail(CM_ERR_MEMORY, "a drawing does not fit into memory");
    CM_TRY(cm_image_resize(image, (int)lround(clamp(scene->width * scale, 1.0, 1e6)),
                           (int)lround(clamp(scene->height * scale, 1.0, 1e6))));
    canvas c = {.image = image, .scale = scale};
    for (int row = 0; row < image->height; row++)
        paint(image->rgb + 3 * (size_t)row * (size_t)image->width, image->width, scene->background, 1.0f);
    for (size_t i = 0; i < scene->shapes; i++) draw(&c, scene, &scene->shape[i]);
    return CM_OK;
}
