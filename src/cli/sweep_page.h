/* A sweep as a page: parallel coordinates of its trials, the importance of its keys, a table. */
#ifndef CM_CLI_SWEEP_PAGE_H
#define CM_CLI_SWEEP_PAGE_H

#include "sweep/ledger.h"

/* Writes it to `path`: one file that asks for nothing else. Errors: CM_ERR_INPUT if no trial has a line yet. */
cm_status cm_sweep_page_write(const cm_sweep_plan *plan, const cm_sweep_ledger *ledger, const char *path) CM_MUST_USE;
#endif
