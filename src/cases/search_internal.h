/* What case.c, case_read.c and case_check.c share. */
#ifndef CM_CASES_SEARCH_INTERNAL_H
#define CM_CASES_SEARCH_INTERNAL_H

#include "cases/search.h"
#include "cases/tabular.h"
#include "mcts/search.h"

/* The arrays of "expected", in the order of the file. */
typedef enum cm_search_case_field {
    CM_FIELD_NODE_VISITS,
    CM_FIELD_RAW_VALUES,
    CM_FIELD_NODE_VALUES,
    CM_FIELD_PARENTS,
    CM_FIELD_ACTION_FROM_PARENT,
    CM_FIELD_NODE_STATES,
    CM_FIELD_CHILDREN_INDEX,
    CM_FIELD_CHILDREN_VISITS,
    CM_FIELD_CHILDREN_REWARDS,
    CM_FIELD_CHILDREN_DISCOUNTS,
    CM_FIELD_CHILDREN_VALUES,
    CM_FIELD_ROOT_PRIOR_LOGITS,
    CM_FIELD_ROOT_VALUE,
    CM_FIELD_ROOT_QVALUES,
    CM_FIELD_ACTION_WEIGHTS,
    CM_FIELD_ACTION_PROBS,
    CM_FIELD_ACTION,
    CM_FIELD_FIELDS
} cm_search_case_field;

typedef enum cm_search_case_shape { CM_FIELD_B, CM_FIELD_B_A, CM_FIELD_B_N, CM_FIELD_B_N_K } cm_search_case_shape;

typedef struct cm_search_case_row {
    const char *name;
    bool is_integer;
    bool has_unit; /* the tolerance scales with the case's unit */
    cm_search_case_shape shape;
} cm_search_case_row;

extern const cm_search_case_row cm_search_case_rows[CM_FIELD_FIELDS];

typedef union cm_search_case_array {
    void *data; /* owned; NULL if absent */
    int32_t *i;
    float *f;
} cm_search_case_array;

struct cm_search_case {
    cm_policy policy;
    cm_search_params params;
    int batch, num_actions, num_chance; /* B, A, C (0 unless stochastic)                              */
    int slots, columns;                 /* N + 1, K                                                   */
    float unit;
    bool is_sampled;
    cm_table table;       /* points into memory that the case owns                                    */
    int32_t *root_states; /* [B]                                                                      */
    uint8_t *legal;       /* [B, A] or NULL                                                           */
    float *noise;         /* [B, A] or NULL                                                           */
    cm_search_case_array got[CM_FIELD_FIELDS];
    cm_search_case_array want[CM_FIELD_FIELDS]; /* data NULL: not read, or null in the file                   */
};

/* Dimensions of a field: rank as result, sizes in dims. */
int cm_search_case_dims(const cm_search_case *searched, cm_search_case_field field, size_t dims[3]);

/* Memory for the numbers that a run gives. */
cm_status cm_search_case_alloc(cm_search_case *searched) CM_MUST_USE;
/* What the roots first .. first+count-1 start from, and where their results go. */
cm_roots cm_search_case_roots(const cm_search_case *searched, int first, int count);
cm_search_result cm_search_case_result(cm_search_case *searched, int first);
/* Reads a finished tree: root b of the search is row `root` of the case. */
void cm_search_case_export(cm_search_case *searched, const cm_search *search, const cm_tabular *tabular, int b,
                           size_t root);

size_t cm_search_case_count(const cm_search_case *searched, cm_search_case_field field);

#endif
