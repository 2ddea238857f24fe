/* Section "MCTS": how a move is searched. Formulas: docs/spec/search.md 7 and 8. */
#ifndef CM_MCTS_OPTIONS_H
#define CM_MCTS_OPTIONS_H

#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_mcts_policy {
    CM_MCTS_MUZERO,
    CM_MCTS_GUMBEL_MUZERO,
    CM_MCTS_STOCHASTIC_MUZERO,
    CM_MCTS_ALPHAZERO
} cm_mcts_policy;

typedef enum cm_mcts_selection {
    CM_MCTS_SELECT_AUTO, /* gumbel with gumbel_muzero, else puct */
    CM_MCTS_SELECT_PUCT,
    CM_MCTS_SELECT_GUMBEL
} cm_mcts_selection;

typedef enum cm_mcts_qtransform {
    CM_MCTS_Q_AUTO, /* parent_and_siblings, with selection by gumbel completed_by_mix_value */
    CM_MCTS_Q_MIN_MAX,
    CM_MCTS_Q_PARENT_AND_SIBLINGS,
    CM_MCTS_Q_COMPLETED_BY_MIX_VALUE
} cm_mcts_qtransform;

typedef struct cm_mcts_options {
    int num_simulations;         /* N */
    double c_puct;               /* pb_c_init */
    double dirichlet_alpha;      /* root noise of the PUCT policies */
    double exploration_fraction; /* its share, 0: none */
    int policy;                  /* cm_mcts_policy */
    int selection;               /* cm_mcts_selection; alphazero */
    bool reuse_tree;             /* alphazero with puct: self-play goes on with the sub-tree of the played move */
    double pb_c_base;
    int qtransform;              /* cm_mcts_qtransform */
    double min_value, max_value; /* q range of min_max */
    double qtransform_epsilon;
    double value_scale, maxvisit_init; /* c_scale, c_visit of completed_by_mix_value */
    bool rescale_values, use_mixed_value;
    int max_num_considered_actions; /* gumbel */
    double gumbel_scale;            /* gumbel, while training; evaluation uses 0 */
    int max_depth;                  /* edges from the root, 0: no limit */
    int num_sampled_actions;        /* muzero, gumbel_muzero: K, actions drawn at every node; 0: all are searched */
} cm_mcts_options;

/* Whether moves are selected by Gumbel's rules. */
bool cm_mcts_is_gumbel(const cm_mcts_options *options);

/* K where searches choose among drawn actions, else 0. */
int cm_mcts_draws(const cm_mcts_options *options);

/* K where nothing else is said and searches cannot choose among all `actions`, of which they could among `most`: then
 * num_sampled_actions becomes that. Whether it has. */
bool cm_mcts_fit_draws(cm_mcts_options *options, int actions, int most);

/* Errors: CM_ERR_INPUT where no fewer are drawn than there are: `actions`, those of `whose` ("tictactoe"). */
cm_status cm_mcts_check_draws(const cm_mcts_options *options, int actions, const char *whose) CM_MUST_USE;

/* Whether sub-trees are kept between moves: asked for, and possible. */
bool cm_mcts_keeps_trees(const cm_mcts_options *options);

extern const cm_option cm_mcts_option_rows[];
extern const int cm_mcts_option_count;

#ifdef __cplusplus
}
#endif
#endif
