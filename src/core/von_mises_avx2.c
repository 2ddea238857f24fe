#define LOOPS_TABLE cm_von_mises_avx2
#define LOOPS_NAME  "AVX2"
#include "core/von_mises_loops.inc"
