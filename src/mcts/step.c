#include "mcts/step.h"

#if defined(__x86_64__)
const cm_step *cm_step_best(void) { return __builtin_cpu_supports("avx2") ? &cm_step_avx2 : &cm_step_scalar; }
#else
const cm_step *cm_step_best(void) { return &cm_step_scalar; }
#endif
