/* Requests to cumind serve: bytes of anyone, whole and in pieces. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "serve/access.h"

/* Whether what a request is told as keeps its bounds. */
static void check(const cm_http_request *request, size_t size) {
    char value[32];
    if (request->head > CM_HTTP_HEAD || request->body > CM_HTTP_BODY || request->head + request->body > size) abort();
    if (request->path[0] != '/' || strlen(request->path) >= CM_HTTP_TARGET || request->host[CM_HTTP_VALUE - 1]) abort();
    if (cm_http_query(request, "fields", value, sizeof value) && strlen(value) >= sizeof value) abort();
    if (cm_http_query_number(request, "from", 0) < 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const cm_access closed = {"127.0.0.1", 8265, ""},
                           open = {"0.0.0.0", 8265, "0123456789abcdef0123456789abcdef"};
    cm_http_request request, half;
    char *bytes = malloc(size + 1); /* so that what is read behind them is seen */
    if (!bytes) return 0;
    memcpy(bytes, data, size);
    const int status = cm_http_parse(bytes, size, &request);
    if (status == 200) {
        check(&request, size);
        (void)cm_access_check(&closed, &request);
        if (cm_access_check(&open, &request) == 0 && !memmem(bytes, size, open.token, 32) &&
            !strchr(request.query, '%'))
            abort();
        if (cm_http_parse(bytes, request.head + request.body - 1, &half) != 0) abort();
    }
    free(bytes);
    return 0;
}
