#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/routes.h"

void cm_answer_json(cm_answer *out, cm_json_writer *json) {
    size_t size = 0;
    const char *text = cm_json_writer_text(json, &size);
    out->status = text ? 200 : 503;
    out->text = text ? strndup(text, size) : NULL;
    out->size = out->text ? size : 0;
    out->type = "application/json";
    cm_json_writer_destroy(json);
}

void cm_answer_error(cm_answer *out, int status, const char *format, ...) {
    char message[512];
    cm_json_writer *json = NULL;
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    if (cm_json_writer_create(0, &json) != CM_OK) {
        out->status = 503;
        return;
    }
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "error", message);
    cm_json_end_object(json);
    cm_answer_json(out, json);
    out->status = status;
}

cm_site_run *cm_serve_run(const cm_serve_call *call, cm_answer *out) {
    if (call->number < call->site->count) return &call->site->runs[call->number];
    cm_answer_error(out, 404, "there is no run %d", call->number);
    return NULL;
}
