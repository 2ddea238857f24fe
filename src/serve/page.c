#include "serve/page.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base64.h"
#include "core/sha256.h"

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

static void put_hash(FILE *out, const char *text, size_t length) {
    uint8_t hash[CM_SHA256_BYTES];
    cm_base64 base64 = {.out = out};
    cm_sha256_of(text, length, hash);
    fputs(" 'sha256-", out);
    cm_base64_put(&base64, hash, sizeof hash);
    cm_base64_end(&base64);
    fputc('\'', out);
}

/* The hash of each element that `open` begins and `close` ends. */
static void put_hashes(FILE *out, const char *open, const char *close) {
    for (const char *at = cm_page_text; (at = strstr(at, open)); at++) {
        const char *text = at + strlen(open), *end = strstr(text, close);
        if (end) put_hash(out, text, (size_t)(end - text));
    }
}

bool cm_page_policy(char out[CM_PAGE_POLICY]) {
    FILE *file = fmemopen(out, CM_PAGE_POLICY, "w");
    if (!file) return false;
    fputs("Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
          "connect-src 'self'; img-src 'self' data:; script-src",
          file);
    put_hashes(file, "<script>", "</script>");
    fputs("; style-src", file);
    put_hashes(file, "<style>", "</style>");
    fputs("\r\n", file);
    return fclose(file) == 0;
}
