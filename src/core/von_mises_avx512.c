#define LOOPS_TABLE cm_von_mises_avx512
#define LOOPS_NAME  "AVX-512"
#include "core/von_mises_loops.inc"
