/* What a sweep has found, for people and as JSON. */
#ifndef CM_CLI_SWEEP_TABLE_H
#define CM_CLI_SWEEP_TABLE_H

#include "cli/view.h"
#include "sweep/ledger.h"

/* Prints a table of at most `rows` trials, best first, and below it the importance of the keys, what the best trial is,
 * and how to go on. Errors: CM_ERR_MEMORY. */
cm_status cm_sweep_table_print(const cm_view *view, const char *folder, const cm_sweep_plan *plan,
                               const cm_sweep_ledger *ledger, int rows) CM_MUST_USE;

/* Prints all of it as one JSON object, a line. */
cm_status cm_sweep_table_json(const char *folder, const cm_sweep_plan *plan, const cm_sweep_ledger *ledger) CM_MUST_USE;
#endif
