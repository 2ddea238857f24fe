#include "ptx/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptx_text_fail(ptx_text *text, int line, const char *format, ...) {
    char what[PTX_LINE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(text->why, PTX_LINE, "line %d of the text: %s", line, what);
    longjmp(text->stop, 1);
}

static bool is_of_word(char c) { return isalnum((unsigned char)c) || (c && strchr("_.$%", c)); }

/* As in shared::cta, after no blank. */
static bool is_of_scope(const char *at) { return at[0] == ':' && at[1] == ':' && is_of_word(at[2]); }

static void skip_blanks(ptx_text *text) {
    for (;; text->at++) {
        if (*text->at == '\n') text->line++;
        if (text->at[0] == '/' && text->at[1] == '/') {
            while (text->at[1] && text->at[1] != '\n') text->at++;
        } else if (!isspace((unsigned char)*text->at)) {
            return;
        }
    }
}

static void read_next(ptx_text *text) {
    skip_blanks(text);
    const char *first = text->at;
    text->next.line = text->line;
    if (*first == '"') {
        const char *end = strchr(first + 1, '"');
        if (!end) ptx_text_fail(text, text->line, "quotes that are not closed");
        text->at = end + 1;
    } else if (is_of_word(*first)) {
        while (is_of_word(*text->at) || is_of_scope(text->at)) text->at += is_of_word(*text->at) ? 1 : 2;
    } else if (*first) {
        text->at++;
    }
    text->next.at = first;
    text->next.length = (int)(text->at - first);
}

void ptx_text_open(ptx_text *text, const char *from, char *why) {
    text->at = from;
    text->line = 1;
    text->why = why;
}

bool ptx_is(ptx_token token, const char *word) {
    return (size_t)token.length == strlen(word) && memcmp(token.at, word, (size_t)token.length) == 0;
}

bool ptx_begins(ptx_token token, const char *with) {
    return (size_t)token.length >= strlen(with) && memcmp(token.at, with, strlen(with)) == 0;
}

ptx_token ptx_next(ptx_text *text) {
    if (!text->next.at) read_next(text);
    const ptx_token taken = text->next;
    read_next(text);
    return taken;
}

bool ptx_took(ptx_text *text, const char *word) {
    if (!text->next.at) read_next(text);
    const bool is = ptx_is(text->next, word);
    if (is) read_next(text);
    return is;
}

void ptx_expect(ptx_text *text, const char *word) {
    const ptx_token token = text->next;
    if (!ptx_took(text, word))
        ptx_text_fail(text, token.line, "%s is not known here where %.*s is", word, token.length, token.at);
}

int64_t ptx_read_number(ptx_text *text) {
    ptx_value value;
    const bool is_negative = ptx_took(text, "-");
    const ptx_token token = ptx_next(text);
    if (!ptx_number(token, &value)) ptx_text_fail(text, token.line, "%.*s is no number", token.length, token.at);
    return is_negative ? (int64_t)(0 - value.u64) : value.s64;
}

void ptx_skip_line(ptx_text *text, int line) {
    while (text->next.length && text->next.line == line) ptx_next(text);
}

char *ptx_copy(ptx_text *text, ptx_token token) {
    char *copy = strndup(token.at, (size_t)token.length);
    if (!copy) ptx_text_fail(text, token.line, "no memory");
    return copy;
}

bool ptx_number(ptx_token token, ptx_value *value) {
    char *end;
    value->u64 = 0;
    if (token.length == 0 || !isdigit((unsigned char)*token.at)) return false;
    if (token.length == 10 && ptx_begins(token, "0f"))
        value->u64 = strtoull(token.at + 2, &end, 16);
    else if (token.length == 18 && ptx_begins(token, "0d"))
        value->u64 = strtoull(token.at + 2, &end, 16);
    else
        value->u64 = strtoull(token.at, &end, 0);
    if (end < token.at + token.length && (*end == 'U' || *end == 'u')) end++;
    return end == token.at + token.length;
}
