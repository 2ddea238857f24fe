/* Searches a model of one's own: a walk on a line of 10 places, whose last one pays 1.
 *
 *     cc own_model.c $(pkg-config --cflags --libs cumind) -o own_model */
#include <cumind.h>
#include <stdio.h>

enum { PLACES = 10, ACTIONS = 2, SIMULATIONS = 64, ROOTS = 3 };

/* The model keeps the state of every node in its slot: here, a place. */
typedef struct line {
    int place[ROOTS * (SIMULATIONS + 1)];
} line;

/* Action 0 goes left, 1 goes right. All nodes of a call are independent of each other: a network would take them as one
 * batch. */
static cumind_status step(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                          cumind_model_out *out) {
    line *model = context;
    for (int k = 0; k < n; k++) {
        int place = model->place[parent[k]] + (action[k] == 1 ? 1 : -1);
        if (place < 0) place = 0;
        model->place[child[k]] = place;
        out->reward[k] = place == PLACES - 1 ? 1.0f : 0.0f;
        out->discount[k] = place == PLACES - 1 ? 0.0f : 0.9f; /* 0: nothing follows */
        out->prior_logits[k * ACTIONS] = out->prior_logits[k * ACTIONS + 1] = 0.0f;
        out->value[k] = 0.0f;
    }
    return CUMIND_OK;
}

int main(void) {
    cumind_search_options options = cumind_search_defaults(CUMIND_MUZERO);
    options.num_simulations = SIMULATIONS;
    line model;
    const float prior_logits[ROOTS * ACTIONS] = {0.0f}, value[ROOTS] = {0.0f};
    const cumind_model described = {.context = &model, .num_actions = ACTIONS, .recurrent = step};
    const cumind_roots roots = {.count = ROOTS, .prior_logits = prior_logits, .value = value};
    int32_t action[ROOTS], visits[ROOTS * ACTIONS];
    const cumind_search_result result = {.action = action, .visits = visits};
    for (int b = 0; b < ROOTS; b++) model.place[b * (SIMULATIONS + 1)] = PLACES - 2 - 2 * b; /* roots have slot 0 */

    cumind_search *search = NULL;
    cumind_status status = cumind_search_open(&options, ROOTS, ACTIONS, 0, &search);
    if (status == CUMIND_OK) status = cumind_search_run(search, &described, &roots, &result);
    for (int b = 0; status == CUMIND_OK && b < ROOTS; b++)
        printf("from place %d: go %s, visits %d left, %d right\n", PLACES - 2 - 2 * b, action[b] ? "right" : "left",
               visits[b * ACTIONS], visits[b * ACTIONS + 1]);
    if (status != CUMIND_OK) fprintf(stderr, "own_model: %s\n", cumind_error_message());
    cumind_search_close(search);
    return status != CUMIND_OK;
}
