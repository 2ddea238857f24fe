#include <immintrin.h>

#include "core/von_mises_internal.h"

enum { WIDE = 4 };
typedef uint64_t wide __attribute__((vector_size(32)));

static inline wide wide_low(const uint32_t *list) {
    return (wide)_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)list));
}
static inline wide wide_all(uint64_t x) { return (wide)_mm256_set1_epi64x((long long)x); }
static inline wide wide_product(wide a, wide b) { return (wide)_mm256_mul_epu32((__m256i)a, (__m256i)b); }
static inline void wide_store(uint32_t *out, wide a, wide b) {
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps((__m256i)a), _mm256_castsi256_ps((__m256i)b), 0x88);
    const __m256i in_order = _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
    _mm256_storeu_si256((__m256i *)(void *)out, in_order);
}
#include "core/von_mises_words.inc"

#define LOOPS_TABLE cm_von_mises_avx2
#define LOOPS_NAME  "AVX2"
#include "core/von_mises_loops.inc"
