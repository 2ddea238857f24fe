/* A fuzzer without a fuzzer: runs LLVMFuzzerTestOneInput on random changes of a seed. The same changes every time. */
#ifndef CM_TESTS_MUTATE_H
#define CM_TESTS_MUTATE_H

#include <string.h>

#include "core/rng.h"
#include "fuzz/fuzz.h"

enum { MUTATE_BYTES = 1 << 14 };

/* Changes text[*size] at one place: a bit, a byte of the alphabet, a piece removed, repeated or moved, or the end cut.
 */
static inline void mutate_once(cm_rng *rng, uint8_t *text, size_t *size) {
    static const char alphabet[] = "{}[]\",:\\ \n\t0123456789-+.eEutrfnalsd\x01\x7f\xc3\xa9\xed\xf4";
    if (*size == 0) return;
    size_t at = cm_rng_below(rng, (uint32_t)*size), left = *size - at, n = 1 + cm_rng_below(rng, 16);
    if (n > left) n = left;
    switch (cm_rng_below(rng, 6)) {
    case 0: text[at] = (uint8_t)(text[at] ^ 1u << cm_rng_below(rng, 8)); break;
    case 1: text[at] = (uint8_t)alphabet[cm_rng_below(rng, sizeof alphabet)]; break;
    case 2:
        memmove(text + at, text + at + n, left - n);
        *size -= n;
        break;
    case 3:
        if (*size + n > MUTATE_BYTES) break;
        memmove(text + at + n, text + at, left);
        *size += n;
        break;
    case 4: memmove(text + cm_rng_below(rng, (uint32_t)(*size - n + 1)), text + at, n); break;
    default:
        if (cm_rng_below(rng, 8) == 0) *size = at;
    }
}

/* Runs `rounds` inputs, each the seed after one to eight changes. */
static inline void mutate_run(const char *seed, size_t seed_size, int rounds) {
    static uint8_t text[MUTATE_BYTES];
    cm_key key = cm_key_make(42, CM_RNG_TEST, 0);
    if (seed_size > MUTATE_BYTES) seed_size = MUTATE_BYTES;
    for (int round = 0; round < rounds; round++) {
        cm_rng rng = cm_rng_init(key, (uint64_t)round);
        size_t size = seed_size;
        memcpy(text, seed, size);
        for (uint32_t changes = 1 + cm_rng_below(&rng, 8); changes > 0; changes--) mutate_once(&rng, text, &size);
        uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees a read past the end */
        if (!exact) abort();
        memcpy(exact, text, size);
        exact = realloc(exact, size ? size : 1);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
}

#endif
