/* cumind search: runs a reference case of the search. */
#include <stdio.h>

#include "cli/output.h"
#include "mcts/case.h"

static cm_status print_result(const cm_search_case *searched) {
    cm_json_writer *writer;
    CM_TRY(cm_json_writer_create(0, &writer));
    cm_search_case_write(searched, writer);
    cm_status status = cm_cli_print(writer);
    cm_json_writer_destroy(writer);
    return status;
}

static void compare(cm_arguments *arguments, const cm_search_case *searched) {
    char first[256];
    int64_t differ = cm_search_case_compare(searched, first, sizeof first);
    if (differ == 0) {
        printf("ok\n");
    } else {
        printf("%s\n%lld numbers differ\n", first, (long long)differ);
        arguments->verdict = 1;
    }
}

/* A case that cannot be read is the user's mistake, whatever the reason. */
static cm_status read_case(const char *path, bool check, cm_search_case **out) {
    cm_status status = cm_search_case_read(path, check, out);
    return status == CM_ERR_IO ? cm_fail(CM_ERR_INPUT, "%s", cm_error_message()) : status;
}

static cm_status run(cm_arguments *arguments) {
    const char *path = cm_argument(arguments, "--case");
    bool check = cm_argument_given(arguments, "--check");
    cm_search_case *searched;
    cm_pool *pool = NULL;
    int64_t threads = 1;
    if (!path) return cm_fail(CM_ERR_INPUT, "search: --case FILE is missing");
    CM_TRY(cm_argument_int(arguments, "--threads", 1, 1024, &threads));
    CM_TRY(read_case(path, check, &searched));
    cm_status status = cm_pool_create((int)threads, &pool);
    if (status == CM_OK) status = cm_search_case_run(searched, pool, (int)threads);
    if (status == CM_OK && check) compare(arguments, searched);
    if (status == CM_OK && !check) status = print_result(searched);
    cm_search_case_destroy(searched);
    cm_pool_destroy(pool);
    return status;
}

static const cm_flag flags[] = {
    {"--case", "FILE", "A search case: model, noise and options of one batched search."},
    {"--check", NULL, "Compare with the case's `expected`; exit 0 equal, 1 different, 2 bad file."},
    {"--threads", "N", "Workers that share the roots; the result does not depend on it."},
    CM_FLAGS_END};

const cm_command cm_command_search = {.name = "search",
                                      .about = "run a search case and print the finished tree, or check it",
                                      .positional = "",
                                      .details = "",
                                      .flags = flags,
                                      .examples =
                                          "cumind search --case FILE --check    # prints ok, or the first difference\n",
                                      .run = run};
