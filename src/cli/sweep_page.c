#include "cli/sweep_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/axis.h"
#include "cli/svg.h"
#include "core/arena.h"
#include "core/file.h"
#include "sweep/importance.h"

enum { WIDTH = 1120, HEIGHT = 420, LEFT = 70, RIGHT = 70, TOP = 40, BOTTOM = 24, TICKS = 6, BAR = 22, NAMES = 190 };

__asm__(".pushsection .rodata\n"
        ".hidden cm_sweep_page_script\n"
        ".global cm_sweep_page_script\n"
        "cm_sweep_page_script:\n"
        ".incbin \"src/cli/sweep_page.js\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cm_sweep_page_script[] __attribute__((visibility("hidden")));

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>cumind sweep</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>body{margin:1em auto;max-width:1160px;padding:0 1em;font:14px/1.5 'DejaVu Sans',Verdana,Helvetica,Arial,"
    "sans-serif}h1{font-size:1.3em}h2{font-size:1.1em;margin:1.2em 0 .3em}svg{display:block;width:100%;height:auto;"
    "max-width:1120px}p{margin:.3em 0}.table{overflow-x:auto}table{border-collapse:collapse;font-size:13px}"
    "td,th{padding:.15em .7em .15em 0;text-align:right;white-space:nowrap}th{border-bottom:1px solid #8888}"
    ".note{opacity:.75}.trial{stroke-opacity:.45}.trial .line{stroke-width:1.4}.best,.trial:hover,.near{stroke-opacity:"
    "1}.best .line,.trial:hover .line,.near .line{stroke-width:3.2}.out{stroke-opacity:.06}.axis{cursor:ns-resize;"
    "touch-action:none}.axis text{paint-order:stroke;stroke:Canvas;stroke-width:3}.axis "
    ".range{fill:#8884;stroke:#888}</style>\n</head>\n<body>\n";

/* What is drawn: trials best first, and an axis for each key and one for the score. */
typedef struct page {
    const cm_sweep_plan *plan;
    const cm_sweep_line *order[CM_SWEEP_TRIALS];
    int count;
    cm_axis score;
    double share[CM_SWEEP_KEYS];
    FILE *out;
} page;

static int axes(const page *p) { return p->plan->space.count + 1; }

static double x_of(const page *p, int axis) { return LEFT + (WIDTH - LEFT - RIGHT) * axis / (double)(axes(p) - 1); }

static double y_of(double share) { return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share; }

/* ---- places on axes ---- */

static double share_of_number(const cm_sweep_key *key, double x) {
    if (key->is_log) return log(x / key->low) / log(key->high / key->low);
    return (x - key->low) / (key->high - key->low);
}

/* Values of a list stand apart equally, in its order. */
static double share_of_word(const cm_sweep_key *key, const char *value) {
    for (int i = 0; i < key->count; i++)
        if (strcmp(value, key->value[i]) == 0) return key->count > 1 ? i / (double)(key->count - 1) : 0.5;
    return 0.0;
}

/* Of the trial on an axis, the last of which is the score's; what has failed stands below that. */
static double share_of(const page *p, const cm_sweep_line *line, int axis) {
    char value[CM_SWEEP_TEXT];
    if (axis == p->plan->space.count) return isnan(line->score) ? -0.04 : cm_axis_share(&p->score, line->score);
    cm_sweep_space_draw(&p->plan->space, p->plan->seed, line->trial, axis, value);
    const cm_sweep_key *key = &p->plan->space.row[axis];
    return key->kind == CM_SWEEP_LIST ? share_of_word(key, value) : share_of_number(key, strtod(value, NULL));
}

/* ---- axes ---- */

static void put_tick(cm_svg *svg, double x, double share, const char *label) {
    cm_svg_grid(svg, x - 4.0, y_of(share), x + 4.0, y_of(share));
    cm_svg_text(svg, x - 7.0, y_of(share) + 4.0, "end", label);
}

static void put_number(cm_svg *svg, double x, const cm_sweep_key *key, double value) {
    char label[32];
    snprintf(label, sizeof label, "%.3g", value);
    put_tick(svg, x, share_of_number(key, value), label);
}

/* The ends, and between them the powers of ten that are not too near to one. */
static void put_decades(cm_svg *svg, double x, const cm_sweep_key *key) {
    for (int e = (int)ceil(log10(key->low)); e <= (int)floor(log10(key->high)); e++) {
        const double share = share_of_number(key, pow(10.0, e));
        if (share > 0.06 && share < 0.94) put_number(svg, x, key, pow(10.0, e));
    }
}

static void put_range(cm_svg *svg, double x, const cm_sweep_key *key) {
    const int parts = key->kind == CM_SWEEP_INTEGERS && key->high - key->low < 4 ? (int)(key->high - key->low) : 4;
    put_number(svg, x, key, key->low);
    put_number(svg, x, key, key->high);
    if (key->is_log) put_decades(svg, x, key);
    for (int i = 1; !key->is_log && i < parts; i++) {
        const double value = key->low + (key->high - key->low) * i / parts;
        put_number(svg, x, key, key->kind == CM_SWEEP_INTEGERS ? floor(value + 0.5) : value);
    }
}

static void put_words(cm_svg *svg, double x, const cm_sweep_key *key) {
    for (int i = 0; i < key->count; i++) {
        char label[CM_SWEEP_TEXT];
        cm_sweep_value_bare(key->value[i], label);
        put_tick(svg, x, share_of_word(key, key->value[i]), label);
    }
}

static void put_scores(cm_svg *svg, double x, const cm_axis *axis) {
    for (int i = 0; i < axis->ticks; i++) {
        char label[CM_AXIS_LABEL];
        cm_axis_label(axis, i, label);
        cm_svg_grid(svg, x - 4.0, y_of(cm_axis_share(axis, cm_axis_tick(axis, i))), x + 4.0,
                    y_of(cm_axis_share(axis, cm_axis_tick(axis, i))));
        cm_svg_text(svg, x + 7.0, y_of(cm_axis_share(axis, cm_axis_tick(axis, i))) + 4.0, "start", label);
    }
}

static void put_axis(const page *p, cm_svg *svg, int axis) {
    const bool is_score = axis == p->plan->space.count;
    const cm_sweep_key *key = &p->plan->space.row[axis];
    const double x = x_of(p, axis);
    fprintf(svg->out,
            "<g class=\"axis\" data-axis=\"%d\"><rect x=\"%.1f\" y=\"%d\" width=\"28\" height=\"%d\" "
            "fill-opacity=\"0\"/><line class=\"frame\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
            "<rect class=\"range\" x=\"%.1f\" y=\"%d\" width=\"12\" height=\"0\"/>\n",
            axis, x - 14.0, TOP, HEIGHT - TOP - BOTTOM, x, TOP, x, HEIGHT - BOTTOM, x - 6.0, TOP);
    cm_svg_text(svg, x, TOP - 16.0, "middle", is_score ? "score" : key->key);
    if (is_score) {
        put_scores(svg, x, &p->score);
    } else if (key->kind == CM_SWEEP_LIST) {
        put_words(svg, x, key);
    } else {
        put_range(svg, x, key);
    }
    fputs("</g>\n", svg->out);
}

/* ---- trials ---- */

static void put_name(const page *p, cm_svg *svg, const cm_sweep_line *line) {
    char title[1536];
    size_t used = (size_t)snprintf(title, sizeof title, "trial %d at rung %d of %d: ", line->trial, line->rung + 1,
                                   p->plan->rungs);
    used += (size_t)snprintf(title + used, sizeof title - used, isnan(line->score) ? "failed" : "%.2f", line->score);
    for (int i = 0; i < p->plan->space.count && used < sizeof title; i++) {
        char value[CM_SWEEP_TEXT], bare[CM_SWEEP_TEXT];
        cm_sweep_space_draw(&p->plan->space, p->plan->seed, line->trial, i, value);
        cm_sweep_value_bare(value, bare);
        used += (size_t)snprintf(title + used, sizeof title - used, "; %s %s", p->plan->space.row[i].key, bare);
    }
    cm_svg_title(svg, title);
}

/* Those that came furthest stand out: blue, then orange, grey at the first rung. */
static int colour_of(const page *p, const cm_sweep_line *line) {
    static const int colours[] = {0, 6, 7};
    const int behind = p->plan->rungs - 1 - line->rung;
    return colours[behind < 2 ? behind : 2];
}

static void put_trial(const page *p, cm_svg *svg, int i) {
    const cm_sweep_line *line = p->order[i];
    fprintf(svg->out, "<g class=\"trial%s\" data-trial=\"%d\" data-y=\"", i == 0 ? " best" : "", line->trial);
    for (int a = 0; a < axes(p); a++) fprintf(svg->out, "%s%.1f", a ? " " : "", y_of(share_of(p, line, a)));
    fputs("\">", svg->out);
    put_name(p, svg, line);
    fprintf(svg->out, "<polyline class=\"line l%d\" points=\"", colour_of(p, line));
    for (int a = 0; a < axes(p); a++)
        fprintf(svg->out, "%s%.1f,%.1f", a ? " " : "", x_of(p, a), y_of(share_of(p, line, a)));
    fputs("\"/></g>\n", svg->out);
}

static cm_status end_picture(cm_svg *svg, const char *class, FILE *out) {
    char *text;
    CM_TRY(cm_svg_end(svg, &text));
    fprintf(out, "<svg class=\"%s\" data-span=\"%d %d\"%s", class, TOP, HEIGHT - BOTTOM, text + strlen("<svg"));
    free(text);
    return CM_OK;
}

/* The best ones are drawn last, above the others. */
static cm_status draw_trials(page *p) {
    cm_svg svg;
    CM_TRY(cm_svg_begin(&svg, WIDTH, HEIGHT, CM_THEME_AUTO));
    for (int i = p->count - 1; i >= 0; i--) put_trial(p, &svg, i);
    for (int a = 0; a < axes(p); a++) put_axis(p, &svg, a);
    return end_picture(&svg, "trials", p->out);
}

/* ---- importance ---- */

static cm_status draw_importance(page *p) {
    const int keys = p->plan->space.count;
    cm_svg svg;
    CM_TRY(cm_svg_begin(&svg, WIDTH, keys * BAR + 8.0, CM_THEME_AUTO));
    for (int i = 0; i < keys; i++) {
        const bool is_known = !isnan(p->share[i]);
        const double y = 4.0 + i * BAR, width = is_known ? 500.0 * p->share[i] : 0.0;
        char label[32];
        snprintf(label, sizeof label, is_known ? "%.2f" : "too few trials", p->share[i]);
        cm_svg_text(&svg, NAMES - 8.0, y + 15.0, "end", p->plan->space.row[i].key);
        fprintf(svg.out, "<rect class=\"f0\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", NAMES, y + 3.0,
                fmax(width, 0.5), BAR - 6);
        cm_svg_text(&svg, NAMES + width + 8.0, y + 15.0, "start", label);
    }
    return end_picture(&svg, "importance", p->out);
}

/* ---- the page ---- */

static void put_table(const page *p) {
    fputs("<div class=\"table\"><table><tr><th>trial<th>rung<th>steps<th>score", p->out);
    for (int i = 0; i < p->plan->space.count; i++) fprintf(p->out, "<th>%s", p->plan->space.row[i].key);
    fputs("</tr>\n", p->out);
    for (int r = 0; r < p->count; r++) {
        const cm_sweep_line *line = p->order[r];
        fprintf(p->out, "<tr data-trial=\"%d\"><td>%d<td>%d/%d<td>%lld<td>", line->trial, line->trial, line->rung + 1,
                p->plan->rungs, (long long)line->env_steps);
        fprintf(p->out, isnan(line->score) ? "failed" : "%.2f", line->score);
        for (int i = 0; i < p->plan->space.count; i++) {
            char value[CM_SWEEP_TEXT], bare[CM_SWEEP_TEXT];
            cm_sweep_space_draw(&p->plan->space, p->plan->seed, line->trial, i, value);
            cm_sweep_value_bare(value, bare);
            fputs("<td>", p->out);
            cm_svg_escape(p->out, bare);
        }
        fputs("</tr>\n", p->out);
    }
    fputs("</table></div>\n", p->out);
}

static cm_status put_all(page *p) {
    fprintf(p->out, "%s<h1>sweep of %d trials</h1>\n", head, p->plan->trials);
    fputs("<p class=\"note\">A line is a trial: blue ones were trained to the end, orange ones to the rung before, the "
          "thick one is the best. Drag along an axis to keep the trials that pass there, click on it to have all "
          "back.</p>\n",
          p->out);
    CM_TRY(draw_trials(p));
    fputs("<h2>Importance</h2>\n<p class=\"note\">Share of the variance of the trials' ranks that a key explains alone"
          "</p>\n",
          p->out);
    CM_TRY(draw_importance(p));
    fputs("<h2>Trials</h2>\n<p class=\"note\">best first: by the rung, then by the score</p>\n", p->out);
    put_table(p);
    fprintf(p->out, "<script>\n%s</script>\n</body>\n</html>\n", cm_sweep_page_script);
    return CM_OK;
}

static void make_score_axis(page *p) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->count; i++) low = fmin(low, p->order[i]->score), high = fmax(high, p->order[i]->score);
    cm_axis_make(low <= high ? low : 0.0, low <= high ? high : 1.0, 0.0, TICKS, &p->score);
}

static cm_status write_page(page *p, const char *path) {
    char *text = NULL;
    size_t size = 0;
    p->out = open_memstream(&text, &size);
    if (!p->out) return cm_fail(CM_ERR_MEMORY, "no memory for a page");
    cm_status status = put_all(p);
    if (fclose(p->out) != 0 && status == CM_OK) status = cm_fail(CM_ERR_MEMORY, "no memory for a page");
    if (status == CM_OK) status = cm_file_write(path, text, size);
    free(text);
    return status;
}

cm_status cm_sweep_page_write(const cm_sweep_plan *plan, const cm_sweep_ledger *ledger, const char *path) {
    page *p;
    if (ledger->count == 0)
        return cm_fail(CM_ERR_INPUT, "%s: there is nothing to draw: no trial has come to a rung yet", path);
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a page"));
    p->plan = plan, p->count = cm_sweep_ledger_rank(plan, ledger, p->order);
    make_score_axis(p);
    cm_status status = cm_sweep_importance(plan, ledger, p->share);
    if (status == CM_OK) status = write_page(p, path);
    free(p);
    return status;
}
