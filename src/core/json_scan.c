#include "core/json_scan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/utf8.h"

enum { NUMBER_CHARACTERS = 60 }; /* cJSON reads at most 63 */

typedef struct scan {
    const char *at, *end;
    const char *name;
    int line;
    int depth; /* levels that may still be opened */
    cm_json_lines *lines;
} scan;

static cm_status fail_at(const scan *s, const char *what) {
    return cm_fail(CM_ERR_INPUT, "%s:%d: %s", s->name, s->line, what);
}

static bool is_at(const scan *s, const char *text) {
    size_t n = strlen(text);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

/* What the usual slips in JSON come from: other languages allow them. */
static const char *hint(const scan *s) {
    static const struct {
        const char *begins, *says;
    } slips[] = {{"//", "; JSON has no comments"},
                 {"/*", "; JSON has no comments"},
                 {"#", "; JSON has no comments"},
                 {"'", "; JSON has double quotes only"},
                 {"True", "; write true"},
                 {"False", "; write false"},
                 {"None", "; write null"},
                 {"NaN", "; JSON has finite numbers only"},
                 {"Inf", "; JSON has finite numbers only"}};
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        if (is_at(s, slips[i].begins)) return slips[i].says;
    return "";
}

/* "expected X, found Y", where Y is what stands at the cursor. */
static cm_status fail_expected(const scan *s, const char *expected) {
    char what[160], found[32] = "the end of the text";
    if (s->at < s->end && (unsigned char)*s->at > ' ' && (unsigned char)*s->at < 0x7f) {
        snprintf(found, sizeof found, "'%c'", *s->at);
    } else if (s->at < s->end) {
        snprintf(found, sizeof found, "byte 0x%02x", (unsigned)(unsigned char)*s->at);
    }
    snprintf(what, sizeof what, "expected %s, found %s%s", expected, found, hint(s));
    return fail_at(s, what);
}

static cm_status fail_comma(const scan *s, bool object) {
    return fail_at(s, object ? "expected a key in double quotes, found '}'; JSON has no comma behind the last entry"
                             : "expected a value, found ']'; JSON has no comma behind the last entry");
}

static bool is_next(const scan *s, char c) { return s->at < s->end && *s->at == c; }
static bool is_digit(const scan *s) { return s->at < s->end && *s->at >= '0' && *s->at <= '9'; }

static bool accept(scan *s, char c) {
    if (!is_next(s, c)) return false;
    s->at++;
    return true;
}

static void skip_space(scan *s) {
    for (; s->at < s->end; s->at++) {
        if (*s->at == '\n') {
            s->line++;
        } else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\r') {
            return;
        }
    }
}

static cm_status scan_hex4(scan *s, unsigned *value) {
    *value = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        char c = s->at < s->end ? *s->at : '\0';
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16u;
        if (digit == 16) return fail_at(s, "\\u must be followed by four hexadecimal digits");
        *value = *value << 4 | digit;
    }
    return CM_OK;
}

/* The part of an escape after the backslash. */
static cm_status scan_escape(scan *s) {
    if (s->at >= s->end || !*s->at || !strchr("\"\\/bfnrtu", *s->at))
        return fail_at(s, "unknown escape behind \\ in a string");
    if (*s->at++ != 'u') return CM_OK;
    unsigned high, low;
    CM_TRY(scan_hex4(s, &high));
    if (high == 0) return fail_at(s, "\\u0000 in a string is not accepted");
    if (high < 0xD800 || high > 0xDFFF) return CM_OK;
    if (high > 0xDBFF || !accept(s, '\\') || !accept(s, 'u')) return fail_at(s, "half a surrogate pair in a string");
    CM_TRY(scan_hex4(s, &low));
    return low >= 0xDC00 && low <= 0xDFFF ? CM_OK : fail_at(s, "half a surrogate pair in a string");
}

static cm_status scan_string(scan *s) {
    s->at++; /* the quote */
    while (s->at < s->end) {
        unsigned char c = (unsigned char)*s->at;
        if (c == '"') {
            s->at++;
            return CM_OK;
        }
        if (c == '\\') {
            s->at++;
            CM_TRY(scan_escape(s));
            continue;
        }
        if (c < ' ')
            return fail_at(s, c == '\n' ? "a string does not end on its line"
                                        : "a control character in a string must be escaped");
        size_t n = cm_utf8_length(s->at, (size_t)(s->end - s->at));
        if (n == 0) return fail_at(s, "a string is not valid UTF-8");
        s->at += n;
    }
    return fail_at(s, "a string does not end");
}

static cm_status scan_number(scan *s) {
    const char *begin = s->at;
    accept(s, '-');
    if (!is_digit(s)) return fail_expected(s, "a digit");
    if (accept(s, '0')) {
        if (is_digit(s)) return fail_at(s, "a number may not start with 0 and another digit");
    } else {
        while (is_digit(s)) s->at++;
    }
    if (accept(s, '.')) {
        if (!is_digit(s)) return fail_expected(s, "a digit behind the point");
        while (is_digit(s)) s->at++;
    }
    if (is_next(s, 'e') || is_next(s, 'E')) {
        s->at++;
        if (!accept(s, '+')) accept(s, '-');
        if (!is_digit(s)) return fail_expected(s, "a digit in the exponent");
        while (is_digit(s)) s->at++;
    }
    return s->at - begin > NUMBER_CHARACTERS ? fail_at(s, "a number has more than 60 characters") : CM_OK;
}

static cm_status scan_word(scan *s, const char *word) {
    if (!is_at(s, word)) return fail_expected(s, "a value");
    s->at += strlen(word);
    return CM_OK;
}

static cm_status note_line(scan *s) {
    cm_json_lines *lines = s->lines;
    if (lines->count == CM_JSON_VALUES) return fail_at(s, "more than 262144 values");
    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity ? lines->capacity * 2 : 256;
        int *grown = realloc(lines->line, capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "%s: no memory for its values", s->name);
        lines->line = grown, lines->capacity = capacity;
    }
    lines->line[lines->count++] = s->line;
    return CM_OK;
}

static cm_status scan_value(scan *s);

static cm_status scan_member(scan *s) {
    skip_space(s);
    if (!is_next(s, '"')) return fail_expected(s, "a key in double quotes");
    CM_TRY(scan_string(s));
    skip_space(s);
    if (!accept(s, ':')) return fail_expected(s, "':'");
    return scan_value(s);
}

/* An array or an object, from its bracket on. */
static cm_status scan_container(scan *s) {
    bool object = *s->at++ == '{';
    char close = object ? '}' : ']';
    if (s->depth-- == 0) return fail_at(s, "nested too deeply");
    skip_space(s);
    if (!accept(s, close)) {
        do {
            skip_space(s);
            if (is_next(s, close)) return fail_comma(s, object);
            CM_TRY(object ? scan_member(s) : scan_value(s));
            skip_space(s);
        } while (accept(s, ','));
        if (!accept(s, close)) return fail_expected(s, object ? "',' or '}'" : "',' or ']'");
    }
    s->depth++;
    return CM_OK;
}

static cm_status scan_value(scan *s) {
    skip_space(s);
    CM_TRY(note_line(s));
    switch (s->at < s->end ? *s->at : '\0') {
    case '{':
    case '[': return scan_container(s);
    case '"': return scan_string(s);
    case 't': return scan_word(s, "true");
    case 'f': return scan_word(s, "false");
    case 'n': return scan_word(s, "null");
    case '-': return scan_number(s);
    default: return is_digit(s) ? scan_number(s) : fail_expected(s, "a value");
    }
}

cm_status cm_json_scan(const char *text, size_t size, const char *name, int first, cm_json_lines *lines) {
    scan s = {text, text + size, name, first, CM_JSON_DEPTH, lines};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return fail_at(&s, "the text starts with a byte order mark; save it as plain UTF-8");
    skip_space(&s);
    if (s.at == s.end) return fail_at(&s, "expected a value, found the end of the text; {} is an empty object");
    CM_TRY(scan_value(&s));
    skip_space(&s);
    return s.at == s.end ? CM_OK : fail_expected(&s, "the end of the text behind the value");
}
