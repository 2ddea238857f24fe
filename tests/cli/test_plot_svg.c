/* Pictures of curves, read as their readers do: texts and lines of the SVG. */
#include "cli/plot_svg.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/picture.h"
#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"

enum { POINTS = 200, MOST = 400 };

/* Curves as runs have them: a return that rises, with waves of its own. */
static double xs[POINTS], ys[CM_PLOT_SERIES][POINTS], low[POINTS], high[POINTS];
static char names[CM_PLOT_SERIES][64];
static cm_plot_series series[CM_PLOT_SERIES];

static void make_series(int count, double scale, double offset) {
    for (int i = 0; i < POINTS; i++) xs[i] = 500.0 * i;
    for (int s = 0; s < CM_PLOT_SERIES; s++) {
        snprintf(names[s], sizeof names[s], "runs/a_folder_with_a_long_name/%d", s);
        for (int i = 0; i < POINTS; i++)
            ys[s][i] = offset + scale * (1.0 - exp(-i / (20.0 + 3.0 * s)) + 0.02 * sin(i * (s + 1.0)));
        series[s] = (cm_plot_series){.label = names[s], .x = xs, .y = ys[s], .n = s < count ? POINTS : 0, .colour = s};
    }
}

static char *draw(const cm_figure *figure) {
    char *svg;
    ck_assert_msg(cm_plot_svg(figure, CM_THEME_AUTO, &svg) == CM_OK, "%s", cm_error_message());
    ck_assert_ptr_null(strstr(svg, "nan"));
    ck_assert_ptr_null(strstr(svg, "inf"));
    return svg;
}

static char *draw_one(int count) {
    const cm_plot plot = {"runs", "env steps", "return", series, count};
    return draw(&(cm_figure){"runs", &plot, 1});
}

/* ---- reading ---- */

typedef struct text {
    cm_box box;
    char words[128];
} text;

/* All texts that are read from left to right, with their boxes; returns their number. */
static int read_texts(const char *svg, text *out) {
    int count = 0;
    for (const char *at = svg; (at = strstr(at, "<text ")) != NULL; at++) {
        double x, y, px, py;
        char anchor[8];
        const bool is_up =
            sscanf(at, "<text x=\"%lf\" y=\"%lf\" transform=\"rotate(-90 %lf %lf)\" text-anchor=\"%7[a-z]", &x, &y, &px,
                   &py, anchor) == 5;
        if (!is_up) ck_assert_int_eq(sscanf(at, "<text x=\"%lf\" y=\"%lf\" text-anchor=\"%7[a-z]", &x, &y, anchor), 3);
        const char *from = strchr(at, '>') + 1;
        ck_assert_int_lt(count, MOST);
        text *t = &out[count++];
        snprintf(t->words, sizeof t->words, "%.*s", (int)strcspn(from, "<"), from);
        const double width = cm_svg_text_width(t->words), share = *anchor == 's' ? 0.0 : *anchor == 'm' ? 0.5 : 1.0;
        t->box = is_up ? (cm_box){x - 10, y - width * (1.0 - share), x + 3, y + width * share}
                       : (cm_box){x - width * share, y - 10, x + width * (1.0 - share), y + 3};
    }
    return count;
}

static bool overlap(cm_box a, cm_box b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* Every text lies in the picture, and none on another. */
static void expect_texts_apart(const char *svg) {
    static text all[MOST];
    double width, height;
    const int count = read_texts(svg, all);
    ck_assert_int_eq(sscanf(strstr(svg, "viewBox"), "viewBox=\"0 0 %lf %lf", &width, &height), 2);
    for (int i = 0; i < count; i++) {
        const cm_box b = all[i].box;
        ck_assert_msg(b.left >= 0 && b.top >= 0 && b.right <= width && b.bottom <= height, "\"%s\" is cut",
                      all[i].words);
        for (int k = 0; k < i; k++)
            ck_assert_msg(!overlap(b, all[k].box), "\"%s\" lies on \"%s\"", all[i].words, all[k].words);
    }
}

static int count_of(const char *svg, const char *part) {
    int count = 0;
    for (const char *at = svg; (at = strstr(at, part)) != NULL; at++) count++;
    return count;
}

static cm_box legend_of(const char *svg) {
    double x, y, width, height;
    const char *at = strstr(svg, "<rect class=\"paper legend\"");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(
        sscanf(strstr(at, "x="), "x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf", &x, &y, &width, &height), 4);
    return (cm_box){x, y, x + width, y + height};
}

static cm_box frame_of(const char *svg) {
    double x, y, width, height;
    ck_assert_int_eq(sscanf(strstr(svg, "data-frame"), "data-frame=\"%lf %lf %lf %lf", &x, &y, &width, &height), 4);
    return (cm_box){x, y, x + width, y + height};
}

/* No point of a path of the data lies in the box. */
static void expect_no_data_in(const char *svg, cm_box box) {
    const cm_box frame = frame_of(svg);
    for (const char *data = strstr(svg, "<svg class=\"data\""), *end = strstr(data, "</svg>"); data < end; data++) {
        double x, y;
        if ((*data != 'M' && *data != 'L') || sscanf(data + 1, "%lf,%lf", &x, &y) != 2) continue;
        x += frame.left, y += frame.top;
        ck_assert(x < box.left || x > box.right || y < box.top || y > box.bottom);
    }
}

/* ---- tests ---- */

static const double sizes[][2] = {{500, 0}, {1, -1},     {1e-5, 0}, {1e9, 0},    {1e-3, 1e9},
                                  {0, 3},   {-200, 1e6}, {1e15, 0}, {1.7e308, 0}};
static const int counts[] = {1, 2, 5, 8, 20};

START_TEST(labels_are_whole_and_apart_at_every_size_and_number_of_series) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        make_series(counts[c], sizes[_i][0], sizes[_i][1]);
        char *svg = draw_one(counts[c]);
        expect_texts_apart(svg);
        ck_assert_int_eq(count_of(svg, "<g class=\"series\">"), counts[c]);
        free(svg);
    }
}
END_TEST

START_TEST(a_legend_lies_on_no_data) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        make_series(counts[c], sizes[_i][0], sizes[_i][1]);
        char *svg = draw_one(counts[c]);
        expect_no_data_in(svg, legend_of(svg));
        free(svg);
    }
}
END_TEST

START_TEST(a_legend_stands_next_to_data_that_leave_no_space) {
    make_series(2, 1, 0);
    for (int i = 0; i < POINTS; i++) ys[0][i] = i % 2, ys[1][i] = (i + 1) % 2;
    char *svg = draw_one(2);
    ck_assert(legend_of(svg).left > frame_of(svg).right);
    expect_texts_apart(svg);
    free(svg);
    make_series(2, 500, 0); /* rises at once, so that the lower right is free */
    svg = draw_one(2);
    ck_assert(legend_of(svg).right < frame_of(svg).right);
    free(svg);
}
END_TEST

START_TEST(a_point_alone_is_a_dot) {
    make_series(1, 500, 0);
    series[0].n = 1;
    char *svg = draw_one(1);
    ck_assert_int_eq(count_of(svg, "h0"), 2); /* and in the legend */
    ck_assert_int_eq(count_of(svg, "class=\"line l0\""), 0);
    expect_texts_apart(svg);
    free(svg);
}
END_TEST

START_TEST(what_is_no_number_breaks_the_line) {
    make_series(1, 500, 0);
    ys[0][50] = NAN, ys[0][52] = INFINITY; /* 51 stands alone */
    char *svg = draw_one(1);
    ck_assert_int_eq(count_of(svg, "h0"), 1);
    const char *line = strstr(svg, "class=\"line l0\" d=\"");
    ck_assert_ptr_nonnull(line);
    int begun = 0;
    for (; *line != '/'; line++) begun += *line == 'M';
    ck_assert_int_eq(begun, 2);
    free(svg);
    for (int i = 0; i < POINTS; i++) ys[0][i] = NAN;
    const cm_plot plot = {"run", "x", "y", series, 1};
    ck_assert_int_eq(cm_plot_svg(&(cm_figure){"run", &plot, 1}, CM_THEME_AUTO, &svg), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "run: there is nothing to plot yet");
}
END_TEST

/* In a picture and in a terminal. */
START_TEST(numbers_from_one_end_of_all_to_the_other_are_drawn) {
    const cm_plot_style style = {80, 20, false, false};
    const cm_plot plot = {"run", "env steps", "return", series, 2};
    char *drawn;
    make_series(2, 1, 0);
    for (int i = 0; i < POINTS; i++) ys[0][i] = 1.7e308 * sin(i / 9.0), ys[1][i] = -ys[0][i];
    char *svg = draw_one(2);
    expect_texts_apart(svg);
    expect_no_data_in(svg, legend_of(svg));
    const cm_box f = frame_of(svg);
    double x, y, top = INFINITY, bottom = -INFINITY;
    for (const char *at = strstr(svg, "<svg class=\"data\""), *end = strstr(at, "</svg>"); at < end; at++)
        if ((*at == 'M' || *at == 'L') && sscanf(at + 1, "%lf,%lf", &x, &y) == 2)
            top = fmin(top, y), bottom = fmax(bottom, y);
    ck_assert_double_gt(top, 0.0);
    ck_assert_double_lt(top, (f.bottom - f.top) / 10.0);
    ck_assert_double_gt(bottom, (f.bottom - f.top) * 0.9);
    free(svg);
    ck_assert_int_eq(cm_plot_text(&plot, &style, &drawn), CM_OK);
    ck_assert_ptr_nonnull(strstr(drawn, "run x10^308\n"));
    ck_assert_ptr_nonnull(strstr(drawn, "\n  -1.5 |"));
    free(drawn);
}
END_TEST

START_TEST(a_mean_of_fewer_runs_is_thin_and_said) {
    static int runs_at[POINTS];
    make_series(1, 500, 0);
    for (int i = 0; i < POINTS; i++) runs_at[i] = i < 120 ? 5 : 3, low[i] = ys[0][i] - 20, high[i] = ys[0][i] + 20;
    series[0].runs_at = runs_at, series[0].runs = 5, series[0].low = low, series[0].high = high;
    char *svg = draw_one(1);
    double x;
    const char *thin = strstr(svg, "class=\"line thin l0\" d=\"M");
    ck_assert_ptr_nonnull(thin);
    ck_assert_int_eq(sscanf(strstr(thin, "=\"M"), "=\"M%lf", &x), 1);
    const cm_box f = frame_of(svg);
    ck_assert_double_eq_tol(x / (f.right - f.left), (119.0 / 199.0 + 0.03) / 1.06, 1e-3);
    ck_assert_ptr_nonnull(strstr(svg, CM_PLOT_FEWER));
    ck_assert_int_eq(count_of(svg, "class=\"band f0\""), 1);
    expect_texts_apart(svg);
    free(svg);
    for (int i = 0; i < POINTS; i++) runs_at[i] = 5;
    svg = draw_one(1);
    ck_assert_ptr_null(strstr(svg, CM_PLOT_FEWER));
    ck_assert_ptr_null(strstr(svg, "thin l0"));
    free(svg);
}
END_TEST

START_TEST(plots_of_a_figure_have_axes_of_their_own) {
    make_series(7, 1, 0);
    cm_plot plots[7];
    for (int p = 0; p < 7; p++) {
        plots[p] = (cm_plot){"run", "env steps", names[p], &series[p], 1};
        for (int i = 0; i < POINTS; i++) ys[p][i] *= pow(10.0, 3 * p - 9);
    }
    for (int count = 2; count <= 7; count++) {
        char *svg = draw(&(cm_figure){"run", plots, count});
        ck_assert_int_eq(count_of(svg, "<g class=\"panel\""), count);
        ck_assert_int_eq(count_of(svg, "env steps"), count <= 3 ? 1 : 2);
        ck_assert_int_eq(count_of(svg, "class=\"key\""), 0); /* the axis says it */
        expect_texts_apart(svg);
        free(svg);
    }
}
END_TEST

/* In two columns legends would leave little of the frames. */
START_TEST(panels_with_legends_next_to_them_are_in_one_column) {
    make_series(10, 1, 0);
    cm_plot plots[5];
    for (int p = 0; p < 5; p++) {
        plots[p] = (cm_plot){"run", "env steps", "", &series[2 * p], 2};
        for (int i = 0; i < POINTS; i++) ys[2 * p][i] = i % 2, ys[2 * p + 1][i] = (i + 1) % 2;
    }
    char *svg = draw(&(cm_figure){"run", plots, 5});
    ck_assert_int_eq(count_of(svg, "env steps"), 1);
    for (const char *at = svg; (at = strstr(at, "data-frame=\"")) != NULL; at++) {
        const cm_box f = frame_of(at);
        ck_assert_double_gt(f.right - f.left, CM_PLOT_WIDTH / 2.0);
    }
    expect_texts_apart(svg);
    free(svg);
}
END_TEST

START_TEST(many_points_take_the_space_of_those_that_are_seen) {
    enum { MANY_POINTS = 100000 };
    double *x = malloc(2 * MANY_POINTS * sizeof *x), *y = x + MANY_POINTS;
    for (int i = 0; i < MANY_POINTS; i++) x[i] = i, y[i] = i == 77777 ? 9.0 : sin(i * 0.01);
    const cm_plot_series one = {.label = "a", .x = x, .y = y, .n = MANY_POINTS};
    const cm_plot plot = {"run", "x", "y", &one, 1};
    char *svg = draw(&(cm_figure){"run", &plot, 1});
    ck_assert_int_lt(strlen(svg), 250000);
    const cm_box f = frame_of(svg);
    char top[32];
    snprintf(top, sizeof top, ",%.2fL", (f.bottom - f.top) * 0.05 / 1.1); /* the one that stands out is there */
    ck_assert_ptr_nonnull(strstr(svg, top));
    free(svg);
    free(x);
}
END_TEST

START_TEST(names_are_escaped_and_long_ones_keep_their_end) {
    make_series(1, 1, 0);
    snprintf(names[0], sizeof names[0], "a <b> & c");
    char title[300];
    memset(title, 'W', sizeof title - 5);
    strcpy(title + sizeof title - 5, "/end");
    const cm_plot plot = {"", "x", "y", series, 1};
    char *svg = draw(&(cm_figure){title, &plot, 1});
    ck_assert_ptr_nonnull(strstr(svg, "a &lt;b&gt; &amp; c"));
    ck_assert_ptr_nonnull(strstr(svg, "W/end</text>"));
    ck_assert_ptr_nonnull(strstr(svg, ">\u2026W"));
    free(svg);
}
END_TEST

START_TEST(themes_are_light_dark_or_the_readers) {
    static const struct {
        cm_theme theme;
        int asks, has_light, has_dark;
    } themes[] = {{CM_THEME_AUTO, 1, 1, 1}, {CM_THEME_LIGHT, 0, 1, 0}, {CM_THEME_DARK, 0, 0, 1}};
    make_series(1, 1, 0);
    const cm_plot plot = {"", "x", "y", series, 1};
    for (int i = 0; i < 3; i++) {
        char *svg;
        ck_assert_int_eq(cm_plot_svg(&(cm_figure){"t", &plot, 1}, themes[i].theme, &svg), CM_OK);
        ck_assert_int_eq(count_of(svg, "@media(prefers-color-scheme:dark)"), themes[i].asks);
        ck_assert_int_eq(count_of(svg, ".paper{fill:#ffffff}"), themes[i].has_light);
        ck_assert_int_eq(count_of(svg, ".paper{fill:#0d1117}"), themes[i].has_dark);
        ck_assert_int_eq(count_of(svg, "body{background:#ffffff;color:#24292f}"), themes[i].has_light);
        ck_assert_int_eq(count_of(svg, "body{background:#0d1117;color:#e6edf3}"), themes[i].has_dark);
        free(svg);
    }
}
END_TEST

START_TEST(a_page_is_one_file_that_asks_for_no_other) {
    char path[CM_TEST_PATH], *page;
    size_t size;
    make_series(2, 500, 0);
    char *svg = draw_one(2);
    cm_test_file_make(path);
    ck_assert_int_eq(cm_picture_write_page(svg, path), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &page, &size), CM_OK);
    ck_assert_ptr_nonnull(strstr(page, "data-frame"));
    ck_assert_ptr_nonnull(strstr(page, "non-scaling-stroke")); /* which a picture of another size has not */
    ck_assert_ptr_null(strstr(svg, "non-scaling-stroke"));
    ck_assert_ptr_nonnull(strstr(page, "addEventListener('wheel'"));
    ck_assert_int_eq(count_of(page, "http"), 1); /* the name of SVG */
    ck_assert_int_eq(count_of(page, "src="), 0);
    ck_assert_int_eq(count_of(page, "Canvas"), 0); /* its colours are the picture's, not the reader's */
    ck_assert_int_eq(count_of(page, "import"), 0);
    ck_assert_int_eq(count_of(page, "</script>"), 1);
    ck_assert_int_eq(cm_picture_write_page(svg, "/nowhere/x.html"), CM_ERR_IO);
    free(page);
    free(svg);
}
END_TEST

START_TEST(png_has_two_pixels_per_unit) {
    char path[CM_TEST_PATH], *png;
    size_t size;
    make_series(2, 500, 0);
    char *svg = draw_one(2);
    cm_test_file_make(path);
    const cm_status status = cm_picture_write_png(svg, path);
    if (status == CM_ERR_ABSENT) {
        printf("SKIP png_has_two_pixels_per_unit: rsvg-convert is not installed\n");
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "librsvg2-bin"));
        free(svg);
        return;
    }
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_file_read(path, 1 << 22, &png, &size), CM_OK);
    const unsigned char *header = (const unsigned char *)png;
    ck_assert_int_eq(memcmp(header + 1, "PNG", 3), 0);
    ck_assert_int_eq(header[18] << 8 | header[19], 2 * CM_PLOT_WIDTH);
    ck_assert_int_eq(header[22] << 8 | header[23], 840);
    ck_assert_int_eq(cm_picture_write_png("<svg", path), CM_ERR_IO); /* and leaves the file */
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ": rsvg-convert could not make the PNG: Error"));
    free(png);
    free(svg);
}
END_TEST

START_TEST(a_png_without_the_program_is_one_line_that_says_what_to_install) {
    char path[CM_TEST_PATH], *left;
    size_t size;
    make_series(1, 500, 0);
    char *svg = draw_one(1);
    cm_test_file_make(path);
    ck_assert_int_eq(cm_file_write(path, "old", 3), CM_OK);
    ck_assert_int_eq(setenv("PATH", "/nowhere", 1), 0);
    ck_assert_int_eq(cm_picture_write_png(svg, path), CM_ERR_ABSENT);
    const char *said = strstr(cm_error_message(), ": PNG needs");
    ck_assert_ptr_nonnull(said);
    ck_assert_str_eq(said,
                     ": PNG needs the program rsvg-convert (Debian: apt install librsvg2-bin); --svg needs nothing");
    ck_assert_int_eq(cm_file_read(path, 16, &left, &size), CM_OK);
    ck_assert_str_eq(left, "old");
    free(left);
    free(svg);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/plot_svg");
    TCase *tests = tcase_create("plot_svg");
    const int forms = sizeof sizes / sizeof *sizes;
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, labels_are_whole_and_apart_at_every_size_and_number_of_series, 0, forms);
    tcase_add_loop_test(tests, a_legend_lies_on_no_data, 0, forms);
    tcase_add_test(tests, a_legend_stands_next_to_data_that_leave_no_space);
    tcase_add_test(tests, a_point_alone_is_a_dot);
    tcase_add_test(tests, what_is_no_number_breaks_the_line);
    tcase_add_test(tests, numbers_from_one_end_of_all_to_the_other_are_drawn);
    tcase_add_test(tests, a_mean_of_fewer_runs_is_thin_and_said);
    tcase_add_test(tests, plots_of_a_figure_have_axes_of_their_own);
    tcase_add_test(tests, panels_with_legends_next_to_them_are_in_one_column);
    tcase_add_test(tests, many_points_take_the_space_of_those_that_are_seen);
    tcase_add_test(tests, names_are_escaped_and_long_ones_keep_their_end);
    tcase_add_test(tests, themes_are_light_dark_or_the_readers);
    tcase_add_test(tests, a_page_is_one_file_that_asks_for_no_other);
    tcase_add_test(tests, png_has_two_pixels_per_unit);
    tcase_add_test(tests, a_png_without_the_program_is_one_line_that_says_what_to_install);
    return cm_test_main(suite);
}
