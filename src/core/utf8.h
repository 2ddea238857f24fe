/* UTF-8 by the letter of RFC 3629. */
#ifndef CM_CORE_UTF8_H
#define CM_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that starts at text, of which `size` bytes may be read; 0 if it is not valid UTF-8: a stray or
 * missing continuation byte, an overlong form, a surrogate, or beyond U+10FFFF. */
static inline size_t cm_utf8_length(const char *text, size_t size) {
    const unsigned char *s = (const unsigned char *)text;
    if (size == 0) return 0;
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || size < n) return 0;
    unsigned char low = 0x80, high = 0xBF; /* of the second byte */
    if (s[0] == 0xE0) low = 0xA0;
    if (s[0] == 0xED) high = 0x9F;
    if (s[0] == 0xF0) low = 0x90;
    if (s[0] == 0xF4) high = 0x8F;
    if (s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return n;
}

/* The code point of a valid character of n bytes, 1 to 4. */
static inline unsigned cm_utf8_code(const char *text, size_t n) {
    const unsigned char *s = (const unsigned char *)text;
    unsigned code = n == 1 ? s[0] : s[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) code = code << 6 | (s[i] & 0x3Fu);
    return code;
}

/* Whether a valid character of n bytes acts on a terminal in place of being shown: a control character, DEL, U+0080 to
 * U+009F, a line's or a paragraph's end, or what changes the direction of writing. */
static inline bool cm_utf8_acts(const char *text, size_t n) {
    const unsigned c = cm_utf8_code(text, n);
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

#endif
