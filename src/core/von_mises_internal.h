/* The loops over batches of von_mises.h: one table per instruction set, with the same bits from each. */
#ifndef CM_CORE_VON_MISES_INTERNAL_H
#define CM_CORE_VON_MISES_INTERNAL_H

#include "core/von_mises.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_VON_MISES_BLOCK = 256 }; /* draws that a loop keeps in the first-level cache */

/* Elements [begin, begin + count) of a batch whose arguments were checked, count in 1 .. CM_VON_MISES_BLOCK. */
typedef struct cm_von_mises_loops {
    const char *name; /* "AVX-512" */
    void (*block_d)(const cm_von_mises_draws_d *draws, size_t begin, int count);
    void (*block_f)(const cm_von_mises_draws_f *draws, size_t begin, int count);
} cm_von_mises_loops;

/* Each is there where the compiler's target has the instructions, cm_von_mises_base everywhere. */
extern const cm_von_mises_loops cm_von_mises_base, cm_von_mises_avx2, cm_von_mises_avx512;

/* Those that this processor can run, best first; count of them in *count. */
const cm_von_mises_loops *const *cm_von_mises_usable(int *count);

#ifdef __cplusplus
}
#endif
#endif
