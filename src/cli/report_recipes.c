#include "cli/report_recipes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "run/progress.h"

enum { LINE = 512, MOST_VALUES = 3 /* that a note shows; of the other keys it has the names */ };

/* ---- one run's ---- */

void cm_report_recipe_free(cm_report_recipe *recipe) {
    if (recipe) cm_config_destroy(recipe->config);
    free(recipe);
}

static cm_status read_into(const char *run, cm_report_recipe *recipe) {
    char path[PATH_MAX];
    CM_TRY(cm_path_join(path, sizeof path, run, "config.json"));
    CM_TRY(cm_configuration_create(&recipe->values, &recipe->config));
    return cm_config_read(recipe->config, path);
}

cm_status cm_report_recipe_read(const char *run, cm_report_recipe **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "the configuration of a run"));
    snprintf((*out)->path, sizeof(*out)->path, "%s", cm_format_end(run, CM_OPTION_TEXT - 1));
    const cm_status status = read_into(run, *out);
    if (status == CM_OK) return CM_OK;
    cm_report_recipe_free(*out);
    *out = NULL;
    return status;
}

/* ---- differences ---- */

/* Where results come from the same recipe whatever it says: the machine, what is written, and what a report is of. */
static bool is_aside(const cm_config_difference *row) {
    static const char *const sections[] = {"Device", "Logging"};
    static const char *const keys[] = {"seed",
                                       "env_name",
                                       "checkpoint_root_dir",
                                       "checkpoint_interval",
                                       "checkpoint_updates",
                                       "keep_checkpoints",
                                       "evaluation_gifs",
                                       "prefetch_depth",
                                       "prefetch_threads",
                                       "env_timeout"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(row->section, sections[i]) == 0) return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(row->key, keys[i]) == 0) return true;
    return false;
}

/* "learning_rate 0.1 (not 0.2), batch_size", as far as it finds space; "" if there is none. */
static cm_status describe(const cm_report_recipe *before, const cm_report_recipe *after, char out[LINE]) {
    cm_config_difference *rows = NULL;
    int count = 0, told = 0;
    size_t used = 0;
    out[0] = '\0';
    CM_TRY(cm_config_compare(before->config, after->config, &rows, &count));
    for (int i = 0; i < count && used < LINE; i++) {
        if (is_aside(&rows[i])) continue;
        used += (size_t)snprintf(out + used, LINE - used, "%s%s", used ? ", " : "", rows[i].key);
        if (told++ < MOST_VALUES && used < LINE)
            used += (size_t)snprintf(out + used, LINE - used, " %s (not %s)", rows[i].after, rows[i].before);
    }
    free(rows);
    return CM_OK;
}

cm_status cm_report_recipes_add(cm_report_recipes *recipes, cm_report *report, int game, cm_report_recipe *recipe) {
    cm_report_recipe **first = &recipes->first[game];
    char differences[LINE] = "";
    if (!*first) {
        *first = recipe;
        return CM_OK;
    }
    cm_status status = recipes->is_told[game] ? CM_OK : describe(*first, recipe, differences);
    if (status == CM_OK && *differences) {
        recipes->is_told[game] = true;
        status = cm_report_warn(report, "%s: its runs are of different recipes: %s has %s; %s has the others",
                                report->suite->games[game], recipe->path, differences, (*first)->path);
    }
    cm_report_recipe_free(recipe);
    return status;
}

/* Adds the keys of one comparison that the list does not have yet. */
static cm_status add_keys(const cm_report_recipe *before, const cm_report_recipe *after, char list[LINE]) {
    cm_config_difference *rows = NULL;
    char word[CM_OPTION_WORD + 4];
    int count = 0;
    CM_TRY(cm_config_compare(before->config, after->config, &rows, &count));
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(list);
        snprintf(word, sizeof word, " %s,", rows[i].key);
        if (!is_aside(&rows[i]) && !strstr(list, word)) snprintf(list + used, LINE - used, "%s", word);
    }
    free(rows);
    return CM_OK;
}

cm_status cm_report_recipes_compare(const cm_report_recipes *recipes, cm_report *report) {
    const cm_report_recipe *base = NULL;
    char list[LINE] = "";
    for (int g = 0; g < report->suite->game_count; g++) {
        const cm_report_recipe *of_game = recipes->first[g];
        if (base && of_game) CM_TRY(add_keys(base, of_game, list));
        if (!base) base = of_game;
    }
    if (!*list) return CM_OK;
    list[strlen(list) - 1] = '\0'; /* the last comma */
    return cm_report_note(report, "games have recipes of their own, which differ in%s", list);
}

void cm_report_recipes_free(cm_report_recipes *recipes) {
    for (int g = 0; g < CM_SUITE_GAMES; g++) cm_report_recipe_free(recipes->first[g]);
}
