/* cumind plot: numbers of runs as curves, drawn or as a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/picture.h"
#include "cli/plot_panels.h"
#include "cli/plot_svg.h"
#include "cli/view.h"
#include "core/arena.h"
#include "core/printable.h"

enum {
    ROWS = 20,
    LOW_ROWS = 12 /* of several */,
    LEAST_TERMINAL = 30,
    MOST_COLUMNS = 160
}; /* 30: the names of the curves */

/* The width of the terminal, as far as a plot gains from it. */
static cm_status choose_columns(const cm_arguments *arguments, int64_t *columns) {
    int there = cm_view_of_stdout(arguments).columns;
    *columns = there < MOST_COLUMNS ? there : MOST_COLUMNS;
    if (!cm_argument_is_set(arguments, "--columns")) return cm_view_need_columns("plot", LEAST_TERMINAL);
    return cm_argument_int(arguments, "--columns", CM_VIEW_LEAST, 400, columns);
}

/* One picture below the other. */
static cm_status draw_text(cm_arguments *arguments, const cm_panels *panels) {
    const cm_view view = cm_view_of_stdout(arguments);
    int64_t columns = 0, rows = panels->count > 1 ? LOW_ROWS : ROWS;
    CM_TRY(choose_columns(arguments, &columns));
    CM_TRY(cm_argument_int(arguments, "--rows", 6, 200, &rows));
    const cm_plot_style style = {(int)columns, (int)rows, view.utf8, view.colour};
    for (int p = 0; p < panels->count; p++) {
        cm_plot plot = panels->plots[p];
        char *text = NULL;
        if (panels->count > 1 && *plot.y_label) plot.title = plot.y_label;
        CM_TRY(cm_plot_text(&plot, &style, &text));
        fputs(text, stdout);
        free(text);
    }
    return CM_OK;
}

/* ---- files ---- */

static cm_status write_picture(const char *path, const cm_figure *figure, cm_theme theme,
                               cm_status (*write)(const char *svg, const char *path)) {
    char *svg = NULL;
    if (!path) return CM_OK;
    CM_TRY(cm_plot_svg(figure, theme, &svg));
    cm_status status = write(svg, path);
    free(svg);
    CM_TRY(status);
    printf("written to %s\n", CM_PRINTABLE(path));
    return CM_OK;
}

static cm_status draw(cm_arguments *arguments, const cm_curves *curves) {
    const char *svg = cm_argument(arguments, "--svg"), *png = cm_argument(arguments, "--png"),
               *html = cm_argument(arguments, "--html");
    int theme = CM_THEME_AUTO;
    cm_panels *panels;
    CM_TRY(cm_argument_choice(arguments, "--theme", CM_THEME_WORDS, &theme));
    CM_TRY(cm_alloc(&panels, 1, sizeof *panels, "a plot"));
    cm_panels_make(curves, panels);
    const cm_figure figure = {curves->title, panels->plots, panels->count};
    cm_status status = svg || png || html ? CM_OK : draw_text(arguments, panels);
    if (status == CM_OK) status = write_picture(svg, &figure, (cm_theme)theme, cm_picture_write_svg);
    if (status == CM_OK) status = write_picture(png, &figure, (cm_theme)theme, cm_picture_write_png);
    if (status == CM_OK) status = write_picture(html, &figure, (cm_theme)theme, cm_picture_write_page);
    free(panels);
    return status;
}

/* ---- the table ---- */

static void print_cell(const cm_curve *curve, double x) {
    const int i = cm_curve_find(curve, x);
    if (i < 0) {
        printf(" - |");
    } else if (curve->runs == 1) {
        printf(" %.4g |", curve->y[i]);
    } else {
        printf(" %.4g (%.4g to %.4g", curve->y[i], curve->low[i], curve->high[i]);
        if (curve->runs_at[i] < curve->runs) printf("; %d of %d", curve->runs_at[i], curve->runs);
        printf(") |");
    }
}

/* At most `rows` of the places at which a curve has a point, as far apart as they can be; the last one always. */
static void print_rows(const cm_curves *curves, const cm_curve *all, int64_t rows) {
    const int64_t skipped = all->n > rows ? all->n - rows : 0, shown = all->n - skipped;
    for (int64_t i = 0; i < shown; i++) {
        const double x = all->x[(i + 1) * all->n / shown - 1];
        printf("| %.10g |", x);
        for (int c = 0; c < curves->count; c++) print_cell(&curves->curve[c], x);
        printf("\n");
    }
}

static cm_status print_table(cm_arguments *arguments, const cm_curves *curves) {
    int64_t rows = INT32_MAX;
    cm_curve all;
    CM_TRY(cm_argument_int(arguments, "--rows", 1, INT32_MAX, &rows));
    CM_TRY(cm_curve_mean(curves->curve, curves->count, &all));
    printf("| %s |", curves->x_label);
    for (int c = 0; c < curves->count; c++) printf(" %s |", CM_PRINTABLE(curves->label[c]));
    printf("\n|");
    for (int c = 0; c <= curves->count; c++) printf("---|");
    printf("\n");
    print_rows(curves, &all, rows);
    cm_curve_free(&all);
    return CM_OK;
}

static cm_status run_plot(cm_arguments *arguments) {
    static const char *const pictures[] = {"--svg", "--png", "--html"};
    const bool is_table = cm_argument_is_set(arguments, "--table");
    cm_curves curves;
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        if (is_table && cm_argument_is_set(arguments, pictures[i]))
            return cm_fail(CM_ERR_INPUT, "plot: --table and %s are two outputs; give one of them", pictures[i]);
    cm_status status = cm_curves_collect(arguments, &curves);
    if (status == CM_OK) status = is_table ? print_table(arguments, &curves) : draw(arguments, &curves);
    cm_curves_free(&curves);
    return status;
}

static void list_metrics(cm_text *text) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    cm_text_add(text, "\n\nNumbers (KEY), where a run has them: ");
    for (int i = 0; i < count; i++) cm_text_add(text, "%s%s", fields[i].name, i + 1 < count ? ", " : ".");
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    {"--metric", "KEY", "A number of metrics.jsonl, such as value_loss, in place of the returns; may be repeated."},
    {"--over", "KEY", "What goes to the right: " CM_CURVES_OVER(", ") "; updates where a run is offline."},
    {"--svg", "FILE", "Write a picture instead of drawing in the terminal."},
    {"--png", "FILE", "Write it as PNG, 1440 pixels wide, by rsvg-convert (Debian: librsvg2-bin)."},
    {"--html", "FILE",
     "Write a page that zooms: drag over a part, turn the wheel, click twice for all. It needs no network."},
    {"--theme", "NAME", "Colours of pictures: auto, which follows the reader's, light or dark; of PNG auto is light."},
    {"--table", NULL, "Print the numbers as a table in Markdown."},
    {"--columns", "N", "Width in characters; that of the terminal."},
    {"--rows", "N", "Height in lines, 20; of a table the most rows, all."},
    CM_FLAGS_END,
};

const cm_command cm_command_plot = {
    .name = "plot",
    .about = "draw learning curves of runs, or other numbers of theirs",
    .positional = "[DIR...]",
    .details =
        "Of one run the returns of self-play and of greedy evaluations. Of several the evaluations of each, or the "
        "returns of self-play where one has none; the loss where there are no returns. A folder that holds several "
        "runs, say of several seeds, is their mean, with the range from the lowest to the highest. Between its points "
        "a run counts as a straight line, behind its end not at all: a table says then of how many the mean is, and a "
        "picture draws it as a thin line. Numbers of different size have axes of their own.",
    .list = list_metrics,
    .flags = flags,
    .examples = "  cumind plot                                   # the newest run\n"
                "  cumind plot --metric value_loss --metric policy_loss\n"
                "  cumind plot runs/a runs/b --over seconds --svg curves.svg\n",
    .run = run_plot,
};
