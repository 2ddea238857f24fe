#include "core/printable.h"

#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

enum { ESCAPE = 16 };

/* The character of n bytes at `text` as an escape; "": it shows as it is. */
static void find_escape(const char *text, size_t n, char out[ESCAPE]) {
    const unsigned char c = (unsigned char)*text;
    out[0] = '\0';
    if (c == '\n' || c == '\r' || c == '\t') {
        snprintf(out, ESCAPE, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    } else if (n == 0 || (n == 1 && cm_utf8_acts(text, n))) {
        snprintf(out, ESCAPE, "\\x%02x", c);
    } else if (cm_utf8_acts(text, n)) {
        snprintf(out, ESCAPE, "\\u%04x", cm_utf8_code(text, n));
    }
}

/* Bytes of a colour, ESC [ digits and semicolons m, at `text`; 0: there is none. */
static size_t colour_length(const char *text) {
    if (text[0] != '\033' || text[1] != '[') return 0;
    const size_t n = 2 + strspn(text + 2, "0123456789;");
    return text[n] == 'm' ? n + 1 : 0;
}

static char *copy(const char *text, bool has_lines, char *out, size_t size) {
    size_t used = 0;
    for (size_t left = strlen(text); left > 0;) {
        char escape[ESCAPE];
        const size_t kept = !has_lines ? 0 : *text == '\n' ? 1 : colour_length(text), n = cm_utf8_length(text, left);
        const size_t taken = kept ? kept : n ? n : 1;
        find_escape(text, n, escape);
        const char *from = !kept && *escape ? escape : text;
        const size_t bytes = from == text ? taken : strlen(escape);
        if (used + bytes >= size) break;
        memcpy(out + used, from, bytes);
        used += bytes;
        text += taken, left -= taken;
    }
    out[used] = '\0';
    return out;
}

char *cm_printable(const char *text, char *out, size_t size) { return copy(text, false, out, size); }
char *cm_printable_lines(const char *text, char *out, size_t size) { return copy(text, true, out, size); }
