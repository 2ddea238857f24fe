/* A profile for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/profile.h"
#include "cli/view.h"
#include "core/count.h"

enum { SHOWN = 12, BAR = 24 };

const char *cm_profile_short(double x, char out[16]) {
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    int unit = 0;
    while (x >= 999.5 && unit < 5) x /= 1000.0, unit++;
    snprintf(out, 16, "%.3g%s", x, units[unit]);
    return out;
}

static void bar(double share, char out[3 * BAR + 1]) {
    const int full = (int)lround(share * BAR);
    int n = 0;
    for (int i = 0; i < full && i < BAR; i++) out[n++] = '#';
    out[n] = '\0';
}

static void print_head(const cm_profile *p) {
    char steps[16], updates[16], simulations[16];
    cm_cli_line(4, "%s on %s", p->environment, p->backend);
    cm_cli_line(4, "%s env steps/s, %s updates/s, %s simulations/s over %.1f s and %lld iterations of %d steps",
                cm_profile_short(p->base.env_steps, steps), cm_profile_short(p->base.updates, updates),
                cm_profile_short(p->base.simulations, simulations), p->base.seconds, (long long)p->base.iterations,
                p->steps);
    cm_cli_line(4, "opening took %.2f s, the first iteration %.2f s more than others; an iteration leaves %.0f bytes",
                p->base.opening, p->base.first, p->base.growth);
    if (p->base.updates <= 0.0)
        cm_cli_line(4, "nothing was learnt: no batch could be drawn from games of five seconds");
}

static void print_stages(const cm_stage_times *t, int threads) {
    char text[3 * BAR + 1];
    printf("\n%-16s %7s %9s\n", "stage", "share", "seconds");
    for (int s = 0; s < CM_STAGES; s++) {
        bar(t->seconds[s] / t->wall, text);
        if (t->seconds[s] < 5e-4 * t->wall) continue;
        cm_cli_line(36, "%-16s %5.1f %% %9.3f  %s", cm_stage_name(s), 100.0 * t->seconds[s] / t->wall, t->seconds[s],
                    text);
    }
    cm_cli_line(4, "threads busy: %.2f of %d", t->busy / t->wall, threads);
}

static void print_operations(const cm_profile *p) {
    const cm_operations *o = &p->operations;
    double all = 0.0;
    for (int i = 0; i < o->count; i++) all += o->row[i].seconds;
    printf("\n%-34s %-14s %6s %8s %9s %8s  %s\n", "operation", "stage", "share", "calls", "FLOP/s", "B/s",
           "of the roof");
    for (int i = 0; i < o->count && i < SHOWN; i++) {
        const cm_operation *row = &o->row[i];
        char rate[16], bytes[16];
        bool by_products;
        const double least = cm_roofs_least(&p->roofs, row, &by_products);
        printf("%-34.34s %-14s %4.1f %% %8lld %9s %8s  %3.0f %% of %s\n", row->name, cm_stage_name(row->stage),
               100.0 * row->seconds / all, (long long)row->calls, cm_profile_short(row->flop / row->seconds, rate),
               cm_profile_short(row->bytes / row->seconds, bytes), 100.0 * least / row->seconds,
               by_products ? "products" : "copies");
    }
    if (o->count > SHOWN) cm_cli_line(4, "and %d more kinds of operations (--json has them)", o->count - SHOWN);
}

static void print_roofs(const cm_profile *p) {
    char flops[16], first[16], last[16];
    cm_cli_line(4, "roofs of %s: %sFLOP/s in float32, copies of %sB/s in cache to %sB/s in memory",
                p->is_device ? "the device" : "one thread", cm_profile_short(p->roofs.flops[CM_F32], flops),
                cm_profile_short(p->roofs.bytes[0], first), cm_profile_short(p->roofs.bytes[CM_ROOF_SIZES - 1], last));
}

static void print_ladder(const cm_profile *p) {
    char rate[16];
    printf("\n%-12s %12s %8s %14s %14s\n", "precision", "positions/s", "speed", "policy error", "value error");
    for (int i = 0; i < p->ladder_count; i++) {
        const cm_precision *l = &p->ladder[i];
        printf("%-12s %12s %7.2fx %14.2g %14.2g\n", cm_dtype_name(l->dtype), cm_profile_short(l->per_second, rate),
               l->per_second / p->ladder[0].per_second, l->policy_error, l->value_error);
    }
}

static void print_sweeps(const cm_profile *p) {
    char rate[16];
    printf("\nenv steps/s by key (* the knee: the first value within 5 %% of the fastest)\n");
    for (int i = 0; i < p->sweep_count; i++) {
        const cm_sweep *s = &p->sweep[i];
        cm_text text = {0};
        for (int k = 0; k < s->count; k++)
            cm_text_add(&text, "%s%s%s: %s", k ? ", " : "", s->point[k].value, k == s->knee ? "*" : "",
                        cm_profile_short(s->point[k].rate, rate));
        cm_cli_line(18, "  %-15s %s", s->key, text.bytes);
    }
    if (p->left[0]) cm_cli_line(4, "no time was left for: %s (--seconds)", p->left);
}

static void print_memory(const cm_profile *p) {
    char bytes[16];
    cm_format_bytes(p->memory_bytes, bytes);
    printf("\nmemory          %10s\n", bytes);
    for (int i = 0; i < p->memory_count; i++) {
        if ((double)p->memory[i].bytes < p->memory_bytes / 100.0) continue;
        cm_format_bytes((double)p->memory[i].bytes, bytes);
        cm_cli_line(28, "  %10s %s", bytes, p->memory[i].name);
    }
}

static void print_advice(const cm_profile *p) {
    double all = 1.0;
    printf("\n");
    if (p->advice_count == 0) cm_cli_line(4, "advice: nothing that was tried gains a tenth; keep what is configured");
    for (int i = 0; i < p->advice_count; i++) {
        const cm_advice *a = &p->advice[i];
        all *= a->gain;
        cm_cli_line(4, "%s  %.2fx: %s", a->set, a->gain, a->why);
    }
    if (p->advice_count > 1) cm_cli_line(4, "together %.2fx", all);
}

static void print_graphs(const cm_profile *p) {
    printf("\ncaptured graphs (-1: they never pay)\n");
    for (int i = 0; i < p->graph_count; i++) printf("  %-28s %.4g\n", p->graph[i].key, p->graph[i].value);
}

void cm_profile_print(const cm_profile *p) {
    print_head(p);
    print_stages(&p->stages, p->threads);
    print_operations(p);
    print_roofs(p);
    print_ladder(p);
    if (p->graph_count > 0) print_graphs(p);
    if (p->has_advice) print_sweeps(p);
    print_memory(p);
    if (p->has_advice) print_advice(p);
}
