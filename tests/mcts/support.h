/* Helpers of the search tests. */
#ifndef CM_TESTS_MCTS_SUPPORT_H
#define CM_TESTS_MCTS_SUPPORT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/tabular.h"
#include "mcts/search.h"
#include "support/main.h"

/* A tabular model, a search on it and all arrays of the result. */
typedef struct session {
    cm_table table;
    cm_tabular tabular;
    cm_model model;
    cm_search *search;
    int batch, slots;
    int32_t visits[8192], action[256];
    float weights[8192], probs[8192], value[256], raw_value[256], qvalues[8192];
} session;

static inline void session_open(session *s, const cm_table *table, const cm_search_params *params, int batch) {
    memset(s, 0, sizeof *s);
    s->table = *table;
    s->batch = batch;
    s->slots = params->num_simulations + 1;
    s->tabular.table = &s->table;
    s->tabular.states = calloc((size_t)batch * (size_t)s->slots, sizeof(int32_t));
    ck_assert_int_le(batch * table->num_actions, 8192);
    s->model = cm_tabular_model(&s->tabular);
    ck_assert_msg(cm_search_create(params, batch, table->num_actions, table->num_chance, &s->search) == CM_OK, "%s",
                  cm_error_message());
}

static inline void session_close(session *s) {
    cm_search_destroy(s->search);
    free(s->tabular.states);
}

static inline cm_search_result session_result(session *s) {
    cm_search_result result = {s->visits, s->weights, s->probs, s->value, s->raw_value, s->qvalues, s->action};
    return result;
}

static inline void session_run(session *s, const int32_t *root_states, const cm_roots *roots) {
    cm_search_result result = session_result(s);
    s->tabular.root_states = root_states;
    ck_assert_msg(cm_search_run(s->search, &s->model, roots, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_search_check(s->search) == CM_OK, "%s", cm_error_message());
}

static inline void assert_near(float got, float want, float tolerance, const char *what, int index) {
    float error = got > want ? got - want : want - got;
    ck_assert_msg(error <= tolerance, "%s[%d]: got %.9g, want %.9g", what, index, (double)got, (double)want);
}

static inline int run_suite(const char *name, const TTest *const *tests, int count) {
    Suite *suite = suite_create(name);
    TCase *group = tcase_create(name);
    for (int i = 0; i < count; i++) tcase_add_test(group, tests[i]);
    suite_add_tcase(suite, group);
    return cm_test_main_in_process(suite);
}

#define RUN_SUITE(name, ...)                                                                                           \
    run_suite(name, (const TTest *const[]){__VA_ARGS__},                                                               \
              (int)(sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *)))

#endif
