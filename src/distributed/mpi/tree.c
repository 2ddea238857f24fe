#include "distributed/mpi/internal.h"

/* The one tree for both types; level by level, part i takes in part i + 1, then i + 2, i + 4, ... */
#define SUM(part, count, n)                                                                                            \
    do {                                                                                                               \
        for (int step = 1; step < (count); step *= 2) {                                                                \
            for (int i = 0; i + step < (count); i += 2 * step) {                                                       \
                for (size_t j = 0; j < (n); j++) (part)[i * (n) + j] += (part)[(i + step) * (n) + j];                  \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

void cm_tree_sum_floats(void *part, int count, size_t n) {
    float *x = part;
    SUM(x, count, n);
}

void cm_tree_sum_doubles(void *part, int count, size_t n) {
    double *x = part;
    SUM(x, count, n);
}
