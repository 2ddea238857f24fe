#include "mcts/step.h"

const cm_step *cm_step_best(void) { return __builtin_cpu_supports("avx2") ? &cm_step_avx2 : &cm_step_scalar; }
