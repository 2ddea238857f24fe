#include "agent/simulations_cpu.h"

#include <check.h>

#include "agent/cuda/simulations.h"
#include "backend/cuda_cpu.h"
#include "support/compiled.h"
#include "support/lanes.h"

int simulations_cpu_launches, simulations_cpu_near;

static void run(const void *args, int64_t item, const cm_lanes *lanes) { cm_simulations_run(args, item, lanes); }

static int near_in(const cm_row_pass_args *pass) {
    int near = 0;
    for (int i = 0; i < pass->steps; i++)
        near += cm_row_is_layer(&pass->step[i]) && pass->step[i].of.dense.near_row > 0;
    return near;
}

int cm_simulations_run_launch(const cm_simulations_args *args, int64_t items, int lanes, void *queue) {
    (void)queue;
    simulations_cpu_launches++;
    simulations_cpu_near = near_in(&args->recurrent) + (args->has_afterstate ? near_in(&args->afterstate) : 0);
    ck_assert_uint_le((size_t)args->used + args->memory, cuda_cpu_limits.block_bytes);
    if (!compiled_run("cm_simulations_run", args, sizeof *args, items, lanes, args->used + args->memory))
        lanes_run(run, args, items, lanes, args->memory);
    return 0;
}
