#include "serve/http.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- characters ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_token(char c) { return is_digit(c) || is_letter(c) || (c && strchr("!#$%&'*+-.^_`|~", c)); }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static int hexadecimal(char c) {
    if (is_digit(c)) return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes that are a text of their own, not ended by a NUL. */
typedef struct span {
    const char *at;
    size_t size;
} span;

static bool is_named(span s, const char *name) {
    if (s.size != strlen(name)) return false;
    for (size_t i = 0; i < s.size; i++)
        if (lower(s.at[i]) != name[i]) return false;
    return true;
}

/* False: it does not fit. */
static bool copy(span from, char *to, size_t size) {
    if (from.size >= size) return false;
    memcpy(to, from.at, from.size);
    to[from.size] = '\0';
    return true;
}

/* Decodes %XX; false: it does not fit, or is no text. */
static bool decode(span from, char *to, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < from.size; i++) {
        int c = (unsigned char)from.at[i];
        if (c == '%') {
            if (i + 2 >= from.size) return false;
            const int high = hexadecimal(from.at[i + 1]), low = hexadecimal(from.at[i + 2]);
            if (high < 0 || low < 0) return false;
            c = 16 * high + low, i += 2;
        }
        if (c < ' ' || c == 0x7f || used + 1 >= size) return false;
        to[used++] = (char)c;
    }
    to[used] = '\0';
    return true;
}

/* ---- the request line ---- */

/* Takes the line up to CR LF off `rest`; false: there is none, as one with a bare CR or LF. */
static bool take_line(span *rest, span *line) {
    const char *end = memchr(rest->at, '\n', rest->size);
    if (!end || end == rest->at || end[-1] != '\r') return false;
    *line = (span){rest->at, (size_t)(end - rest->at) - 1};
    if (memchr(line->at, '\r', line->size) || memchr(line->at, '\0', line->size)) return false;
    rest->size -= line->size + 2;
    rest->at = end + 1;
    return true;
}

static span take_word(span *line) {
    const char *end = memchr(line->at, ' ', line->size);
    const span word = {line->at, end ? (size_t)(end - line->at) : line->size};
    const size_t used = word.size + (end != NULL);
    *line = (span){line->at + used, line->size - used};
    return word;
}

static bool is_word(span s, const char *text) { return s.size == strlen(text) && memcmp(s.at, text, s.size) == 0; }

static int read_method(span word, cm_http_request *out) {
    static const struct {
        const char *name;
        cm_http_method method;
    } methods[] = {{"GET", CM_HTTP_GET}, {"HEAD", CM_HTTP_HEADERS}, {"POST", CM_HTTP_POST}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!is_word(word, methods[i].name)) continue;
        out->method = methods[i].method;
        return 0;
    }
    for (size_t i = 0; i < word.size; i++)
        if (!is_token(word.at[i])) return 400;
    return word.size == 0 ? 400 : 405;
}

static int read_target(span target, cm_http_request *out) {
    if (target.size == 0 || target.at[0] != '/') return 400;
    if (target.size >= CM_HTTP_TARGET) return 414;
    for (size_t i = 0; i < target.size; i++)
        if (target.at[i] <= ' ' || target.at[i] > '~' || target.at[i] == '#') return 400;
    const char *mark = memchr(target.at, '?', target.size);
    const span path = {target.at, mark ? (size_t)(mark - target.at) : target.size};
    if (mark) copy((span){mark + 1, target.size - path.size - 1}, out->query, sizeof out->query);
    return decode(path, out->path, sizeof out->path) ? 0 : 400;
}

static int read_first(span line, cm_http_request *out) {
    const span method = take_word(&line), target = take_word(&line);
    int status = read_method(method, out);
    if (status == 0) status = read_target(target, out);
    if (status != 0) return status;
    if (is_word(line, "HTTP/1.1")) {
        out->stays = true;
    } else if (!is_word(line, "HTTP/1.0")) {
        return line.size > 5 && memcmp(line.at, "HTTP/", 5) == 0 ? 505 : 400;
    }
    return 0;
}

/* ---- headers ---- */

/* What has been read of headers that may stand once. */
typedef struct headers {
    bool has_host, has_length;
    int lines;
} headers;

static span trim(span s) {
    while (s.size > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) s.at++, s.size--;
    while (s.size > 0 && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t')) s.size--;
    return s;
}

static int read_length(span value, headers *seen, cm_http_request *out) {
    if (seen->has_length || value.size == 0) return 400;
    seen->has_length = true;
    for (size_t i = 0; i < value.size; i++) {
        if (!is_digit(value.at[i])) return 400;
        if (out->body <= CM_HTTP_BODY) out->body = 10 * out->body + (size_t)(value.at[i] - '0');
    }
    return out->body > CM_HTTP_BODY ? 413 : 0;
}

static int read_host(span value, headers *seen, cm_http_request *out) {
    if (seen->has_host) return 400;
    seen->has_host = true;
    return copy(value, out->host, sizeof out->host) ? 0 : 400;
}

/* Of those that are kept as text. */
static char *place_of(span name, size_t *size, cm_http_request *out) {
    *size = is_named(name, "cookie") ? sizeof out->cookie : CM_HTTP_VALUE;
    return is_named(name, "origin")          ? out->origin
           : is_named(name, "content-type")  ? out->content_type
           : is_named(name, "authorization") ? out->authorization
           : is_named(name, "cookie")        ? out->cookie
                                             : NULL;
}

static int read_value(span name, span value, headers *seen, cm_http_request *out) {
    size_t size;
    char *place = place_of(name, &size, out);
    if (place) return *place ? 400 : copy(value, place, size) ? 0 : 431;
    if (is_named(name, "host")) return read_host(value, seen, out);
    if (is_named(name, "content-length")) return read_length(value, seen, out);
    if (is_named(name, "transfer-encoding")) return 501;
    if (is_named(name, "expect")) return 417;
    if (is_named(name, "connection")) out->stays = out->stays && !is_named(value, "close");
    return 0;
}

static int read_header(span line, headers *seen, cm_http_request *out) {
    if (++seen->lines > CM_HTTP_LINES) return 431;
    const char *colon = memchr(line.at, ':', line.size);
    if (!colon || colon == line.at) return 400;
    const span name = {line.at, (size_t)(colon - line.at)};
    for (size_t i = 0; i < name.size; i++)
        if (!is_token(name.at[i])) return 400;
    const span value = trim((span){colon + 1, line.size - name.size - 1});
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.at[i] < ' ' && value.at[i] != '\t') return 400;
    return read_value(name, value, seen, out);
}

/* `rest` is the head, up to the empty line that ends it. */
static int read_head(span rest, cm_http_request *out) {
    headers seen = {.lines = 0};
    span line;
    if (!take_line(&rest, &line)) return 400;
    int status = read_first(line, out);
    while (status == 0 && rest.size > 0) status = take_line(&rest, &line) ? read_header(line, &seen, out) : 400;
    return status != 0 ? status : seen.has_host ? 0 : 400;
}

int cm_http_parse(const char *bytes, size_t size, cm_http_request *out) {
    *out = (cm_http_request){.method = CM_HTTP_GET};
    const size_t searched = size < CM_HTTP_HEAD ? size : CM_HTTP_HEAD;
    const char *end = memmem(bytes, searched, "\r\n\r\n", 4);
    if (!end) return size >= CM_HTTP_HEAD ? 431 : 0;
    out->head = (size_t)(end - bytes) + 4;
    const int status = read_head((span){bytes, out->head - 2}, out);
    if (status != 0) return status;
    return size >= out->head + out->body ? 200 : 0;
}

/* ---- the query ---- */

bool cm_http_query(const cm_http_request *request, const char *name, char *out, size_t size) {
    const size_t length = strlen(name);
    for (const char *at = request->query; *at; at += strcspn(at, "&"), at += *at == '&') {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        return decode((span){at + length + 1, strcspn(at + length + 1, "&")}, out, size);
    }
    return false;
}

long long cm_http_query_number(const cm_http_request *request, const char *name, long long fallback) {
    char text[20];
    if (!cm_http_query(request, name, text, sizeof text) || !*text) return fallback;
    for (const char *c = text; *c; c++)
        if (!is_digit(*c)) return fallback;
    const long long number = strtoll(text, NULL, 10);
    return number > (1LL << 53) ? fallback : number;
}

const char *cm_http_reason(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {201, "Created"},
                   {202, "Accepted"},
                   {303, "See Other"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {413, "Content Too Large"},
                   {414, "URI Too Long"},
                   {415, "Unsupported Media Type"},
                   {417, "Expectation Failed"},
                   {421, "Misdirected Request"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {501, "Not Implemented"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status) return reasons[i].reason;
    return "Error";
}
