/* cumind devices: which backends work here. */
#include <stdio.h>

#include "backend/backend.h"
#include "cli/output.h"

static void describe(const cm_backend_class *kind) {
    cm_backend *backend;
    if (cm_backend_open(kind->name, &backend) != CM_OK) {
        cm_cli_line(17, "%-5s absent     %s", kind->name, cm_error_message());
        return;
    }
    cm_cli_line(17, "%-5s available  %s; %d threads; bfloat16 %s, float16 %s", kind->name, cm_backend_describe(backend),
                cm_cpu_count(), backend->native[CM_BF16] ? "native" : "computed in float32",
                backend->native[CM_F16] ? "native" : "not possible");
    cm_backend_close(backend);
}

static void describe_json(cm_json_writer *writer, const cm_backend_class *kind) {
    cm_backend *backend;
    bool here = cm_backend_open(kind->name, &backend) == CM_OK;
    cm_json_begin_object(writer, NULL);
    cm_json_put_string(writer, "name", kind->name);
    cm_json_put_bool(writer, "available", here);
    cm_json_put_string(writer, "about", here ? cm_backend_describe(backend) : cm_error_message());
    cm_json_put_bool(writer, "bfloat16", here && backend->native[CM_BF16]);
    cm_json_put_bool(writer, "float16", here && backend->native[CM_F16]);
    cm_json_put_int(writer, "threads", cm_cpu_count());
    cm_json_end_object(writer);
    if (here) cm_backend_close(backend);
}

static cm_status run(cm_arguments *arguments) {
    const cm_backend_class *const *kind = cm_backend_classes();
    if (!cm_argument_is_set(arguments, "--json")) {
        for (; *kind; kind++) describe(*kind);
        return CM_OK;
    }
    cm_json_writer *writer;
    CM_TRY(cm_json_writer_create(0, &writer));
    cm_json_begin_array(writer, NULL);
    for (; *kind; kind++) describe_json(writer, *kind);
    cm_json_end_array(writer);
    return cm_cli_print(writer, CM_OK);
}

static const cm_flag flags[] = {CM_FLAG_JSON, CM_FLAGS_END};

const cm_command cm_command_devices = {.name = "devices",
                                       .about = "list the backends and whether they work on this machine",
                                       .positional = "",
                                       .details = "",
                                       .flags = flags,
                                       .examples = "",
                                       .run = run};
