#include <immintrin.h>

#include "core/von_mises_internal.h"

enum { WIDE = 8 };
typedef uint64_t wide __attribute__((vector_size(64)));

static inline wide wide_low(const uint32_t *list) {
    return (wide)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)list));
}
static inline wide wide_all(uint64_t x) { return (wide)_mm512_set1_epi64((long long)x); }
static inline wide wide_product(wide a, wide b) { return (wide)_mm512_mul_epu32((__m512i)a, (__m512i)b); }
static inline void wide_store(uint32_t *out, wide a, wide b) {
    _mm256_storeu_si256((__m256i *)(void *)out, _mm512_cvtepi64_epi32((__m512i)a));
    _mm256_storeu_si256((__m256i *)(void *)(out + WIDE), _mm512_cvtepi64_epi32((__m512i)b));
}
#include "core/von_mises_words.inc"

#define LOOPS_TABLE cm_von_mises_avx512
#define LOOPS_NAME  "AVX-512"
#include "core/von_mises_loops.inc"
