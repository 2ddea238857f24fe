/* An HTTP server of one thread by libevent, which holds what strangers may take: connections, streams, bytes that wait,
 * time. What is said is the handler's. */
#ifndef CM_SERVE_SERVER_H
#define CM_SERVE_SERVER_H

#include "core/status.h"
#include "serve/http.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_SERVER_CONNECTIONS = 256, /* further ones wait in the kernel */
    CM_SERVER_STREAMS = 192,     /* of these that follow events; further ones are refused */
    CM_SERVER_IDLE = 20,         /* seconds without a request, or from its first byte to its last */
    CM_SERVER_SLOW = 60          /* seconds in which an answer has to be taken */
};
#define CM_SERVER_WAITING ((size_t)64 << 20) /* bytes of answers that wait to be taken, of all connections */

/* What a handler answers; a zeroed one is 404. */
typedef struct cm_answer {
    int status;
    const char *type;     /* of the body */
    char *text;           /* the body, of malloc(); the server frees it */
    const char *constant; /* or one that outlives the server; borrowed */
    size_t size;
    char headers[2048]; /* further lines, each with its CR LF */
    bool is_stream;     /* events follow, one after the other */
} cm_answer;

typedef struct cm_server_handler {
    void *context;
    /* `body` has request->body bytes, no NUL after them. */
    void (*answer)(void *context, const cm_http_request *request, const char *body, cm_answer *out);
    /* What is new since `*version`, of malloc(), and its version; NULL: nothing is. */
    char *(*event)(void *context, uint64_t *version);
    /* Every CM_SERVER_TICK ms, and as often as it asks: returns ms until the next time, 0: as ever. */
    int (*tick)(void *context, int connections);
} cm_server_handler;
enum { CM_SERVER_TICK = 1000 };

typedef struct cm_server cm_server;

/* Listens on `host` (an address in numbers, or "localhost") and `port` (0: one that is free). The caller owns it.
 * Errors: CM_ERR_INPUT for what is no address, CM_ERR_IO if the port is taken. */
cm_status cm_server_create(const char *host, int port, const cm_server_handler *handler, cm_server **out) CM_MUST_USE;
void cm_server_destroy(cm_server *server); /* NULL is allowed */

int cm_server_port(const cm_server *server);

/* Sends streams what is new now, rather than at the next tick, whenever `file` (an eventfd, borrowed) is written to,
 * after wake(context). */
cm_status cm_server_watch(cm_server *server, int file, void (*wake)(void *context), void *context) CM_MUST_USE;

/* Serves until SIGINT or SIGTERM, or for so many seconds (0: for ever). */
cm_status cm_server_run(cm_server *server, double seconds) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
