#define LOOPS_TABLE cm_von_mises_base
#define LOOPS_NAME  "any"
#include "core/von_mises_loops.inc"
