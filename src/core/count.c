#include "core/count.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 40 };

/* Length of the digits at `text`. */
static size_t digits(const char *text) { return strspn(text, "0123456789"); }

/* The exponent that a suffix stands for, 0 for none; -1 for what is no suffix. */
static int exponent_of(const char *suffix) {
    if (suffix[0] == '\0') return 0;
    if (suffix[1] != '\0') return -1;
    return *suffix == 'k' || *suffix == 'K' ? 3 : *suffix == 'M' ? 6 : *suffix == 'G' ? 9 : -1;
}

bool cm_parse_count(const char *text, int64_t *out) {
    char decimal[LONGEST + 8];
    const char *at = text + (*text == '-');
    size_t whole = digits(at);
    at += whole;
    if (*at == '.') at += 1 + digits(at + 1);
    bool has_exponent = whole > 0 && (*at == 'e' || *at == 'E');
    if (has_exponent) {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (digits(at) == 0) return false;
        at += digits(at);
    }
    int exponent = exponent_of(at);
    if (whole == 0 || exponent < 0 || (has_exponent && exponent > 0) || at - text > LONGEST) return false;
    snprintf(decimal, sizeof decimal, "%.*s%s%.0d", (int)(at - text), text, exponent ? "e" : "", exponent);
    double value = strtod(decimal, NULL); /* once, so that 1.001M is 1001000 */
    if (value != floor(value) || fabs(value) > 0x1p53) return false;
    *out = (int64_t)value;
    return true;
}
