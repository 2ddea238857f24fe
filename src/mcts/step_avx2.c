#define STEP_TABLE cm_step_avx2
#define STEP_NAME "avx2"

#include "mcts/lanes_avx2.h"
#include "mcts/step_impl.h"
