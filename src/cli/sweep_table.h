/* What a sweep has found, for people and as JSON. */
#ifndef CM_CLI_SWEEP_TABLE_H
#define CM_CLI_SWEEP_TABLE_H

#include "cli/view.h"
#include "sweep/ledger.h"

/* Prints a table of at most `rows` trials, best first, and below it what the best one is, or how to go on. */
void cm_sweep_table_print(const cm_view *view, const char *folder, const cm_sweep_plan *plan,
                          const cm_sweep_ledger *ledger, int rows);

/* Prints all of it as one JSON object. */
cm_status cm_sweep_table_json(const char *folder, const cm_sweep_plan *plan, const cm_sweep_ledger *ledger) CM_MUST_USE;
#endif
