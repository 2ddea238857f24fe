/* The strict half of the JSON reader: decides whether a text is JSON at all, and where it is not. Internal to core/. */
#ifndef CM_CORE_JSON_SCAN_H
#define CM_CORE_JSON_SCAN_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_json_lines {
    int *line;    /* of each value, in the order of the text; owned, free() */
    size_t count; /* values */
    size_t capacity;
} cm_json_lines;

/* Checks that text[size] is one JSON value (RFC 8259) in valid UTF-8 and notes the line on which each value starts.
 * Beyond the standard refused: nesting deeper than CM_JSON_DEPTH, the escape \u0000 (C strings end there), numbers of
 * more than 60 characters. `name` prefixes errors: "NAME:LINE: what"; the text starts on line `first`. Errors:
 * CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_json_scan(const char *text, size_t size, const char *name, int first, cm_json_lines *lines) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
