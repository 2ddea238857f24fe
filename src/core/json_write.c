#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/json.h"
#include "core/utf8.h"

struct cm_json_writer {
    char *text;
    size_t size, capacity;
    int indent;
    int depth;
    bool empty[CM_JSON_DEPTH + 1]; /* per open container: no member yet */
    bool failed;                   /* memory ran out, or too deep */
};

cm_status cm_json_writer_create(int indent, cm_json_writer **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "JSON writer"));
    (*out)->indent = indent;
    (*out)->empty[0] = true;
    return CM_OK;
}

void cm_json_writer_destroy(cm_json_writer *writer) {
    if (!writer) return;
    free(writer->text);
    free(writer);
}

static void append(cm_json_writer *w, const char *text, size_t size) {
    if (w->failed) return;
    if (w->size + size + 1 > w->capacity) {
        size_t capacity = (w->size + size + 1) * 2;
        char *grown = realloc(w->text, capacity);
        if (!grown) {
            w->failed = true;
            return;
        }
        w->text = grown, w->capacity = capacity;
    }
    memcpy(w->text + w->size, text, size);
    w->size += size;
    w->text[w->size] = '\0';
}

static void append_text(cm_json_writer *w, const char *text) { append(w, text, strlen(text)); }

static void append_quoted(cm_json_writer *w, const char *text) {
    append(w, "\"", 1);
    for (size_t left = strlen(text); left > 0;) {
        size_t n = cm_utf8_length(text, left);
        unsigned char c = (unsigned char)*text;
        char escape[16];
        if (n == 0) {
            append_text(w, "\xEF\xBF\xBD"); /* U+FFFD for a byte that is not UTF-8 */
            n = 1;
        } else if (c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\%c", c);
            append_text(w, escape);
        } else if (c == '\n' || c == '\t' || c == '\r') {
            append_text(w, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        } else if (cm_utf8_acts(text, n)) {
            snprintf(escape, sizeof escape, "\\u%04x", cm_utf8_code(text, n));
            append_text(w, escape);
        } else {
            append(w, text, n);
        }
        text += n, left -= n;
    }
    append(w, "\"", 1);
}

static void new_line(cm_json_writer *w) {
    if (w->indent == 0) return;
    append(w, "\n", 1);
    for (int i = 0; i < w->depth * w->indent; i++) append(w, " ", 1);
}

/* What stands before a value: comma, line break, key. */
static void begin_value(cm_json_writer *w, const char *key) {
    if (!w->empty[w->depth]) append_text(w, w->indent ? "," : ", ");
    w->empty[w->depth] = false;
    if (w->depth > 0) new_line(w);
    if (!key) return;
    append_quoted(w, key);
    append(w, ": ", 2);
}

static void put_raw(cm_json_writer *w, const char *key, const char *value) {
    begin_value(w, key);
    append_text(w, value);
}

static void open_container(cm_json_writer *w, const char *key, const char *bracket) {
    put_raw(w, key, bracket);
    if (w->depth == CM_JSON_DEPTH) {
        w->failed = true;
        return;
    }
    w->empty[++w->depth] = true;
}

static void close_container(cm_json_writer *w, const char *bracket) {
    if (w->depth == 0) {
        w->failed = true;
        return;
    }
    bool empty = w->empty[w->depth--];
    if (!empty) new_line(w);
    append_text(w, bracket);
}

void cm_json_begin_object(cm_json_writer *writer, const char *key) { open_container(writer, key, "{"); }
void cm_json_end_object(cm_json_writer *writer) { close_container(writer, "}"); }
void cm_json_begin_array(cm_json_writer *writer, const char *key) { open_container(writer, key, "["); }
void cm_json_end_array(cm_json_writer *writer) { close_container(writer, "]"); }

void cm_json_put_string(cm_json_writer *writer, const char *key, const char *value) {
    begin_value(writer, key);
    append_quoted(writer, value);
}

void cm_json_put_int(cm_json_writer *writer, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put_raw(writer, key, text);
}

void cm_json_put_bool(cm_json_writer *writer, const char *key, bool value) {
    put_raw(writer, key, value ? "true" : "false");
}
void cm_json_put_null(cm_json_writer *writer, const char *key) { put_raw(writer, key, "null"); }

/* --- numbers: the shortest digits that read back, in the layout of Python's repr --- */

typedef struct decimal {
    bool negative;
    char digit[20]; /* d0.d1d2... x 10^exponent, without trailing zeros */
    int digits, exponent;
} decimal;

/* From printf's %e, whatever the locale's decimal point. */
static decimal decimal_from(const char *scientific) {
    decimal d = {.negative = *scientific == '-'};
    const char *e = strchr(scientific, 'e');
    for (const char *c = scientific; c < e; c++)
        if (*c >= '0' && *c <= '9') d.digit[d.digits++] = *c;
    while (d.digits > 1 && d.digit[d.digits - 1] == '0') d.digits--;
    d.exponent = (int)strtol(e + 1, NULL, 10);
    return d;
}

/* Python's repr: an exponent below 1e-4 and from 1e16 on, else positional with at least one digit after the point. */
static void format_decimal(const decimal *d, char out[40]) {
    char *at = out;
    int last = d->digits - 1;
    if (d->negative) *at++ = '-';
    if (d->exponent < -4 || d->exponent >= 16) {
        *at++ = d->digit[0];
        if (last > 0) *at++ = '.';
        for (int i = 1; i <= last; i++) *at++ = d->digit[i];
        snprintf(at, 16, "e%c%02d", d->exponent < 0 ? '-' : '+', abs(d->exponent));
        return;
    }
    int from = d->exponent < 0 ? d->exponent : 0, to = last > d->exponent + 1 ? last : d->exponent + 1;
    for (int i = from; i <= to; i++) { /* place i has the weight 10^(exponent - i) */
        if (i == d->exponent + 1) *at++ = '.';
        *at++ = i >= 0 && i <= last ? d->digit[i] : '0';
    }
    *at = '\0';
}

void cm_json_format_double(double value, char out[40]) {
    char text[40];
    int precision = 0;
    do snprintf(text, sizeof text, "%.*e", precision, value);
    while (strtod(text, NULL) != value && ++precision < 17);
    decimal d = decimal_from(text);
    format_decimal(&d, out);
}

void cm_json_put_double(cm_json_writer *writer, const char *key, double value) {
    char text[40] = "null";
    if (isfinite(value)) cm_json_format_double(value, text);
    put_raw(writer, key, text);
}

void cm_json_put_float(cm_json_writer *writer, const char *key, float value) {
    char text[40] = "null";
    if (isfinite(value)) {
        int precision = 0;
        do snprintf(text, sizeof text, "%.*e", precision, (double)value);
        while (strtof(text, NULL) != value && ++precision < 9);
        decimal d = decimal_from(text);
        format_decimal(&d, text);
    }
    put_raw(writer, key, text);
}

static void put_number(cm_json_writer *writer, const char *key, const cm_json *node) {
    const double number = cm_json_number(node, 0.0);
    if (cm_json_is_integer(node, -CM_JSON_MOST, CM_JSON_MOST)) {
        cm_json_put_int(writer, key, (int64_t)number);
    } else {
        cm_json_put_double(writer, key, number);
    }
}

static void put_members(cm_json_writer *writer, const cm_json *container) {
    for (const cm_json *node = cm_json_first(container); node; node = cm_json_next(node))
        cm_json_put(writer, cm_json_key(node), node);
}

void cm_json_put(cm_json_writer *writer, const char *key, const cm_json *node) {
    switch (cm_json_type(node)) {
    case CM_JSON_NULL: cm_json_put_null(writer, key); break;
    case CM_JSON_BOOL: cm_json_put_bool(writer, key, cm_json_is_true(node)); break;
    case CM_JSON_NUMBER: put_number(writer, key, node); break;
    case CM_JSON_STRING: cm_json_put_string(writer, key, cm_json_string(node)); break;
    case CM_JSON_ARRAY:
        cm_json_begin_array(writer, key);
        put_members(writer, node);
        cm_json_end_array(writer);
        break;
    case CM_JSON_OBJECT:
        cm_json_begin_object(writer, key);
        put_members(writer, node);
        cm_json_end_object(writer);
        break;
    }
}

const char *cm_json_writer_text(const cm_json_writer *writer, size_t *size) {
    if (size) *size = 0;
    if (writer->failed || !writer->text) {
        (void)cm_fail(CM_ERR_MEMORY, "JSON writer: out of memory, or nested more than %d deep", CM_JSON_DEPTH);
        return NULL;
    }
    if (size) *size = writer->size;
    return writer->text;
}

static cm_status end_text(cm_json_writer *writer, const char *name) {
    if (!cm_json_writer_text(writer, NULL)) return cm_fail_in(CM_ERR_MEMORY, "%s", name);
    append(writer, "\n", 1);
    return writer->failed ? cm_fail(CM_ERR_MEMORY, "%s: no memory", name) : CM_OK;
}

cm_status cm_json_writer_save(cm_json_writer *writer, const char *path) {
    CM_TRY(end_text(writer, path));
    return cm_file_write(path, writer->text, writer->size);
}

cm_status cm_json_writer_save_in(cm_json_writer *writer, const cm_dir *dir, const char *name) {
    CM_TRY(end_text(writer, name));
    return cm_dir_write(dir, name, writer->text, writer->size);
}

cm_status cm_json_writer_append(cm_json_writer *writer, cm_file_writer *file) {
    CM_TRY(end_text(writer, "a line of JSON"));
    return cm_file_append(file, writer->text, writer->size);
}
