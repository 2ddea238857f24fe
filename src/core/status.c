#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/printable.h"

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

/* Messages quote what users and files say. */
static void keep_message(const char *text) { cm_printable(text, message, sizeof message); }

cm_status cm_fail(cm_status code, const char *format, ...) {
    char text[MESSAGE_BYTES]; /* the arguments may point into the old message */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keep_message(text);
    return code;
}

cm_status cm_fail_in(cm_status code, const char *format, ...) {
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t at = used < 0 ? 0 : (size_t)used < sizeof text ? (size_t)used : sizeof text - 1;
    for (const char *from = *message ? ": " : ""; *from && at + 1 < sizeof text; from++) text[at++] = *from;
    for (const char *from = message; *from && at + 1 < sizeof text; from++) text[at++] = *from;
    text[at] = '\0';
    keep_message(text);
    return code;
}

const char *cm_error_message(void) { return message; }
