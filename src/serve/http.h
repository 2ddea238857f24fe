/* Requests of HTTP/1.1 from bytes that anyone may have sent: a pure function with bounds on everything.
 *
 * Taken are GET, HEAD and POST in origin form ("/path?query"), lines that end with CR LF, one Host, and bodies of a
 * stated length. Anything else is refused with the status that says why (RFC 9110, RFC 9112). */
#ifndef CM_SERVE_HTTP_H
#define CM_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a request line with all headers, of a body, lines of headers, bytes of a target and of a header's value that
 * is kept. */
enum { CM_HTTP_HEAD = 8192, CM_HTTP_BODY = 16384, CM_HTTP_LINES = 64, CM_HTTP_TARGET = 1024, CM_HTTP_VALUE = 512 };

typedef enum cm_http_method { CM_HTTP_GET, CM_HTTP_HEADERS, CM_HTTP_POST } cm_http_method;

/* Texts end with a NUL, and are "" where there is none. */
typedef struct cm_http_request {
    cm_http_method method;
    char path[CM_HTTP_TARGET];  /* before "?", with its escapes decoded; begins with "/" */
    char query[CM_HTTP_TARGET]; /* after it, as it is */
    char host[CM_HTTP_VALUE], origin[CM_HTTP_VALUE], content_type[CM_HTTP_VALUE], authorization[CM_HTTP_VALUE];
    char cookie[CM_HTTP_HEAD]; /* cookies of other programs on this host come along, whatever their port */
    bool stays;                /* the connection is for further requests */
    size_t head, body;         /* bytes; the body follows the head */
} cm_http_request;

/* Reads the request that bytes[size] begin with. Returns 0 if more bytes are needed (head and body have at most
 * CM_HTTP_HEAD + CM_HTTP_BODY), 200 if it is whole and *out is filled, else the status to refuse it with. */
int cm_http_parse(const char *bytes, size_t size, cm_http_request *out);

/* The value of a name in the query, decoded, in out[size]; false if there is none, or it does not fit. */
bool cm_http_query(const cm_http_request *request, const char *name, char *out, size_t size);

/* The same as a number of digits alone, 0 .. 2^53; `fallback` if there is none. */
long long cm_http_query_number(const cm_http_request *request, const char *name, long long fallback);

/* The words after a status, "Not Found". */
const char *cm_http_reason(int status);

#ifdef __cplusplus
}
#endif
#endif
