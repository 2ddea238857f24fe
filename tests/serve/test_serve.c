/* cumind serve over a socket: what it says of runs, to whom, and what strangers cannot take. */
#include "client.h"

static void begin(void) {
    cm_test_folder_make();
    put_run("runs/a", "tictactoe");
    put_run("runs/b", "../theirs.so");
    serve("runs");
}

static void end(void) {
    end_server();
    cm_test_folder_remove();
}

START_TEST(page_is_whole_and_may_load_nothing_else) {
    expect_said("/", "Content-Security-Policy: default-src 'none';");
    ck_assert_ptr_nonnull(strstr(heard, "script-src 'sha256-"));
    ck_assert_ptr_nonnull(strstr(heard, "connect-src 'self'"));
    ck_assert_ptr_null(strstr(heard, "unsafe"));
    ck_assert_ptr_null(strstr(heard, " src=\"http"));
    ck_assert_ptr_nonnull(strstr(heard, "Dygraph"));
    ck_assert_ptr_nonnull(strstr(heard, "</html>"));
    ck_assert_int_eq(ask("HEAD", "/", own_host(), ""), 200);
    ck_assert_ptr_null(strstr(heard, "</html>"));
}
END_TEST

START_TEST(runs_metrics_configurations_and_logs_are_said) {
    expect_said("/api/runs", "\"path\": \"runs/a\", \"environment\": \"tictactoe\", \"state\": \"unfinished\"");
    ck_assert_ptr_nonnull(strstr(heard, "\"environment\": \"theirs.so\""));
    ck_assert_ptr_nonnull(strstr(heard, "\"env_steps\": 200, \"most_steps\": 1000"));
    expect_said("/api/runs/0", "\"last\": {\"iteration\": 2");
    expect_said("/api/runs/0/metrics?fields=env_steps,mean_return",
                "\"columns\": {\"env_steps\": [100, 200], \"mean_return\": [4.25, 5.5]}");
    expect_said("/api/runs/0/metrics?fields=updates,env_steps,updates", /* a key of JSON stands once */
                "\"columns\": {\"updates\": [3, 6], \"env_steps\": [100, 200]}}");
    expect_said("/api/runs/0/config", "\"env_name\": \"tictactoe\"");
    expect_said("/api/runs/0/log", "\"text\": \"2026-11-29 19:34:41 INFO    begun\\n\"");
    expect_said("/api/runs/0/episodes", "\"episodes\": []");
    expect_said("/api", "GET /api/runs/#/metrics");
    expect_said("/metrics", "\ncumind_mean_return{run=\"runs/a\",environment=\"tictactoe\"} 5.5\n");
}
END_TEST

START_TEST(what_is_not_there_is_said) {
    static const struct {
        const char *path;
        int status;
    } rows[] = {
        {"/no", 404},
        {"/api/runs/7", 404},
        {"/api/runs/-1", 404},
        {"/api/runs/9999999", 404},
        {"/api/runs/0/", 404},
        {"/api/runs/0/metrics?fields=nothing", 400},
        {"/api/runs/0/metrics?fields=updates,updates,updates,updates,updates,updates,updates,updates,updates", 200},
        {"/api/runs/0/metrics?fields=updates,episodes,seconds,iteration,env_steps,mean_return,time_acting,time_saving",
         200},
        {"/api/runs/0/metrics?"
         "fields=updates,episodes,seconds,iteration,env_steps,mean_return,time_acting,time_saving,time_other",
         400},
        {"/api/runs/0/episodes/..%2Fconfig.json", 404},
        {"/api/runs/0/episodes/best.gif", 404},
        {"/%2e%2e/etc/passwd", 404}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(get(rows[i].path) == rows[i].status, "%s: %s", rows[i].path, heard);
    ck_assert_int_eq(ask("POST", "/api/runs", own_host(), "{}"), 415);
}
END_TEST

/* What the page draws of them; rows of older versions have none. */
START_TEST(times_of_rows_are_said_where_there_are_any) {
    static const char fields[] =
        "/api/runs/0/"
        "metrics?fields=seconds,time_acting,time_learning,time_reanalysis,time_evaluation,time_saving,time_other";
    expect_said(fields, "\"time_acting\": [null, null]");
    add_to_file("runs/a/metrics.jsonl",
                "{\"iteration\": 3, \"env_steps\": 300, \"time_acting\": 0.25, \"time_other\": 2}\n");
    for (int i = 0; i < 100 && get(fields) == 200 && !strstr(heard, "\"rows\": 3"); i++) usleep(50000);
    ck_assert_ptr_nonnull(strstr(heard, "\"time_acting\": [null, null, 0.25]"));
    ck_assert_ptr_nonnull(strstr(heard, "\"time_other\": [null, null, 2"));
    expect_said("/metrics", "\ncumind_time_acting{run=\"runs/a\",environment=\"tictactoe\"} 0.25\n");
}
END_TEST

/* A file that calls itself a picture is none. */
START_TEST(only_gifs_are_given_as_pictures) {
    put_file("runs/a/episodes/5.gif", "<script>alert(1)</script>");
    put_file("runs/a/episodes/6.gif", "GIF89a and so on");
    ck_assert_int_eq(get("/api/runs/0/episodes/5.gif"), 404);
    expect_said("/api/runs/0/episodes/6.gif", "Content-Type: image/gif");
}
END_TEST

START_TEST(rows_that_a_reader_has_are_not_sent_again) {
    int generation = -1;
    expect_said("/api/runs/0/metrics", "\"rows\": 2");
    ck_assert_int_eq(sscanf(strstr(heard, "\"generation\":"), "\"generation\": %d", &generation), 1);
    add_to_file("runs/a/metrics.jsonl", "{\"iteration\": 3, \"env_steps\": 300, \"mean_return\": 6.0}\n");
    char path[96];
    snprintf(path, sizeof path, "/api/runs/0/metrics?from=2&generation=%d", generation);
    for (int i = 0; i < 100 && get(path) == 200 && !strstr(heard, "\"rows\": 3"); i++) usleep(50000);
    ck_assert_ptr_nonnull(strstr(heard, "\"from\": 2, \"rows\": 3"));
    ck_assert_ptr_nonnull(strstr(heard, "\"env_steps\": [300]"));
    snprintf(path, sizeof path, "/api/runs/0/metrics?from=2&generation=%d", generation + 100);
    expect_said(path, "\"env_steps\": [100, 200, 300]");
}
END_TEST

START_TEST(events_tell_of_lines_and_runs_as_they_come) {
    char text[256];
    const int file = connect_to();
    snprintf(text, sizeof text, "GET /api/events HTTP/1.1\r\n%s\r\n", own_host());
    say(file, text);
    hear(file, "\"path\": \"runs/b\"");
    ck_assert_ptr_nonnull(strstr(heard, "Content-Type: text/event-stream"));
    add_to_file("runs/a/metrics.jsonl", "{\"iteration\": 3, \"env_steps\": 345}\n");
    hear(file, "\"env_steps\": 345");
    ck_assert_ptr_null(strstr(heard, "runs/b")); /* which has not changed */
    put_run("runs/c", "catch");
    hear(file, "\"path\": \"runs/c\"");
    close(file);
}
END_TEST

START_TEST(a_folder_that_two_paths_lead_to_is_served_once) {
    end_server();
    serve("./runs runs runs/a");
    expect_said("/api/runs", "\"path\": \"./runs/a\"");
    ck_assert_ptr_null(strstr(heard, "\"path\": \"runs/"));
    ck_assert_ptr_nonnull(strstr(heard, "\"path\": \"./runs/b\""));
}
END_TEST

/* ---- to whom ---- */

START_TEST(other_names_and_other_pages_are_refused) {
    char headers[256];
    ck_assert_int_eq(ask("GET", "/", "Host: evil.example\r\n", ""), 421);
    snprintf(headers, sizeof headers, "Host: evil.example:%d\r\n", port);
    ck_assert_int_eq(ask("GET", "/api/runs", headers, ""), 421);
    snprintf(headers, sizeof headers, "Host: localhost:%d\r\n", port);
    ck_assert_int_eq(ask("GET", "/api/runs", headers, ""), 200);
    snprintf(headers, sizeof headers, "Host: localhost:%d\r\n", port + 1);
    ck_assert_int_eq(ask("GET", "/api/runs", headers, ""), 421);
    snprintf(headers, sizeof headers, "%sContent-Type: application/json\r\nOrigin: http://evil.example\r\n",
             own_host());
    ck_assert_int_eq(ask("POST", "/api/runs", headers, "{}"), 403);
}
END_TEST

START_TEST(other_addresses_need_the_token) {
    char text[1024], token[64] = "", headers[256], path[96];
    end_server();
    serve("--host 0.0.0.0 runs");
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_int_eq(sscanf(strstr(text, "?token="), "?token=%32[0-9a-f]", token), 1);
    ck_assert_uint_eq(strlen(token), 32);
    ck_assert_int_eq(get("/"), 401);
    ck_assert_int_eq(get("/metrics"), 401);
    ck_assert_int_eq(get("/?token=0123456789abcdef0123456789abcdef"), 401);
    snprintf(path, sizeof path, "/?token=%s", token);
    ck_assert_int_eq(get(path), 303);
    snprintf(text, sizeof text, "Set-Cookie: cumind_%d=%s; HttpOnly; SameSite=Strict", port, token);
    ck_assert_ptr_nonnull(strstr(heard, text));
    snprintf(headers, sizeof headers, "%sCookie: other=1; cumind_%d=%s\r\n", own_host(), port, token);
    ck_assert_int_eq(ask("GET", "/", headers, ""), 200);
    snprintf(headers, sizeof headers, "%sAuthorization: Bearer %s\r\n", own_host(), token);
    ck_assert_int_eq(ask("GET", "/metrics", headers, ""), 200);
}
END_TEST

/* ---- what cannot be taken ---- */

START_TEST(requests_in_a_row_are_answered_in_their_order) {
    char text[512];
    const int file = connect_to();
    snprintf(text, sizeof text,
             "GET /no HTTP/1.1\r\n%s\r\nGET /api HTTP/1.1\r\n%s\r\nGET /api/runs/9 HTTP/1.0\r\n%s\r\n", own_host(),
             own_host(), own_host());
    say(file, text);
    hear(file, NULL);
    const char *first = strstr(heard, "HTTP/1.1 404"), *second = strstr(heard, "HTTP/1.1 200"),
               *third = strstr(heard, "there is no run 9");
    ck_assert(first && second && third && first < second && second < third);
    close(file);
}
END_TEST

START_TEST(long_requests_are_refused) {
    static char head[10000];
    char headers[256];
    memset(head, 'a', sizeof head - 1);
    const int file = connect_to();
    say(file, "GET / HTTP/1.1\r\nX: ");
    say(file, head);
    hear(file, "HTTP/1.1 431");
    close(file);
    snprintf(headers, sizeof headers, "%sX-A: 1\r\n", own_host());
    const int other = connect_to();
    char text[512];
    snprintf(text, sizeof text, "POST / HTTP/1.1\r\n%sContent-Length: 20000\r\n\r\n", headers);
    say(other, text);
    hear(other, "HTTP/1.1 413");
    close(other);
}
END_TEST

/* 300 at once: those within the bound are answered, and the others when some have gone. */
START_TEST(connections_and_streams_are_bounded) {
    enum { MANY = 300, STREAMS = 192 };
    int file[MANY], refused = 0;
    char text[256];
    snprintf(text, sizeof text, "GET /api/events HTTP/1.1\r\n%s\r\n", own_host());
    for (int i = 0; i < 200; i++) {
        file[i] = connect_to();
        say(file[i], text);
        hear(file[i], "\r\n\r\n");
        refused += strstr(heard, "HTTP/1.1 503") != NULL;
    }
    ck_assert_int_eq(refused, 200 - STREAMS);
    for (int i = 200; i < MANY; i++) file[i] = connect_to();
    for (int i = 0; i < MANY - 1; i++) close(file[i]);
    snprintf(text, sizeof text, "GET /api HTTP/1.0\r\n%s\r\n", own_host());
    say(file[MANY - 1], text);
    hear(file[MANY - 1], "\"routes\"");
    close(file[MANY - 1]);
}
END_TEST

START_TEST(a_taken_port_and_a_wrong_address_are_one_line) {
    static cm_output result;
    char command[64];
    snprintf(command, sizeof command, "serve runs --port %d", port);
    cm_program_run(cm_test_folder, command, &result);
    cm_program_expect_error(&result, 1, "is taken; choose another with --port");
    cm_program_run(cm_test_folder, "serve runs --host here --port 0", &result);
    cm_program_expect_error(&result, 2, "--host: here is no address in numbers");
    cm_program_run(cm_test_folder, "serve nothing --port 0", &result);
    cm_program_expect_error(&result, 2, "nothing: there is no such folder");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("serve");
    TCase *tests = tcase_create("serve");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, page_is_whole_and_may_load_nothing_else);
    tcase_add_test(tests, runs_metrics_configurations_and_logs_are_said);
    tcase_add_test(tests, what_is_not_there_is_said);
    tcase_add_test(tests, times_of_rows_are_said_where_there_are_any);
    tcase_add_test(tests, only_gifs_are_given_as_pictures);
    tcase_add_test(tests, rows_that_a_reader_has_are_not_sent_again);
    tcase_add_test(tests, a_folder_that_two_paths_lead_to_is_served_once);
    tcase_add_test(tests, events_tell_of_lines_and_runs_as_they_come);
    tcase_add_test(tests, other_names_and_other_pages_are_refused);
    tcase_add_test(tests, other_addresses_need_the_token);
    tcase_add_test(tests, requests_in_a_row_are_answered_in_their_order);
    tcase_add_test(tests, long_requests_are_refused);
    tcase_add_test(tests, connections_and_streams_are_bounded);
    tcase_add_test(tests, a_taken_port_and_a_wrong_address_are_one_line);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
