/* Checkpoints of a stranger: their checksums are right, what they hold is not. */
#ifndef TESTS_CLI_STRANGE_H
#define TESTS_CLI_STRANGE_H

#include "cli/runs.h"
#include "run/manifest.h"

/* The path of a file of the last checkpoint. */
static inline void file_of(const char *run, const char *name, char path[640]) {
    snprintf(path, 640, "%s/%s/latest/%s", cm_test_folder, run, name);
}

/* Puts data[size] in place of a file of the last checkpoint, and its checksum into the manifest. */
static inline void replace(const char *run, const char *name, const char *data, size_t size) {
    char path[640], folder[640];
    cm_manifest manifest = {0};
    cm_dir dir;
    file_of(run, name, path), file_of(run, "", folder);
    ck_assert_msg(cm_file_write(path, data, size) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_dir_open(&dir, folder) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_manifest_read(&manifest, &dir) == CM_OK, "%s", cm_error_message());
    cm_manifest_file *row = NULL;
    for (int i = 0; i < manifest.count; i++)
        if (strcmp(manifest.file[i].name, name) == 0) row = &manifest.file[i];
    ck_assert_ptr_nonnull(row);
    row->bytes = size;
    cm_hash_bytes(data, size, row->hash);
    ck_assert_msg(cm_manifest_write(&manifest, &dir) == CM_OK, "%s", cm_error_message());
    cm_manifest_reset(&manifest);
    cm_dir_close(&dir);
}

/* One line, that ends with `says`, nothing else, and no memory: the program by itself takes some 20 MiB. */
static inline void expect_refused(const char *arguments, const char *says) {
    run(arguments);
    cm_program_expect_error(&result, 2, says);
    cm_program_expect_memory(&result, 128 << 10);
}

/* Puts the text with `from` changed to `to` in place of state.json of the last checkpoint. */
static inline void change_state(const char *run, const char *text, const char *from, const char *to) {
    char changed[1 << 15];
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s", text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    replace(run, "state.json", changed, strlen(changed));
}

#endif
