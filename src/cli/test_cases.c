/* cumind test-cases: runs every reference case below a folder, whatever its kind. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/backend.h"
#include "cases/env.h"
#include "cases/mctx_tree.h"
#include "cases/replay.h"
#include "cases/search.h"
#include "cases/trainer.h"
#include "cli/output.h"
#include "core/file.h"
#include "core/printable.h"

enum { BACKENDS = 8, DEPTH = 16, PATH = 4096 };

/* One backend of the list; `backend` NULL: it does not work here. */
typedef struct bench_backend {
    const char *name;
    cm_backend *backend;
    cm_stream *stream;
} bench_backend;

typedef struct driver {
    bench_backend backends[BACKENDS];
    int backend_count;
    bool wanted[CM_PRODUCT_TYPES]; /* types asked for */
    cm_pool *pool;
    int threads;
    bool quiet;
    int passed, failed, skipped;
} driver;

/* ---- results ---- */

static void passed(driver *d, const char *path, const char *where) {
    d->passed++;
    if (!d->quiet) printf("ok    %s%s%s\n", CM_PRINTABLE(path), *where ? " " : "", CM_PRINTABLE(where));
}

static void failed(driver *d, const char *path, const char *where, const char *what) {
    d->failed++;
    printf("FAIL  %s%s%s: %s\n", CM_PRINTABLE(path), *where ? " " : "", CM_PRINTABLE(where), CM_PRINTABLE(what));
}

/* A case that could not be run; its message often names the file already. */
static void broken(driver *d, const char *path, const char *where) { failed(d, path, where, cm_error_message()); }

/* ---- kinds ---- */

static void compare_search(driver *d, const char *path, const char *where, cm_status status,
                           const cm_search_case *searched) {
    char first[256];
    if (status != CM_OK) {
        broken(d, path, where);
    } else if (cm_search_case_compare(searched, first, sizeof first) != 0) {
        failed(d, path, where, first);
    } else {
        passed(d, path, where);
    }
}

/* On the host, and wherever trees may lie on a device. */
static void run_search(driver *d, const char *path) {
    cm_search_case *searched;
    if (cm_search_case_read(path, true, &searched) != CM_OK) {
        broken(d, path, "");
        return;
    }
    compare_search(d, path, "", cm_search_case_run(searched, d->pool, d->threads), searched);
    for (int i = 0; i < d->backend_count; i++) {
        const cm_backend *backend = d->backends[i].backend;
        if (!backend || !backend->kind->search_kernels) continue;
        cm_device_place place = {backend->device, backend->kind->search_kernels};
        compare_search(d, path, backend->kind->name, cm_search_case_run_on(searched, &place), searched);
    }
    cm_search_case_destroy(searched);
}

static void run_mctx_tree(driver *d, const char *path) {
    char first[256];
    int64_t different;
    if (cm_mctx_tree_check(path, d->pool, d->threads, &different, first, sizeof first) != CM_OK) {
        broken(d, path, "");
    } else if (different) {
        failed(d, path, "", first);
    } else {
        passed(d, path, "");
    }
}

static void run_environment(driver *d, const char *path, const cm_json *root) {
    cm_env_case_report report;
    if (cm_env_case_run(root, path, &report) != CM_OK) {
        broken(d, path, "");
    } else if (!report.ok) {
        failed(d, path, "", report.message);
    } else {
        d->passed++;
        if (!d->quiet) {
            printf("ok    %s: %d %s, worst error %.2g\n", CM_PRINTABLE(path), report.items,
                   report.games ? "games" : "episodes", report.worst);
        }
    }
}

/* CuMind's own configuration must be accepted as it is. */
static void run_configuration(driver *d, const char *path) {
    cm_configuration configuration;
    cm_config *config = NULL;
    if (cm_configuration_load(path, NULL, 0, &configuration, &config) != CM_OK) {
        broken(d, path, "");
    } else {
        passed(d, path, "");
    }
    cm_config_destroy(config);
}

/* One run of a learning case. `b` NULL: the kind has nothing to do with a backend. */
static void run_learning_once(driver *d, const char *path, const cm_json *root, const bench_backend *b,
                              cm_dtype dtype) {
    const char *kind = cm_json_string(cm_json_get(root, "kind"));
    char where[64] = "";
    cm_case_report report;
    if (b) snprintf(where, sizeof where, "%s %s", b->name, cm_dtype_name(dtype));
    if (b && !b->backend) {
        d->skipped++;
        return;
    }
    cm_status status = cm_case_begin(&report, root, cm_dtype_name(dtype));
    if (status == CM_OK && cm_replay_case_knows(kind)) {
        status = cm_replay_case_run(root, &report);
    } else if (status == CM_OK && b && cm_trainer_case_knows(kind)) {
        status = cm_trainer_case_run(root, b->backend, d->pool, dtype, &report);
    } else if (status == CM_OK) {
        status = cm_backend_case_run(root, b ? b->stream : NULL, dtype, &report);
    }
    if (status == CM_OK) status = cm_case_end(&report);
    if (status != CM_OK) {
        broken(d, path, where);
    } else if (!report.ok) {
        failed(d, path, where, report.message);
    } else {
        passed(d, path, where);
    }
}

/* In a type of 16 bits, if it is asked for and the case has it; float16 only where it is native. */
static bool run_narrow(driver *d, const char *path, const cm_json *root, const bench_backend *b, cm_dtype type) {
    const bool can = type != CM_F16 || !b->backend || b->backend->native[type];
    const bool runs = d->wanted[type] && can && cm_case_has_dtype(root, cm_dtype_name(type));
    if (runs) run_learning_once(d, path, root, b, type);
    return runs;
}

static void run_learning(driver *d, const char *path, const cm_json *root) {
    const char *kind = cm_json_string(cm_json_get(root, "kind"));
    bool trainer = kind && cm_trainer_case_knows(kind), alone = kind && cm_replay_case_knows(kind);
    if (!kind || (!trainer && !alone && !cm_backend_case_known(kind))) {
        failed(d, path, "", kind ? "unknown kind of learning case" : "kind: missing");
        return;
    }
    if (alone || (!trainer && !cm_backend_case_uses_backend(kind))) {
        run_learning_once(d, path, root, NULL, CM_F32);
        return;
    }
    for (int i = 0; i < d->backend_count; i++) {
        const bench_backend *b = &d->backends[i];
        bool ran = false;
        for (int type = CM_PRODUCT_TYPES - 1; type > CM_F32; type--)
            ran = run_narrow(d, path, root, b, (cm_dtype)type) || ran;
        if (d->wanted[CM_F32] || !ran) run_learning_once(d, path, root, b, CM_F32);
    }
}

/* ---- files ---- */

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void run_file(driver *d, const char *path) {
    cm_json_doc *doc;
    if (ends_with(path, "cumind/configuration.json")) {
        run_configuration(d, path);
        return;
    }
    if (cm_json_read(path, &doc) != CM_OK) {
        broken(d, path, "");
        return;
    }
    const cm_json *root = cm_json_root(doc);
    const char *format = cm_json_string(cm_json_get(root, "format"));
    if (!format && cm_json_get(root, "algorithm") && cm_json_get(root, "tree")) {
        run_mctx_tree(d, path);
    } else if (format && strcmp(format, "cumind-search-case-1") == 0) {
        run_search(d, path);
    } else if (cm_env_case_is(root)) {
        run_environment(d, path, root);
    } else if (format && strcmp(format, "cumind-learning-case-1") == 0) {
        run_learning(d, path, root);
    } else {
        failed(d, path, "", format ? "unknown format" : "format: missing");
    }
    cm_json_free(doc);
}

static int is_case_name(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Every *.json below `folder`, in the order of names. */
static cm_status run_folder(driver *d, const char *folder, int depth) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_case_name, alphasort);
    if (count < 0) return cm_fail(CM_ERR_INPUT, "%s: cannot be read as a folder", folder);
    cm_status status = CM_OK;
    for (int i = 0; i < count; i++) {
        char path[PATH];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (status != CM_OK || length >= PATH) continue;
        if (cm_file_is_directory(path)) {
            if (depth < DEPTH) status = run_folder(d, path, depth + 1);
        } else if (ends_with(path, ".json")) {
            run_file(d, path);
        }
    }
    free(entries);
    return status;
}

/* ---- the command ---- */

static cm_status open_backend(driver *d, const char *name, bool asked) {
    bench_backend *b = &d->backends[d->backend_count++];
    b->name = name;
    cm_status status = cm_backend_open(name, &b->backend);
    if (status == CM_OK) status = cm_stream_open(b->backend, &b->stream);
    if (status == CM_OK || (!asked && status == CM_ERR_ABSENT)) return CM_OK;
    return status;
}

static cm_status open_backends(driver *d, const char *asked) {
    if (asked) return open_backend(d, asked, true);
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind && d->backend_count < BACKENDS; kind++) {
        CM_TRY(open_backend(d, (*kind)->name, false));
    }
    return CM_OK;
}

static cm_status prepare(driver *d, const cm_arguments *arguments) {
    const char *dtype = cm_argument(arguments, "--dtype");
    int64_t threads = cm_cpu_count();
    CM_TRY(cm_argument_int(arguments, "--threads", 1, 1024, &threads));
    bool known = !dtype;
    for (int type = CM_F32; type < CM_PRODUCT_TYPES; type++) {
        d->wanted[type] = !dtype || strcmp(dtype, cm_dtype_name((cm_dtype)type)) == 0;
        known = known || d->wanted[type];
    }
    if (!known) return cm_fail(CM_ERR_INPUT, "--dtype %s: must be float32, bfloat16 or float16", dtype);
    d->quiet = cm_argument_is_set(arguments, "--quiet");
    d->threads = (int)threads;
    CM_TRY(cm_session_pool(d->threads, &d->pool));
    return open_backends(d, cm_argument(arguments, "--backend"));
}

static void finish(driver *d) {
    for (int i = 0; i < d->backend_count; i++) {
        cm_stream_close(d->backends[i].stream);
        cm_backend_close(d->backends[i].backend);
    }
    cm_pool_destroy(d->pool);
}

static cm_status run(cm_arguments *arguments) {
    driver d = {0};
    if (arguments->positional_count != 1) return cm_fail(CM_ERR_INPUT, "test-cases: give one folder of cases");
    cm_status status = prepare(&d, arguments);
    if (status == CM_OK) status = run_folder(&d, arguments->positional[0], 0);
    finish(&d);
    CM_TRY(status);
    if (d.passed + d.failed + d.skipped == 0) {
        return cm_fail(CM_ERR_IO, "%s: there is no case in it", arguments->positional[0]);
    }
    printf("%d passed, %d failed", d.passed, d.failed);
    if (d.skipped) printf(", %d skipped", d.skipped);
    printf("\n");
    arguments->verdict = d.failed ? 1 : 0;
    return CM_OK;
}

static const cm_flag flags[] = {{"--backend", "NAME", "Only this backend; without it every one that works here."},
                                {"--dtype", "TYPE", "float32, bfloat16 or float16; without it all that a case has."},
                                {"--threads", "N", "Worker threads; results do not depend on it."},
                                {"--quiet", NULL, "Print no lines for cases that pass."},
                                CM_FLAGS_END};

const cm_command cm_command_test_cases = {
    .name = "test-cases",
    .about = "run the reference cases below a folder: searches, environments, learning",
    .positional = "DIR",
    .details = "",
    .flags = flags,
    .examples = "  cumind test-cases tests/cases --quiet    # only failures and the count\n",
    .run = run};
