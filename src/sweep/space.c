#include "sweep/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

/* ---- which keys ---- */

static cm_status find_row(const cm_config *config, const char *name, const cm_option **out) {
    const char *dot = strrchr(name, '.');
    char *text = NULL;
    for (int i = 0; (*out = cm_config_row(config, i)) != NULL; i++)
        if (strcmp((*out)->key, dot ? dot + 1 : name) == 0) return CM_OK;
    CM_TRY(cm_config_explain(config, name, &text)); /* it says which key is near */
    free(text);
    return cm_fail(CM_ERR_INPUT, "%.60s is a section; name one of its keys", name);
}

/* What every trial has to have in common, so that they can be compared, and what changes no result. */
static cm_status refuse_row(const cm_option *row) {
    static const char *const sections[] = {"Evaluation", "Device", "Logging"};
    static const char *const keys[] = {"seed", "extra_updates", "time_limit", "keep_checkpoints"};
    static const char *const groups[] = {"limit", "checkpoint"};
    bool is_common = false;
    if (row->type == CM_OPTION_STRING || row->type == CM_OPTION_SHAPE)
        return cm_fail(CM_ERR_INPUT, "%s: cannot be swept: it is neither a number nor a choice", row->key);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) is_common |= strcmp(row->section, sections[i]) == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) is_common |= strcmp(row->key, keys[i]) == 0;
    for (size_t i = 0; row->group && i < sizeof groups / sizeof *groups; i++)
        is_common |= strcmp(row->group, groups[i]) == 0;
    if (!is_common) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: cannot be swept: all trials have it in common; --set gives it a value", row->key);
}

/* ---- lists and ranges ---- */

static bool is_number(const cm_option *row) {
    return row->type == CM_OPTION_INT || row->type == CM_OPTION_INT64 || row->type == CM_OPTION_DOUBLE;
}

/* Checks a value, and how it is written in JSON. */
static cm_status take(cm_config *config, const cm_option *row, const char *text, char out[CM_SWEEP_TEXT]) {
    char value[CM_OPTION_JSON];
    CM_TRY(cm_config_assign(config, row->key, text, row->key));
    cm_config_value_text(config, row, value);
    snprintf(out, CM_SWEEP_TEXT, "%.*s", CM_SWEEP_TEXT - 1, value);
    return CM_OK;
}

/* The values between separators. */
static cm_status read_list(cm_config *config, const cm_option *row, const char *text, char separator,
                           cm_sweep_key *out) {
    const char separators[] = {separator, '\0'};
    for (const char *at = text;; at++) {
        char word[CM_SWEEP_TEXT];
        const size_t length = strcspn(at, separators);
        if (out->count == CM_SWEEP_CHOICES)
            return cm_fail(CM_ERR_INPUT, "%s: a list has at most %d values", row->key, CM_SWEEP_CHOICES);
        if (length == 0 || length >= sizeof word)
            return cm_fail(CM_ERR_INPUT, "%s: \"%.40s\" is no list of values such as 8,16,32", row->key, text);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        CM_TRY(take(config, row, word, out->value[out->count]));
        for (int i = 0; i < out->count; i++)
            if (strcmp(out->value[i], out->value[out->count]) == 0)
                return cm_fail(CM_ERR_INPUT, "%s: %s stands twice in its list", row->key, word);
        out->count++;
        at += length;
        if (*at == '\0') return CM_OK;
    }
}

/* Ranges that span decades are drawn from by the logarithm. */
static void set_range(const cm_option *row, double low, double high, cm_sweep_key *out) {
    out->kind = row->type == CM_OPTION_DOUBLE ? CM_SWEEP_REALS : CM_SWEEP_INTEGERS;
    out->low = low, out->high = high;
    out->is_log = low > 0.0 && high / low >= 10.0;
}

static cm_status read_end(cm_config *config, const cm_option *row, const char *text, double *out) {
    char value[CM_SWEEP_TEXT], *end;
    CM_TRY(take(config, row, text, value));
    *out = strtod(value, &end);
    return *end == '\0' ? CM_OK
                        : cm_fail(CM_ERR_INPUT, "%s: \"%.40s\" is no number, as an end of a range is", row->key, text);
}

static cm_status read_range(cm_config *config, const cm_option *row, const char *text, const char *dots,
                            cm_sweep_key *out) {
    char first[CM_SWEEP_TEXT];
    double low, high;
    if (!is_number(row))
        return cm_fail(CM_ERR_INPUT, "%s: \"%.40s\" is a range, and the key is no number; list its values with commas",
                       row->key, text);
    if (dots == text || dots[2] == '\0' || dots - text >= (ptrdiff_t)sizeof first)
        return cm_fail(CM_ERR_INPUT, "%s: \"%.40s\" is no range such as 1..10", row->key, text);
    snprintf(first, sizeof first, "%.*s", (int)(dots - text), text);
    CM_TRY(read_end(config, row, first, &low));
    CM_TRY(read_end(config, row, dots + 2, &high));
    if (!(low < high)) return cm_fail(CM_ERR_INPUT, "%s: the range \"%.40s\" is empty", row->key, text);
    set_range(row, low, high, out);
    return CM_OK;
}

static cm_status read_row(cm_config *config, const cm_option *row, cm_sweep_key *out) {
    if (row->type == CM_OPTION_ENUM) return read_list(config, row, row->choices, '|', out);
    if (row->type == CM_OPTION_BOOL) return read_list(config, row, "false,true", ',', out);
    if (!(row->sweep[0] < row->sweep[1]))
        return cm_fail(CM_ERR_INPUT, "%s: needs a range or a list, as in %s=LOW..HIGH or %s=A,B,C", row->key, row->key,
                       row->key);
    set_range(row, row->sweep[0], row->sweep[1], out);
    return CM_OK;
}

cm_status cm_sweep_space_add(cm_sweep_space *space, cm_config *config, const char *word) {
    const char *equals = strchr(word, '='), *dots = equals ? strstr(equals, "..") : NULL;
    char name[CM_OPTION_TEXT];
    const cm_option *row;
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - word : (ptrdiff_t)strlen(word)), word);
    CM_TRY(find_row(config, name, &row));
    CM_TRY(refuse_row(row));
    for (int i = 0; i < space->count; i++)
        if (strcmp(space->row[i].key, row->key) == 0) return cm_fail(CM_ERR_INPUT, "%s: stands twice", row->key);
    if (space->count == CM_SWEEP_KEYS)
        return cm_fail(CM_ERR_INPUT, "%s: a sweep has at most %d keys", row->key, CM_SWEEP_KEYS);
    cm_sweep_key *out = &space->row[space->count];
    *out = (cm_sweep_key){.kind = CM_SWEEP_LIST};
    snprintf(out->key, sizeof out->key, "%s", row->key);
    CM_TRY(!equals ? read_row(config, row, out)
           : dots  ? read_range(config, row, equals + 1, dots, out)
                   : read_list(config, row, equals + 1, ',', out));
    space->count++;
    return CM_OK;
}

/* ---- draws ---- */

static double draw_real(const cm_sweep_key *key, double share) {
    char text[40];
    const double low = key->is_log ? log(key->low) : key->low, high = key->is_log ? log(key->high) : key->high;
    const double x = low + share * (high - low);
    snprintf(text, sizeof text, "%.4g", key->is_log ? exp(x) : x);
    return fmin(fmax(strtod(text, NULL), key->low), key->high);
}

/* Each of the integers has its part of the range up to the next one. */
static double draw_integer(const cm_sweep_key *key, double share) {
    const double end = key->high + 1.0;
    const double x =
        key->is_log ? exp(log(key->low) + share * (log(end) - log(key->low))) : key->low + share * (end - key->low);
    return fmin(fmax(floor(x), key->low), key->high);
}

void cm_sweep_space_draw(const cm_sweep_space *space, int64_t seed, int trial, int index, char out[CM_SWEEP_TEXT]) {
    const cm_sweep_key *key = &space->row[index];
    cm_rng rng = cm_rng_init(cm_key_make((uint64_t)seed, CM_RNG_SWEEP, (uint64_t)trial), (uint64_t)index);
    char number[40];
    switch (key->kind) {
    case CM_SWEEP_LIST: memcpy(out, key->value[cm_rng_below(&rng, (uint32_t)key->count)], CM_SWEEP_TEXT); return;
    case CM_SWEEP_INTEGERS:
        snprintf(out, CM_SWEEP_TEXT, "%.0f", draw_integer(key, cm_rng_uniform_double(&rng)));
        return;
    case CM_SWEEP_REALS:
        cm_json_format_double(draw_real(key, cm_rng_uniform_double(&rng)), number);
        snprintf(out, CM_SWEEP_TEXT, "%s", number);
        return;
    }
}

void cm_sweep_value_bare(const char *value, char out[CM_SWEEP_TEXT]) {
    const size_t length = strlen(value);
    const bool is_quoted = length >= 2 && value[0] == '"';
    snprintf(out, CM_SWEEP_TEXT, "%.*s", (int)(is_quoted ? length - 2 : length), value + is_quoted);
}

/* ---- JSON ---- */

static void put_value(cm_json_writer *json, const char *key, const char *value) {
    char bare[CM_SWEEP_TEXT];
    cm_sweep_value_bare(value, bare);
    if (value[0] == '"') {
        cm_json_put_string(json, key, bare);
    } else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        cm_json_put_bool(json, key, value[0] == 't');
    } else if (strcmp(value, "null") == 0) {
        cm_json_put_null(json, key);
    } else if (strpbrk(value, ".e")) {
        cm_json_put_double(json, key, strtod(value, NULL));
    } else {
        cm_json_put_int(json, key, strtoll(value, NULL, 10));
    }
}

void cm_sweep_space_put(const cm_sweep_space *space, int64_t seed, int trial, cm_json_writer *json, const char *key) {
    char value[CM_SWEEP_TEXT];
    cm_json_begin_object(json, key);
    for (int i = 0; i < space->count; i++) {
        cm_sweep_space_draw(space, seed, trial, i, value);
        put_value(json, space->row[i].key, value);
    }
    cm_json_end_object(json);
}

void cm_sweep_space_write(const cm_sweep_space *space, cm_json_writer *json, const char *key) {
    cm_json_begin_array(json, key);
    for (const cm_sweep_key *k = space->row; k < space->row + space->count; k++) {
        cm_json_begin_object(json, NULL);
        cm_json_put_string(json, "key", k->key);
        if (k->kind == CM_SWEEP_LIST) {
            cm_json_begin_array(json, "values");
            for (int i = 0; i < k->count; i++) put_value(json, NULL, k->value[i]);
            cm_json_end_array(json);
        } else {
            cm_json_put_double(json, "low", k->low);
            cm_json_put_double(json, "high", k->high);
            cm_json_put_bool(json, "integer", k->kind == CM_SWEEP_INTEGERS);
            cm_json_put_bool(json, "log", k->is_log);
        }
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
}

static void text_of(const cm_json *node, char out[CM_SWEEP_TEXT]) {
    char number[40];
    const double x = cm_json_number(node, 0.0);
    cm_json_format_double(x, number);
    switch (cm_json_type(node)) {
    case CM_JSON_STRING: snprintf(out, CM_SWEEP_TEXT, "\"%.60s\"", cm_json_string(node)); return;
    case CM_JSON_BOOL: snprintf(out, CM_SWEEP_TEXT, "%s", cm_json_is_true(node) ? "true" : "false"); return;
    case CM_JSON_NUMBER:
        snprintf(out, CM_SWEEP_TEXT, "%s", number);
        if (cm_json_is_integer(node, -CM_JSON_MOST, CM_JSON_MOST)) snprintf(out, CM_SWEEP_TEXT, "%.0f", x);
        return;
    default: snprintf(out, CM_SWEEP_TEXT, "null"); return;
    }
}

static cm_status read_values(const cm_json *values, cm_sweep_key *out) {
    const int count = cm_json_size(values);
    if (count < 1 || count > CM_SWEEP_CHOICES)
        return cm_fail(CM_ERR_INPUT, "values: must be 1..%d, got %d", CM_SWEEP_CHOICES, count);
    out->kind = CM_SWEEP_LIST;
    for (const cm_json *v = cm_json_first(values); v; v = cm_json_next(v)) text_of(v, out->value[out->count++]);
    return CM_OK;
}

static cm_status read_key(const cm_json *node, cm_sweep_key *out) {
    const char *name;
    const cm_json *values = cm_json_get(node, "values");
    CM_TRY(cm_json_need_string(node, "key", &name));
    snprintf(out->key, sizeof out->key, "%.*s", CM_SWEEP_TEXT - 1, name);
    if (values) return read_values(values, out);
    CM_TRY(cm_json_need_number(node, "low", &out->low));
    CM_TRY(cm_json_need_number(node, "high", &out->high));
    out->kind = cm_json_is_true(cm_json_get(node, "integer")) ? CM_SWEEP_INTEGERS : CM_SWEEP_REALS;
    out->is_log = cm_json_is_true(cm_json_get(node, "log"));
    if (out->low < out->high && (!out->is_log || out->low > 0.0)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its range is empty", out->key);
}

cm_status cm_sweep_space_read(const cm_json *array, cm_sweep_space *out) {
    const int count = cm_json_size(array);
    *out = (cm_sweep_space){.count = 0};
    if (count < 1 || count > CM_SWEEP_KEYS)
        return cm_fail(CM_ERR_INPUT, "keys: must be 1..%d, got %d", CM_SWEEP_KEYS, count);
    for (const cm_json *node = cm_json_first(array); node; node = cm_json_next(node))
        CM_TRY(read_key(node, &out->row[out->count++]));
    return CM_OK;
}
