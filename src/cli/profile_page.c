/* A profile as a page: one file that asks for nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"
#include "cli/svg.h"
#include "core/file.h"

enum { WIDTH = 640, LEFT = 120, RIGHT = 16, ROW = 22 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>cumind profile</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>body{margin:1em auto;max-width:1320px;padding:0 1em;font:14px/1.5 'DejaVu Sans',Verdana,Helvetica,Arial,"
    "sans-serif}main{display:flex;flex-wrap:wrap;gap:0 32px}section{flex:1 1 300px;max-width:640px;min-width:0}"
    "h2{font-size:1.1em;margin:1.2em 0 .3em}svg{display:block;width:100%;height:auto}p{margin:.3em 0}"
    ".wide{flex-basis:100%;max-width:none}.table{overflow-x:auto}table{border-collapse:collapse;font-size:13px}td,th{"
    "padding:.15em .7em .15em 0;"
    "text-align:right;white-space:nowrap}td:first-child,th:first-child{text-align:left}th{border-bottom:1px solid "
    "#8888}.note{opacity:.75}</style>\n</head>\n<body>\n";

static void put_area(cm_svg *svg, int colour, const double box[4], const char *title) {
    fputs("<g>", svg->out);
    cm_svg_title(svg, title);
    fprintf(svg->out, "<rect class=\"f%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/></g>\n", colour,
            box[0], box[1], fmax(box[2], 0.3), box[3]);
}

/* Ends a picture into the page, which has rules for colours once. */
static cm_status put_picture(cm_svg *svg, FILE *out) {
    char *text;
    CM_TRY(cm_svg_end(svg, &text));
    fputs(text, out);
    free(text);
    return CM_OK;
}

/* Stages that are easily told apart by their places share a colour; waiting is grey. */
static int colour_of(cm_stage stage) {
    static const int colours[CM_STAGES] = {
        [CM_STAGE_ENVIRONMENT] = 0, [CM_STAGE_REPRESENTATION] = 1, [CM_STAGE_DYNAMICS] = 2, [CM_STAGE_PREDICTION] = 3,
        [CM_STAGE_TREE] = 4,        [CM_STAGE_REANALYSIS] = 5,     [CM_STAGE_REPLAY] = 6,   [CM_STAGE_FORWARD] = 8,
        [CM_STAGE_BACKWARD] = 9,    [CM_STAGE_OPTIMIZER] = 5,      [CM_STAGE_COPIES] = 6,   [CM_STAGE_WAITING] = 7,
        [CM_STAGE_OTHER] = 7};
    return colours[stage];
}

/* ---- stages ---- */

static bool is_shown(const cm_stage_times *t, int stage) { return t->seconds[stage] >= 5e-4 * t->wall; }

static cm_status draw_stages(const cm_profile *p, FILE *out) {
    const cm_stage_times *t = &p->stages;
    double most = 0.0;
    int rows = 0;
    cm_svg svg;
    for (int s = 0; s < CM_STAGES; s++) most = fmax(most, t->seconds[s] / t->wall), rows += is_shown(t, s);
    CM_TRY(cm_svg_begin(&svg, WIDTH, rows * ROW + 8, CM_THEME_AUTO));
    for (int s = 0, row = 0; s < CM_STAGES; s++) {
        const double share = t->seconds[s] / t->wall, y = 4.0 + row * ROW;
        const double box[4] = {LEFT + 8.0, y + 3.0, (WIDTH - LEFT - 80.0) * share / most, ROW - 6.0};
        char text[48];
        if (!is_shown(t, s)) continue;
        put_area(&svg, colour_of((cm_stage)s), box, cm_stage_about((cm_stage)s));
        cm_svg_text(&svg, LEFT, y + 15.0, "end", cm_stage_name((cm_stage)s));
        snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
        cm_svg_text(&svg, box[0] + box[2] + 6.0, y + 15.0, "start", text);
        row++;
    }
    return put_picture(&svg, out);
}

/* ---- timeline ---- */

#define SHOWN_SECONDS 0.25

static cm_status draw_timeline(const cm_profile *p, FILE *out) {
    const cm_stage_times *t = &p->stages;
    const double scale = (WIDTH - LEFT - RIGHT) / SHOWN_SECONDS;
    const int rows = t->threads < 12 ? t->threads : 12;
    cm_svg svg;
    CM_TRY(cm_svg_begin(&svg, WIDTH, rows * ROW + 28, CM_THEME_AUTO));
    for (int i = 0; i < rows; i++) {
        char name[24];
        snprintf(name, sizeof name, i ? "thread %d" : "leads", i);
        cm_svg_text(&svg, LEFT - 8.0, i * ROW + 16.0, "end", name);
    }
    for (int i = t->span_count - 1; i >= 0; i--) { /* ranges end before those that they lie in */
        const cm_stage_span *s = &t->span[i];
        const double end = fmin(s->end, SHOWN_SECONDS);
        const double box[4] = {LEFT + s->begin * scale, s->thread * ROW + 4.0, (end - s->begin) * scale, ROW - 6.0};
        char title[64];
        if (s->thread >= rows || s->begin >= SHOWN_SECONDS) continue;
        snprintf(title, sizeof title, "%s, %.3g ms", cm_stage_name(s->stage), 1e3 * (s->end - s->begin));
        put_area(&svg, colour_of(s->stage), box, title);
    }
    for (int i = 0; i <= 5; i++) {
        const double x = LEFT + i * (WIDTH - LEFT - RIGHT) / 5.0;
        char label[16];
        snprintf(label, sizeof label, "%d ms", i * 50);
        cm_svg_grid(&svg, x, 0.0, x, rows * ROW + 4.0);
        cm_svg_text(&svg, x, rows * ROW + 20.0, i == 5 ? "end" : "middle", label);
    }
    return put_picture(&svg, out);
}

/* ---- roofline ---- */

enum { ROOF_HEIGHT = 360, ROOF_BOTTOM = 40, LOWEST_INTENSITY = -2, HIGHEST_INTENSITY = 3 };

/* Decades of FLOP/s that the picture shows. */
typedef struct decades {
    int low, high;
} decades;

static double roof_x(double intensity) {
    const double share = (log10(intensity) - LOWEST_INTENSITY) / (HIGHEST_INTENSITY - LOWEST_INTENSITY);
    return LEFT + fmin(fmax(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT);
}

static double roof_y(decades d, double flops) {
    const double share = (log10(flops) - d.low) / (d.high - d.low);
    return 8.0 + (1.0 - fmin(fmax(share, 0.0), 1.0)) * (ROOF_HEIGHT - ROOF_BOTTOM - 8.0);
}

static void draw_roof(cm_svg *svg, decades d, double peak, double copies, const char *name) {
    const double edge = peak / copies, first = pow(10.0, LOWEST_INTENSITY);
    fprintf(svg->out, "<g><polyline class=\"line l7\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>", roof_x(first),
            roof_y(d, copies * first), roof_x(edge), roof_y(d, peak), (double)(WIDTH - RIGHT), roof_y(d, peak));
    cm_svg_title(svg, name);
    fputs("</g>\n", svg->out);
}

static void draw_decades(cm_svg *svg, decades d) {
    char text[16], label[32];
    for (int e = d.low; e <= d.high; e++) {
        const double y = roof_y(d, pow(10.0, e));
        cm_svg_grid(svg, LEFT, y, WIDTH - RIGHT, y);
        snprintf(label, sizeof label, "%sFLOP/s", cm_profile_short(pow(10.0, e), text));
        cm_svg_text(svg, LEFT - 6.0, y + 4.0, "end", label);
    }
    for (int e = LOWEST_INTENSITY; e <= HIGHEST_INTENSITY; e++) {
        const double x = roof_x(pow(10.0, e));
        cm_svg_grid(svg, x, 8.0, x, ROOF_HEIGHT - ROOF_BOTTOM);
        cm_svg_text(svg, x, ROOF_HEIGHT - ROOF_BOTTOM + 16.0, "middle", cm_profile_short(pow(10.0, e), text));
    }
    cm_svg_text(svg, (LEFT + WIDTH - RIGHT) / 2.0, ROOF_HEIGHT - 8.0, "middle", "FLOP per byte");
}

static void draw_operation(cm_svg *svg, decades d, const cm_operation *row, double share) {
    char title[192], rate[16];
    if (row->flop <= 0.0) return;
    snprintf(title, sizeof title, "%s, %s: %sFLOP/s, %.1f %% of the time of all operations", row->name,
             cm_stage_name(row->stage), cm_profile_short(row->flop / row->saved / row->seconds, rate), 100.0 * share);
    fputs("<g>", svg->out);
    cm_svg_title(svg, title);
    fprintf(svg->out, "<circle class=\"f%d\" fill-opacity=\".7\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/></g>\n",
            colour_of(row->stage), roof_x(row->flop / row->saved / row->bytes),
            roof_y(d, row->flop / row->saved / row->seconds), 2.0 + 14.0 * sqrt(share));
}

static double all_seconds(const cm_operations *o) {
    double all = 0.0;
    for (int i = 0; i < o->count; i++) all += o->row[i].seconds;
    return all;
}

static double highest_peak(const cm_roofs *r) {
    double peak = 0.0;
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) peak = fmax(peak, r->flops[type]);
    return peak;
}

static cm_status draw_roofline(const cm_profile *p, FILE *out) {
    const double top = highest_peak(&p->roofs), all = all_seconds(&p->operations);
    const decades d = {(int)floor(log10(top)) - 3, (int)floor(log10(top)) + 1};
    cm_svg svg;
    CM_TRY(cm_svg_begin(&svg, WIDTH, ROOF_HEIGHT, CM_THEME_AUTO));
    draw_decades(&svg, d);
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) {
        if (p->roofs.flops[type] <= 0.0) continue;
        char name[64];
        snprintf(name, sizeof name, "products in %.16s, copies in cache", cm_dtype_name((cm_dtype)type));
        draw_roof(&svg, d, p->roofs.flops[type], p->roofs.bytes[0], name);
    }
    draw_roof(&svg, d, top, p->roofs.bytes[CM_ROOF_SIZES - 1], "copies in memory");
    for (int i = p->operations.count - 1; i >= 0; i--)
        draw_operation(&svg, d, &p->operations.row[i], p->operations.row[i].seconds / all);
    return put_picture(&svg, out);
}

/* ---- sweeps ---- */

static cm_status draw_sweep(const cm_sweep *s, FILE *out) {
    const double step = (WIDTH - LEFT - RIGHT) / (double)s->count;
    double most = 0.0;
    cm_svg svg;
    for (int i = 0; i < s->count; i++) most = fmax(most, s->point[i].rate);
    CM_TRY(cm_svg_begin(&svg, WIDTH, 132.0, CM_THEME_AUTO));
    cm_svg_text(&svg, LEFT - 8.0, 60.0, "end", s->key);
    for (int i = 0; i < s->count; i++) {
        const double x = LEFT + step * i, height = most > 0.0 ? 84.0 * s->point[i].rate / most : 0.0;
        const double box[4] = {x + 4.0, 108.0 - height, fmin(step - 8.0, 60.0), height};
        char rate[16];
        put_area(&svg, i == s->knee ? 2 : 0, box, i == s->knee ? "the knee" : s->point[i].value);
        cm_svg_text(&svg, box[0] + box[2] / 2.0, 124.0, "middle", s->point[i].value);
        cm_svg_text(&svg, box[0] + box[2] / 2.0, box[1] - 4.0, "middle", cm_profile_short(s->point[i].rate, rate));
    }
    return put_picture(&svg, out);
}

static cm_status draw_sweeps(const cm_profile *p, FILE *out) {
    for (int i = 0; i < p->sweep_count; i++) CM_TRY(draw_sweep(&p->sweep[i], out));
    return CM_OK;
}

/* ---- tables ---- */

static void put_operations(const cm_profile *p, FILE *out) {
    const double all = all_seconds(&p->operations);
    fputs("<div class=\"table\"><table><tr><th>operation<th>stage<th>share<th>calls<th>FLOP/s<th>bytes/s<th>of the "
          "roof</tr>\n",
          out);
    for (int i = 0; i < p->operations.count && i < 40; i++) {
        const cm_operation *row = &p->operations.row[i];
        char flops[16], bytes[16];
        bool by_products;
        const double least = cm_roofs_least(&p->roofs, row, &by_products);
        fprintf(out, "<tr><td>%s<td>%s<td>%.1f %%<td>%lld<td>%s<td>%s<td>%.0f %% of %s</tr>\n", row->name,
                cm_stage_name(row->stage), 100.0 * row->seconds / all, (long long)row->calls,
                cm_profile_short(row->flop / row->seconds, flops), cm_profile_short(row->bytes / row->seconds, bytes),
                100.0 * least / row->seconds, by_products ? "products" : "copies");
    }
    fputs("</table></div>\n", out);
}

static void put_ladder(const cm_profile *p, FILE *out) {
    char rate[16];
    fputs("<div class=\"table\"><table><tr><th>precision<th>positions/s<th>speed<th>policy error<th>value error</tr>\n",
          out);
    for (int i = 0; i < p->ladder_count; i++) {
        const cm_precision *l = &p->ladder[i];
        fprintf(out, "<tr><td>%s<td>%s<td>%.2fx<td>%.2g<td>%.2g</tr>\n", cm_dtype_name(l->dtype),
                cm_profile_short(l->per_second, rate), l->per_second / p->ladder[0].per_second, l->policy_error,
                l->value_error);
    }
    fputs("</table></div>\n", out);
}

static void put_memory(const cm_profile *p, FILE *out) {
    char bytes[16];
    fputs("<div class=\"table\"><table><tr><th>memory<th>bytes</tr>\n", out);
    for (int i = 0; i < p->memory_count; i++) {
        if (p->memory[i].bytes == 0) continue;
        cm_format_bytes((double)p->memory[i].bytes, bytes);
        fprintf(out, "<tr><td>%s<td>%s</tr>\n", p->memory[i].name, bytes);
    }
    fputs("</table></div>\n", out);
}

static void put_advice(const cm_profile *p, FILE *out) {
    if (p->advice_count == 0) fputs("<p>Nothing that was tried gains a tenth.</p>\n", out);
    for (int i = 0; i < p->advice_count; i++) {
        const cm_advice *a = &p->advice[i];
        fprintf(out, "<p><code>%s</code> <b>%.2fx</b>: %s</p>\n", a->set, a->gain, a->why);
    }
}

static void put_head(const cm_profile *p, FILE *out) {
    char steps[16], updates[16];
    fputs(head, out);
    fputs("<h1>", out);
    cm_svg_escape(out, p->environment);
    fputs("</h1>\n<p>", out);
    cm_svg_escape(out, p->backend);
    fprintf(out, ": %s environment steps/s, %s updates/s, %.2f threads of %d busy</p>\n<main>\n",
            cm_profile_short(p->base.env_steps, steps), cm_profile_short(p->base.updates, updates),
            p->stages.busy / p->stages.wall, p->threads);
}

static cm_status put_sections(const cm_profile *p, FILE *out) {
    static const struct {
        const char *title, *note;
        cm_status (*draw)(const cm_profile *p, FILE *out);
        void (*put)(const cm_profile *p, FILE *out);
    } sections[] = {
        {"Advice", "each on top of those before it", NULL, put_advice},
        {"Stages of an iteration", "shares of the wall time", draw_stages, NULL},
        {"Roofline", "an operation is a circle, as large as its time; the lines are what the machine can",
         draw_roofline, NULL},
        {"Timeline", "colours are those of the stages; the first quarter of a second", draw_timeline, NULL},
        {"Values of keys", "environment steps/s; green: the knee", draw_sweeps, NULL},
        {"Precisions", "of one thread", NULL, put_ladder},
        {"Memory", "", NULL, put_memory},
        {"Operations", "share: of the time of all operations, those of all threads", NULL, put_operations},
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (!p->has_advice && (sections[i].put == put_advice || sections[i].draw == draw_sweeps)) continue;
        const bool is_last = i + 1 == sizeof sections / sizeof *sections;
        fprintf(out, "<section%s><h2>%s</h2>\n<p class=\"note\">%s</p>\n", is_last ? " class=\"wide\"" : "",
                sections[i].title, sections[i].note);
        if (sections[i].draw) CM_TRY(sections[i].draw(p, out));
        if (sections[i].put) sections[i].put(p, out);
        fputs("</section>\n", out);
    }
    return CM_OK;
}

cm_status cm_profile_write_page(const cm_profile *p, const char *path) {
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    if (!out) return cm_fail(CM_ERR_MEMORY, "no memory for a page");
    put_head(p, out);
    cm_status status = put_sections(p, out);
    fputs("</main>\n</body>\n</html>\n", out);
    if (fclose(out) != 0 && status == CM_OK) status = cm_fail(CM_ERR_MEMORY, "no memory for a page");
    if (status == CM_OK) status = cm_file_write(path, page, size);
    free(page);
    return status;
}
