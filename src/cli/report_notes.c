/* What a reader of a report must know of its runs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "core/log.h"

enum { LINE = 2048 };

static cm_status keep(cm_report *report, const char *line) {
    char **notes = realloc(report->notes, (size_t)(report->note_count + 1) * sizeof *notes);
    if (!notes) return cm_fail(CM_ERR_MEMORY, "no memory for the notes of a report");
    report->notes = notes;
    notes[report->note_count] = strdup(line);
    return notes[report->note_count++] ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a note of a report");
}

cm_status cm_report_note(cm_report *report, const char *format, ...) {
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return keep(report, line);
}

cm_status cm_report_warn(cm_report *report, const char *format, ...) {
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cm_log(CM_WARNING, "%s", line);
    return keep(report, line);
}
