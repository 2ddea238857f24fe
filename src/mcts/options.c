#include "mcts/options.h"

#define SECTION "MCTS"
#define OPTIONS cm_mcts_options

bool cm_mcts_is_gumbel(const cm_mcts_options *o) {
    if (o->policy != CM_MCTS_ALPHAZERO) return o->policy == CM_MCTS_GUMBEL_MUZERO;
    return o->selection == CM_MCTS_SELECT_GUMBEL;
}

bool cm_mcts_keeps_trees(const cm_mcts_options *o) {
    return o->reuse_tree && o->policy == CM_MCTS_ALPHAZERO && !cm_mcts_is_gumbel(o) && o->max_depth == 0;
}

static bool may_draw(const cm_mcts_options *o) {
    return o->policy == CM_MCTS_MUZERO || o->policy == CM_MCTS_GUMBEL_MUZERO;
}

int cm_mcts_draws(const cm_mcts_options *o) { return may_draw(o) ? o->num_sampled_actions : 0; }

bool cm_mcts_fit_draws(cm_mcts_options *o, int actions, int most) {
    enum { DRAWS = 32 };
    if (!may_draw(o) || o->num_sampled_actions > 0 || actions <= most) return false;
    o->num_sampled_actions = DRAWS;
    return true;
}

cm_status cm_mcts_check_draws(const cm_mcts_options *o, int actions, const char *whose) {
    if (cm_mcts_draws(o) < actions) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "MCTS.num_sampled_actions: %d draws are no fewer than the %d actions of %s; 0 searches all of them",
                   o->num_sampled_actions, actions, whose);
}

static const char *unless_drawn(const void *options) {
    return may_draw(options) ? NULL : "only policies muzero and gumbel_muzero draw actions";
}

static const char *if_gumbel(const void *options) {
    return cm_mcts_is_gumbel(options) ? "selection by gumbel does not use it" : NULL;
}

static const char *unless_gumbel(const void *options) {
    return cm_mcts_is_gumbel(options) ? NULL : "only selection by gumbel uses it";
}

static const char *unless_alphazero(const void *options) {
    return ((const cm_mcts_options *)options)->policy == CM_MCTS_ALPHAZERO ? NULL : "only policy alphazero uses it";
}

static const char *unless_kept(const void *options) {
    cm_mcts_options wanted = *(const cm_mcts_options *)options;
    wanted.reuse_tree = true;
    return cm_mcts_keeps_trees(&wanted) ? NULL
                                        : "only policy alphazero with selection puct and no max_depth keeps trees";
}

static const char *unless_min_max(const void *options) {
    return ((const cm_mcts_options *)options)->qtransform == CM_MCTS_Q_MIN_MAX ? NULL
                                                                               : "only qtransform min_max uses it";
}

static const char *unless_completed(const void *options) {
    int q = ((const cm_mcts_options *)options)->qtransform;
    bool used = q == CM_MCTS_Q_COMPLETED_BY_MIX_VALUE || (q == CM_MCTS_Q_AUTO && cm_mcts_is_gumbel(options));
    return used ? NULL : "only qtransform completed_by_mix_value uses it";
}

const cm_option cm_mcts_option_rows[] = {
    CM_OPTION(INT, num_simulations, SECTION, "8", 1, 65536, "Simulations per move. More is stronger and slower.",
              .sweep = {4, 64}, .alias = "simulations|sims|n_simulations"),
    CM_OPTION(DOUBLE, c_puct, SECTION, "1.25", 0, 1000,
              "Weight of the prior against the value in the selection (pb_c_init of the papers).", .sweep = {0.5, 4},
              .usual = {0.25, 10}, .idle = if_gumbel),
    CM_OPTION(DOUBLE, dirichlet_alpha, SECTION, "0.3", 1e-3, 1000,
              "Concentration of the root noise; smaller puts it on fewer actions.", .sweep = {0.03, 1},
              .usual = {0.01, 10}, .idle = if_gumbel),
    CM_OPTION(DOUBLE, exploration_fraction, SECTION, "0.25", 0, 1,
              "Share of the root noise in the root prior while training; 0: no noise.", .sweep = {0, 0.5},
              .idle = if_gumbel),
    CM_OPTION(ENUM, policy, SECTION, "muzero", 0, 0,
              "muzero: PUCT with Dirichlet noise. gumbel_muzero: sequential halving, good with few simulations and "
              "many actions. stochastic_muzero: with chance nodes. alphazero: the true rules of the game as the model, "
              "with legal moves and exact ends at every node; the network predicts policy and value only.",
              .choices = "muzero|gumbel_muzero|stochastic_muzero|alphazero", .alias = "algo|algorithm|agent"),
    CM_OPTION(ENUM, selection, SECTION, "auto", 0, 0,
              "How policy alphazero selects moves: puct, or gumbel as in gumbel_muzero; auto: puct.",
              .choices = "auto|puct|gumbel", .idle = unless_alphazero),
    CM_OPTION(BOOL, reuse_tree, SECTION, "true", 0, 0,
              "Self-play goes on with the part of the tree below the move that was played, up to the next round of "
              "learning; a search then adds what is missing to num_simulations. Evaluation always starts again.",
              .idle = unless_kept),
    CM_OPTION(DOUBLE, pb_c_base, SECTION, "19652", 1, 1e9, "Visits at which the weight of the prior begins to grow.",
              .idle = if_gumbel),
    CM_OPTION(ENUM, qtransform, SECTION, "auto", 0, 0,
              "How values are scaled before they meet the prior; auto: parent_and_siblings, with selection by gumbel "
              "completed_by_mix_value.",
              .choices = "auto|min_max|parent_and_siblings|completed_by_mix_value"),
    CM_OPTION(DOUBLE, min_value, SECTION, "-1", -1e9, 1e9, "Value that min_max maps to 0.", .idle = unless_min_max),
    CM_OPTION(DOUBLE, max_value, SECTION, "1", -1e9, 1e9, "Value that min_max maps to 1.", .idle = unless_min_max),
    CM_OPTION(DOUBLE, qtransform_epsilon, SECTION, "1e-08", 1e-30, 1,
              "Smallest range that values are divided by (EfficientZero: 0.01)."),
    CM_OPTION(DOUBLE, value_scale, SECTION, "0.1", 0, 1000, "Weight of values against logits (c_scale).",
              .sweep = {0.02, 1}, .idle = unless_completed),
    CM_OPTION(DOUBLE, maxvisit_init, SECTION, "50", 0, 1e6, "Visits added to that weight (c_visit).", .sweep = {5, 100},
              .idle = unless_completed),
    CM_OPTION(BOOL, rescale_values, SECTION, "true", 0, 0,
              "Scale the values of a node to [0, 1]; turn it off for games whose values have a known range.",
              .idle = unless_completed),
    CM_OPTION(BOOL, use_mixed_value, SECTION, "true", 0, 0,
              "Actions not yet visited get a mix of the network's and the visited actions' values.",
              .idle = unless_completed),
    CM_OPTION(INT, max_num_considered_actions, SECTION, "16", 1, 65536, "Actions that sequential halving starts with.",
              .sweep = {2, 32}, .idle = unless_gumbel),
    CM_OPTION(DOUBLE, gumbel_scale, SECTION, "1", 0, 1000,
              "Size of the Gumbel noise while training; evaluation has none.", .sweep = {0.25, 2}, .usual = {0, 10},
              .idle = unless_gumbel),
    CM_OPTION(INT, num_sampled_actions, SECTION, "0", 0, 1024,
              "Sampled MuZero: at every node so many actions are drawn by the policy, and the search chooses among "
              "those that came. For tasks with many actions, such as finely divided continuous ones; 0: all are "
              "searched, of more than 1024 actions 32 are drawn.",
              .idle = unless_drawn),
    CM_OPTION(INT, max_depth, SECTION, "0", 0, 65536, "Most moves that a simulation looks ahead; 0: no limit."),
};
const int cm_mcts_option_count = sizeof cm_mcts_option_rows / sizeof *cm_mcts_option_rows;
