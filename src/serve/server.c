#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <math.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"

enum { BACKLOG = 256, MOST_INPUT = CM_HTTP_HEAD + CM_HTTP_BODY };

typedef struct connection {
    struct bufferevent *events;
    struct cm_server *server;
    struct connection *previous, *next;
    double deadline;         /* of the clock; a stream's is moved on as it is read */
    uint64_t version;        /* of a stream: what it has seen */
    bool is_stream, is_last; /* is_last: closed when its answer is sent */
} connection;

struct cm_server {
    cm_server_handler handler;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *timer, *signals[2], *watch;
    connection *first;
    int connections, streams, port, watched;
    void (*wake)(void *context);
    void *wake_context;
};

/* ---- connections ---- */

static void close_connection(connection *c) {
    cm_server *s = c->server;
    if (c->previous) c->previous->next = c->next;
    if (!c->previous) s->first = c->next;
    if (c->next) c->next->previous = c->previous;
    s->streams -= c->is_stream;
    if (s->connections-- == CM_SERVER_CONNECTIONS) evconnlistener_enable(s->listener);
    bufferevent_free(c->events);
    free(c);
}

static size_t waiting(const connection *c) { return evbuffer_get_length(bufferevent_get_output(c->events)); }

static size_t waiting_of_all(const cm_server *s) {
    size_t bytes = 0;
    for (const connection *c = s->first; c; c = c->next) bytes += waiting(c);
    return bytes;
}

/* ---- answers ---- */

static void put_head(struct evbuffer *out, const cm_answer *answer, bool is_last) {
    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\n%s", answer->status, cm_http_reason(answer->status), answer->headers);
    if (answer->type) evbuffer_add_printf(out, "Content-Type: %s\r\n", answer->type);
    if (!answer->is_stream) evbuffer_add_printf(out, "Content-Length: %zu\r\n", answer->size);
    evbuffer_add_printf(out, "Connection: %s\r\n\r\n", is_last ? "close" : "keep-alive");
}

static void free_text(const void *data, size_t size, void *extra) {
    (void)data, (void)size;
    free(extra);
}

/* Takes the answer's text. */
static void put_body(struct evbuffer *out, cm_answer *answer, bool has_body) {
    if (has_body && answer->constant) {
        evbuffer_add_reference(out, answer->constant, answer->size, NULL, NULL);
    } else if (has_body && answer->text) {
        if (evbuffer_add_reference(out, answer->text, answer->size, free_text, answer->text) == 0) answer->text = NULL;
    }
    free(answer->text);
    answer->text = NULL;
}

static void send_answer(connection *c, cm_answer *answer, bool has_body) {
    struct evbuffer *out = bufferevent_get_output(c->events);
    c->is_last |= answer->is_stream;
    put_head(out, answer, c->is_last);
    put_body(out, answer, has_body && !answer->is_stream);
    c->deadline = cm_clock_seconds() + CM_SERVER_SLOW;
}

static void refuse(connection *c, int status) {
    cm_answer answer = {.status = status};
    c->is_last = true;
    send_answer(c, &answer, false);
}

/* ---- streams ---- */

/* Only to one that has taken what was sent before, so that none has more than one event to wait for. */
static void push(connection *c) {
    const cm_server *s = c->server;
    if (!c->is_stream || waiting(c) > 0) return;
    char *text = s->handler.event(s->handler.context, &c->version);
    if (!text) return;
    evbuffer_add_printf(bufferevent_get_output(c->events), "data: %s\n\n", text);
    c->deadline = cm_clock_seconds() + CM_SERVER_SLOW;
    free(text);
}

static void push_all(cm_server *s) {
    for (connection *c = s->first; c; c = c->next) push(c);
}

static void begin_stream(connection *c) {
    c->is_stream = true;
    c->is_last = false;
    c->version = 0;
    c->server->streams++;
}

/* ---- requests ---- */

static void answer_request(connection *c, const cm_http_request *request, const char *body) {
    cm_server *s = c->server;
    cm_answer answer = {.status = 404};
    c->is_last = !request->stays;
    if (waiting_of_all(s) > CM_SERVER_WAITING) {
        answer.status = 503;
    } else {
        s->handler.answer(s->handler.context, request, body, &answer);
    }
    const bool is_stream = answer.is_stream && s->streams < CM_SERVER_STREAMS && request->method == CM_HTTP_GET;
    if (answer.is_stream && !is_stream) answer = (cm_answer){.status = 503};
    send_answer(c, &answer, request->method != CM_HTTP_HEADERS);
    if (is_stream) begin_stream(c);
}

/* Answers what has come, one request after the other: the next when the answer to the last was taken. */
static void read_requests(struct bufferevent *events, void *context) {
    connection *c = context;
    struct evbuffer *in = bufferevent_get_input(events);
    if (c->is_stream) evbuffer_drain(in, evbuffer_get_length(in));
    while (!c->is_stream && !c->is_last && waiting(c) == 0 && evbuffer_get_length(in) > 0) {
        cm_http_request request;
        const size_t there = evbuffer_get_length(in), size = there < MOST_INPUT ? there : MOST_INPUT;
        const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)size);
        const int status = bytes ? cm_http_parse(bytes, size, &request) : 503;
        if (status == 0) return;
        if (status != 200) {
            refuse(c, status);
            return;
        }
        answer_request(c, &request, bytes + request.head);
        evbuffer_drain(in, request.head + request.body);
    }
}

/* All was taken. */
static void drained(struct bufferevent *events, void *context) {
    connection *c = context;
    if (waiting(c) > 0) return;
    if (c->is_last) {
        close_connection(c);
        return;
    }
    c->deadline = cm_clock_seconds() + (c->is_stream ? CM_SERVER_SLOW : CM_SERVER_IDLE);
    if (c->is_stream) {
        push(c);
    } else {
        read_requests(events, c);
    }
}

static void failed(struct bufferevent *events, short what, void *context) {
    (void)events, (void)what;
    close_connection(context);
}

static void add_connection(cm_server *s, struct bufferevent *events) {
    connection *c = calloc(1, sizeof *c);
    if (!c) {
        bufferevent_free(events);
        return;
    }
    *c = (connection){events, s, NULL, s->first, cm_clock_seconds() + CM_SERVER_IDLE, 0, false, false};
    if (s->first) s->first->previous = c;
    s->first = c;
    if (++s->connections == CM_SERVER_CONNECTIONS) evconnlistener_disable(s->listener);
    bufferevent_setwatermark(events, EV_READ, 0, MOST_INPUT);
    bufferevent_setcb(events, read_requests, drained, failed, c);
    bufferevent_enable(events, EV_READ | EV_WRITE);
}

static void accepted(struct evconnlistener *listener, evutil_socket_t file, struct sockaddr *from, int size,
                     void *context) {
    cm_server *s = context;
    (void)listener, (void)from, (void)size;
    struct bufferevent *events = bufferevent_socket_new(s->base, file, BEV_OPT_CLOSE_ON_FREE);
    if (!events) {
        close(file);
        return;
    }
    add_connection(s, events);
}

/* Without descriptors it would be told of the same connection for ever. */
static void refused(struct evconnlistener *listener, void *context) {
    (void)context;
    evconnlistener_disable(listener);
}

/* ---- time ---- */

static void set_timer(cm_server *s, int ms) {
    const struct timeval time = {ms / 1000, (ms % 1000) * 1000};
    event_add(s->timer, &time);
}

/* A stream whose reader does not read, or a request that does not end, is over. */
static void close_late(cm_server *s) {
    const double now = cm_clock_seconds();
    for (connection *c = s->first, *next; c; c = next) {
        next = c->next;
        const bool is_waiting = c->is_stream && waiting(c) == 0;
        if (!is_waiting && now > c->deadline) close_connection(c);
    }
}

static void ticked(evutil_socket_t file, short what, void *context) {
    cm_server *s = context;
    (void)file, (void)what;
    close_late(s);
    if (s->connections < CM_SERVER_CONNECTIONS) evconnlistener_enable(s->listener);
    const int ms = s->handler.tick(s->handler.context, s->connections);
    push_all(s);
    set_timer(s, ms > 0 ? ms : CM_SERVER_TICK);
}

static void signalled(evutil_socket_t file, short what, void *context) {
    const cm_server *s = context;
    (void)file, (void)what;
    event_base_loopbreak(s->base);
}

static void woken(evutil_socket_t file, short what, void *context) {
    cm_server *s = context;
    eventfd_t count;
    (void)what;
    (void)eventfd_read(file, &count);
    s->wake(s->wake_context);
    push_all(s);
}

/* ---- the server ---- */

static cm_status resolve(const char *host, int port, struct addrinfo **out) {
    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE | AI_NUMERICHOST, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    const char *address = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (getaddrinfo(address, service, &hints, out) == 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "--host: %s is no address in numbers, such as 127.0.0.1, 0.0.0.0 or ::1", host);
}

static cm_status listen_on(cm_server *s, const char *host, int port) {
    struct addrinfo *address = NULL;
    CM_TRY(resolve(host, port, &address));
    s->listener =
        evconnlistener_new_bind(s->base, accepted, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC,
                                BACKLOG, address->ai_addr, (int)address->ai_addrlen);
    const int reason = errno;
    freeaddrinfo(address);
    if (!s->listener && reason == EADDRINUSE)
        return cm_fail(CM_ERR_IO, "port %d is taken; choose another with --port, or 0 for any that is free", port);
    if (!s->listener) return cm_fail(CM_ERR_IO, "cannot listen on %s, port %d: %s", host, port, strerror(reason));
    evconnlistener_set_error_cb(s->listener, refused);
    struct sockaddr_in6 bound = {.sin6_port = 0}; /* the port of an address of IPv4 stands at the same place */
    socklen_t size = sizeof bound;
    if (getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&bound, &size) != 0)
        return cm_fail(CM_ERR_IO, "cannot tell the port: %s", strerror(errno));
    s->port = ntohs(bound.sin6_port);
    return CM_OK;
}

static cm_status make_events(cm_server *s) {
    static const int numbers[2] = {SIGINT, SIGTERM};
    s->base = event_base_new();
    if (!s->base) return cm_fail(CM_ERR_MEMORY, "no memory for a server");
    s->timer = evtimer_new(s->base, ticked, s);
    if (!s->timer) return cm_fail(CM_ERR_MEMORY, "no memory for a server");
    for (int i = 0; i < 2; i++) {
        s->signals[i] = evsignal_new(s->base, numbers[i], signalled, s);
        if (!s->signals[i] || event_add(s->signals[i], NULL) != 0)
            return cm_fail(CM_ERR_MEMORY, "no memory for a server");
    }
    return CM_OK;
}

cm_status cm_server_create(const char *host, int port, const cm_server_handler *handler, cm_server **out) {
    cm_server *s = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "a server"));
    *s = (cm_server){.handler = *handler, .watched = -1};
    signal(SIGPIPE, SIG_IGN);
    cm_status status = make_events(s);
    if (status == CM_OK) status = listen_on(s, host, port);
    if (status != CM_OK) {
        cm_server_destroy(s);
        return status;
    }
    *out = s;
    return CM_OK;
}

void cm_server_destroy(cm_server *s) {
    if (!s) return;
    for (connection *c = s->first, *next; c; c = next) {
        next = c->next;
        close_connection(c);
    }
    if (s->listener) evconnlistener_free(s->listener);
    for (int i = 0; i < 2; i++)
        if (s->signals[i]) event_free(s->signals[i]);
    if (s->watch) event_free(s->watch);
    if (s->timer) event_free(s->timer);
    if (s->base) event_base_free(s->base);
    free(s);
}

int cm_server_port(const cm_server *s) { return s->port; }

cm_status cm_server_watch(cm_server *s, int file, void (*wake)(void *context), void *context) {
    s->wake = wake;
    s->wake_context = context;
    s->watch = event_new(s->base, file, EV_READ | EV_PERSIST, woken, s);
    if (s->watch && event_add(s->watch, NULL) == 0) return CM_OK;
    return cm_fail(CM_ERR_MEMORY, "no memory for a server");
}

cm_status cm_server_run(cm_server *s, double seconds) {
    const struct timeval time = {(time_t)seconds, (suseconds_t)((seconds - floor(seconds)) * 1e6)};
    set_timer(s, 1);
    if (seconds > 0.0) event_base_loopexit(s->base, &time);
    if (event_base_dispatch(s->base) >= 0) return CM_OK;
    return cm_fail(CM_ERR_IO, "the server's loop failed: %s", strerror(errno));
}
