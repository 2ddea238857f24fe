/* The part sample: draws of von Mises distributions by concentration and by draws of a call, on one thread. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/benchmark.h"
#include "core/arena.h"
#include "core/von_mises.h"

enum { ROUND = 16384 }; /* draws that are timed at once */

typedef struct sample {
    const char *key;
    double kappa;
    int size; /* draws of a call, a divisor of ROUND */
    bool is_double;
} sample;

static const sample samples[] = {
    {"draws_per_second", 4.0, ROUND, false},   {"float32_kappa_0", 0.0, ROUND, false},
    {"float32_kappa_0.1", 0.1, ROUND, false},  {"float32_kappa_1", 1.0, ROUND, false},
    {"float32_kappa_1e3", 1e3, ROUND, false},  {"float32_kappa_1e6", 1e6, ROUND, false},
    {"float64_kappa_0", 0.0, ROUND, true},     {"float64_kappa_0.1", 0.1, ROUND, true},
    {"float64_kappa_1", 1.0, ROUND, true},     {"float64_kappa_4", 4.0, ROUND, true},
    {"float64_kappa_1e3", 1e3, ROUND, true},   {"float64_kappa_1e6", 1e6, ROUND, true},
    {"float32_calls_of_1", 4.0, 1, false},     {"float32_calls_of_16", 4.0, 16, false},
    {"float32_calls_of_256", 4.0, 256, false}, {"float32_calls_of_4096", 4.0, 4096, false},
};
enum { SAMPLES = (int)(sizeof samples / sizeof *samples) };

typedef struct drawing {
    const sample *what;
    void *out; /* [ROUND] float32 or float64, owned */
} drawing;

static cm_status draw_doubles(const drawing *d, uint64_t first) {
    const double mu = 0.0;
    const cm_von_mises_draws_d draws = {.key = cm_key_make(1, CM_RNG_TEST, 0),
                                        .first = first,
                                        .count = (size_t)d->what->size,
                                        .mu = &mu,
                                        .kappa = &d->what->kappa,
                                        .one_mu = true,
                                        .one_kappa = true,
                                        .out = d->out};
    return cm_von_mises_batch_d(NULL, &draws);
}

static cm_status draw_floats(const drawing *d, uint64_t first) {
    const float mu = 0.0f, kappa = (float)d->what->kappa;
    const cm_von_mises_draws_f draws = {.key = cm_key_make(1, CM_RNG_TEST, 0),
                                        .first = first,
                                        .count = (size_t)d->what->size,
                                        .mu = &mu,
                                        .kappa = &kappa,
                                        .one_mu = true,
                                        .one_kappa = true,
                                        .out = d->out};
    return cm_von_mises_batch_f(NULL, &draws);
}

static cm_status draw_round(void *context) {
    const drawing *d = context;
    for (int first = 0; first < ROUND; first += d->what->size)
        CM_TRY(d->what->is_double ? draw_doubles(d, (uint64_t)first) : draw_floats(d, (uint64_t)first));
    return CM_OK;
}

static cm_status measure(const cm_benchmark *bench, drawing *d, cm_benchmark_result *result) {
    for (int i = 0; i < SAMPLES; i++) {
        double seconds;
        d->what = &samples[i];
        CM_TRY(cm_benchmark_time(bench->seconds / SAMPLES, draw_round, d, &seconds));
        cm_benchmark_put(result, samples[i].key, ROUND / seconds);
    }
    return CM_OK;
}

cm_status cm_benchmark_sample(const cm_benchmark *bench, cm_benchmark_result *result) {
    drawing d = {0};
    CM_TRY(cm_alloc(&d.out, ROUND, sizeof(double), "draws"));
    const cm_status status = measure(bench, &d, result);
    free(d.out);
    snprintf(result->note, sizeof result->note, "von Mises, kappa 4, float32, calls of %d, one thread", ROUND);
    return status;
}
