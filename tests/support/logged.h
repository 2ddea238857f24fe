/* What is logged, kept for a test to read. */
#ifndef TESTS_SUPPORT_LOGGED_H
#define TESTS_SUPPORT_LOGGED_H

#include <stdio.h>
#include <string.h>

#include "core/log.h"

static char logged[4096]; /* the lines since log_keep; what does not fit is left out */

static inline bool log_line(void *context, cm_log_level level, const char *line) {
    (void)context, (void)level;
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
    return true;
}

/* From here on lines are kept, and not shown. */
static inline void log_keep(void) {
    logged[0] = '\0';
    cm_log_set_hook(log_line, NULL);
}

/* They are shown again; those that were kept stay. */
static inline void log_show(void) { cm_log_set_hook(NULL, NULL); }

#endif
