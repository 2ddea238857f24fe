#include "replay/priority.h"

float cm_priority_largest(const float *priority, size_t n) {
    float largest = -1.0f;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(priority[i]) && priority[i] > largest) largest = priority[i];
    }
    return largest < 0.0f ? 1.0f : largest;
}

double cm_priority_masses(const float *priority, size_t n, double alpha, double *mass) {
    float largest = cm_priority_largest(priority, n);
    double total = 0.0;
    for (size_t i = 0; i < n; i++) {
        mass[i] = cm_priority_mass(isfinite(priority[i]) ? priority[i] : largest, alpha);
        total += mass[i];
    }
    if (total > 0.0) return total;
    for (size_t i = 0; i < n; i++) mass[i] = 1.0;
    return (double)n;
}

void cm_priority_weights(size_t n, const double *probability, double positions, double beta, double least,
                         float *weight) {
    /* The largest weight belongs to the smallest probability, so the ratio needs no pass over the weights. */
    double smallest = HUGE_VAL;
    for (size_t i = 0; i < n; i++) smallest = fmin(smallest, positions * probability[i]);
    for (size_t i = 0; i < n; i++) weight[i] = (float)fmax(pow(positions * probability[i] / smallest, -beta), least);
}
