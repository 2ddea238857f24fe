/* Connections to cumind serve: whatever bytes come, the server of src/serve answers them from the folders of three
 * runs, in this process, over a pair of sockets.
 *
 * Every answer is taken off the wire and held against what HTTP and docs/SERVE.md say of it; nothing outside of the
 * runs, and no file of them that has no page, is served. A run's agent is a stand-in that counts moves, so
 * serve/table.c and table_json.c are not reached (tests/serve/test_plays.c plays with agents), nor is a socket of the
 * network.
 *
 * Input: what a client sends. Mutations are requests from a table, a part of which is changed, so that most of them
 * are answered by a route. */
#include "serve/server.c" /* a connection that no listener has accepted */

#include <poll.h>
#include <sys/socket.h>
#include <xxhash.h>

#include "core/log.h"
#include "core/rng.h"
#include "fuzz/fuzz.h"
#include "serve/routes.h"

enum {
    PORT = 8265,
    MOST_BYTES = 1 << 15,
    MOST_REQUESTS = 2048,
    MOST_ANSWER = 1 << 20,
    IDLE = 3,
    PIECE = 4096,
    ACTIONS = 9
};
#define SECRET "secret-of-no-page"
#define TOKEN  "0123456789abcdef0123456789abcdef"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);
int LLVMFuzzerInitialize(int *count, char ***arguments);

/* ---- the runs ---- */

static const struct {
    const char *path, *text;
} files[] = {
    {"runs/a/config.json",
     "{\"Environment\": {\"env_name\": \"catch\"}, \"Training\": {\"seed\": 5, \"env_steps\": 1000}}"},
    {"runs/a/lock", ""},
    {"runs/a/metrics.jsonl", "{\"iteration\": 1, \"env_steps\": 100, \"updates\": 3, \"episodes\": 2, \"seconds\": "
                             "1.5, \"mean_return\": 4.25}\n"
                             "no JSON\n"
                             "{\"iteration\": 2, \"env_steps\": 200, \"updates\": 6, \"episodes\": 4, \"seconds\": "
                             "3.0, \"eval_return\": 1e300}\n"},
    {"runs/a/log.txt", "2026-11-29 19:34:41 INFO    begun \"\\\x01\xff\xc3\xa9\n2026-11-29 19:34:42 INFO    half a li"},
    {"runs/a/result.json", "{\"mean_return\": 1.5, \"text\": \"<script>\"}"},
    {"runs/a/episodes/12.gif", "GIF89a of an episode"},
    {"runs/a/episodes/best.gif", "GIF89a of the best"},
    {"runs/a/episodes/13.gif", "<html>" SECRET},
    {"runs/a/episodes/notes.txt", "GIF89a " SECRET},
    {"runs/a/notes.gif", "GIF89a " SECRET},
    {"runs/b/config.json", "{\"Environment\": {\"env_name\": \"./theirs.so\"}}"},
    {"runs/b/lock", ""},
    {"runs/b/result.json", "{\"cut"},
    {"runs/c \"\\\n/config.json", "no JSON"},
    {"runs/c \"\\\n/lock", ""},
    {"outside/12.gif", "GIF89a " SECRET},
};
/* Ways out of a run, none of which may be gone; made when the server has found the runs, as it would not take b for
 * one. */
static const struct {
    const char *path, *to;
} links[] = {{"runs/a/episodes/14.gif", "../../../outside/12.gif"},
             {"runs/b/episodes", "../../outside"},
             {"runs/b/log.txt", "../../outside/12.gif"}};

static void expect_ok(cm_status status) {
    if (status != CM_OK) fprintf(stderr, "%s\n", cm_error_message());
    FUZZ_EXPECT(status == CM_OK);
}

static void make_runs(void) {
    char path[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), files[i].path);
        expect_ok(cm_directory_make_parent(path));
        expect_ok(cm_file_write(path, files[i].text, strlen(files[i].text)));
    }
}

static void make_links(void) {
    char path[512];
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), links[i].path);
        FUZZ_EXPECT(symlink(links[i].to, path) == 0);
    }
}

/* ---- agents that count moves ---- */

static int *moves_of(cm_play_table *t) { return &t->thought.visits; }

cm_status cm_play_table_open(const cm_play_table_config *config, const cm_stop *stop, cm_play_table *out) {
    (void)stop;
    *out = (cm_play_table){.config = *config};
    if (strstr(config->run, "/runs/a")) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: has no agent", config->run);
}

void cm_play_table_close(cm_play_table *t) { *t = (cm_play_table){.before = NULL}; }

bool cm_play_table_waits(const cm_play_table *t) {
    return t->config.side != CM_PLAY_NONE && t->thought.visits % 2 != (int)t->config.side;
}

cm_status cm_play_table_play(cm_play_table *t, int action) {
    if (action >= ACTIONS) return cm_fail(CM_ERR_INPUT, "action %d is not legal", action);
    ++*moves_of(t);
    return CM_OK;
}

cm_status cm_play_table_reply(cm_play_table *t, bool is_asked) {
    *moves_of(t) += is_asked || cm_play_table_waits(t);
    return CM_OK;
}

cm_status cm_play_table_hint(cm_play_table *t) {
    return *moves_of(t) < ACTIONS ? CM_OK : cm_fail(CM_ERR_INPUT, "the game is over");
}

cm_status cm_play_table_undo(cm_play_table *t) {
    if (*moves_of(t) == 0) return cm_fail(CM_ERR_INPUT, "there is no move");
    --*moves_of(t);
    return CM_OK;
}

cm_status cm_play_table_tell(cm_play_table *t, char **out) {
    return asprintf(out, "{\"moves\": %d}", *moves_of(t)) < 0 ? CM_ERR_MEMORY : CM_OK;
}

cm_status cm_play_table_tree(cm_play_table *t, const cm_stop *stop, char **out) {
    (void)stop;
    return asprintf(out, "{\"nodes\": [%d]}", *moves_of(t)) < 0 ? CM_ERR_MEMORY : CM_OK;
}

/* ---- the server ---- */

/* What the client of a connection knows. */
typedef struct client {
    int file;
    int asked, told;                /* requests that were answered by the handler, and answers that have come */
    bool is_headers[MOST_REQUESTS]; /* of each request: its answer has no body */
    bool is_stream, is_refused;     /* events come; the last answer was the server's own */
    char bytes[MOST_ANSWER];        /* [used] that have come and are not looked at yet */
    size_t used;
} client;

static cm_site site;
static cm_routes open_routes = {.access = {"0.0.0.0", PORT, TOKEN}},
                 closed_routes = {.access = {"127.0.0.1", PORT, ""}};
static cm_plays *plays;
static cm_server *server;
static int bell; /* an eventfd for cm_server_watch */
static client now;
static bool has_begun; /* a game */
static long long requests;

static void begin_plays(void) {
    cm_plays_destroy(plays);
    expect_ok(cm_plays_create(&plays));
    open_routes.plays = closed_routes.plays = plays;
    has_begun = false;
}

static bool are_busy(void) {
    cm_json_writer *json;
    size_t size;
    expect_ok(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_plays_put(plays, json);
    cm_json_end_object(json);
    const bool is_busy = strstr(cm_json_writer_text(json, &size), "\"busy\": true") != NULL;
    cm_json_writer_destroy(json);
    return is_busy;
}

/* Waits for the thread of the games, so that an input has the same answers every time. */
static void settle(void) {
    struct pollfd file = {.fd = cm_plays_file(plays), .events = POLLIN};
    eventfd_t count;
    while (are_busy())
        if (poll(&file, 1, -1) == 1) (void)eventfd_read(file.fd, &count);
    FUZZ_EXPECT(eventfd_write(bell, 1) == 0);
    has_begun = true;
}

static bool brings_any_token(const cm_http_request *request) {
    return *request->cookie || *request->authorization || strncmp(request->query, "token=", 6) == 0;
}

static void answer_fuzzed(void *context, const cm_http_request *request, const char *body, cm_answer *out) {
    char *own = malloc(request->body + 1); /* so that what is read behind it is seen */
    (void)context;
    if (!own || now.asked == MOST_REQUESTS) abort();
    own = memcpy(own, body, request->body);
    own = realloc(own, request->body ? request->body : 1);
    now.is_headers[now.asked++] = request->method == CM_HTTP_HEADERS;
    requests++;
    cm_routes_answer(brings_any_token(request) ? &open_routes : &closed_routes, request, own, out);
    free(own);
    FUZZ_EXPECT(!out->text || !out->constant);
    FUZZ_EXPECT(!out->text || !memmem(out->text, out->size, SECRET, strlen(SECRET)));
    if (out->status == 202) settle();
}

static void tell_requests(void) {
    fprintf(stderr, "fuzz_serve: %lld requests were answered by the handler\n", requests);
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    static const cm_server_handler handler = {&closed_routes, answer_fuzzed, cm_routes_event, cm_routes_tick};
    static char folder[FUZZ_PATH + 8];
    static const char *const folders[] = {folder};
    (void)count, (void)arguments;
    cm_log_set_level(CM_SILENT);
    make_runs();
    snprintf(folder, sizeof folder, "%s/runs", fuzz_folder());
    expect_ok(cm_site_open(&site, folders, 1));
    FUZZ_EXPECT(site.count == 3);
    make_links();
    open_routes.site = closed_routes.site = &site;
    expect_ok(cm_routes_init(&open_routes));
    expect_ok(cm_routes_init(&closed_routes));
    begin_plays();
    expect_ok(cm_server_create("127.0.0.1", 0, &handler, &server));
    for (int i = 0; i < 2; i++) event_del(server->signals[i]); /* the fuzzer's own */
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    expect_ok(cm_server_watch(server, bell, cm_routes_wake, &closed_routes));
    atexit(tell_requests);
    return 0;
}

/* ---- what comes back ---- */

static const char *header_of(const char *head, const char *end, const char *name) {
    for (const char *at = head; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        if (strncmp(at, name, strlen(name)) == 0) return at + strlen(name);
    return NULL;
}

/* Lines of a head: text of printable characters, each with CR LF behind it. */
static void check_head(const char *head, const char *end) {
    int status = 0, length = 0;
    FUZZ_EXPECT(sscanf(head, "HTTP/1.1 %3d %n", &status, &length) == 1 && length == 13);
    FUZZ_EXPECT(strcmp(cm_http_reason(status), "Error") != 0);
    FUZZ_EXPECT(strncmp(head + length, cm_http_reason(status), strlen(cm_http_reason(status))) == 0);
    for (const char *at = head; at < end; at++) {
        if (at[0] == '\r') FUZZ_EXPECT(at[1] == '\n' && at[-1] != '\n');
        if (at[0] == '\n') FUZZ_EXPECT(at[-1] == '\r');
        FUZZ_EXPECT(at[0] == '\r' || at[0] == '\n' || (at[0] >= ' ' && at[0] <= '~'));
    }
    for (const char *at = head; (at = memchr(at, '\n', (size_t)(end - at))) && ++at < end;)
        FUZZ_EXPECT(memchr(at, ':', (size_t)(end - at)) && strcspn(at, ":") < strcspn(at, " \r"));
}

/* A text that has been looked at lately is not looked at again. */
static void check_json(const char *text, size_t size, bool is_error) {
    static XXH64_hash_t seen[1 << 12];
    const XXH64_hash_t hash = XXH3_64bits_withSeed(text, size, is_error);
    XXH64_hash_t *last = &seen[hash % (sizeof seen / sizeof *seen)];
    cm_json_doc *doc = NULL;
    if (*last == hash) return;
    *last = hash;
    expect_ok(cm_json_parse(text, size, "an answer", &doc));
    const cm_json *root = cm_json_root(doc);
    expect_ok(cm_json_check(root, CM_JSON_OBJECT));
    FUZZ_EXPECT(!is_error || cm_json_string(cm_json_get(root, "error")));
    cm_json_free(doc);
}

static void check_body(const char *head, const char *end, size_t size) {
    const char *type = header_of(head, end, "Content-Type: ");
    const int status = atoi(head + 9);
    FUZZ_EXPECT(type);
    if (strncmp(type, "application/json\r", 17) == 0) check_json(end, size, status >= 400);
    FUZZ_EXPECT(status < 400 || strncmp(type, "application/json\r", 17) == 0);
    if (strncmp(type, "image/gif\r", 10) == 0) FUZZ_EXPECT(strncmp(end, "GIF89a of ", 10) == 0);
    if (strncmp(type, "text/html", 9) == 0)
        FUZZ_EXPECT(header_of(head, end, "Content-Security-Policy: default-src 'none'"));
}

/* Bytes of the first answer that has come, 0: it is not whole yet. */
static size_t take_answer(void) {
    const char *blank = memmem(now.bytes, now.used, "\r\n\r\n", 4);
    if (!blank) return 0;
    const char *end = blank + 4, *length = header_of(now.bytes, end, "Content-Length: ");
    const size_t size = length ? strtoull(length, NULL, 10) : 0;
    const bool is_own = now.told == now.asked, has_body = is_own || !now.is_headers[now.told];
    if (has_body && (size_t)(now.bytes + now.used - end) < size) return 0;
    check_head(now.bytes, blank + 2);
    FUZZ_EXPECT(!now.is_refused && !now.is_stream);
    FUZZ_EXPECT(is_own || header_of(now.bytes, end, "X-Content-Type-Options: nosniff") || size == 0);
    if (has_body && size > 0) check_body(now.bytes, end, size);
    now.is_refused = is_own;
    now.is_stream = !length;
    FUZZ_EXPECT(!is_own || (size == 0 && length && header_of(now.bytes, end, "Connection: close")));
    FUZZ_EXPECT(!now.is_stream || header_of(now.bytes, end, "Content-Type: text/event-stream\r\n"));
    now.told += !is_own;
    return (size_t)(end - now.bytes) + (has_body ? size : 0);
}

static size_t take_event(void) {
    const char *end = memmem(now.bytes, now.used, "\n\n", 2);
    if (!end) return 0;
    FUZZ_EXPECT(strncmp(now.bytes, "data: ", 6) == 0);
    check_json(now.bytes + 6, (size_t)(end - now.bytes) - 6, false);
    return (size_t)(end - now.bytes) + 2;
}

/* Lets the server do what it can, which reads so many bytes in pieces, and looks at what comes. */
static void converse(size_t size) {
    const int most = IDLE + (int)(size / PIECE);
    for (int idle = 0; idle < most; idle++) {
        event_base_loop(server->base, EVLOOP_NONBLOCK);
        const ssize_t n = recv(now.file, now.bytes + now.used, MOST_ANSWER - 1 - now.used, MSG_DONTWAIT);
        if (n <= 0) continue;
        idle = -1;
        now.used += (size_t)n;
        now.bytes[now.used] = '\0';
        for (size_t taken; (taken = now.is_stream ? take_event() : take_answer()) > 0;) {
            now.used -= taken;
            memmove(now.bytes, now.bytes + taken, now.used + 1);
        }
    }
    FUZZ_EXPECT(now.used == 0 && now.told == now.asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int sides[2];
    if (size > MOST_BYTES) return 0;
    FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sides) == 0);
    now.file = sides[0];
    now.asked = now.told = 0;
    now.is_stream = now.is_refused = false;
    accepted(server->listener, sides[1], NULL, 0, server);
    FUZZ_EXPECT(send(now.file, data, size, MSG_NOSIGNAL) == (ssize_t)size);
    converse(size);
    if (server->streams > 0) {
        ticked(-1, 0, server);
        converse(0);
    }
    close(now.file);
    for (int i = 0; i < IDLE && server->connections > 0; i++) event_base_loop(server->base, EVLOOP_NONBLOCK);
    FUZZ_EXPECT(server->connections == 0 && server->streams == 0);
    if (has_begun) begin_plays();
    return 0;
}

/* ---- mutations ---- */

typedef struct request_parts {
    char method[8], target[CM_HTTP_TARGET], body[CM_HTTP_TARGET];
} request_parts;

static const struct {
    const char *method, *target, *body;
} known[] = {
    {"GET", "/", ""},
    {"GET", "/icon.svg", ""},
    {"GET", "/?token=" TOKEN, ""},
    {"GET", "/metrics", ""},
    {"HEAD", "/metrics", ""},
    {"GET", "/api", ""},
    {"GET", "/api/events", ""},
    {"HEAD", "/api/events", ""},
    {"GET", "/api/runs", ""},
    {"GET", "/api/runs/0", ""},
    {"GET", "/api/runs/2", ""},
    {"GET", "/api/runs/0/metrics?fields=env_steps,mean_return,eval_return&from=1&generation=7", ""},
    {"GET", "/api/runs/1/metrics?fields=updates", ""},
    {"GET", "/api/runs/0/config", ""},
    {"GET", "/api/runs/1/config", ""},
    {"GET", "/api/runs/0/log?from=3", ""},
    {"GET", "/api/runs/0/episodes", ""},
    {"GET", "/api/runs/0/episodes/12.gif", ""},
    {"GET", "/api/runs/0/episodes/13.gif", ""},
    {"GET", "/api/runs/0/episodes/notes.txt", ""},
    {"GET", "/api/runs/0/episodes/14.gif", ""},
    {"GET", "/api/runs/0/episodes/best.gif", ""},
    {"GET", "/api/runs/0/episodes/%2e%2e%2fnotes.gif", ""},
    {"GET", "/api/runs/1/episodes/12.gif", ""},
    {"GET", "/api/games/0", ""},
    {"GET", "/api/games/0/tree", ""},
    {"POST", "/api/games", "{\"run\": 0, \"side\": \"first\", \"simulations\": 50, \"seed\": 1}"},
    {"POST", "/api/games", "{\"run\": 0, \"side\": \"second\"}"},
    {"POST", "/api/games", "{\"run\": 1, \"side\": \"none\"}"},
    {"POST", "/api/games/0", "{\"do\": \"move\", \"action\": 4}"},
    {"POST", "/api/games/0", "{\"do\": \"step\"}"},
    {"POST", "/api/games/1", "{\"do\": \"hint\"}"},
    {"POST", "/api/games/0", "{\"do\": \"undo\"}"},
    {"POST", "/api/games/0", "{\"do\": \"tree\"}"},
};

static uint32_t below(cm_rng *rng, size_t n) { return cm_rng_below(rng, (uint32_t)n); }

static void pick_known(cm_rng *rng, request_parts *out) {
    const uint32_t i = below(rng, sizeof known / sizeof *known);
    snprintf(out->method, sizeof out->method, "%s", known[i].method);
    snprintf(out->target, sizeof out->target, "%s", known[i].target);
    snprintf(out->body, sizeof out->body, "%s", known[i].body);
}

/* The first request of an input; false: it has none. */
static bool take_apart(const uint8_t *data, size_t size, request_parts *out) {
    cm_http_request request;
    const char *text = (const char *)data;
    if (cm_http_parse(text, size, &request) != 200 || request.body >= sizeof out->body) return false;
    memcpy(out->body, text + request.head, request.body);
    out->body[request.body] = '\0';
    return sscanf(text, "%7s %1023s", out->method, out->target) == 2;
}

/* Changes a text; one of a target stays one word of it but for one time in 16. */
static void change(cm_rng *rng, char text[CM_HTTP_TARGET], bool is_target) {
    const size_t size = LLVMFuzzerMutate((uint8_t *)text, strlen(text), CM_HTTP_TARGET / 4);
    text[size] = '\0';
    if (!is_target || below(rng, 16) == 0) return;
    text[0] = '/';
    for (size_t i = 1; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '#') text[i] = "/?&=%0"[below(rng, 6)];
}

/* The request in out[most]; 0: it does not fit. */
static size_t put_together(cm_rng *rng, const request_parts *parts, char *out, size_t most) {
    static const char *const hosts[] = {"127.0.0.1:8265", "localhost:8265", "[::1]:8265", "elsewhere"};
    static const char *const others[] = {"",
                                         "",
                                         "",
                                         "Cookie: cumind_8265=" TOKEN "\r\n",
                                         "Authorization: Bearer " TOKEN "\r\n",
                                         "Connection: close\r\n",
                                         "Origin: http://127.0.0.1:8265\r\n"};
    const char *host = hosts[below(rng, 16) == 0 ? below(rng, 4) : 0], *other = others[below(rng, 7)];
    const bool is_post = *parts->body != '\0';
    char length[32] = "";
    if (is_post) snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(parts->body));
    const int size = snprintf(out, most, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n%s", parts->method, parts->target,
                              host, is_post ? "Content-Type: application/json\r\n" : "", length, other, parts->body);
    return size > 0 && (size_t)size < most ? (size_t)size : 0;
}

/* One time in 8 any bytes change. Else a request, from the table or the input's first, of which a part may be changed,
 * takes the place of the input, or stands in front of it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    static char made[2 * CM_HTTP_TARGET + 512];
    cm_rng rng = cm_rng_init(cm_key_make(seed, CM_RNG_TEST, 0), 0);
    request_parts parts;
    if (below(&rng, 8) == 0) return LLVMFuzzerMutate(data, size, most);
    if (below(&rng, 2) == 0 || !take_apart(data, size, &parts)) pick_known(&rng, &parts);
    if (below(&rng, 4) > 0) {
        const bool is_target = *parts.body == '\0' || below(&rng, 3) == 0;
        change(&rng, is_target ? parts.target : parts.body, is_target);
    }
    const size_t head = put_together(&rng, &parts, made, sizeof made), kept = below(&rng, 2) == 0 ? size : 0;
    if (head == 0 || head + kept > most) return LLVMFuzzerMutate(data, size, most);
    memmove(data + head, data, kept);
    memcpy(data, made, head);
    return head + kept;
}
