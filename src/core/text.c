#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The byte after the escape sequence at `text`, or `text` itself. */
static const char *skip_escape(const char *text) {
    if (text[0] != '\033' || text[1] != '[') return text;
    text += 2;
    while (*text && !(*text >= '@' && *text <= '~')) text++;
    return *text ? text + 1 : text;
}

/* Columns of what stands in front of `end`. */
static int width_of(const char *text, const char *end) {
    int width = 0;
    while (text < end) {
        const char *after = skip_escape(text);
        if (after == text) {
            width += ((unsigned char)*text & 0xC0) != 0x80; /* bytes that begin a character */
            after++;
        }
        text = after;
    }
    return width;
}

int cm_text_line_width(const char *text) { return width_of(text, text + strcspn(text, "\n")); }

void cm_text_clear(cm_text *text) {
    text->used = 0;
    text->bytes[0] = '\0';
}

void cm_text_add(cm_text *text, const char *format, ...) {
    size_t space = sizeof text->bytes - text->used;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->used, space, format, arguments);
    va_end(arguments);
    if (length > 0) text->used += (size_t)length < space ? (size_t)length : space - 1;
}

/* The start of the last line. */
static const char *last_line(const cm_text *text) {
    const char *end = strrchr(text->bytes, '\n');
    return end ? end + 1 : text->bytes;
}

void cm_text_word(cm_text *text, int columns, const char *word) {
    int width = cm_text_line_width(last_line(text));
    const char *before = width == 0 ? "" : width + 1 + cm_text_line_width(word) > columns ? "\n" : " ";
    cm_text_add(text, "%s%s", before, word);
}

void cm_text_wrap(cm_text *text, int columns, const char *sentence) {
    char word[128];
    for (const char *at = sentence; *at; at += strspn(at, " ")) {
        int length = (int)strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", length, at);
        cm_text_word(text, columns, word);
        at += length;
    }
    cm_text_add(text, "\n");
}

void cm_text_print(FILE *out, int columns, const char *text, int at, int indent) {
    while (*text) {
        int blanks = (int)strspn(text, " "), length = (int)strcspn(text + blanks, " \n");
        const int width = width_of(text + blanks, text + blanks + length);
        const bool breaks = text[blanks] == '\n' || (at > indent && blanks > 0 && at + blanks + width > columns);
        text += blanks + (text[blanks] == '\n');
        if (breaks) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            continue;
        }
        fprintf(out, "%*s%.*s", blanks, "", length, text);
        at += blanks + width;
        text += length;
    }
    fputc('\n', out);
}

static const char *next_line(const char *text) {
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

int cm_text_width(const cm_text *text) {
    int most = 0;
    for (const char *line = text->bytes; *line; line = next_line(line)) {
        int width = cm_text_line_width(line);
        if (width > most) most = width;
    }
    return most;
}

void cm_text_shape(const int *extent, int rank, const char *between, char *out, size_t size) {
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < rank && at < size; i++) {
        const int n = snprintf(out + at, size - at, "%s%d", i ? between : "", extent[i]);
        at += n > 0 ? (size_t)n : 0;
    }
}

void cm_text_side_by_side(cm_text *text, const cm_text *left, const cm_text *right, int gap) {
    int column = cm_text_width(left) + gap;
    const char *a = left->bytes, *b = right->bytes;
    while (*a || *b) {
        int used = cm_text_line_width(a);
        cm_text_add(text, "%.*s", (int)strcspn(a, "\n"), a);
        if (*b && *b != '\n') cm_text_add(text, "%*s%.*s", column - used, "", (int)strcspn(b, "\n"), b);
        cm_text_add(text, "\n");
        a = next_line(a), b = next_line(b);
    }
}
