#include "cli/svg.h"

#include <math.h>
#include <stdlib.h>

#include "core/file.h"
#include "core/printable.h"

cm_status cm_svg_begin(cm_svg *svg, int width, int height) {
    *svg = (cm_svg){.text = NULL};
    svg->out = open_memstream(&svg->text, &svg->size);
    if (!svg->out) return cm_fail(CM_ERR_MEMORY, "no memory for a plot");
    fprintf(svg->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<style>.grid{stroke:#d0d7de;stroke-width:.7}text{fill:#24292f}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height);
    return CM_OK;
}

cm_status cm_svg_end(cm_svg *svg, const char *path) {
    fputs("</svg>\n", svg->out);
    cm_status status = fclose(svg->out) == 0 ? cm_file_write(path, svg->text, svg->size)
                                             : cm_fail(CM_ERR_MEMORY, "no memory for a plot");
    free(svg->text);
    return status;
}

void cm_svg_text(cm_svg *svg, double x, double y, const char *anchor, const char *text) {
    fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (const char *c = CM_PRINTABLE(text); *c; c++) {
        const char *replacement = *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : NULL;
        if (replacement) {
            fputs(replacement, svg->out);
        } else {
            fputc(*c, svg->out);
        }
    }
    fputs("</text>\n", svg->out);
}

double cm_svg_tick(double low, double high, int parts) {
    const double rough = (high - low) / parts, unit = pow(10.0, floor(log10(rough)));
    return unit * (rough > 5.0 * unit ? 10.0 : rough > 2.0 * unit ? 5.0 : rough > unit ? 2.0 : 1.0);
}

void cm_svg_grid(cm_svg *svg, double x1, double y1, double x2, double y2) {
    fprintf(svg->out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}
