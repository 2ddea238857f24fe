/* Gradients of parameters that several calls share, such as those of dynamics, which every unrolled step calls.
 *
 * Recorded call by call, each would read the parameter's gradient and add the products of its own rows. Instead the
 * rows of all calls are laid after each other, and one call where the last of them stands makes it from all. The
 * calls keep what follows from row to row: the gradients at their inputs. On a backend with branches a single call is
 * taken apart in the same way, as only the gradient at its input is waited for.
 *
 * Convolutions are merged where their gradients are of 16 bits, which is on GPUs: one call for all rows is faster than
 * several. What one reads on a CPU is still in the cache when its own call comes. They fill a GPU by themselves, so
 * they get no branch and are not taken apart. Where planes are recomputed each has its own call: all rows at once would
 * have to be kept.
 */
#include "backend/tape/tape_internal.h"

enum { SHARED = 2, ROWS = 4, NONE = -1 };

/* Places of tensors in a backward call. */
typedef struct merge_rule {
    cm_op op;
    int shared[SHARED]; /* gradients of parameters */
    int rows[ROWS];     /* what has a row per row of the call, and is needed for them */
    int input;          /* gradient at the input, a row per row */
    bool fills;         /* such a call fills a GPU */
} merge_rule;

#define AT(op, name) CM_T_##op##_##name
static const merge_rule rules[] = {
    {CM_OP_dense_backward,
     {AT(dense_backward, dweight), AT(dense_backward, dbias)},
     {AT(dense_backward, dy), AT(dense_backward, x), AT(dense_backward, action), NONE},
     AT(dense_backward, dx),
     false},
    {CM_OP_conv2d_backward,
     {AT(conv2d_backward, dweight), AT(conv2d_backward, dbias)},
     {AT(conv2d_backward, dy), AT(conv2d_backward, x), NONE, NONE},
     AT(conv2d_backward, dx),
     true},
    {CM_OP_layer_norm_backward,
     {AT(layer_norm_backward, dscale), AT(layer_norm_backward, dshift)},
     {AT(layer_norm_backward, dy), AT(layer_norm_backward, x), AT(layer_norm_backward, y),
      AT(layer_norm_backward, saved)},
     AT(layer_norm_backward, dx),
     false},
    {CM_OP_embedding_add_backward,
     {AT(embedding_add_backward, dtable), NONE},
     {AT(embedding_add_backward, dy), AT(embedding_add_backward, action), NONE, NONE},
     AT(embedding_add_backward, dx),
     false},
};

/* Calls of one rule with the same parameters, in the order of the backward pass. */
typedef struct group {
    const merge_rule *rule;
    int call[CM_TAPE_PARTS];
    int count;
} group;

static const merge_rule *rule_of(cm_op op) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == op) return &rules[i];
    return NULL;
}

static cm_tape_node *call_at(const cm_tape *tape, int i) { return &tape->backward.node[i]; }

static bool have_same_parameters(const cm_tape_node *a, const cm_tape_node *b, const merge_rule *rule) {
    if (a->op != b->op) return false;
    for (int s = 0; s < SHARED; s++)
        if (rule->shared[s] != NONE && a->t[rule->shared[s]] != b->t[rule->shared[s]]) return false;
    return true;
}

static bool has_parameters(const cm_tape_node *call, const merge_rule *rule) {
    for (int s = 0; s < SHARED; s++)
        if (rule->shared[s] != NONE && call->t[rule->shared[s]] != CM_NO_VAR) return true;
    return false;
}

/* All calls from `first` on that share its parameters. */
static group group_from(const cm_tape *tape, int first, const merge_rule *rule) {
    group g = {.rule = rule};
    if (!has_parameters(call_at(tape, first), rule)) return g;
    for (int i = first; i < tape->backward.count && g.count < CM_TAPE_PARTS; i++)
        if (have_same_parameters(call_at(tape, i), call_at(tape, first), g.rule)) g.call[g.count++] = i;
    return g;
}

/* Does a call that is not in the group, but among its calls, write to its parameters' gradients, too? */
static bool is_disturbed(const cm_tape *tape, const group *g) {
    const cm_tape_node *mine = call_at(tape, g->call[0]);
    for (int i = g->call[0]; i <= g->call[g->count - 1]; i++) {
        const cm_tape_node *other = call_at(tape, i);
        if (have_same_parameters(other, mine, g->rule)) continue;
        for (int t = 0; t < CM_CALL_TENSORS; t++)
            for (int s = 0; s < SHARED; s++) {
                const int place = g->rule->shared[s];
                if (other->t[t] == CM_NO_VAR || place == NONE || mine->t[place] == CM_NO_VAR) continue;
                if (cm_tape_overlap(&tape->var[other->t[t]], &tape->var[mine->t[place]])) return true;
            }
    }
    return false;
}

/* Tensor `place` of the group's calls in the order of the forward pass; false: some or all have none. */
static bool rows_of(const cm_tape *tape, const group *g, int place, cm_var *out) {
    for (int i = 0; i < g->count; i++) {
        out[i] = call_at(tape, g->call[g->count - 1 - i])->t[place];
        if (out[i] == CM_NO_VAR) return false;
    }
    return true;
}

/* Has a single call both kinds of gradients, where that is one too many? */
static bool can_split(const cm_tape *tape, const group *g) {
    return g->count == 1 && tape->branches > 0 && !g->rule->fills &&
           call_at(tape, g->call[0])->t[g->rule->input] != CM_NO_VAR;
}

/* Are the gradients at the outputs of its calls activations of 16 bits? */
static bool is_half(const cm_tape *tape, const group *g) {
    return tape->var[call_at(tape, g->call[0])->t[g->rule->rows[0]]].shape.dtype != CM_F32;
}

static bool can_merge(const cm_tape *tape, const group *g) {
    cm_var rows[CM_TAPE_PARTS];
    if (g->count < 2) return can_split(tape, g);
    const bool alone = g->rule->fills && (tape->recompute != CM_RECOMPUTE_NONE || !is_half(tape, g));
    if (alone || is_disturbed(tape, g)) return false;
    for (int r = 0; r < ROWS; r++) {
        if (g->rule->rows[r] == NONE || call_at(tape, g->call[0])->t[g->rule->rows[r]] == CM_NO_VAR) continue;
        if (!rows_of(tape, g, g->rule->rows[r], rows) || !cm_tape_can_lay(tape, rows, g->count)) return false;
    }
    return true;
}

/* The call for all rows: as the last one, but for what has rows. Whether it adds is up to the first one. */
static cm_tape_node merged_call(cm_tape *tape, const group *g) {
    cm_tape_node call = *call_at(tape, g->call[g->count - 1]);
    cm_var rows[CM_TAPE_PARTS];
    call.t[g->rule->input] = CM_NO_VAR;
    call.attr.accumulate = call_at(tape, g->call[0])->attr.accumulate & ~(1u << g->rule->input);
    for (int r = 0; r < ROWS && g->count > 1; r++) {
        if (g->rule->rows[r] == NONE || call.t[g->rule->rows[r]] == CM_NO_VAR) continue;
        (void)rows_of(tape, g, g->rule->rows[r], rows);
        call.t[g->rule->rows[r]] = cm_tape_lay(tape, rows, g->count);
    }
    return call;
}

/* What is left of a call of the group: the gradient at its input. */
static void strip(cm_tape_node *call, const merge_rule *rule) {
    for (int s = 0; s < SHARED; s++) {
        if (rule->shared[s] == NONE) continue;
        call->t[rule->shared[s]] = CM_NO_VAR;
        call->attr.accumulate &= ~(1u << rule->shared[s]);
    }
}

/* Puts `call` in front of the one at `place`; false: the tape has an error. */
static bool insert(cm_tape *tape, int place, const cm_tape_node *call) {
    cm_tape_list *list = &tape->backward;
    if (!cm_tape_append(tape, list, call->op)) return false;
    for (int i = list->count - 1; i > place; i--) list->node[i] = list->node[i - 1];
    list->node[place] = *call;
    return true;
}

/* In front of the last one: it may run concurrently with that. */
static void merge(cm_tape *tape, const group *g) {
    const cm_tape_node all = merged_call(tape, g);
    const int last = g->call[g->count - 1];
    if (!insert(tape, last, &all)) return;
    for (int i = g->count - 1; i >= 0; i--) {
        const int place = g->call[i] == last ? last + 1 : g->call[i];
        cm_tape_node *call = call_at(tape, place);
        strip(call, g->rule);
        if (call->t[g->rule->input] == CM_NO_VAR) cm_tape_remove(&tape->backward, place);
    }
}

bool cm_tape_makes_parameters(const cm_tape_node *call) {
    const merge_rule *rule = rule_of(call->op);
    return rule && !rule->fills && has_parameters(call, rule) && call->t[rule->input] == CM_NO_VAR;
}

void cm_tape_merge_gradients(cm_tape *tape) {
    for (int i = 0; i < tape->backward.count && tape->error == CM_OK; i++) {
        const merge_rule *rule = rule_of(call_at(tape, i)->op);
        if (!rule) continue;
        const group g = group_from(tape, i, rule);
        if (can_merge(tape, &g)) merge(tape, &g), i--; /* another call may stand here now */
    }
}
