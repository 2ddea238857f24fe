/* cumind search: runs a reference case of the search. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "mcts/case.h"

static int write_result(const cm_search_case *searched) {
    cm_json_writer *writer;
    cm_status status = cm_json_writer_create(0, &writer);
    if (status != CM_OK) return cm_cli_fail(status);
    cm_search_case_write(searched, writer);
    return cm_cli_print_json(writer);
}

static int compare(const cm_search_case *searched) {
    char first[256];
    int64_t differ = cm_search_case_compare(searched, first, sizeof first);
    if (differ == 0) {
        printf("ok\n");
        return 0;
    }
    printf("%s\n%lld numbers differ\n", first, (long long)differ);
    return 1;
}

static int run(const cm_arguments *arguments) {
    const char *path = cm_arguments_get(arguments, "case");
    bool check = cm_arguments_has(arguments, "check");
    cm_search_case *searched;
    int64_t threads;
    if (!path) return cm_cli_fail(cm_fail(CM_ERR_INPUT, "search: --case FILE is missing"));
    cm_status status = cm_arguments_int(arguments, "threads", 1, 1024, 1, &threads);
    if (status != CM_OK) return cm_cli_fail(status);
    status = cm_search_case_read(path, check, &searched);
    if (status != CM_OK) {
        cm_cli_fail(status);
        return 2;
    }
    cm_pool *pool = NULL;
    status = cm_pool_create((int)threads, &pool);
    if (status == CM_OK) status = cm_search_case_run(searched, pool, (int)threads);
    int result = status != CM_OK ? cm_cli_fail(status) : check ? compare(searched) : write_result(searched);
    cm_search_case_destroy(searched);
    cm_pool_destroy(pool);
    return result;
}

static const cm_flag flags[] = {
    {"case", "FILE", "A search case: model, noise and options of one batched search."},
    {"check", NULL, "Compares with the case's `expected`; exit 0 equal, 1 different, 2 bad file."},
    {"threads", "N", "Workers that share the roots; the result does not depend on it."},
};

const cm_command cm_command_search = {.name = "search",
                                      .operands = "",
                                      .about = "Runs a search case and prints the finished tree, or checks it.",
                                      .flags = flags,
                                      .flag_count = 3,
                                      .run = run};
