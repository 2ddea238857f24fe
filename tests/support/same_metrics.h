/* Metrics of two runs that a test has trained below its folder. */
#ifndef TESTS_SUPPORT_SAME_METRICS_H
#define TESTS_SUPPORT_SAME_METRICS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/metrics.h"
#include "support/folder.h"

/* The rows of the runs `a` and `b` are the same but for their times and what else runs on the GPU. */
static inline void expect_same_metrics(const char *a, const char *b) {
    const char *const runs[2] = {a, b};
    char path[320], line[2][CM_METRICS_TEXT];
    cm_metrics *rows[2];
    int count[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, runs[i]);
        ck_assert_msg(cm_metrics_read(path, &rows[i], &count[i]) == CM_OK, "%s", cm_error_message());
    }
    ck_assert_int_eq(count[0], count[1]);
    for (int k = 0; k < count[0]; k++) {
        for (int i = 0; i < 2; i++) {
            cm_metrics *m = &rows[i][k];
            m->seconds = m->env_steps_per_second = m->simulations_per_second = m->updates_per_second = 0.0;
            memset(m->time, 0, sizeof m->time);
            m->gpu_use = m->gpu_memory = 0.0;
            cm_metrics_format(m, line[i], sizeof line[i]);
        }
        ck_assert_str_eq(line[0], line[1]);
    }
    free(rows[0]);
    free(rows[1]);
}

#endif
