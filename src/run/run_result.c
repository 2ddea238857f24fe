/* The report that a run ends with, result.json: a row per key, by which it is written and read. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "run/run_internal.h"

static const char result_file[] = "result.json";

typedef enum kind {
    END,     /* cm_run_end, a word */
    HASH,    /* char[CM_HASH_HEX] */
    COUNT,   /* int64_t, not below 0 */
    INTEGER, /* int, not below 0 */
    SECONDS, /* double, to the millisecond */
    NUMBER,  /* double */
    PAIR     /* two of them */
} kind;

typedef struct row {
    const char *key;
    size_t offset;
    kind kind;
    bool is_needed; /* to be a report */
} row;

#define AT(member) offsetof(cm_run_result, member)
static const row rows[] = {
    {"end", AT(end), END, true},
    {"iterations", AT(iterations), COUNT, false},
    {"env_steps", AT(env_steps), COUNT, false},
    {"updates", AT(updates), COUNT, true},
    {"episodes_played", AT(episodes), COUNT, false},
    {"seconds", AT(seconds), SECONDS, false},
    {"parameter_hash", AT(hash), HASH, true},
};
static const row evaluated_rows[] = {
    {"evaluated_updates", AT(final_updates), COUNT, false},
    {"seed", AT(final_seed), COUNT, false},
};

#define OF(member) offsetof(cm_evaluation, member)
static const row evaluation_rows[] = {
    {"episodes", OF(episodes), INTEGER, false},
    {"mean", OF(mean), NUMBER, true},
    {"std", OF(std), NUMBER, false},
    {"min", OF(min), NUMBER, false},
    {"max", OF(max), NUMBER, false},
    {"ci95", OF(low), PAIR, true},
    {"wins", OF(wins), INTEGER, false},
    {"draws", OF(draws), INTEGER, false},
    {"losses", OF(losses), INTEGER, false},
};
_Static_assert(OF(high) == OF(low) + sizeof(double), "a pair");
#define ROWS(list) list, sizeof(list) / sizeof *(list)

/* ---- writing ---- */

static const char *const ends[] = {[CM_RUN_STOPPED] = "stopped", [CM_RUN_LIMIT] = "limit", [CM_RUN_GOAL] = "goal"};

static void format_value(const row *r, const void *at, char out[96]) {
    const double *number = at;
    switch (r->kind) {
    case END: snprintf(out, 96, "\"%s\"", ends[*(const cm_run_end *)at]); break;
    case HASH: snprintf(out, 96, "\"%s\"", (const char *)at); break;
    case COUNT: snprintf(out, 96, "%lld", (long long)*(const int64_t *)at); break;
    case INTEGER: snprintf(out, 96, "%d", *(const int *)at); break;
    case SECONDS: snprintf(out, 96, "%.3f", *number); break;
    case NUMBER: snprintf(out, 96, "%.9g", *number); break;
    default: snprintf(out, 96, "[%.9g, %.9g]", number[0], number[1]);
    }
}

/* After what `out` has. */
static void format_rows(const row *list, size_t count, const void *from, char *out, size_t size) {
    char value[96];
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(out);
        format_value(&list[i], (const char *)from + list[i].offset, value);
        snprintf(out + used, size - used, "%s\"%s\": %s", used ? ", " : "", list[i].key, value);
    }
}

void cm_run_format_evaluation(const cm_evaluation *e, char *out, size_t size) {
    out[0] = '\0';
    format_rows(ROWS(evaluation_rows), e, out, size);
}

void cm_run_format_result(const cm_run_result *r, char *out, size_t size) {
    out[0] = '\0';
    format_rows(ROWS(rows), r, out, size);
    if (!r->evaluated) return;
    format_rows(ROWS(evaluated_rows), r, out, size);
    format_rows(ROWS(evaluation_rows), &r->final, out, size);
}

cm_status cm_run_write_result(cm_run *run, const cm_run_result *r) {
    char members[1024], text[1056];
    cm_run_format_result(r, members, sizeof members);
    int n = snprintf(text, sizeof text, "{%s}\n", members);
    return cm_dir_write(&run->directory.dir, result_file, text, (size_t)n);
}

cm_status cm_run_drop_result(cm_run *run) { return cm_dir_unlink(&run->directory.dir, result_file); }

/* ---- reading ---- */

static cm_status read_text(const cm_json *root, const row *r, void *at) {
    const char *text;
    CM_TRY(cm_json_need_string(root, r->key, &text));
    if (r->kind == HASH) {
        snprintf(at, CM_HASH_HEX, "%s", text);
    } else {
        *(cm_run_end *)at = strcmp(text, ends[CM_RUN_GOAL]) == 0 ? CM_RUN_GOAL : CM_RUN_LIMIT;
    }
    return CM_OK;
}

static cm_status read_row(const cm_json *root, const row *r, void *at) {
    const int64_t most = r->kind == INTEGER ? INT32_MAX : CM_JSON_MOST;
    int64_t count;
    if (!r->is_needed && !cm_json_get(root, r->key)) return CM_OK;
    switch (r->kind) {
    case END:
    case HASH: return read_text(root, r, at);
    case PAIR: return cm_json_doubles(cm_json_get(root, r->key), r->key, 2, at);
    case COUNT:
    case INTEGER: break;
    default: return cm_json_need_number(root, r->key, at);
    }
    CM_TRY(cm_json_need_int(root, r->key, 0, most, &count));
    if (r->kind == INTEGER) {
        *(int *)at = (int)count;
    } else {
        *(int64_t *)at = count;
    }
    return CM_OK;
}

static cm_status read_rows(const cm_json *root, const row *list, size_t count, void *to) {
    for (size_t i = 0; i < count; i++) CM_TRY(read_row(root, &list[i], (char *)to + list[i].offset));
    return CM_OK;
}

static cm_status read_result(const cm_json *root, cm_run_result *r) {
    CM_TRY(cm_json_check(root, CM_JSON_OBJECT));
    CM_TRY(read_rows(root, ROWS(rows), r));
    r->final_updates = r->updates;
    r->evaluated = cm_json_get(root, "mean") && cm_json_get(root, "ci95");
    if (!r->evaluated) return CM_OK;
    r->final.std = r->final.min = r->final.max = NAN;
    CM_TRY(read_rows(root, ROWS(evaluated_rows), r));
    return read_rows(root, ROWS(evaluation_rows), &r->final);
}

cm_status cm_run_read_result(const cm_run *run, cm_run_result *r, bool *found) {
    cm_json_doc *doc = NULL;
    *found = false;
    *r = (cm_run_result){.directory = run->directory.path};
    if (cm_dir_look(&run->directory.dir, result_file) == CM_DIR_NONE) return CM_OK;
    cm_status status = cm_json_read_in(&run->directory.dir, result_file, CM_JSON_SMALL, &doc);
    if (status == CM_OK) {
        status = read_result(cm_json_root(doc), r);
        if (status != CM_OK) status = cm_fail_in(status, "%s/%s", run->directory.path, result_file);
    }
    cm_json_free(doc);
    if (status != CM_OK) cm_log(CM_WARNING, "%s; the report is made again", cm_error_message());
    *found = status == CM_OK && r->updates == cm_trainer_updates(cm_run_trainer(run));
    return CM_OK;
}
