/* /api/runs: the list, a run, its metrics, configuration, log and pictures. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/routes.h"

enum { MOST_FIELDS = 8, MOST_LOG = 64 * 1024, MOST_PICTURE = 8 << 20, MOST_PICTURES = 256 };

void cm_route_runs(const cm_serve_call *call, cm_answer *out) {
    cm_json_writer *json = NULL;
    if (cm_json_writer_create(0, &json) != CM_OK) return;
    cm_json_begin_object(json, NULL);
    cm_json_begin_array(json, "runs");
    for (int i = 0; i < call->site->count; i++) cm_put_run(json, NULL, call->site, i);
    cm_json_end_array(json);
    cm_json_end_object(json);
    cm_answer_json(out, json);
}

void cm_route_run(const cm_serve_call *call, cm_answer *out) {
    const cm_site_run *run = cm_serve_run(call, out);
    cm_json_writer *json = NULL;
    if (!run || cm_json_writer_create(0, &json) != CM_OK) return;
    cm_json_begin_object(json, NULL);
    cm_put_run(json, "run", call->site, call->number);
    if (run->has_last) cm_metrics_put(json, "last", &run->last);
    cm_json_end_object(json);
    cm_answer_json(out, json);
}

/* ---- metrics ---- */

static bool is_among(const cm_metrics_field *field, const cm_metrics_field *const *fields, int count) {
    for (int i = 0; i < count; i++)
        if (fields[i] == field) return true;
    return false;
}

/* The fields that "fields=a,b" names, each once; returns how many, -1: one is none, or they are too many. */
static int read_fields(const cm_http_request *request, const cm_metrics_field *fields[MOST_FIELDS]) {
    char text[CM_HTTP_VALUE] = "env_steps,mean_return", *state = NULL;
    int count = 0;
    if (!cm_http_query(request, "fields", text, sizeof text) && strstr(request->query, "fields=")) return -1;
    for (char *name = strtok_r(text, ",", &state); name; name = strtok_r(NULL, ",", &state)) {
        const cm_metrics_field *field = cm_metrics_find(name);
        const bool is_new = !is_among(field, fields, count);
        if (!field || (is_new && count == MOST_FIELDS)) return -1;
        if (is_new) fields[count++] = field;
    }
    return count;
}

static void put_column(cm_json_writer *json, const cm_metrics_field *field, const cm_follow *follow, int from) {
    cm_json_begin_array(json, field->name);
    for (int i = from; i < follow->count; i++) {
        const double number = cm_metrics_number(&follow->rows[i], field);
        if (field->integer) {
            cm_json_put_int(json, NULL, (int64_t)number);
        } else {
            cm_json_put_float(json, NULL, (float)number);
        }
    }
    cm_json_end_array(json);
}

/* Rows that a reader has stay where they are while the generation is the same. */
static int first_row(const cm_http_request *request, const cm_follow *follow) {
    const bool is_same = cm_http_query_number(request, "generation", -1) == (long long)follow->generation;
    const long long from = cm_http_query_number(request, "from", 0);
    return !is_same ? 0 : from < follow->count ? (int)from : follow->count;
}

/* /api/runs/N/metrics?fields=a,b&from=ROW&generation=G */
void cm_route_metrics(const cm_serve_call *call, cm_answer *out) {
    const cm_metrics_field *fields[MOST_FIELDS];
    cm_json_writer *json = NULL;
    if (!cm_serve_run(call, out)) return;
    const int count = read_fields(call->request, fields);
    if (count < 0) {
        cm_answer_error(out, 400, "fields: at most %d numbers of metrics.jsonl, with commas between them", MOST_FIELDS);
        return;
    }
    const cm_follow *follow = cm_site_follow(call->site, call->number);
    if (!follow || cm_json_writer_create(0, &json) != CM_OK) {
        out->status = 503;
        return;
    }
    const int from = first_row(call->request, follow);
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "run", call->number);
    cm_json_put_int(json, "generation", (int64_t)follow->generation);
    cm_json_put_int(json, "from", from);
    cm_json_put_int(json, "rows", follow->count);
    cm_json_put_int(json, "damaged", follow->damaged);
    cm_json_put_bool(json, "is_behind", follow->is_behind);
    cm_json_begin_object(json, "columns");
    for (int i = 0; i < count; i++) put_column(json, fields[i], follow, from);
    cm_json_end_object(json);
    cm_json_end_object(json);
    cm_answer_json(out, json);
}

/* ---- files ---- */

static bool enter(const cm_site_run *run, cm_dir *dir, cm_answer *out) {
    if (cm_dir_open(dir, run->path) == CM_OK) return true;
    cm_answer_error(out, 404, "%s", cm_error_message());
    return false;
}

static void put_file(cm_json_writer *json, const cm_dir *dir, const char *name, const char *key) {
    cm_json_doc *doc = NULL;
    if (cm_dir_look(dir, name) != CM_DIR_FILE) {
        cm_json_put_null(json, key);
    } else if (cm_json_read_in(dir, name, CM_JSON_SMALL, &doc) == CM_OK) {
        cm_json_put(json, key, cm_json_root(doc));
        cm_json_free(doc);
    } else {
        char error[32];
        cm_json_put_null(json, key);
        snprintf(error, sizeof error, "%s_error", key);
        cm_json_put_string(json, error, cm_error_message());
    }
}

void cm_route_config(const cm_serve_call *call, cm_answer *out) {
    const cm_site_run *run = cm_serve_run(call, out);
    cm_json_writer *json = NULL;
    cm_dir dir;
    if (!run || !enter(run, &dir, out)) return;
    if (cm_json_writer_create(0, &json) == CM_OK) {
        cm_json_begin_object(json, NULL);
        put_file(json, &dir, "config.json", "config");
        put_file(json, &dir, "result.json", "result");
        cm_json_end_object(json);
        cm_answer_json(out, json);
    }
    cm_dir_close(&dir);
}

/* Bytes of the file from `from`, or its last ones; *from becomes where they begin. */
static ssize_t read_log(const cm_dir *dir, long long *from, long long *size, char *text) {
    struct stat about;
    int file = -1;
    if (cm_dir_open_file(dir, "log.txt", O_RDONLY, &file) != CM_OK) return -1;
    ssize_t there = -1;
    if (fstat(file, &about) == 0) {
        *size = about.st_size;
        if (*from < *size - MOST_LOG || *from > *size) *from = *size > MOST_LOG ? *size - MOST_LOG : 0;
        there = pread(file, text, MOST_LOG, (off_t)*from);
    }
    close(file);
    return there;
}

/* /api/runs/N/log?from=BYTE: whole lines from there on, at most the last 64 KiB. */
void cm_route_log(const cm_serve_call *call, cm_answer *out) {
    const cm_site_run *run = cm_serve_run(call, out);
    cm_json_writer *json = NULL;
    cm_dir dir;
    long long from = cm_http_query_number(call->request, "from", 0), size = 0;
    if (!run || !enter(run, &dir, out)) return;
    char *text = malloc(MOST_LOG + 1);
    ssize_t there = text ? read_log(&dir, &from, &size, text) : -1;
    cm_dir_close(&dir);
    while (there > 0 && text[there - 1] != '\n') there--;
    if (there < 0 || cm_json_writer_create(0, &json) != CM_OK) {
        cm_answer_error(out, 404, "run %d has no log that can be read", call->number);
    } else {
        text[there] = '\0';
        for (char *c = text; c < text + there; c++)
            if (*c == '\0') *c = ' ';
        cm_json_begin_object(json, NULL);
        cm_json_put_int(json, "from", from);
        cm_json_put_int(json, "next", from + there);
        cm_json_put_int(json, "size", size);
        cm_json_put_string(json, "text", text);
        cm_json_end_object(json);
        cm_answer_json(out, json);
    }
    free(text);
}

/* ---- pictures of episodes ---- */

/* "12.gif" or "best.gif": what a run writes. */
static bool is_picture(const char *name) {
    const size_t digits = strspn(name, "0123456789");
    const bool is_number = digits > 0 && digits < 16 && strcmp(name + digits, ".gif") == 0;
    return is_number || strcmp(name, "best.gif") == 0;
}

typedef struct pictures {
    cm_json_writer *json;
    int count;
} pictures;

static cm_status note_picture(void *context, const char *name) {
    pictures *p = context;
    if (is_picture(name) && p->count++ < MOST_PICTURES) cm_json_put_string(p->json, NULL, name);
    return CM_OK;
}

void cm_route_episodes(const cm_serve_call *call, cm_answer *out) {
    const cm_site_run *run = cm_serve_run(call, out);
    pictures p = {.json = NULL};
    cm_dir dir, folder;
    if (!run || !enter(run, &dir, out)) return;
    if (cm_json_writer_create(0, &p.json) == CM_OK) {
        cm_json_begin_object(p.json, NULL);
        cm_json_begin_array(p.json, "episodes");
        if (cm_dir_look(&dir, "episodes") == CM_DIR_FOLDER && cm_dir_enter(&folder, &dir, "episodes") == CM_OK) {
            const cm_status status = cm_dir_each(&folder, note_picture, &p);
            (void)status; /* what was found until then */
            cm_dir_close(&folder);
        }
        cm_json_end_array(p.json);
        cm_json_end_object(p.json);
        cm_answer_json(out, p.json);
    }
    cm_dir_close(&dir);
}

/* Only what begins as a GIF does is given to a browser as one. */
static void answer_picture(const cm_dir *folder, const char *name, cm_answer *out) {
    char *bytes = NULL;
    size_t size = 0;
    if (cm_dir_read(folder, name, MOST_PICTURE, &bytes, &size) != CM_OK || size < 6 || memcmp(bytes, "GIF8", 4) != 0) {
        free(bytes);
        cm_answer_error(out, 404, "there is no such picture");
        return;
    }
    *out = (cm_answer){.status = 200, .type = "image/gif", .text = bytes, .size = size};
}

void cm_route_episode(const cm_serve_call *call, cm_answer *out) {
    const cm_site_run *run = cm_serve_run(call, out);
    cm_dir dir, folder;
    if (!run || !enter(run, &dir, out)) return;
    const bool is_there = is_picture(call->name) && cm_dir_look(&dir, "episodes") == CM_DIR_FOLDER &&
                          cm_dir_enter(&folder, &dir, "episodes") == CM_OK;
    cm_dir_close(&dir);
    if (!is_there) {
        cm_answer_error(out, 404, "there is no such picture");
        return;
    }
    answer_picture(&folder, call->name, out);
    cm_dir_close(&folder);
}
