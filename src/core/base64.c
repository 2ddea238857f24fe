#include "core/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cm_base64_put(cm_base64 *b, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        b->bits = b->bits << 8 | ((const unsigned char *)bytes)[i];
        if (++b->waiting < 3) continue;
        for (int shift = 18; shift >= 0; shift -= 6) fputc(digits[b->bits >> shift & 63], b->out);
        b->bits = 0, b->waiting = 0;
    }
}

void cm_base64_end(cm_base64 *b) {
    const unsigned bits = b->bits << (b->waiting == 1 ? 16 : 8);
    if (b->waiting == 0) return;
    fputc(digits[bits >> 18 & 63], b->out);
    fputc(digits[bits >> 12 & 63], b->out);
    fputc(b->waiting == 2 ? digits[bits >> 6 & 63] : '=', b->out);
    fputc('=', b->out);
    b->bits = 0, b->waiting = 0;
}
