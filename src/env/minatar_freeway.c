#include "env/minatar_freeway.h"

static const char *const channels[CM_FREEWAY_CHANNELS] = {"chicken", "car",     "speed 1", "speed 2",
                                                          "speed 3", "speed 4", "speed 5"};
static const uint8_t minimal[] = {CM_MINATAR_NONE, CM_MINATAR_UP, CM_MINATAR_DOWN};

static void planes(const void *rules, cm_minatar_cells *out) { cm_freeway_planes((const cm_freeway *)rules, out); }

static const cm_minatar_game game = {.channels = channels,
                                     .count = CM_FREEWAY_CHANNELS,
                                     .letters = "Y#12345",
                                     .order = "0123456",
                                     .minimal = minimal,
                                     .minimal_count = sizeof minimal,
                                     .discount = 0.997,
                                     .frames = CM_FREEWAY_TIME + 1,
                                     .most = 1,
                                     .bytes = sizeof(cm_freeway),
                                     .planes = planes};

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    cm_freeway_start((cm_freeway *)rules, random);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_freeway *s = (cm_freeway *)rules;
    const int done = cm_minatar_choose(&game, params, action, &s->last_action, random);
    int reward;
    const bool ends = cm_freeway_step(s, done, random, &reward);
    return (cm_env_outcome){reward, ends, false};
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_freeway *s = (const cm_freeway *)rules;
    (void)params, (void)ended; /* just where the time is over, as max_plies says */
    CM_TRY(cm_minatar_check_action(s->last_action));
    for (int i = 0; i < CM_FREEWAY_CARS; i++) {
        const int period = cm_freeway_car(s->period, i);
        CM_TRY(cm_env_check_int("the column of a car of it", cm_freeway_car(s->column, i), 0, CM_MINATAR_LAST));
        CM_TRY(cm_env_check_int("the speed of a car of it", period, 1, CM_FREEWAY_SLOWEST));
        CM_TRY(cm_env_check_int("the count of a car of it", cm_freeway_car(s->count, i), 0, period));
        CM_TRY(cm_env_check_int("the stride of a car of it", cm_freeway_car(s->stride, i), 1, CM_MINATAR_LAST));
    }
    CM_TRY(cm_env_check_int("its chicken's row", s->row, 1, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its chicken's wait", s->wait, 0, CM_FREEWAY_WAIT));
    return cm_env_check_int("its time", s->time, CM_FREEWAY_TIME - steps, CM_FREEWAY_TIME - steps);
}

CM_MINATAR_ROW(cm_env_minatar_freeway, check, 0, .name = "minatar_freeway", .alias = "minatar-freeway",
               .about = "MinAtar: lead a chicken over eight lanes", .colours = "Y3#1122232425262");
