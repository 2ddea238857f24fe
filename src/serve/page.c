#include "serve/page.h"

#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* CM_SERVE_PAGE: the file that the build joins. */
__asm__(".pushsection .rodata\n"
        ".hidden cm_page_text\n"
        ".global cm_page_text\n"
        "cm_page_text:\n"
        ".incbin \"" CM_SERVE_PAGE "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cm_page_text[] __attribute__((visibility("hidden")));

const char *cm_page(size_t *size) {
    *size = strlen(cm_page_text);
    return cm_page_text;
}

static void put_base64(const unsigned char *bytes, size_t size, char *out) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0u) |
                               (left > 2 ? (unsigned)bytes[i + 2] : 0u);
        for (int k = 0; k < 4; k++) *out++ = k <= (int)left ? letters[group >> (18 - 6 * k) & 63] : '=';
    }
    *out = '\0';
}

static size_t put_hash(const char *text, size_t length, char *out, size_t size) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char letters[48];
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, (const uint8_t *)text, length);
    SHA256Final(digest, &hash);
    put_base64(digest, sizeof digest, letters);
    return (size_t)snprintf(out, size, " 'sha256-%s'", letters);
}

/* The hash of each element that `open` begins and `close` ends. */
static void put_hashes(const char *open, const char *close, char *out, size_t size) {
    size_t used = strlen(out);
    for (const char *at = cm_page_text; (at = strstr(at, open)); at++) {
        const char *text = at + strlen(open), *end = strstr(text, close);
        if (!end || used + 64 >= size) return;
        used += put_hash(text, (size_t)(end - text), out + used, size - used);
    }
}

void cm_page_policy(char out[CM_PAGE_POLICY]) {
    snprintf(out, CM_PAGE_POLICY,
             "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; "
             "img-src 'self'; script-src");
    put_hashes("<script>", "</script>", out, CM_PAGE_POLICY);
    strncat(out, "; style-src", CM_PAGE_POLICY - strlen(out) - 1);
    put_hashes("<style>", "</style>", out, CM_PAGE_POLICY);
}
