#include "cli/sweep_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "core/printable.h"
#include "sweep/importance.h"

enum { FIXED = 4, COLUMNS = FIXED + CM_SWEEP_KEYS, CELL = CM_SWEEP_TEXT, GAP = 2, MOST_COLUMNS = 240 };

typedef char cells[COLUMNS][CELL];

static void fill_head(const cm_sweep_plan *plan, cells out) {
    static const char *const names[FIXED] = {"trial", "rung", "steps", "score"};
    for (int i = 0; i < FIXED; i++) snprintf(out[i], CELL, "%s", names[i]);
    for (int i = 0; i < plan->space.count; i++) snprintf(out[FIXED + i], CELL, "%s", plan->space.row[i].key);
}

static void fill_row(const cm_sweep_plan *plan, const cm_sweep_line *line, cells out) {
    snprintf(out[0], CELL, "%d", line->trial);
    snprintf(out[1], CELL, "%d/%d", line->rung + 1, plan->rungs);
    snprintf(out[2], CELL, "%lld", (long long)line->env_steps);
    snprintf(out[3], CELL, isnan(line->score) ? "failed" : "%.2f", line->score);
    for (int i = 0; i < plan->space.count; i++) {
        char value[CM_SWEEP_TEXT];
        cm_sweep_space_draw(&plan->space, plan->seed, line->trial, i, value);
        cm_sweep_value_bare(value, out[FIXED + i]);
    }
}

static void widen(const cells row, int count, int width[COLUMNS]) {
    for (int i = 0; i < count; i++) {
        const int length = (int)strlen(row[i]);
        if (length > width[i]) width[i] = length;
    }
}

/* Without the last columns where a terminal has no space for them. */
static void print_cells(int columns, const cells row, int count, const int width[COLUMNS]) {
    int used = 0;
    for (int i = 0; i < count; i++) {
        used += width[i] + GAP;
        if (used <= columns) printf("%*s", width[i] + GAP, row[i]);
    }
    printf("\n");
}

static void print_errors(const cm_sweep_line *const *order, int count) {
    int failed = 0;
    const cm_sweep_line *first = NULL;
    for (int i = count - 1; i >= 0; i--)
        if (isnan(order[i]->score)) failed++, first = order[i];
    if (failed == 0) return;
    cm_cli_line(4, "%d of %d trials have failed and count as worst; trial %d: %s", failed, count, first->trial,
                CM_PRINTABLE(first->error));
}

static void print_end(const char *folder, const cm_sweep_ledger *ledger, const cm_sweep_line *best) {
    if (best && !isnan(best->score))
        cm_cli_line(4, "best: trial %d with %.2f; cumind train --config %s/best.json", best->trial, best->score,
                    CM_PRINTABLE(folder));
    if (!cm_sweep_ledger_is_whole(ledger))
        cm_cli_line(4, "unfinished; cumind sweep --resume %s goes on with it", CM_PRINTABLE(folder));
}

/* Most important first. */
static void print_importance(const cm_sweep_plan *plan, const double *share) {
    static cm_text line;
    bool is_said[CM_SWEEP_KEYS] = {false};
    cm_text_clear(&line);
    for (int i = 0; i < plan->space.count; i++) {
        int next = -1;
        for (int k = 0; k < plan->space.count; k++)
            if (!is_said[k] && !isnan(share[k]) && (next < 0 || share[k] > share[next])) next = k;
        if (next < 0) break;
        is_said[next] = true;
        cm_text_add(&line, "%s%s %.2f", i ? ", " : "importance: ", plan->space.row[next].key, share[next]);
    }
    if (line.used > 0) cm_cli_line(4, "%s", line.bytes);
}

cm_status cm_sweep_table_print(const cm_view *view, const char *folder, const cm_sweep_plan *plan,
                               const cm_sweep_ledger *ledger, int rows) {
    double share[CM_SWEEP_KEYS];
    const int count = FIXED + plan->space.count, columns = view->tty ? view->columns : MOST_COLUMNS;
    const cm_sweep_line *order[CM_SWEEP_TRIALS];
    const int ranked = cm_sweep_ledger_rank(plan, ledger, order), shown = ranked < rows ? ranked : rows;
    int width[COLUMNS] = {0};
    cells row;
    fill_head(plan, row);
    widen((const char(*)[CELL])row, count, width);
    for (int i = 0; i < shown; i++) {
        fill_row(plan, order[i], row);
        widen((const char(*)[CELL])row, count, width);
    }
    fill_head(plan, row);
    if (ranked > 0) print_cells(columns, (const char(*)[CELL])row, count, width);
    for (int i = 0; i < shown; i++) {
        fill_row(plan, order[i], row);
        print_cells(columns, (const char(*)[CELL])row, count, width);
    }
    if (shown < ranked) printf("%d more; --rows %d shows all\n", ranked - shown, ranked);
    print_errors(order, ranked);
    CM_TRY(cm_sweep_importance(plan, ledger, share));
    print_importance(plan, share);
    print_end(folder, ledger, ranked > 0 ? order[0] : NULL);
    return CM_OK;
}

/* ---- JSON ---- */

static void put_importance(const cm_sweep_plan *plan, const double *share, cm_json_writer *json) {
    cm_json_begin_object(json, "importance");
    for (int i = 0; i < plan->space.count; i++) cm_json_put_double(json, plan->space.row[i].key, share[i]);
    cm_json_end_object(json);
}

static void put_trial(const cm_sweep_plan *plan, const cm_sweep_line *line, cm_json_writer *json) {
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "trial", line->trial);
    cm_json_put_int(json, "rung", line->rung);
    cm_json_put_int(json, "env_steps", line->env_steps);
    cm_json_put_double(json, "score", line->score);
    if (line->error[0]) cm_json_put_string(json, "error", line->error);
    cm_sweep_space_put(&plan->space, plan->seed, line->trial, json, "values");
    cm_json_end_object(json);
}

cm_status cm_sweep_table_json(const char *folder, const cm_sweep_plan *plan, const cm_sweep_ledger *ledger) {
    const cm_sweep_line *order[CM_SWEEP_TRIALS];
    const int ranked = cm_sweep_ledger_rank(plan, ledger, order);
    double share[CM_SWEEP_KEYS];
    cm_json_writer *json;
    CM_TRY(cm_sweep_importance(plan, ledger, share));
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "folder", folder);
    cm_json_put_bool(json, "finished", cm_sweep_ledger_is_whole(ledger));
    put_importance(plan, share, json);
    cm_json_begin_array(json, "trials");
    for (int i = 0; i < ranked; i++) put_trial(plan, order[i], json);
    cm_json_end_array(json);
    cm_json_end_object(json);
    return cm_cli_print(json, CM_OK);
}
