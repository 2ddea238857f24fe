/* Whether the runs of a report were trained in the same way: their configurations but for what no result depends on. */
#ifndef CM_CLI_REPORT_RECIPES_H
#define CM_CLI_REPORT_RECIPES_H

#include "cli/report.h"
#include "run/configuration.h"

/* The configuration of a run. */
typedef struct cm_report_recipe {
    cm_configuration values;
    cm_config *config;         /* of `values`, owned; NULL: none */
    char path[CM_OPTION_TEXT]; /* of the run, as far as messages show it */
} cm_report_recipe;

/* The first of each game; a zeroed struct is empty. */
typedef struct cm_report_recipes {
    cm_report_recipe *first[CM_SUITE_GAMES]; /* owned; NULL: none yet */
    bool is_told[CM_SUITE_GAMES];            /* that runs of the game differ */
} cm_report_recipes;

/* Reads the config.json of a run. Errors: CM_ERR_INPUT "FILE:LINE: ...", CM_ERR_IO, CM_ERR_MEMORY. */
cm_status cm_report_recipe_read(const char *run, cm_report_recipe **out) CM_MUST_USE;
void cm_report_recipe_free(cm_report_recipe *recipe); /* NULL is allowed */

/* Takes a recipe over; once per game it notes that it is another than that of the game's first run. */
cm_status cm_report_recipes_add(cm_report_recipes *recipes, cm_report *report, int game,
                                cm_report_recipe *recipe) CM_MUST_USE;

/* Notes the keys that differ between games. */
cm_status cm_report_recipes_compare(const cm_report_recipes *recipes, cm_report *report) CM_MUST_USE;
void cm_report_recipes_free(cm_report_recipes *recipes);
#endif
