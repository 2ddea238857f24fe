/* The scalar step: the judge of the others. */
#define STEP_TABLE cm_step_scalar
#define STEP_NAME  "scalar"

#include "mcts/lanes_scalar.h"
#include "mcts/step_impl.h"
