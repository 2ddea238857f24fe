/* Who may ask: the Host that a request names, where its page is from, and a token where the server can be reached from
 * other machines. */
#ifndef CM_SERVE_ACCESS_H
#define CM_SERVE_ACCESS_H

#include "core/status.h"
#include "serve/http.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ACCESS_TOKEN = 33 };

typedef struct cm_access {
    char host[256]; /* as the user gave it */
    int port;
    char token[CM_ACCESS_TOKEN]; /* 32 digits; "": none is asked for */
} cm_access;

/* Whether an address is one of this machine alone. */
bool cm_access_is_loopback(const char *host);

/* 128 bits from the kernel, as digits. Errors: CM_ERR_IO. */
cm_status cm_access_make_token(char out[CM_ACCESS_TOKEN]) CM_MUST_USE;

/* 0 if the request may be answered, else the status to refuse it with: 421 for a Host that is not this server (a page
 * elsewhere whose name leads here), 403 for a POST of another page, 415 for one that is not JSON (which other pages
 * cannot send unasked), 401 without the token. */
int cm_access_check(const cm_access *access, const cm_http_request *request);

/* Whether the query has the token: the page is then asked for again, with a cookie in its place. */
bool cm_access_brings_token(const cm_access *access, const cm_http_request *request);

#ifdef __cplusplus
}
#endif
#endif
