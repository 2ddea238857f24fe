/* cumind benchmark: times each part and sets it against the machine's own matmul speed. */
#include "cli/benchmark.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"

typedef struct part {
    const char *name;
    cm_status (*run)(const cm_benchmark *bench, cm_benchmark_result *result);
    const char *unit; /* of the first number */
} part;

static const part parts[] = {
    {"matmul", cm_benchmark_matmul, "FLOP/s"},
    {"inference", cm_benchmark_inference, "inferences/s"},
    {"search", cm_benchmark_search, "simulations/s"},
    {"tree", cm_benchmark_tree, "ns per simulation"},
    {"act", cm_benchmark_act, "env steps/s"},
    {"train", cm_benchmark_train, "samples/s"},
    {"env", cm_benchmark_env, "steps/s"},
    {"replay", cm_benchmark_replay, "us per batch"},
    {"graph", cm_benchmark_graph, "us per update"},
    {"sample", cm_benchmark_sample, "draws/s"},
};
enum { PARTS = (int)(sizeof parts / sizeof *parts) };
static const char scaling[] = "scaling"; /* the part that has to be asked for */

/* ---- output ---- */

static void print(const cm_benchmark *b, const part *p, const cm_benchmark_result *r, double peak) {
    char share[64] = "", made[64] = "", note[384] = "";
    if (r->flops_per_second > 0.0 && peak > 0.0)
        snprintf(share, sizeof share, ", %.0f %% of the matmul speed", 100.0 * r->flops_per_second / peak);
    if (r->flops_per_second > 0.0)
        snprintf(made, sizeof made, "; %s, %s", b->backend->kind->name, cm_dtype_name(b->compute));
    if (*r->note) snprintf(note, sizeof note, " (%s%s)", r->note, made);
    cm_cli_line(24, "%-10s %12.4g %s%s%s", p->name, r->number[0].value, p->unit, share, note);
    for (int i = 1; i < r->count; i++) cm_cli_line(24, "           %12.4g %s", r->number[i].value, r->number[i].key);
}

static void put_json(cm_json_writer *w, const cm_benchmark *b, const part *p, const cm_benchmark_result *r,
                     double peak) {
    cm_json_begin_object(w, NULL);
    cm_json_put_string(w, "benchmark", p->name);
    cm_json_put_string(w, "backend", b->backend->kind->name);
    cm_json_put_string(w, "dtype", cm_dtype_name(b->compute));
    cm_json_put_int(w, "threads", cm_pool_size(b->pool));
    cm_json_put_string(w, "network", b->network_name);
    cm_json_put_int(w, "batch", b->batch);
    for (int i = 0; i < r->count; i++) cm_json_put_double(w, r->number[i].key, r->number[i].value);
    if (r->flops_per_second > 0.0) {
        cm_json_put_double(w, "flops_per_second", r->flops_per_second);
        if (peak > 0.0) cm_json_put_double(w, "share_of_matmul", r->flops_per_second / peak);
    }
    if (*r->note) cm_json_put_string(w, "note", r->note);
    cm_json_end_object(w);
}

/* The machine's speed in large matrix products of the same type, on the same threads. */
static cm_status measure_peak(const cm_benchmark *b, double *peak) {
    cm_benchmark shorter = *b;
    cm_benchmark_result r = {0};
    shorter.seconds = 0.3;
    CM_TRY(cm_benchmark_matmul(&shorter, &r));
    *peak = r.flops_per_second;
    return CM_OK;
}

static cm_status print_json(const cm_benchmark *b, const part *p, const cm_benchmark_result *r, double peak) {
    cm_json_writer *w;
    CM_TRY(cm_json_writer_create(0, &w));
    put_json(w, b, p, r, peak);
    return cm_cli_print(w, CM_OK);
}

static cm_status run_part(const cm_arguments *a, const cm_benchmark *b, const part *p) {
    cm_benchmark_result r = {0};
    double peak = 0.0;
    CM_TRY(p->run(b, &r));
    if (r.flops_per_second > 0.0 && p->run != cm_benchmark_matmul) CM_TRY(measure_peak(b, &peak));
    if (cm_argument_is_set(a, "--json"))
        CM_TRY(print_json(b, p, &r, peak));
    else
        print(b, p, &r, peak);
    return p->run == cm_benchmark_sample ? cm_benchmark_draw(a, p->name, p->unit, &r) : CM_OK;
}

/* Parts that only some backends and policies have are left out unless they are asked for. */
static bool is_for(const cm_benchmark *b, const part *p) {
    if (p->run == cm_benchmark_graph && !b->backend->kind->replays) return false;
    return p->run != cm_benchmark_search || b->configuration.mcts.policy != CM_MCTS_ALPHAZERO;
}

static cm_status run_parts(const cm_arguments *a, const cm_benchmark *b) {
    const char *name = a->positional_count ? a->positional[0] : NULL;
    bool found = false;
    for (int i = 0; i < PARTS; i++) {
        if (name && strcmp(name, parts[i].name) != 0) continue;
        if (!name && !is_for(b, &parts[i])) continue;
        found = true;
        CM_TRY(run_part(a, b, &parts[i]));
        fflush(stdout);
    }
    if (found) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "benchmark: there is no part \"%s\"; `cumind help benchmark` lists them", name);
}

/* A flag that a part does not read is a misunderstanding. `flag` is for the part `only`. */
static cm_status check_flag(const cm_arguments *a, const char *flag, const char *only) {
    const char *name = a->positional_count ? a->positional[0] : only;
    if (!cm_argument(a, flag) || strcmp(name, only) == 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "benchmark %.40s: %s is for the part %s; leave it out", name, flag, only);
}

static cm_status run(cm_arguments *arguments) {
    cm_benchmark b;
    CM_TRY(check_flag(arguments, "--env", "env"));
    CM_TRY(check_flag(arguments, "--svg", "sample"));
    CM_TRY(check_flag(arguments, "--png", "sample"));
    if (arguments->positional_count && strcmp(arguments->positional[0], scaling) == 0) {
        return cm_benchmark_scaling(arguments);
    }
    cm_status status = cm_benchmark_open(arguments, NULL, &b);
    if (status == CM_OK) status = run_parts(arguments, &b);
    cm_benchmark_close(&b);
    return cm_memory_advise(status, "lower --batch or --simulations");
}

static void list_parts(cm_text *text) {
    cm_text_add(text, "\n\nParts are ");
    for (int i = 0; i < PARTS; i++) cm_text_add(text, "%s, ", parts[i].name);
    cm_text_add(text, "and %s.", scaling);
}

static const cm_flag flags[] = {
    {"--network", "NAME",
     "plain (the network of comparisons) or configured, with the observations and actions of env_name; default plain."},
    {"--batch", "N", "Rows, roots, positions or environments; default 256."},
    {"--simulations", "N", "Simulations per search; default 50."},
    {"--actions", "N", "Actions; default 2, or those of env_name."},
    {"--observation", "N", "Elements of an observation; default 4, or the shape that env_name has."},
    {"--hidden", "N", "Width of the hidden state; default hidden_dim."},
    {"--unroll", "N", "Unroll steps of the training step; default 5."},
    {"--policy", "NAME", "muzero or gumbel_muzero, of search and tree; default policy."},
    {"--env", "NAME", "Environment of the part env, with the options of the configuration; default env_name."},
    {"--seconds", "TIME", "How long each part is measured, about; default 1."},
    {"--num-devices", "N", "Most ranks of the part scaling; default: as many as there are GPUs, or processors."},
    {"--oversubscribe", NULL, "Allow more of them than the machine has processors, or GPUs."},
    {"--updates", "N", "Updates of the training of the part scaling; default 1024."},
    {"--svg", "FILE", "Also write the picture of the part sample."},
    {"--png", "FILE", "Also write it as PNG, by rsvg-convert (Debian: librsvg2-bin)."},
    {"--json", NULL, "Print JSON: an object per part, one to a line."},
    CM_FLAGS_CONFIGURATION,
    CM_FLAGS_MACHINE,
    CM_FLAGS_END};

const cm_command cm_command_benchmark = {
    .name = "benchmark",
    .about = "time a part, or all, and set it against the machine's matmul speed",
    .positional = "[PART]",
    .details =
        "Figures are medians over rounds. Parts that do matrix products also say what share of the speed of large "
        "products, measured in the same run on the same threads, they reach.\n\n"
        "inference is also timed in float32, in bfloat16 and in 8 bits where the backend has them; in 8 bits the first "
        "layer "
        "and the last ones of heads stay as they are, and ranges are those of the observations that are timed.\n\n"
        "act is self-play of env_name as configured, with --batch environments and fresh weights: searches, steps of "
        "the environments, and what goes to the replay; share_of_searches is how much of the time goes to the first, "
        "or to waiting for a GPU that does it. There searches of one half of the environments run while the other half "
        "moves; at_once are all in one search.\n\n"
        "graph compares updates and searches that are recorded as graphs with the same launched call by call, on a "
        "GPU: time of each, what recording costs, from which round on it pays, and how many launches are replayed in "
        "how many graphs.\n\n"
        "sample is draws of von Mises distributions (angles) by concentration, by type and by draws of a call, with a "
        "picture.\n\n"
        "scaling has to be asked for. It starts 1, 2, 4 ... ranks, each with as many threads as a processor's share, "
        "and measures the training that is configured with each number of them: an update; an update of ranks that do "
        "not know of each other (compute); how long gradients are summed over ranks in an update (reduce), how much of "
        "that comes behind the backward pass (exposed), and the share that is concurrent with it (overlap); a whole "
        "training of so many updates without evaluations; sums over ranks by size, the last one of a gradient. All "
        "counts are those of the whole run, so each of four ranks has a quarter of the batch. Efficiency is the time "
        "of one rank over the time of these, per share of the processors used. Where there are GPUs, or with --backend "
        "cuda, each rank takes one, N is their number unless it is given, and efficiency is per GPU; reduce is then "
        "the sum of a gradient by itself, and exposed what an update takes more than compute. Started by mpirun or "
        "srun it measures the ranks that it finds, and prints JSON.",
    .list = list_parts,
    .flags = flags,
    .examples = "  cumind benchmark search --dtype bfloat16\n  cumind benchmark tree --actions 82 --json\n"
                "  cumind benchmark scaling --num-devices 4 --oversubscribe\n",
    .run = run};
