/* Numbers of a part that have one unit, as a picture. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/benchmark.h"
#include "cli/interval_plot.h"
#include "cli/view.h"

enum { MOST_COLUMNS = 100 };

static cm_status print_text(const cm_arguments *arguments, const cm_interval_plot *plot) {
    const cm_view view = cm_view_of_stdout(arguments);
    char *text = NULL;
    CM_TRY(cm_interval_plot_text(plot, view.columns < MOST_COLUMNS ? view.columns : MOST_COLUMNS, view.utf8, &text));
    printf("\n%s\n", text);
    free(text);
    return CM_OK;
}

cm_status cm_benchmark_draw(const cm_arguments *arguments, const char *name, const char *unit,
                            const cm_benchmark_result *result) {
    cm_interval_row rows[CM_BENCHMARK_NUMBERS];
    const cm_interval_plot plot = {.title = name, .x_label = unit, .rows = rows, .count = result->count};
    for (int i = 0; i < result->count; i++)
        rows[i] = (cm_interval_row){.label = result->number[i].key, .value = result->number[i].value};
    if (!cm_argument_is_set(arguments, "--json")) CM_TRY(print_text(arguments, &plot));
    return cm_interval_plot_write(&plot, cm_argument(arguments, "--svg"), cm_argument(arguments, "--png"));
}
