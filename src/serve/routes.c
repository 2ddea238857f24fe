#include "serve/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/page.h"

typedef struct route {
    cm_http_method method;
    const char *path;
    void (*answer)(const cm_serve_call *call, cm_answer *out);
} route;

#define CM_ROUTE(method, path, function) {method, path, function},
static const route routes[] = {
#include "serve/routes.def"
};
#undef CM_ROUTE
enum { ROUTES = sizeof routes / sizeof *routes, DIGITS = 6 };

/* ---- finding the route ---- */

/* Takes a number or a name off `path` into the call; false: there is none. */
static bool take(const char **path, char kind, cm_serve_call *call) {
    const size_t length = strcspn(*path, "/"), digits = strspn(*path, "0123456789");
    if (kind == '#') {
        if (length == 0 || length != digits || length > DIGITS) return false;
        call->number = atoi(*path);
    } else {
        if (length == 0 || length >= sizeof call->name) return false;
        snprintf(call->name, sizeof call->name, "%.*s", (int)length, *path);
    }
    *path += length;
    return true;
}

static bool matches(const char *pattern, const char *path, cm_serve_call *call) {
    for (; *pattern; pattern++) {
        if (*pattern == '#' || *pattern == '*') {
            if (!take(&path, *pattern, call)) return false;
        } else if (*pattern != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static void answer_route(cm_serve_call *call, cm_answer *out) {
    bool is_there = false;
    const cm_http_method method = call->request->method == CM_HTTP_HEADERS ? CM_HTTP_GET : call->request->method;
    for (int i = 0; i < ROUTES; i++) {
        if (!matches(routes[i].path, call->request->path, call)) continue;
        is_there = true;
        if (routes[i].method != method) continue;
        routes[i].answer(call, out);
        return;
    }
    cm_answer_error(out, is_there ? 405 : 404, is_there ? "not by this method" : "there is no such page");
}

/* ---- the handler ---- */

cm_status cm_routes_init(cm_routes *r) {
    return cm_page_policy(r->policy) ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for the page");
}

static const char *reason_of(int status) {
    return status == 401   ? "open the address with the token that cumind serve has printed"
           : status == 421 ? "open the address that cumind serve has printed: this server has another name, or port"
           : status == 415 ? "send application/json"
                           : "not for pages of other servers";
}

/* A token in the address becomes a cookie, so that it stays in no history. */
static void redirect(const cm_routes *r, cm_answer *out) {
    out->status = 303;
    snprintf(out->headers, sizeof out->headers,
             "Location: /\r\nSet-Cookie: cumind_%d=%s; HttpOnly; SameSite=Strict; Path=/\r\n", r->access.port,
             r->access.token);
}

void cm_routes_answer(void *context, const cm_http_request *request, const char *body, cm_answer *out) {
    cm_routes *r = context;
    cm_serve_call call = {.routes = r, .site = r->site, .request = request, .body = body};
    const int refused = cm_access_check(&r->access, request);
    cm_site_look(r->site);
    if (refused != 0) {
        cm_answer_error(out, refused, "%s", reason_of(refused));
    } else if (cm_access_brings_token(&r->access, request) && strcmp(request->path, "/") == 0) {
        redirect(r, out);
    } else {
        answer_route(&call, out);
    }
    strncat(out->headers,
            "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\n",
            sizeof out->headers - strlen(out->headers) - 1);
}

int cm_routes_tick(void *context, int connections) {
    const cm_routes *r = context;
    cm_plays_tick(r->plays);
    return connections > 0 ? cm_site_look(r->site) : 0;
}

void cm_routes_wake(void *context) {
    const cm_routes *r = context;
    r->site->version++;
}

/* ---- the page and its events ---- */

void cm_route_page(const cm_serve_call *call, cm_answer *out) {
    out->status = 200;
    out->type = "text/html; charset=utf-8";
    out->constant = cm_page(&out->size);
    snprintf(out->headers, sizeof out->headers, "%s", call->routes->policy);
}

void cm_route_icon(const cm_serve_call *call, cm_answer *out) {
    static const char icon[] =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path d=\"M8 3 3 12M8 3l5 9\" "
        "stroke=\"#8c959f\" stroke-width=\"1.5\"/><g fill=\"#1f6feb\"><circle cx=\"8\" cy=\"3\" r=\"2.5\"/>"
        "<circle cx=\"3\" cy=\"12.5\" r=\"2.5\"/><circle cx=\"13\" cy=\"12.5\" r=\"2.5\"/></g></svg>";
    (void)call;
    *out = (cm_answer){.status = 200, .type = "image/svg+xml", .constant = icon, .size = sizeof icon - 1};
}

void cm_route_events(const cm_serve_call *call, cm_answer *out) {
    (void)call;
    out->status = 200;
    out->type = "text/event-stream";
    out->is_stream = true;
}

char *cm_routes_event(void *context, uint64_t *version) {
    const cm_routes *r = context;
    const cm_site *site = r->site;
    cm_json_writer *json = NULL;
    size_t size;
    if (*version == site->version || cm_json_writer_create(0, &json) != CM_OK) return NULL;
    cm_json_begin_object(json, NULL);
    cm_json_begin_array(json, "runs");
    for (int i = 0; i < site->count; i++)
        if (site->runs[i].version > *version) cm_put_run(json, NULL, site, i);
    cm_json_end_array(json);
    cm_plays_put(r->plays, json);
    cm_json_end_object(json);
    const char *text = cm_json_writer_text(json, &size);
    char *copy = text ? strndup(text, size) : NULL;
    if (copy) *version = site->version;
    cm_json_writer_destroy(json);
    return copy;
}

/* The table itself, and the names of metrics. */
void cm_route_api(const cm_serve_call *call, cm_answer *out) {
    cm_json_writer *json = NULL;
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    (void)call;
    if (cm_json_writer_create(0, &json) != CM_OK) return;
    cm_json_begin_object(json, NULL);
    cm_json_begin_array(json, "routes");
    for (int i = 0; i < ROUTES; i++) {
        char text[160];
        snprintf(text, sizeof text, "%s %s", routes[i].method == CM_HTTP_POST ? "POST" : "GET", routes[i].path);
        cm_json_put_string(json, NULL, text);
    }
    cm_json_end_array(json);
    cm_json_begin_array(json, "fields");
    for (int k = 0; k < count; k++) cm_json_put_string(json, NULL, fields[k].name);
    cm_json_end_array(json);
    cm_json_end_object(json);
    cm_answer_json(out, json);
}
