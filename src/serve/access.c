#include "serve/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

bool cm_access_is_loopback(const char *host) {
    struct in_addr v4;
    struct in6_addr v6;
    if (strcmp(host, "localhost") == 0) return true;
    if (inet_pton(AF_INET, host, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

cm_status cm_access_make_token(char out[CM_ACCESS_TOKEN]) {
    unsigned char bytes[(CM_ACCESS_TOKEN - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return cm_fail(CM_ERR_IO, "no random numbers for a token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return CM_OK;
}

/* The name of a Host "NAME:PORT" in name[size]; false if the port is another one. */
static bool split_host(const char *host, int port, char *name, size_t size) {
    const char *bracket = strrchr(host, ']'), *colon = strchr(bracket ? bracket : host, ':');
    char there[16];
    const size_t length = colon ? (size_t)(colon - host) : strlen(host);
    snprintf(there, sizeof there, "%d", colon ? port : 80);
    if (length == 0 || length >= size || (colon ? strcmp(colon + 1, there) != 0 : port != 80)) return false;
    const bool is_bracketed = host[0] == '[' && host[length - 1] == ']';
    snprintf(name, size, "%.*s", (int)length - 2 * is_bracketed, host + is_bracketed);
    return true;
}

static bool is_address(const char *name) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* Where a token is asked for any address will do: this machine may have many, and names of others have no cookie. */
static bool is_host(const cm_access *access, const char *host) {
    char name[256], own[256] = "";
    if (!split_host(host, access->port, name, sizeof name)) return false;
    if (strcasecmp(name, access->host) == 0 || cm_access_is_loopback(name) || strcasecmp(name, "localhost") == 0)
        return true;
    if (!*access->token) return false;
    gethostname(own, sizeof own - 1);
    return is_address(name) || strcasecmp(name, own) == 0;
}

/* Takes as long for every text of its length. */
static bool is_token(const cm_access *access, const char *text) {
    unsigned char differ = 0;
    if (strlen(text) < CM_ACCESS_TOKEN - 1) return false;
    for (int i = 0; i < CM_ACCESS_TOKEN - 1; i++) differ |= (unsigned char)(text[i] ^ access->token[i]);
    return differ == 0;
}

bool cm_access_brings_token(const cm_access *access, const cm_http_request *request) {
    char text[CM_ACCESS_TOKEN];
    return *access->token && cm_http_query(request, "token", text, sizeof text) && is_token(access, text);
}

/* Cookies of other ports of the same host come along: the name has the port. */
static bool has_token(const cm_access *access, const cm_http_request *request) {
    static const char bearer[] = "Bearer ";
    char name[32];
    snprintf(name, sizeof name, "cumind_%d=", access->port);
    const char *cookie = strstr(request->cookie, name);
    if (cookie && is_token(access, cookie + strlen(name))) return true;
    if (strncmp(request->authorization, bearer, sizeof bearer - 1) == 0)
        return is_token(access, request->authorization + sizeof bearer - 1);
    return cm_access_brings_token(access, request);
}

static int check_post(const cm_http_request *request) {
    static const char json[] = "application/json", scheme[] = "http://";
    if (*request->origin && (strncmp(request->origin, scheme, sizeof scheme - 1) != 0 ||
                             strcasecmp(request->origin + sizeof scheme - 1, request->host) != 0))
        return 403;
    return strncasecmp(request->content_type, json, sizeof json - 1) == 0 ? 0 : 415;
}

int cm_access_check(const cm_access *access, const cm_http_request *request) {
    if (!is_host(access, request->host)) return 421;
    if (*access->token && !has_token(access, request)) return 401;
    return request->method == CM_HTTP_POST ? check_post(request) : 0;
}
