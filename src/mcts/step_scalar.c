/* The scalar step: the reference implementation. */
#include "mcts/lanes_scalar.inc"
#include "mcts/step_impl.inc"

const cm_step cm_step_scalar = {"scalar", step_root, step_grow};
