/* MinAtar (Young and Tian 2019), with all six actions, sticky ones and ramping. */
#include <math.h>

#include "cli/suite.h"

static const char *const games[] = {"Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"};

static const char *const places[] = {"minatar_", "minatar-", "MinAtar/", "minatar:MinAtar/", NULL};

static const cm_published published[] = {
    {"random", "uniformly random play, 1,500 episodes (Freeway 40)", NAN, {0.5, 0.5, 0.1, 0.1, 2.9}},
    {"DQN",
     "Young and Tian 2019, 5 M frames, 30 seeds, mean return while it learns, with exploration, read off its curves",
     NAN,
     {16.5, 10, 50, 20, 43}},
    {"actor-critic", "Young and Tian 2019, lambda 0.8, as DQN", NAN, {19, 17.5, 47.5, 15.5, 185}},
    {"PPO, 10 M", "gymnax, 10 M frames, a network of two layers of 256", NAN, {15, 28, 58, NAN, 131}},
    {"PPO, 20 M",
     "pgx (Koyamada et al. 2023), 20 M frames, read off its curves, the middle of a range",
     NAN,
     {23.5, 50, 63.5, 54, 149}},
};

const cm_suite cm_suite_minatar = {
    .name = "minatar",
    .about = "five games of 10 x 10 cells (Young and Tian 2019)",
    .measure = "DQN-normalised score",
    .games = games,
    .game_count = sizeof games / sizeof *games,
    .places = places,
    .published = published,
    .published_count = sizeof published / sizeof *published,
};
