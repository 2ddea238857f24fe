/* Requests as bytes: what is taken, what is refused and why, and that a request in pieces is the same request. */
#include <check.h>
#include <string.h>

#include "serve/http.h"
#include "support/main.h"

#define HOST "Host: localhost:1\r\n"

static cm_http_request request;
static int parse(const char *text) { return cm_http_parse(text, strlen(text), &request); }

START_TEST(requests_are_taken_or_refused_with_the_reason) {
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" HOST "\r\n", 200},
        {"HEAD /a?b=c HTTP/1.0\r\n" HOST "\r\n", 200},
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 200},
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n{}", 0},
        {"GET / HTTP/1.1\r\n" HOST, 0},
        {"", 0},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},
        {"GET / HTTP/1.1\n" HOST "\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
        {"GET a HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /a%2 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /a%00b HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /a#b HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET / HTTP/1.1 \r\n" HOST "\r\n", 505},
        {"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
        {"GET /\r\n" HOST "\r\n", 400},
        {"PUT / HTTP/1.1\r\n" HOST "\r\n", 405},
        {"G(T / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "a b: c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST ": c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST " folded: c\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 16385\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n", 417},
        {"GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(parse(rows[i].text) == rows[i].status, "%s: %d, not %d", rows[i].text, parse(rows[i].text),
                      rows[i].status);
}
END_TEST

START_TEST(heads_of_8192_bytes_are_taken_and_longer_ones_refused) {
    static char text[3 * CM_HTTP_HEAD];
    for (int more = 0; more < 2; more++) {
        strcpy(text, "GET / HTTP/1.1\r\n" HOST "X: ");
        const size_t length = CM_HTTP_HEAD + (size_t)more;
        memset(text + strlen(text), 'x', length - 4 - strlen(text));
        strcpy(text + length - 4, "\r\n\r\n");
        ck_assert_int_eq(parse(text), more ? 431 : 200);
    }
    strcpy(text, "GET / HTTP/1.1\r\n" HOST);
    for (int i = 0; i < CM_HTTP_LINES; i++) strcat(text, "a: b\r\n");
    strcat(text, "\r\n");
    ck_assert_int_eq(parse(text), 431);
    memset(text, 'a', sizeof text);
    memcpy(text, "GET /", 5);
    strcpy(text + 5 + CM_HTTP_TARGET, " HTTP/1.1\r\n" HOST "\r\n");
    ck_assert_int_eq(parse(text), 414);
}
END_TEST

/* A browser sends those of every program on the host, as notebooks have long ones. */
START_TEST(cookies_may_be_as_long_as_the_head) {
    static char text[CM_HTTP_HEAD + 1];
    strcpy(text, "GET / HTTP/1.1\r\n" HOST "Cookie: other=");
    memset(text + strlen(text), 'x', CM_HTTP_HEAD - 8 - strlen(text));
    strcpy(text + CM_HTTP_HEAD - 8, ";a=b\r\n\r\n");
    ck_assert_int_eq(parse(text), 200);
    ck_assert_str_eq(request.cookie + strlen(request.cookie) - 4, ";a=b");
    ck_assert_int_eq(parse("GET / HTTP/1.1\r\n" HOST "Cookie: a\r\nCookie: b\r\n\r\n"), 400);
}
END_TEST

START_TEST(every_beginning_of_a_request_asks_for_more) {
    static const char text[] = "POST /api/x?a=1&name=b%20c HTTP/1.1\r\nHost: h\r\ncookie: k=v\r\nOrigin:  o \r\n"
                               "Content-Type: application/json\r\nContent-Length: 4\r\n\r\nbodyGET /next";
    const size_t whole = sizeof text - 1 - strlen("GET /next");
    for (size_t size = 0; size < whole; size++) ck_assert_int_eq(cm_http_parse(text, size, &request), 0);
    ck_assert_int_eq(cm_http_parse(text, sizeof text - 1, &request), 200);
    ck_assert_uint_eq(request.head + request.body, whole);
    ck_assert_str_eq(request.path, "/api/x");
    ck_assert_str_eq(request.cookie, "k=v");
    ck_assert_str_eq(request.origin, "o");
    ck_assert(request.stays);
    char value[8];
    ck_assert(cm_http_query(&request, "name", value, sizeof value));
    ck_assert_str_eq(value, "b c");
    ck_assert_int_eq(cm_http_query_number(&request, "a", -1), 1);
    ck_assert_int_eq(cm_http_query_number(&request, "name", -1), -1);
    ck_assert(!cm_http_query(&request, "ame", value, sizeof value));
    ck_assert(!cm_http_query(&request, "name", value, 3));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("http");
    TCase *tests = tcase_create("http");
    tcase_add_test(tests, requests_are_taken_or_refused_with_the_reason);
    tcase_add_test(tests, heads_of_8192_bytes_are_taken_and_longer_ones_refused);
    tcase_add_test(tests, cookies_may_be_as_long_as_the_head);
    tcase_add_test(tests, every_beginning_of_a_request_asks_for_more);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
