#include "cli/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/view.h"
#include "core/file.h"
#include "core/printable.h"
#include "run/directory.h"

enum { CELLS = 6, LISTED = 1024 }; /* cells of a line of the table; bytes of a list of seeds */

/* ---- the list ---- */

static cm_status check_twice(const char *text, const cm_seeds *seeds) {
    for (int i = 0; i < seeds->count; i++)
        for (int j = 0; j < i; j++)
            if (seeds->row[i].seed == seeds->row[j].seed)
                return cm_fail(CM_ERR_INPUT, "--seeds: %lld stands twice in \"%.40s\"", (long long)seeds->row[i].seed,
                               text);
    return CM_OK;
}

cm_status cm_seeds_parse(const char *text, cm_seeds *out) {
    *out = (cm_seeds){.noun = "seed", .member = "train_seed"};
    for (const char *at = text; *at;) {
        char *end = NULL;
        long long first = strtoll(at, &end, 10), last = first;
        if (end != at && *end == '-') {
            const char *second = end + 1;
            last = strtoll(second, &end, 10);
            if (end == second) break;
        }
        if (end == at || first < 0 || last < first || last - first >= CM_SEEDS - out->count || (*end && *end != ','))
            break;
        for (long long s = first; s <= last; s++) out->row[out->count++].seed = s;
        if (*end == '\0') return check_twice(text, out);
        at = end + 1;
    }
    return cm_fail(CM_ERR_INPUT,
                   "--seeds: must be a range or list of at most %d seeds such as 1-5 or 1,4,7, got \"%.40s\"", CM_SEEDS,
                   text);
}

/* ---- folders ---- */

cm_status cm_seeds_folder(const char *directory, int64_t seed, char out[PATH_MAX]) {
    int n = snprintf(out, PATH_MAX, "%s/seed-%lld", directory, (long long)seed);
    return n >= 0 && n < PATH_MAX ? CM_OK : cm_fail(CM_ERR_INPUT, "--run: the path is too long");
}

/* A seed whose folder holds a run: with one that has finished there is nothing to go on with. */
static cm_status refuse(const char *folder, int64_t seed) {
    char report[PATH_MAX];
    CM_TRY(cm_path_join(report, sizeof report, folder, "result.json"));
    if (cm_file_exists(report))
        return cm_fail(CM_ERR_INPUT, "%s: holds a finished run; leave %lld out of --seeds, or choose another --run",
                       folder, (long long)seed);
    return cm_fail(CM_ERR_INPUT,
                   "%s: holds a run already; go on with --resume %s, leave %lld out of --seeds, or choose another "
                   "--run",
                   folder, folder, (long long)seed);
}

cm_status cm_seeds_check_folders(const char *directory, const cm_seeds *seeds) {
    char folder[PATH_MAX];
    if (directory && cm_run_directory_check(directory) == CM_OK)
        return cm_fail(CM_ERR_INPUT, "%s: is a run, and the runs of --seeds go below --run; choose another --run",
                       directory);
    for (int i = 0; directory && i < seeds->count; i++) {
        CM_TRY(cm_seeds_folder(directory, seeds->row[i].seed, folder));
        if (cm_run_directory_check(folder) == CM_OK) return refuse(folder, seeds->row[i].seed);
    }
    return CM_OK;
}

/* ---- the table ---- */

/* A number of the report, for the table or for JSON; there is none of a run that was stopped or wants none. */
static void format_result(const cm_run_result *r, bool json, double value, char out[32]) {
    if (r->evaluated) {
        snprintf(out, 32, json ? "%.9g" : "%.2f", value);
    } else {
        snprintf(out, 32, "%s", json ? "null" : "-");
    }
}

static void print_json(const cm_seed *s) {
    const cm_run_result *r = &s->result;
    char mean[32], std[32];
    format_result(r, true, r->final.mean, mean);
    format_result(r, true, r->final.std, std);
    printf("{\"event\": \"seed\", \"seed\": %lld, \"mean\": %s, \"std\": %s, \"env_steps\": %lld, \"updates\": %lld, "
           "\"seconds\": %.3f}\n",
           (long long)s->seed, mean, std, (long long)r->env_steps, (long long)r->updates, r->seconds);
}

/* A line of the table, without the last cells where a terminal has no space for them. */
static void print_cells(const cm_view *view, const char cells[CELLS][32]) {
    static const int widths[CELLS] = {8, 11, 11, 11, 11, 10};
    int width = 0;
    for (int i = 0; i < CELLS; i++) {
        width += widths[i];
        if (!view->tty || width <= view->columns) printf("%*s", widths[i], cells[i]);
    }
    printf("\n");
}

static void print_row(const cm_view *view, const cm_seed *s) {
    const cm_run_result *r = &s->result;
    char cells[CELLS][32];
    snprintf(cells[0], 32, "%lld", (long long)s->seed);
    format_result(r, false, r->final.mean, cells[1]);
    format_result(r, false, r->final.std, cells[2]);
    snprintf(cells[3], 32, "%lld", (long long)r->env_steps);
    snprintf(cells[4], 32, "%lld", (long long)r->updates);
    snprintf(cells[5], 32, "%.1f", r->seconds);
    print_cells(view, (const char(*)[32])cells);
}

/* Which runs an interrupt has left unfinished, and the seeds that were not begun, as --seeds takes them. */
static void print_stopped(const cm_seeds *seeds) {
    char list[LISTED] = "";
    size_t used = 0;
    int left = 0;
    for (int i = 0; i < seeds->count; i++) {
        const cm_seed *s = &seeds->row[i];
        if (s->is_made && s->result.end == CM_RUN_STOPPED)
            printf("stopped: seed %lld is unfinished; --resume %s goes on with it\n", (long long)s->seed,
                   CM_PRINTABLE(s->folder));
        if (s->is_begun) continue;
        const int n = snprintf(list + used, sizeof list - used, "%s%lld", left++ ? "," : "", (long long)s->seed);
        used += n > 0 && used + (size_t)n < sizeof list ? (size_t)n : 0;
    }
    if (left > 0) printf("stopped: %d of %d seeds were not begun; --seeds %s trains those\n", left, seeds->count, list);
}

void cm_seeds_say(const cm_arguments *arguments, const cm_seeds *seeds) {
    static const char head[CELLS][32] = {"seed", "mean", "std", "env steps", "updates", "seconds"};
    const bool json = cm_argument_is_set(arguments, "--json");
    const cm_view view = cm_view_of_stdout(arguments);
    int made = 0;
    if (cm_argument_is_set(arguments, "--quiet")) return;
    for (int i = 0; i < seeds->count; i++) {
        if (!seeds->row[i].is_made) continue;
        if (!json && made++ == 0) {
            printf("\n");
            print_cells(&view, head);
        }
        if (json) {
            print_json(&seeds->row[i]);
        } else {
            print_row(&view, &seeds->row[i]);
        }
    }
    if (!json) print_stopped(seeds);
}

/* ---- errors ---- */

cm_status cm_seeds_verdict(const cm_seeds *seeds) {
    const cm_seed *first = NULL;
    bool is_of_all = true;
    for (int i = 0; i < seeds->count; i++) {
        const cm_seed *s = &seeds->row[i];
        if (s->is_begun && s->code == 0) is_of_all = false;
        if (s->code == 0) continue;
        if (!first) first = s;
        if (strcmp(s->error, first->error) != 0) {
            is_of_all = false;
            cm_cli_say("cumind: %s %lld: %s", seeds->noun, (long long)s->seed, s->error);
        }
    }
    if (!first) return CM_OK;
    const cm_status status = first->code == CM_EXIT_USAGE ? CM_ERR_INPUT : CM_ERR_STATE;
    if (is_of_all) return cm_fail(status, "%s", first->error);
    return cm_fail(status, "%s %lld: %s", seeds->noun, (long long)first->seed, first->error);
}
