/* Commands of the program in the tests' folder, and what runs leave there. */
#ifndef TESTS_CLI_RUNS_H
#define TESTS_CLI_RUNS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

/* A run of a quarter of a second: 1,024 steps, a checkpoint every 40 updates. */
#define SMALL                                                                                                          \
    " --set env_steps=1024 --set min_memory_steps=256 --set checkpoint_updates=40 --set final_evaluation_episodes=4"   \
    " --set evaluation_interval=512 --set evaluation_episodes=4 --set hidden_dim=32 --set batch_size=32"               \
    " --set replay_ratio=8"

static cm_output result;
static char reference[64]; /* hash of the unbroken small run */

static inline void run(const char *arguments) { cm_program_run(cm_test_folder, arguments, &result); }

static inline void expect_ok(const char *arguments) {
    run(arguments);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

/* The parameter hash in DIR/result.json. */
static inline void hash_of(const char *dir, char hash[64]) {
    char path[640];
    cm_json_doc *doc = NULL;
    snprintf(path, sizeof path, "%s/%s/result.json", cm_test_folder, dir);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    const char *text = cm_json_string(cm_json_get(cm_json_root(doc), "parameter_hash"));
    ck_assert_ptr_nonnull(text);
    snprintf(hash, 64, "%s", text);
    cm_json_free(doc);
}

static inline void expect_reference(const char *dir) {
    char hash[64];
    hash_of(dir, hash);
    ck_assert_str_eq(hash, reference);
}

/* Waits until a started program has made the folder of its run. */
static inline void await_run(const char *dir) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s/README.md", cm_test_folder, dir);
    for (int i = 0; i < 20000 && !cm_file_exists(path); i++) usleep(1000);
    ck_assert_msg(cm_file_exists(path), "%s was never begun", dir);
}

/* Waits until a started program has said `text` in a file of the folder, out.txt or err.txt. */
static inline void await_text(const char *name, const char *text) {
    static char said[65536];
    said[0] = '\0';
    for (int i = 0; i < 30000 && !strstr(said, text); i++) {
        cm_program_file(cm_test_folder, name, said, sizeof said);
        usleep(1000);
    }
    ck_assert_msg(strstr(said, text) != NULL, "%s: %s", text, said);
}

static inline void expect_exit(const char *arguments, int status, const char *text) {
    run(arguments);
    cm_program_expect_error(&result, status, text);
}

static inline double number_in(const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(result.out, quoted);
    ck_assert_msg(at != NULL, "%s is missing: %s", key, result.out);
    return strtod(at + strlen(quoted), NULL);
}

#endif
