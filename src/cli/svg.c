#include "cli/svg.h"

#include <stdlib.h>
#include <string.h>

#include "core/printable.h"
#include "core/utf8.h"

/* What a theme colours. */
typedef struct palette {
    const char *paper, *ink, *grid, *frame, *colour[CM_SVG_COLOURS];
} palette;

static const palette light = {
    "#ffffff",
    "#24292f",
    "#d8dee4",
    "#8c959f",
    {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#0a7ea4", "#bc4c00", "#57606a", "#bf3989", "#5a7d00"}};
static const palette dark = {
    "#0d1117",
    "#e6edf3",
    "#30363d",
    "#7d8590",
    {"#58a6ff", "#ff7b72", "#3fb950", "#d29922", "#bc8cff", "#39c5cf", "#f0883e", "#9da7b3", "#f778ba", "#a5d66f"}};

/* `body` is that of a page around the picture. */
static void put_rules(const palette *p, FILE *out) {
    fprintf(out, "body{background:%s;color:%s}", p->paper, p->ink);
    fprintf(out, ".paper{fill:%s}text{fill:%s}.grid{stroke:%s}.frame{stroke:%s}.legend{stroke:%s}", p->paper, p->ink,
            p->grid, p->frame, p->grid);
    for (int i = 0; i < CM_SVG_COLOURS; i++)
        fprintf(out, ".l%d{stroke:%s}.f%d{fill:%s}", i, p->colour[i], i, p->colour[i]);
}

static void put_style(cm_theme theme, FILE *out) {
    fputs("<style>.grid{stroke-width:.8}.frame{fill:none}"
          ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}.thin{stroke-width:.8}"
          ".dots{fill:none;stroke-width:7;stroke-linecap:round}.small{stroke-width:4}"
          ".band{fill-opacity:.15}.legend{fill-opacity:.85}",
          out);
    put_rules(theme == CM_THEME_DARK ? &dark : &light, out);
    if (theme == CM_THEME_AUTO) {
        fputs("@media(prefers-color-scheme:dark){", out);
        put_rules(&dark, out);
        fputc('}', out);
    }
    fputs("</style>\n", out);
}

cm_status cm_svg_begin(cm_svg *svg, double width, double height, cm_theme theme) {
    *svg = (cm_svg){.text = NULL};
    svg->out = open_memstream(&svg->text, &svg->size);
    if (!svg->out) return cm_fail(CM_ERR_MEMORY, "no memory for a plot");
    fprintf(svg->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif\" font-size=\"%d\">\n",
            width, height, width, height, CM_SVG_FONT);
    put_style(theme, svg->out);
    fprintf(svg->out, "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
    return CM_OK;
}

cm_status cm_svg_end(cm_svg *svg, char **text) {
    *text = NULL;
    fputs("</svg>\n", svg->out);
    if (fclose(svg->out) != 0) {
        free(svg->text);
        return cm_fail(CM_ERR_MEMORY, "no memory for a plot");
    }
    *text = svg->text;
    return CM_OK;
}

void cm_svg_escape(FILE *out, const char *text) {
    for (const char *c = CM_PRINTABLE(text); *c; c++) {
        const char *replacement = *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : NULL;
        if (replacement) {
            fputs(replacement, out);
        } else {
            fputc(*c, out);
        }
    }
}

void cm_svg_title(cm_svg *svg, const char *text) {
    fputs("<title>", svg->out);
    cm_svg_escape(svg->out, text);
    fputs("</title>\n", svg->out);
}

void cm_svg_text(cm_svg *svg, double x, double y, const char *anchor, const char *text) {
    fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    cm_svg_escape(svg->out, text);
    fputs("</text>\n", svg->out);
}

void cm_svg_text_up(cm_svg *svg, double x, double y, const char *anchor, const char *text) {
    fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" transform=\"rotate(-90 %.1f %.1f)\" text-anchor=\"%s\">", x, y, x, y,
            anchor);
    cm_svg_escape(svg->out, text);
    fputs("</text>\n", svg->out);
}

/* Hundredths of the font's size, of the characters from ' ' to '~' in DejaVu Sans, which is as wide as Verdana; others
 * are narrower. */
static const unsigned char widths[95] = {32, 41, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 37,  32, 34, 64, 64, 64,
                                         64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 77, 64,
                                         58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64,  62, 74, 69, 99, 69,
                                         62, 69, 39, 34, 39, 84, 50, 50, 62, 64, 55, 64, 62, 36,  64, 64, 28, 28, 58,
                                         28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60,  53, 64, 34, 64, 84};

/* Of the character at `text`, in units; *bytes that it has. */
static double character_width(const char *text, size_t *bytes) {
    const unsigned char c = (unsigned char)*text;
    *bytes = 1;
    if (c >= ' ' && c <= '~') return widths[c - ' '] * CM_SVG_FONT / 100.0;
    const size_t length = cm_utf8_length(text, strlen(text));
    if (length == 0) return CM_SVG_FONT;
    *bytes = length;
    return length == 2 ? 0.8 * CM_SVG_FONT : 1.0 * CM_SVG_FONT;
}

double cm_svg_text_width(const char *text) {
    double width = 0.0;
    for (size_t bytes; *text; text += bytes) width += character_width(text, &bytes);
    return width;
}

void cm_svg_text_fit(const char *text, double width, char *out, size_t size) {
    double all = cm_svg_text_width(text);
    const bool is_cut = all > width;
    for (size_t bytes; *text && all > width - (is_cut ? CM_SVG_FONT : 0.0); text += bytes)
        all -= character_width(text, &bytes);
    snprintf(out, size, "%s%s", is_cut ? "\u2026" : "", text);
}

void cm_svg_grid(cm_svg *svg, double x1, double y1, double x2, double y2) {
    fprintf(svg->out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}
