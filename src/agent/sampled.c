#include "agent/sampled.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/arena.h"
#include "mcts/numeric.h"
#include "network/sampled.h"

struct cm_sampled {
    cm_sampled_sizes sizes;
    cm_sampled_roots roots;
    cm_arena arena;
    cm_search_result own; /* [R, K] arrays and the moves [R], as the search gives them */
};

cm_sampled_roots cm_sampled_roots_of(const cm_inference *inference) {
    const cm_inference_arrays *at = cm_inference_get(inference);
    return (cm_sampled_roots){at->observation, at->root_legal, at->root_seed, at->root_drawn};
}

static void alloc_rows(cm_sampled *s) {
    const size_t rows = (size_t)s->sizes.rows, wide = rows * (size_t)s->sizes.draws;
    s->own.visits = cm_arena_alloc(&s->arena, wide * sizeof(int32_t));
    s->own.action_weights = cm_arena_alloc(&s->arena, wide * sizeof(float));
    s->own.action_probs = cm_arena_alloc(&s->arena, wide * sizeof(float));
    s->own.qvalues = cm_arena_alloc(&s->arena, wide * sizeof(float));
    s->own.action = cm_arena_alloc(&s->arena, rows * sizeof(int32_t));
}

cm_status cm_sampled_create(const cm_sampled_sizes *sizes, const cm_sampled_roots *roots, cm_sampled **out) {
    cm_sampled *s = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "drawn actions"));
    s->sizes = *sizes;
    s->roots = *roots;
    s->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_rows(s);
    cm_status status = cm_arena_create(&s->arena, s->arena.used, "drawn actions");
    if (status != CM_OK) {
        free(s);
        return status;
    }
    alloc_rows(s);
    /* rows that a run does not ask for are computed, too */
    for (size_t i = 0; roots->legal && i < (size_t)sizes->rows * (size_t)sizes->actions; i++) roots->legal[i] = 1.0f;
    *out = s;
    return CM_OK;
}

void cm_sampled_destroy(cm_sampled *s) {
    if (!s) return;
    cm_arena_destroy(&s->arena);
    free(s);
}

size_t cm_sampled_bytes(const cm_sampled *s) { return s ? sizeof *s + s->arena.capacity : 0; }

/* ---- into a run ---- */

/* XXH3 of the bytes of an observation, where nothing is random. */
static cm_key key_of(const cm_sampled *s, const cm_roots *roots, int b) {
    if (roots->keys) return cm_key_fold_in(roots->keys[b], roots->steps ? roots->steps[b] : 0);
    const size_t O = (size_t)s->sizes.observation;
    const uint64_t hash = XXH3_64bits(s->roots.observation + (size_t)b * O, O * sizeof(float));
    return (cm_key){{(uint32_t)hash, (uint32_t)(hash >> 32)}};
}

static void ask_root(const cm_sampled *s, const cm_roots *roots, int b) {
    const size_t A = (size_t)s->sizes.actions, first = (size_t)b * A;
    for (size_t a = 0; s->roots.legal && a < A; a++)
        s->roots.legal[first + a] = !roots->legal || roots->legal[first + a] ? 1.0f : 0.0f;
    cm_sampled_seed(key_of(s, roots, b), s->roots.seed + 2 * b);
}

cm_status cm_sampled_request(cm_sampled *s, const cm_roots *roots, const cm_search_result *result, cm_roots *out_roots,
                             cm_search_result *out_result) {
    if (roots->noise || roots->is_kept)
        return cm_fail(CM_ERR_INPUT, "searches that draw actions take no given noise and keep no trees");
    if (roots->legal && !s->roots.legal)
        return cm_fail(CM_ERR_INPUT, "searches by a policy per number take no mask of legal actions");
    for (int b = 0; b < roots->count && b < s->sizes.rows; b++) ask_root(s, roots, b);
    *out_roots = *roots;
    out_roots->legal = NULL;
    *out_result = (cm_search_result){.visits = result->visits ? s->own.visits : NULL,
                                     .action_weights = result->action_weights ? s->own.action_weights : NULL,
                                     .action_probs = result->action_probs ? s->own.action_probs : NULL,
                                     .value = result->value,
                                     .raw_value = result->raw_value,
                                     .qvalues = result->qvalues ? s->own.qvalues : NULL,
                                     .action = result->action ? s->own.action : NULL};
    return CM_OK;
}

/* ---- out of it ---- */

static const float *drawn_at(const cm_sampled *s, int b) {
    return s->roots.drawn + (size_t)b * (size_t)cm_sampled_memory_size(s->sizes.draws);
}

enum { WORD = 4 }; /* bytes of a number */

/* to[A] of root b from its choices' numbers from[K]; 0 for what was not drawn. After the drawn ones a list has zeros,
 * and their numbers are none: they go first, so that those of action 0 take their place. */
static void spread_row(const cm_sampled *s, int b, void *to, const void *from) {
    const float *drawn = drawn_at(s, b);
    memset(to, 0, (size_t)s->sizes.actions * WORD);
    for (size_t k = (size_t)s->sizes.draws; k-- > 0;)
        memcpy((char *)to + (size_t)drawn[k] * WORD, (const char *)from + k * WORD, WORD);
}

/* The same of rows to[R, A], which may be NULL, and from[R, K]. */
static void spread(const cm_sampled *s, int b, void *to, const void *from) {
    const size_t K = (size_t)s->sizes.draws, A = (size_t)s->sizes.actions;
    if (to) spread_row(s, b, (char *)to + (size_t)b * A * WORD, (const char *)from + (size_t)b * K * WORD);
}

/* to[P]: the marginals of weights from[K], of which entries that mean no action have 0. */
static void add_marginals(const cm_sampled *s, int b, float *to, const float *from) {
    const cm_policy_form form = s->sizes.form;
    const float *drawn = drawn_at(s, b);
    memset(to, 0, (size_t)cm_policy_size(form) * sizeof *to);
    for (int k = 0; k < s->sizes.draws; k++) {
        for (int d = 0; d < form.numbers; d++) to[d * form.values + cm_policy_entry(form, (int)drawn[k], d)] += from[k];
    }
}

/* The same of rows to[R, P], which may be NULL, and from[R, K]. */
static void gather_policy(const cm_sampled *s, int b, float *to, const float *from) {
    const size_t K = (size_t)s->sizes.draws, P = (size_t)cm_policy_size(s->sizes.form);
    if (to) add_marginals(s, b, to + (size_t)b * P, from + (size_t)b * K);
}

void cm_sampled_result(const cm_sampled *s, int count, const cm_search_result *result) {
    for (int b = 0; b < count; b++) {
        spread(s, b, result->visits, s->own.visits);
        gather_policy(s, b, result->action_weights, s->own.action_weights);
        gather_policy(s, b, result->action_probs, s->own.action_probs);
        spread(s, b, result->qvalues, s->own.qvalues);
        if (result->action) result->action[b] = (int32_t)drawn_at(s, b)[s->own.action[b]];
    }
}

int cm_sampled_action(const cm_sampled *s, int row, int choice) { return (int)drawn_at(s, row)[choice]; }

void cm_sampled_prior(const cm_sampled *s, int row, const float *logits, float *prior) {
    float *shares = s->own.action_probs; /* a row of it, which is not read after a run */
    (void)cm_softmax(shares, logits, s->sizes.draws);
    spread_row(s, row, prior, shares);
}
