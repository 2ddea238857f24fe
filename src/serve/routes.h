/* What the server answers: a table of paths and functions (routes.def), and the files that they stand in. */
#ifndef CM_SERVE_ROUTES_H
#define CM_SERVE_ROUTES_H

#include "serve/access.h"
#include "serve/page.h"
#include "serve/plays.h"
#include "serve/server.h"
#include "serve/site.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_routes {
    cm_site *site;   /* borrowed, as the next */
    cm_plays *plays; /* games */
    cm_access access;
    char policy[CM_PAGE_POLICY]; /* header of the page */
} cm_routes;

/* Fills `policy`; site, plays and access are the caller's to fill. Errors: CM_ERR_MEMORY. */
cm_status cm_routes_init(cm_routes *routes) CM_MUST_USE;

/* For cm_server_handler: context is a cm_routes. */
void cm_routes_answer(void *context, const cm_http_request *request, const char *body, cm_answer *out);
char *cm_routes_event(void *context, uint64_t *version);
int cm_routes_tick(void *context, int connections);
/* For cm_server_watch: a game has changed. */
void cm_routes_wake(void *context);

/* ---- for the functions of the table ---- */

/* A request whose path was found. */
typedef struct cm_serve_call {
    cm_routes *routes;
    cm_site *site;
    const cm_http_request *request;
    const char *body;
    int number;     /* that stands for "#" in the path: of a run, ... */
    char name[128]; /* that stands for "*" */
} cm_serve_call;

/* The text of a writer as the body, a JSON document; the writer is destroyed. */
void cm_answer_json(cm_answer *out, cm_json_writer *json);
/* {"error": ...} with that status. */
void cm_answer_error(cm_answer *out, int status, const char *format, ...) CM_PRINTF(3, 4);
/* The run of the call; NULL: there is none, and 404 is answered. */
cm_site_run *cm_serve_run(const cm_serve_call *call, cm_answer *out);

/* A run's numbers at a glance, as a member or an element (key NULL). */
void cm_put_run(cm_json_writer *json, const char *key, const cm_site *site, int number);

#define CM_ROUTE(method, path, function) void function(const cm_serve_call *call, cm_answer *out);
#include "serve/routes.def"
#undef CM_ROUTE

#ifdef __cplusplus
}
#endif
#endif
