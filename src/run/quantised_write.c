/* The folder of a run whose weights are of 8 bits. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "run/directory.h"
#include "run/quantised.h"
#include "run/weights.h"

/* What is known of the run that the weights are of. */
typedef struct original {
    const cm_quantised_run *run;
    cm_json_doc *state; /* owned, as is the text */
    char *config;
    int64_t update;
} original;

static cm_status read_state(void *context, cm_checkpoint_reader *reader) {
    original *o = context;
    return cm_checkpoint_get_json(reader, CM_FILE_STATE, &o->state);
}

static cm_status read_original(original *o) {
    char path[PATH_MAX];
    size_t size = 0;
    cm_checkpoint_store *store = NULL;
    const cm_checkpoint_part part = {.name = "the counters", .context = o, .load = read_state};
    CM_TRY(cm_path_join(path, sizeof path, o->run->from, "config.json"));
    CM_TRY(cm_file_read(path, CM_JSON_SMALL, &o->config, &size));
    CM_TRY(cm_checkpoint_store_create(o->run->from, 1, NULL, &store));
    cm_status status = cm_checkpoint_load(store, o->run->checkpoint, &part, 1, &o->update);
    cm_checkpoint_store_destroy(store);
    return status;
}

static cm_status save(void *context, cm_checkpoint_writer *writer) {
    const original *o = context;
    const cm_quantised_run *r = o->run;
    const cm_quantised_source source = {r->network, r->parameters, r->state, r->ranges, cm_json_root(o->state)};
    return cm_quantised_put(&source, writer);
}

static cm_status write_folder(const cm_run_directory *directory, original *o) {
    cm_checkpoint_store *store = NULL;
    const cm_checkpoint_part part = {.name = "the weights", .context = o, .save = save};
    CM_TRY(cm_checkpoint_store_create(directory->path, 1, NULL, &store));
    cm_status status = cm_checkpoint_save(store, o->update, &part, 1);
    cm_checkpoint_store_destroy(store);
    return status == CM_OK ? cm_run_directory_begin(directory, o->config) : status;
}

static cm_status write_new(original *o) {
    char message[1024];
    cm_run_directory directory;
    CM_TRY(cm_run_directory_create(&directory, o->run->to));
    cm_status status = write_folder(&directory, o);
    cm_run_directory_close(&directory);
    if (status == CM_OK) return CM_OK;
    snprintf(message, sizeof message, "%s", cm_error_message());
    cm_status removed = cm_run_directory_discard(&directory);
    return removed == CM_OK ? cm_fail(status, "%s", message) : removed;
}

cm_status cm_quantised_write(const cm_quantised_run *run) {
    original o = {.run = run};
    if (cm_file_is_named(run->to)) return cm_fail(CM_ERR_INPUT, "%s: is there already; choose another folder", run->to);
    cm_status status = read_original(&o);
    if (status == CM_OK) status = write_new(&o);
    cm_json_free(o.state);
    free(o.config);
    return status;
}
