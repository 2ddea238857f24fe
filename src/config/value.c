#include "config/value.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/count.h"
#include "core/utf8.h"

#define UNBOUNDED 9007199254740992.0 /* 2^53; a bound as large as this is none to a reader */

enum { RANGE_BYTES = 512 };

/* --- words --- */

/* The word `index` of a list "a|b|c"; false if there is none. */
static bool choice_word(const char *choices, int index, char out[CM_OPTION_WORD]) {
    for (; index > 0 && choices; index--) {
        choices = strchr(choices, '|');
        if (choices) choices++;
    }
    if (!choices) return false;
    snprintf(out, CM_OPTION_WORD, "%.*s", (int)strcspn(choices, "|"), choices);
    return true;
}

void cm_value_word(const cm_option *row, const void *member, char out[CM_OPTION_WORD]) {
    if (!choice_word(row->choices, *(const int *)member, out)) *out = '\0';
}

static int choice_index(const char *choices, const char *word) {
    char each[CM_OPTION_WORD];
    for (int i = 0; choice_word(choices, i, each); i++)
        if (strcmp(each, word) == 0) return i;
    return -1;
}

/* --- ranges for people --- */

static void number_text(double x, char out[40]) {
    cm_json_format_double(x, out);
    size_t n = strlen(out);
    if (n > 2 && strcmp(out + n - 2, ".0") == 0) out[n - 2] = '\0';
}

static void bounds_text(const cm_option *row, const char *noun, char *out, size_t size) {
    char low[40], high[40];
    number_text(row->min, low);
    number_text(row->max, high);
    bool null = row->flags & CM_OPTION_NULL;
    if (row->max >= UNBOUNDED) {
        snprintf(out, size, "%s of at least %s%s", noun, low, null ? ", or null" : "");
    } else {
        snprintf(out, size, "%s in %s..%s%s", noun, low, high, null ? ", or null" : "");
    }
}

void cm_value_usual_text(const cm_option *row, char *out, size_t size) {
    char low[40], high[40];
    number_text(row->usual[0], low);
    number_text(row->usual[1], high);
    *out = '\0';
    if (row->usual[1] > row->usual[0]) snprintf(out, size, "%s..%s", low, high);
}

/* The next character that spellings share; 0 at the end. */
static int next_letter(const char **at) {
    while (**at == '_' || **at == '-') ++*at;
    return tolower((unsigned char)(**at ? *(*at)++ : '\0'));
}

static bool is_spelt(const char *name, const char *word) {
    for (int letter = 1; letter != 0;) {
        letter = next_letter(&name);
        if (letter != next_letter(&word)) return false;
    }
    return true;
}

bool cm_value_is_like(const char *words, const char *word) {
    char each[CM_OPTION_WORD];
    for (int i = 0; choice_word(words, i, each); i++)
        if (is_spelt(each, word)) return true;
    return false;
}

static void choices_text(const cm_option *row, char *out, size_t size) {
    char word[CM_OPTION_WORD];
    size_t used = (size_t)snprintf(out, size, "one of");
    for (int i = 0; used < size && choice_word(row->choices, i, word); i++)
        used += (size_t)snprintf(out + used, size - used, "%s \"%s\"", i ? "," : "", word);
}

void cm_value_range_text(const cm_option *row, char *out, size_t size) {
    switch (row->type) {
    case CM_OPTION_INT:
    case CM_OPTION_INT64: bounds_text(row, "an integer", out, size); return;
    case CM_OPTION_DOUBLE: bounds_text(row, "a number", out, size); return;
    case CM_OPTION_BOOL: snprintf(out, size, "true or false"); return;
    case CM_OPTION_STRING: snprintf(out, size, "a text of at most %d bytes", CM_OPTION_TEXT - 1); return;
    case CM_OPTION_ENUM: choices_text(row, out, size); return;
    case CM_OPTION_SHAPE: bounds_text(row, "a list of at most 4 integers", out, size); return;
    }
}

/* --- reading --- */

static cm_status refuse(const cm_option *row, const char *got) {
    char range[RANGE_BYTES];
    cm_value_range_text(row, range, sizeof range);
    return cm_fail(CM_ERR_INPUT, "must be %s, got %s", range, got);
}

static cm_status refuse_node(const cm_option *row, const cm_json *node) {
    static const char *const names[] = {"null", "", "", "", "a list", "an object"};
    char text[80];
    cm_json_kind kind = cm_json_type(node);
    if (kind == CM_JSON_NUMBER) {
        number_text(cm_json_number(node, 0.0), text);
    } else if (kind == CM_JSON_STRING) {
        snprintf(text, sizeof text, "\"%.60s\"", cm_json_string(node));
    } else {
        snprintf(text, sizeof text, "%s",
                 kind == CM_JSON_BOOL ? (cm_json_is_true(node) ? "true" : "false") : names[kind]);
    }
    return refuse(row, text);
}

static void set_integer(const cm_option *row, int64_t value, cm_value *out) {
    if (row->type == CM_OPTION_INT) {
        out->integer = (int)value;
    } else {
        out->integer64 = value;
    }
}

static cm_status read_integer(const cm_option *row, const cm_json *node, cm_value *out) {
    if (!cm_json_is_integer(node, (int64_t)row->min, (int64_t)row->max)) return refuse_node(row, node);
    set_integer(row, (int64_t)cm_json_number(node, 0.0), out);
    return CM_OK;
}

/* From the text of a flag: 20k, 1.5M, 1e6. */
static cm_status read_count(const cm_option *row, const char *text, const char *shown, cm_value *out) {
    int64_t value = 0;
    if (!cm_parse_count(text, &value)) return refuse(row, shown);
    if ((double)value < row->min || (double)value > row->max) return refuse(row, text);
    set_integer(row, value, out);
    return CM_OK;
}

static cm_status read_real(const cm_option *row, const cm_json *node, cm_value *out) {
    bool null = (row->flags & CM_OPTION_NULL) && cm_json_type(node) == CM_JSON_NULL;
    out->real = cm_json_number(node, (double)NAN);
    bool inside = out->real >= row->min && out->real <= row->max; /* false for NaN */
    return null || inside ? CM_OK : refuse_node(row, node);
}

static cm_status read_text(const cm_option *row, const char *text, cm_value *out) {
    size_t size = strlen(text);
    if (size >= CM_OPTION_TEXT || (double)size < row->min) return refuse(row, size ? "a longer one" : "an empty one");
    for (size_t at = 0, n; at < size; at += n) {
        n = cm_utf8_length(text + at, size - at);
        if (n == 0 || cm_utf8_acts(text + at, n)) return refuse(row, "bytes that are no UTF-8, or control characters");
    }
    memcpy(out->text, text, size + 1);
    return CM_OK;
}

static cm_status read_shape(const cm_option *row, const cm_json *node, cm_value *out) {
    if (cm_json_type(node) != CM_JSON_ARRAY) return refuse_node(row, node);
    for (const cm_json *extent = cm_json_first(node); extent; extent = cm_json_next(extent)) {
        if (out->shape.rank == CM_OPTION_RANK) return refuse(row, "more");
        if (!cm_json_is_integer(extent, (int64_t)row->min, (int64_t)row->max)) return refuse_node(row, extent);
        out->shape.extent[out->shape.rank++] = (int)cm_json_number(extent, 0.0);
    }
    return CM_OK;
}

cm_status cm_value_from_json(const cm_option *row, const cm_json *node, cm_value *out) {
    memset(out, 0, sizeof *out);
    const char *text = cm_json_string(node);
    switch (row->type) {
    case CM_OPTION_INT:
    case CM_OPTION_INT64: return read_integer(row, node, out);
    case CM_OPTION_DOUBLE: return read_real(row, node, out);
    case CM_OPTION_SHAPE: return read_shape(row, node, out);
    case CM_OPTION_STRING: return text ? read_text(row, text, out) : refuse_node(row, node);
    case CM_OPTION_BOOL:
        out->truth = cm_json_is_true(node);
        return cm_json_type(node) == CM_JSON_BOOL ? CM_OK : refuse_node(row, node);
    case CM_OPTION_ENUM:
        out->integer = text ? choice_index(row->choices, text) : -1;
        return out->integer >= 0 ? CM_OK : refuse_node(row, node);
    }
    return cm_fail(CM_ERR_STATE, "%s.%s: unknown type", row->section, row->key);
}

cm_status cm_value_from_text(const cm_option *row, const char *text, cm_value *out) {
    char list[CM_OPTION_TEXT + 3], got[80];
    memset(out, 0, sizeof *out);
    snprintf(got, sizeof got, "\"%.60s\"", text);
    if (row->type == CM_OPTION_STRING) return read_text(row, text, out);
    if (row->type == CM_OPTION_ENUM) {
        out->integer = choice_index(row->choices, text);
        return out->integer >= 0 ? CM_OK : refuse(row, got);
    }
    if (strlen(text) >= CM_OPTION_TEXT) return refuse(row, "a longer text");
    if (row->type == CM_OPTION_INT || row->type == CM_OPTION_INT64) return read_count(row, text, got, out);
    bool bare_list = row->type == CM_OPTION_SHAPE && *text != '[', bare_point = *text == '.'; /* .5, as people write */
    snprintf(list, sizeof list, bare_list ? "[%s]" : bare_point ? "0%s" : "%s", text);
    cm_json_doc *doc = NULL;
    cm_status status = cm_json_parse(list, strlen(list), "value", &doc);
    if (status == CM_ERR_INPUT) return refuse(row, got);
    if (status != CM_OK) return status;
    status = cm_value_from_json(row, cm_json_root(doc), out);
    cm_json_free(doc);
    return status;
}

/* --- writing --- */

static void write_shape(const cm_option_shape *shape, cm_json_writer *writer, const char *key) {
    cm_json_begin_array(writer, key);
    for (int i = 0; i < shape->rank; i++) cm_json_put_int(writer, NULL, shape->extent[i]);
    cm_json_end_array(writer);
}

void cm_value_write(const cm_option *row, const void *member, cm_json_writer *writer, const char *key) {
    char word[CM_OPTION_WORD];
    switch (row->type) {
    case CM_OPTION_INT: cm_json_put_int(writer, key, *(const int *)member); return;
    case CM_OPTION_INT64: cm_json_put_int(writer, key, *(const int64_t *)member); return;
    case CM_OPTION_DOUBLE: cm_json_put_double(writer, key, *(const double *)member); return; /* NaN: null */
    case CM_OPTION_BOOL: cm_json_put_bool(writer, key, *(const bool *)member); return;
    case CM_OPTION_STRING: cm_json_put_string(writer, key, member); return;
    case CM_OPTION_SHAPE: write_shape(member, writer, key); return;
    case CM_OPTION_ENUM:
        cm_value_word(row, member, word);
        cm_json_put_string(writer, key, word);
        return;
    }
}

double cm_value_number(const cm_option *row, const void *member) {
    switch (row->type) {
    case CM_OPTION_INT: return *(const int *)member;
    case CM_OPTION_INT64: return (double)*(const int64_t *)member;
    case CM_OPTION_DOUBLE: return *(const double *)member;
    default: return (double)NAN;
    }
}

bool cm_value_is_zero(const cm_option *row, const void *member) {
    switch (row->type) {
    case CM_OPTION_INT:
    case CM_OPTION_ENUM: return *(const int *)member == 0;
    case CM_OPTION_INT64: return *(const int64_t *)member == 0;
    case CM_OPTION_DOUBLE: return *(const double *)member == 0.0;
    case CM_OPTION_BOOL: return !*(const bool *)member;
    case CM_OPTION_STRING: return *(const char *)member == '\0';
    case CM_OPTION_SHAPE: return ((const cm_option_shape *)member)->rank == 0;
    }
    return false;
}
