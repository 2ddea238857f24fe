#include "backend/cpu/kernels.h"

static const cm_kernels *const best_first[] = {&cm_kernels_avx512, &cm_kernels_avx2, &cm_kernels_base};

#if defined(__x86_64__)
static int first_usable(void) {
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512) return 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 2;
}

bool cm_kernels_have_bf16(void) { return first_usable() == 0 && __builtin_cpu_supports("avx512bf16"); }
#else
static int first_usable(void) { return 2; }

bool cm_kernels_have_bf16(void) { return false; }
#endif

const cm_kernels *const *cm_kernels_usable(int *count) {
    int first = first_usable();
    *count = 3 - first;
    return best_first + first;
}
