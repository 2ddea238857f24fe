#include "agent/simulations_cpu.h"

#include <check.h>

#include "agent/cuda/simulations.h"
#include "backend/cuda/cuda_cpu.h"
#include "support/compiled.h"
#include "support/lanes.h"

int simulations_cpu_launches, simulations_cpu_shared, simulations_cpu_partly;

static void run(const void *args, int64_t item, const cm_lanes *lanes) { cm_simulations_run(args, item, lanes); }

static void count_near(const cm_row_kernel_args *pass) {
    for (int i = 0; i < pass->steps; i++) {
        const cm_row_step *s = &pass->step[i];
        if (!cm_row_is_layer(s)) continue;
        simulations_cpu_shared += s->of.dense.shared_rows == s->n;
        simulations_cpu_partly += s->of.dense.shared_rows > 0 && s->of.dense.shared_rows < s->n;
    }
}

int cm_simulations_run_launch(const cm_simulations_args *args, int64_t items, int lanes, void *queue) {
    (void)queue;
    simulations_cpu_launches++;
    simulations_cpu_shared = simulations_cpu_partly = 0;
    count_near(&args->recurrent);
    if (args->has_afterstate) count_near(&args->afterstate);
    ck_assert_uint_le((size_t)args->used + args->memory, cuda_cpu_limits.block_bytes);
    if (!compiled_run("cm_simulations_run", args, sizeof *args, items, lanes, args->used + args->memory))
        lanes_run(run, args, items, lanes, args->memory);
    return 0;
}
