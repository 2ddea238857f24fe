/* Atari-100k (Kaiser et al. 2020): 26 games of the Arcade Learning Environment, 100,000 decisions of four frames each.
 */
#include <math.h>

#include "cli/suite.h"

static const char *const games[] = {
    "Alien",      "Amidar",         "Assault",      "Asterix",     "BankHeist",    "BattleZone", "Boxing",
    "Breakout",   "ChopperCommand", "CrazyClimber", "DemonAttack", "Freeway",      "Frostbite",  "Gopher",
    "Hero",       "Jamesbond",      "Kangaroo",     "Krull",       "KungFuMaster", "MsPacman",   "Pong",
    "PrivateEye", "Qbert",          "RoadRunner",   "Seaquest",    "UpNDown"};

static const char *const places[] = {"atari:", "ale_py:ALE/", "ALE/", NULL};

static const cm_published published[] = {
    {"random",
     "uniformly random play, as all of these publications normalise by it (Mnih et al. 2015)",
     NAN,
     {227.8, 5.8,  222.4, 210, 14.2, 2360,  0.1,   1.7,   811,  10780.5, 152.1, 0,    65.2,
      257.6, 1027, 29,    52,  1598, 258.5, 307.3, -20.7, 24.9, 163.9,   11.5,  68.4, 533.4}},
    {"human",
     "a person's play, as all of these publications normalise by it (Mnih et al. 2015)",
     NAN,
     {7127.7, 1719.5,  742,   8503.3, 753.1,  37187.5, 12.1,   30.5, 7387.8,  35829.4, 1971, 29.6,    4334.7,
      2412.5, 30826.4, 302.8, 3035,   2665.5, 22736.3, 6951.6, 14.6, 69571.3, 13455,   7845, 42054.7, 11693.2}},
    {"EfficientZero",
     "Ye et al. 2021, Mastering Atari Games with Limited Data",
     NAN,
     {808.5,  148.6,  1263.1, 25557.8, 351,    13871.2, 52.7,   414.1, 1117.3, 83940.2, 13003.9, 21.8,   296.3,
      3260.3, 9315.9, 517,    724.1,   5663.3, 30944.8, 1281.2, 20.1,  96.7,   13781.9, 17751.3, 1100.2, 17264.2}},
    {"EfficientZero V2",
     "Wang et al. 2024, Mastering Discrete and Continuous Control with Limited Data, read off the ends of its curves; "
     "it "
     "states a mean of 2.428 and a median of 1.286",
     NAN,
     {873,  160,  1691, 58700, 1208, 8920,  67.9, 384,  1184, 104200, 20960, 0,    1099,
      2980, 9700, 430,  1846,  8360, 26080, 1908, 16.8, 103,  14900,  27730, 1977, 14660}},
    {"DreamerV3",
     "Hafner et al. 2023, Mastering Diverse Domains through World Models, five seeds, the last 5 % of training",
     NAN,
     {1008, 94,    664, 983,  356,  18467, 79.7, 8.9,  1674, 79640, 393,   0,   3197,
      2298, 13377, 506, 2858, 7935, 24950, 1451, -4.9, 3503, 2287,  18233, 880, 48932}},
    {"BBF",
     "Schwarzer et al. 2023, Bigger, Better, Faster, replay ratio 8; the IQM is over its runs",
     1.023,
     {1174, 242,  2101, 4147, 672,  25699, 86.3, 357,  7494, 56893, 13399, 25.7, 2708,
      1415, 7892, 1195, 6490, 8303, 18076, 2095, 16.4, 41.6, 4217,  32922, 1150, 11768}},
    {"BBF, ratio 2",
     "Schwarzer et al. 2023, the same with replay ratio 2",
     0.940,
     {1122, 237,  2005, 3170, 769,  23681, 77.4, 331,  4252, 60864, 18298, 23.1, 2023,
      1209, 5742, 1125, 5032, 8070, 16617, 2218, 13.7, 39.1, 3245,  26419, 989,  15123}},
    {"MuZero",
     "Ye et al. 2021, their MuZero with 100,000 decisions",
     NAN,
     {530,  38.8, 500,  1734, 192.5,  7687.5, 15.1,   48,   1350, 56937, 3527, 21.8, 255,
      1256, 3095, 87.5, 62.5, 4890.8, 18813,  1265.6, -6.7, 56.3, 3952,  2500, 208,  2896.9}},
    {"UniZero",
     "Pu et al. 2024, Generalized and Efficient Planning with Scalable Latent World Models",
     NAN,
     {600, 96,   608, 1216, 400,  11410, 7,   8,   2205, 13666, 991,  10,  310,
      853, 2005, 405, 1885, 4484, 11400, 900, -10, 500,  1056,  1100, 620, 2823}},
};

const cm_suite cm_suite_atari100k = {
    .name = "atari100k",
    .about = "26 Atari games, 100,000 decisions each (Kaiser et al. 2020)",
    .measure = "human-normalised score",
    .games = games,
    .game_count = sizeof games / sizeof *games,
    .places = places,
    .published = published,
    .published_count = sizeof published / sizeof *published,
    .has_gap = true,
};
