/* cumind serve as a browser meets it: the program in the tests' folder, and requests over a socket. */
#ifndef TESTS_SERVE_CLIENT_H
#define TESTS_SERVE_CLIENT_H

#include <arpa/inet.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

enum { CLIENT_BYTES = 1 << 19 };

static pid_t served;
static int port;
static char heard[CLIENT_BYTES]; /* the last answer, headers and body */

/* Starts it and waits until it says its port. */
static inline void serve(const char *arguments) {
    char command[256], text[1024] = "";
    snprintf(command, sizeof command, "serve --port 0 --for 120 %s", arguments);
    served = cm_program_start(cm_test_folder, command);
    for (int i = 0; i < 20000 && !strchr(text, '\n'); i++) {
        usleep(1000);
        cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    }
    const char *colon = strstr(text, "http://") ? strchr(strstr(text, "http://") + 7, ':') : NULL;
    ck_assert_msg(colon && sscanf(colon, ":%d/", &port) == 1, "no port: %s", text);
}

static inline void end_server(void) {
    if (served <= 0) return;
    kill(served, SIGTERM);
    ck_assert_int_eq(cm_program_wait(served), 0);
    served = 0;
}

static inline int connect_to(void) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct timeval patience = {60, 0};
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(file, 0);
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ck_assert_int_eq(connect(file, (const struct sockaddr *)&address, sizeof address), 0);
    return file;
}

static inline void say(int file, const char *text) {
    ck_assert_int_eq(send(file, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads until `text` has come, or, NULL, until the connection ends. */
static inline void hear(int file, const char *text) {
    size_t used = 0;
    heard[0] = '\0';
    while (used + 1 < CLIENT_BYTES && !(text && strstr(heard, text))) {
        const ssize_t n = recv(file, heard + used, CLIENT_BYTES - 1 - used, 0);
        if (n <= 0) break;
        used += (size_t)n;
        heard[used] = '\0';
    }
    ck_assert_msg(!text || strstr(heard, text), "%s was not said: %s", text, heard);
}

/* A request with these lines of headers; returns the status. */
static inline int ask(const char *method, const char *path, const char *headers, const char *body) {
    char text[4096];
    int status = 0;
    const int file = connect_to();
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\n%sConnection: close\r\nContent-Length: %zu\r\n\r\n%s", method, path,
             headers, strlen(body), body);
    say(file, text);
    hear(file, NULL);
    close(file);
    sscanf(heard, "HTTP/1.1 %d", &status);
    return status;
}

static inline const char *own_host(void) {
    static char line[64];
    snprintf(line, sizeof line, "Host: 127.0.0.1:%d\r\n", port);
    return line;
}

static inline int get(const char *path) { return ask("GET", path, own_host(), ""); }

static inline void expect_said(const char *path, const char *part) {
    ck_assert_int_eq(get(path), 200);
    ck_assert_msg(strstr(heard, part), "%s: %s is missing: %s", path, part, heard);
}

/* A file of the tests' folder, with its folders; the same with more at its end. */
static inline void put_file(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

static inline void add_to_file(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    FILE *file = fopen(path, "ae");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* A run of two iterations that its files alone make. */
static inline void put_run(const char *name, const char *environment) {
    char path[128], text[512];
    snprintf(path, sizeof path, "%s/config.json", name);
    snprintf(text, sizeof text,
             "{\"Environment\": {\"env_name\": \"%s\"}, \"Training\": {\"seed\": 5, \"env_steps\": 1000}}",
             environment);
    put_file(path, text);
    snprintf(path, sizeof path, "%s/lock", name);
    put_file(path, "");
    snprintf(path, sizeof path, "%s/metrics.jsonl", name);
    put_file(path, "{\"iteration\": 1, \"env_steps\": 100, \"updates\": 3, \"episodes\": 2, \"seconds\": 1.5, "
                   "\"mean_return\": 4.25}\n"
                   "{\"iteration\": 2, \"env_steps\": 200, \"updates\": 6, \"episodes\": 4, \"seconds\": 3.0, "
                   "\"mean_return\": 5.5}\n");
    snprintf(path, sizeof path, "%s/log.txt", name);
    put_file(path, "2026-11-29 19:34:41 INFO    begun\n2026-11-29 19:34:42 INFO    half a li");
}

#endif
