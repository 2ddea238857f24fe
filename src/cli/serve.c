/* cumind serve: runs in a browser. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/output.h"
#include "core/file.h"
#include "core/log.h"
#include "core/printable.h"
#include "env/trust.h"
#include "serve/routes.h"

enum { PORT = 8265, NICER = 10 };

static cm_status check_folders(const cm_arguments *arguments) {
    for (int i = 0; i < arguments->positional_count; i++)
        if (!cm_file_is_directory(arguments->positional[i]))
            return cm_fail(CM_ERR_INPUT, "%s: there is no such folder", arguments->positional[i]);
    return CM_OK;
}

static void tell(const cm_routes *routes, bool is_open) {
    const cm_access *a = &routes->access;
    const bool is_v6 = strchr(a->host, ':') != NULL;
    cm_cli_line(4, "%d runs at http://%s%s%s:%d/%s%s", routes->site->count, is_v6 ? "[" : "", a->host, is_v6 ? "]" : "",
                a->port, is_open ? "?token=" : "", a->token);
    if (is_open) cm_cli_line(4, "Whoever has this address sees the runs; it is not encrypted.");
    cm_cli_line(4, "Ctrl-C ends it; the runs do not notice.");
    fflush(stdout);
}

static cm_status serve(const cm_arguments *arguments, cm_site *site, cm_plays *plays) {
    cm_routes routes = {.site = site, .plays = plays};
    const cm_server_handler handler = {&routes, cm_routes_answer, cm_routes_event, cm_routes_tick};
    const char *host = cm_argument(arguments, "--host");
    cm_server *server = NULL;
    int64_t port = PORT;
    double seconds = 0.0;
    CM_TRY(cm_argument_int(arguments, "--port", 0, 65535, &port));
    CM_TRY(cm_argument_seconds(arguments, "--for", &seconds));
    snprintf(routes.access.host, sizeof routes.access.host, "%s", host ? host : "127.0.0.1");
    const bool is_open = !cm_access_is_loopback(routes.access.host);
    if (is_open) CM_TRY(cm_access_make_token(routes.access.token));
    CM_TRY(cm_routes_init(&routes));
    CM_TRY(cm_server_create(routes.access.host, (int)port, &handler, &server));
    routes.access.port = cm_server_port(server);
    tell(&routes, is_open);
    cm_status status = cm_server_watch(server, cm_plays_file(plays), cm_routes_wake, &routes);
    if (status == CM_OK) status = cm_server_run(server, seconds);
    cm_server_destroy(server);
    return status;
}

/* A training that waits for a processor goes first. */
static cm_status run_serve(cm_arguments *arguments) {
    char root[CM_OPTION_TEXT];
    const char *folder = root;
    cm_site site = {.count = 0};
    cm_plays *plays = NULL;
    cm_env_trust(CM_ENV_TRUST_NAMED);
    CM_TRY(check_folders(arguments));
    if (arguments->positional_count == 0) CM_TRY(cm_cli_run_root(arguments->command, root));
    (void)setpriority(PRIO_PROCESS, 0, NICER);
    const bool is_given = arguments->positional_count > 0;
    cm_status status =
        cm_site_open(&site, is_given ? arguments->positional : &folder, is_given ? arguments->positional_count : 1);
    cm_log_set_level(CM_ERROR); /* what there is to warn of has been said, and would be again every few seconds */
    if (status == CM_OK) status = cm_plays_create(&plays);
    if (status == CM_OK) status = serve(arguments, &site, plays);
    cm_plays_destroy(plays);
    cm_site_close(&site);
    return status;
}

static const cm_flag flags[] = {
    {"--port", "N", "The port; 8265. 0: one that is free."},
    {"--host", "ADDRESS",
     "Listen on this address rather than 127.0.0.1; others than this machine's then need a token."},
    {"--for", "TIME", "End after this time: 30s, 2h; without it Ctrl-C ends it."},
    CM_FLAGS_END,
};

const cm_command cm_command_serve = {
    .name = "serve",
    .about = "show runs in a browser: curves as they grow, games against their agents, logs",
    .positional = "[DIR...]",
    .details =
        "Serves a page about the runs in these folders, and down to three folders below them; without DIR those below "
        "checkpoint_root_dir. Files are read, as they are now: runs in training, finished ones and those of other "
        "people "
        "alike. Nothing is written, and no code that a run names is opened. Agents play on one core of the CPU.\n"
        "The page asks no other server for anything. /metrics is for Prometheus; /api lists what programs can ask for.",
    .flags = flags,
    .examples = "  cumind serve                       # then open the address that it prints\n"
                "  cumind serve runs theirs --port 9000\n"
                "  cumind serve --host 0.0.0.0        # for other machines, with a token\n",
    .run = run_serve,
};
