/* Times of rounds, and where the numbers of a part go. */
#include <stdlib.h>

#include "cli/benchmark.h"
#include "core/clock.h"

void cm_benchmark_put(cm_benchmark_result *result, const char *key, double value) {
    result->number[result->count].key = key;
    result->number[result->count++].value = value;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cm_benchmark_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

cm_status cm_benchmark_time(double seconds, cm_benchmark_round round, void *context, double *median) {
    enum { MOST = 1000, LEAST = 5 };
    double taken[MOST], sum = 0.0;
    int count = 0;
    CM_TRY(round(context));
    while (count < MOST && (count < LEAST || sum < seconds)) {
        double start = cm_clock_seconds();
        CM_TRY(round(context));
        sum += taken[count++] = cm_clock_seconds() - start;
    }
    *median = cm_benchmark_median(taken, count);
    return CM_OK;
}
