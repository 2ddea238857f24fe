/* cumind search: analyses positions with a run's agent, or runs a reference case of the search. */
#include <stdio.h>

#include "cases/search.h"
#include "cli/interrupt.h"
#include "cli/loaded.h"
#include "cli/positions.h"
#include "cli/search_stdin.h"
#include "cli/search_tree.h"

static cm_status print_result(const cm_search_case *searched) {
    cm_json_writer *writer;
    CM_TRY(cm_json_writer_create(0, &writer));
    cm_search_case_write(searched, writer);
    return cm_cli_print(writer, CM_OK);
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

static cm_status run_case(cm_arguments *arguments, const char *path) {
    bool check = cm_argument_is_set(arguments, "--check");
    cm_search_case *searched;
    cm_pool *pool = NULL;
    int64_t threads = 1;
    CM_TRY(cm_argument_int(arguments, "--threads", 1, 1024, &threads));
    cm_interrupt_ends("search");
    CM_TRY(read_case(path, check, &searched));
    cm_status status = cm_session_pool((int)threads, &pool);
    if (status == CM_OK) status = cm_search_case_run(searched, pool, (int)threads);
    if (status == CM_OK && check) compare(arguments, searched);
    if (status == CM_OK && !check) status = print_result(searched);
    cm_search_case_destroy(searched);
    cm_pool_destroy(pool);
    return status;
}

/* A flag that means nothing with another one is a misunderstanding. */
static cm_status refuse_together(const cm_arguments *arguments, const char *flag, const char *const *others) {
    for (int i = 0; others[i]; i++) {
        if (!cm_argument_is_set(arguments, others[i])) continue;
        return cm_fail(CM_ERR_INPUT, "search: %s does not belong to %s (cumind help search)", others[i], flag);
    }
    return CM_OK;
}

static cm_status run(cm_arguments *arguments) {
    static const char *const of_positions[] = {
        "--run",     "--positions", "--checkpoint", "--simulations", "--seed", "--json", "--set",
        "--backend", "--dtype",     "--tree",       "--sgf",         "--move", NULL};
    static const char *const of_cases[] = {"--check", "--move", NULL}, *const not_of_sgf[] = {"--check", "--positions",
                                                                                              NULL};
    static const char *const not_of_stdin[] = {"--positions", "--sgf", "--move", "--json", "--check", NULL};
    static const char *const of_games[] = {"--move", NULL};
    static const char *const of_answers[] = {"--json", "--check", "--stdin", NULL};
    const char *path = cm_argument(arguments, "--case");
    if (path) {
        CM_TRY(refuse_together(arguments, "--case", of_positions));
        return run_case(arguments, path);
    }
    if (cm_argument_is_set(arguments, "--tree")) {
        CM_TRY(refuse_together(arguments, "--tree", of_answers));
        if (cm_argument_is_set(arguments, "--sgf")) CM_TRY(refuse_together(arguments, "--sgf", not_of_sgf));
        if (!cm_argument_is_set(arguments, "--sgf")) CM_TRY(refuse_together(arguments, "--tree", of_games));
        return cm_cli_search_tree(arguments);
    }
    if (cm_argument_is_set(arguments, "--stdin")) {
        CM_TRY(refuse_together(arguments, "--stdin", not_of_stdin));
        return cm_cli_search_stdin(arguments);
    }
    const bool is_sgf = cm_argument_is_set(arguments, "--sgf");
    if (!is_sgf && !cm_argument_is_set(arguments, "--positions")) {
        return cm_fail(CM_ERR_INPUT, "search: needs --positions FILE, --sgf FILE, --stdin, --tree FILE or --case FILE");
    }
    CM_TRY(refuse_together(arguments, is_sgf ? "--sgf" : "--positions", is_sgf ? not_of_sgf : of_cases));
    return cm_cli_search_positions(arguments);
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    {"--positions", "FILE",
     "A game per line: its actions from the start, by number or name, with commas or blanks between them; - reads "
     "stdin."},
    {"--sgf", "FILE", "Instead of --positions: the position at the end of the main line of a game of go in SGF."},
    {"--move", "N", "Of --sgf: the position after move N; 0: before the first."},
    {"--stdin", NULL, "Answer queries of go in JSON on stdin, by the protocol of KataGo's analysis engine."},
    CM_FLAG_SIMULATIONS,
    {"--json", NULL, "Print one JSON object per line of the file."},
    {"--tree", "FILE",
     "Write the tree of one position, the only line of --positions, that of --sgf or the start, as a page FILE.html, "
     "or as "
     "FILE.json."},
    CM_FLAG_CHECKPOINT,
    {"--seed", "S", "The start of all games is that of seed S (tasks with random starts); 0."},
    {"--set", "KEY=VALUE", "Set one key on top of the run's configuration; may be repeated."},
    CM_FLAGS_MACHINE,
    {"--case", "FILE", "A search case instead: model, noise and options of one batched search."},
    {"--check", NULL, "Compare with the case's `expected`; exit 0 equal, 1 different, 2 bad file."},
    CM_FLAGS_END};

const cm_command cm_command_search = {
    .name = "search",
    .about = "analyse positions with a run's agent, draw a search tree, or run a search case",
    .positional = "",
    .details =
        "With --positions, searches the position at the end of every game of a file, without noise, and shows the "
        "board and the moves by visits: Q and value are seen by the player to move, the prior is the network's "
        "policy.\n"
        "With --json a line is an object {moves (names as numbers), to_play, legal, prior, visits, q, value, action} "
        "whose arrays are over all actions: legal 0 or 1; q 0 where there were no visits; action null after the end of "
        "a game. Where actions are drawn (num_sampled_actions) the prior is their share of the draws, 0 for those that "
        "were not. A line that is not a legal game gets {moves, error}, and the exit status is 1 at the end.\n"
        "With --tree, searches one position and writes the tree to a page that needs no network: N, Q, prior, value, "
        "reward and, where the rules know it, the position of every node. Of more than 10,000 nodes those with the "
        "most "
        "visits are shown, and a page has at most 1 MB.\n"
        "Ctrl-C ends a search where it is: its positions are answered by the simulations so far (a member interrupted "
        "in JSON), and the exit status is 130; a second one ends at once.\n"
        "With --case, runs a reference case of the search and prints the finished tree, or checks it.",
    .flags = flags,
    .examples = "  cumind search --run RUN --positions games.txt --simulations 800 --json\n"
                "  echo 4,0,8 | cumind search --run RUN --positions -    # one position, drawn\n"
                "  echo 4,0 | cumind search --run RUN --positions - --tree tree.html\n"
                "  cumind search --run RUN --sgf game.sgf --move 30    # a game of Go after it\n"
                "  cumind search --check --case FILE    # prints ok, or the first difference\n",
    .run = run};
