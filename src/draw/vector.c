#include "draw/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/printable.h"
#include "core/utf8.h"
#include "draw/gif.h"

void cm_vector_put_number(FILE *out, double number) {
    char text[32];
    snprintf(text, sizeof text, "%.*f", fabs(number) < 100.0 ? 2 : 1,
             fmax(-1e6, fmin(1e6, isfinite(number) ? number : 0.0)));
    size_t end = strlen(text);
    while (text[end - 1] == '0') end--;
    end -= text[end - 1] == '.';
    fprintf(out, "%.*s", (int)end, strcmp(text, "-0.00") == 0 ? "0" : text);
}

/* 0 is what SVG takes where nothing is said. */
static void put(FILE *out, const char *name, double number) {
    if (number == 0.0) return;
    fprintf(out, " %s=\"", name);
    cm_vector_put_number(out, number);
    fputc('"', out);
}

static void put_colour(FILE *out, const char *name, cm_colour colour) {
    const unsigned c = colour & 0xffffff;
    if ((c >> 4 & 0x0f0f0f) == (c & 0x0f0f0f))
        fprintf(out, " %s=\"#%x%x%x\"", name, c >> 16 & 15, c >> 8 & 15, c & 15);
    else
        fprintf(out, " %s=\"#%06x\"", name, c);
}

/* What XML reserves is replaced, and what is no UTF-8 or acts on a terminal is a question mark. */
static void put_letters(FILE *out, const char *text, size_t size) {
    for (size_t at = 0, length; at < size; at += length) {
        length = cm_utf8_length(text + at, size - at);
        const bool is_shown = length > 0 && !cm_utf8_acts(text + at, length);
        length += length == 0;
        const char c = text[at];
        if (!is_shown) {
            fputc('?', out);
        } else if (c == '&' || c == '<' || c == '>') {
            fputs(c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;", out);
        } else {
            fwrite(text + at, 1, length, out);
        }
    }
}

static void put_text(FILE *out, const cm_scene *scene, const cm_shape *s) {
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    fputs("<text", out);
    put(out, "x", s->x);
    put(out, "y", s->y);
    put(out, "font-size", s->size);
    put_colour(out, "fill", s->colour);
    fprintf(out, "%s>", anchors[s->anchor]);
    put_letters(out, (const char *)scene->byte + s->first, s->count);
    fputs("</text>", out);
}

static void put_rectangle(FILE *out, const cm_shape *s) {
    fputs("<rect", out);
    put(out, "x", s->x);
    put(out, "y", s->y);
    put(out, "width", s->width);
    put(out, "height", s->height);
    if (s->size > 0.0) put(out, "rx", s->size);
    put_colour(out, "fill", s->colour);
    fputs("/>", out);
}

static void put_circle(FILE *out, const cm_shape *s) {
    fputs("<circle", out);
    put(out, "cx", s->x);
    put(out, "cy", s->y);
    put(out, "r", s->size);
    put_colour(out, "fill", s->colour);
    fputs("/>", out);
}

static void put_line(FILE *out, const cm_shape *s) {
    fputs("<line", out);
    put(out, "x1", s->x);
    put(out, "y1", s->y);
    put(out, "x2", s->x + s->width);
    put(out, "y2", s->y + s->height);
    put(out, "stroke-width", s->size);
    put_colour(out, "stroke", s->colour);
    fputs("/>", out);
}

static void put_polygon(FILE *out, const cm_scene *scene, const cm_shape *s) {
    fputs("<path d=\"", out);
    for (size_t i = 0; i < s->count; i += 2) {
        fputc(i == 0 ? 'M' : 'L', out);
        cm_vector_put_number(out, scene->number[s->first + i]);
        fputc(' ', out);
        cm_vector_put_number(out, scene->number[s->first + i + 1]);
    }
    fputs("z\"", out);
    put_colour(out, "fill", s->colour);
    fputs("/>", out);
}

/* ---- images: GIF pictures in base64 ---- */

static cm_status put_base64(void *context, const void *bytes, size_t size) {
    cm_base64_put((cm_base64 *)context, bytes, size);
    return CM_OK;
}

cm_status cm_vector_put_pixels(FILE *out, const cm_scene *scene, const cm_shape *s) {
    const cm_image image = {.width = s->columns, .height = s->rows, .rgb = scene->byte + s->first};
    cm_base64 b = {.out = out};
    cm_gif *gif;
    fputs("data:image/gif;base64,", out);
    CM_TRY(cm_gif_create(put_base64, &b, &gif));
    cm_status status = cm_gif_add(gif, &image, 0);
    if (status == CM_OK) status = cm_gif_end(gif);
    cm_gif_destroy(gif);
    cm_base64_end(&b);
    return status;
}

static cm_status put_image(FILE *out, const cm_scene *scene, const cm_shape *s) {
    fputs("<image", out);
    put(out, "x", s->x);
    put(out, "y", s->y);
    put(out, "width", s->width);
    put(out, "height", s->height);
    fputs(" preserveAspectRatio=\"none\" href=\"", out);
    const cm_status status = cm_vector_put_pixels(out, scene, s);
    fputs("\"/>", out);
    return status;
}

/* ---- all of it ---- */

cm_status cm_vector_put_shape(FILE *out, const cm_scene *scene, size_t index) {
    const cm_shape *s = &scene->shape[index];
    switch (s->kind) {
    case CM_SHAPE_RECTANGLE: put_rectangle(out, s); break;
    case CM_SHAPE_CIRCLE: put_circle(out, s); break;
    case CM_SHAPE_LINE: put_line(out, s); break;
    case CM_SHAPE_POLYGON: put_polygon(out, scene, s); break;
    case CM_SHAPE_TEXT: put_text(out, scene, s); break;
    case CM_SHAPE_IMAGE: return put_image(out, scene, s);
    }
    return CM_OK;
}

void cm_vector_put_start(FILE *out, const cm_scene *scene, double scale, const char *title) {
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\"", out);
    put(out, "width", scene->width * scale);
    put(out, "height", scene->height * scale);
    fputs(" viewBox=\"0 0 ", out);
    cm_vector_put_number(out, scene->width);
    fputc(' ', out);
    cm_vector_put_number(out, scene->height);
    fputs("\" stroke-linecap=\"round\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" "
          "xml:space=\"preserve\"><title>",
          out);
    put_letters(out, title, strlen(title));
    fputs("</title><rect", out);
    put(out, "width", scene->width);
    put(out, "height", scene->height);
    put_colour(out, "fill", scene->background);
    fputs("/>\n", out);
}
