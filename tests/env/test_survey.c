/* What random play of an environment meets. */
#include <check.h>

#include "env/python_env.h"
#include "env/survey.h"
#include "support/main.h"

static cm_env_survey survey(const char *name) {
    cm_env env;
    cm_env_survey seen;
    open_named(name, &env);
    must_msg(cm_env_survey_measure(&env, 600.0, &seen) == CM_OK, "%s", cm_error_message());
    must_msg(seen.steps > 0 && seen.steps <= CM_ENV_SURVEY_MOST, "%d", seen.steps);
    return seen;
}

START_TEST(rewards_and_ends_are_counted) {
    cm_env_survey seen = survey("CartPole-v1");
    must(!seen.is_onehot && seen.paid == seen.steps && seen.paid_within == seen.paid - seen.ends && seen.cuts == 0);
    must(seen.reward_low == 1.0 && seen.reward_high == 1.0 && seen.kinds == 1 && seen.kind[0] == 1.0);
    seen = survey("catch");
    must(seen.paid > 0 && seen.paid == seen.ends && seen.paid_within == 0);
    must(seen.reward_low == -1.0 && seen.reward_high == 1.0 && seen.kinds == 3);
    seen = survey("MountainCar-v0");
    must(seen.ends == 0 && seen.cuts == seen.steps / 200 && seen.kinds == 1 && seen.reward_high == -1.0);
    must_equal(survey("Pendulum-v1").kinds, CM_ENV_SURVEY_KINDS); /* and many more */
}
END_TEST

/* A walk over five cells from the middle; `slip`: what is added to a step, `observe`: what is seen of cell c. */
static cm_env_survey walk(const char *name, const char *slip, const char *observe) {
    char text[1024];
    snprintf(text, sizeof text,
             "import random\n"
             "class W:\n  actions, max_steps = 2, 12\n"
             "  def reset(s, seed=None):\n    s.r = random.Random(seed); s.c = 2; return s.o()\n"
             "  def step(s, a):\n    s.c = min(max(s.c + 2 * a - 1 + (%s), 0), 4); return s.o(), 0.0, False\n"
             "  def o(s):\n    c = s.c; return %s\n",
             slip, observe);
    return survey(write_text(name, text));
}

START_TEST(chance_is_found_where_the_same_is_followed_by_another) {
    static const char cells[] = "[1.0 if i == c else 0.0 for i in range(5)]";
    const cm_env_survey sure = walk("sure.py", "0", cells);
    must(!sure.has_chance && sure.is_onehot && sure.cuts > 0 && sure.paid == 0);
    must(walk("slips.py", "s.r.choice([-1, 0, 1])", cells).has_chance);
    must(walk("slides.py", "s.r.choice([-1, 0, 1])", "[c / 4]").has_chance);
    must(!walk("hides.py", "0", "[float(c > 2)]").has_chance); /* what is not seen is no chance */
}
END_TEST

START_TEST(the_first_reward_is_waited_for) {
    static const char text[] = "class W:\n  actions, max_steps = 2, 2000\n"
                               "  def reset(s): s.n = 0; return [0.0]\n"
                               "  def step(s, a): s.n += 1; return [s.n / 2000], 7.0 * (s.n == 1100), False\n";
    const cm_env_survey seen = survey(write_text("late.py", text));
    must(seen.paid == 1 && seen.reward_high == 7.0 && seen.steps == 1100 && seen.cuts == 0);
}
END_TEST

/* Counts its episodes, seen from the second one on; `seed`: of what it draws. */
static bool is_worn(const char *name, const char *seed) {
    char text[1024];
    snprintf(text, sizeof text,
             "import random\n"
             "class W:\n  actions, max_steps, n = 2, 12, 0\n"
             "  def reset(s, seed=None):\n    s.r = random.Random(%s); s.n += 1; return s.o()\n"
             "  def step(s, a): return s.o(), 0.0, False\n"
             "  def o(s): return [s.r.random(), float(s.n > 1)]\n",
             seed);
    return survey(write_text(name, text)).is_worn;
}

START_TEST(what_a_reset_leaves_of_the_last_episode_is_told_from_what_no_seed_decides) {
    must(is_worn("worn.py", "seed"));
    must(!is_worn("never_sure.py", "random.SystemRandom().random()"));
    must(!survey("catch").is_worn);
    must(!walk("whole.py", "s.r.choice([-1, 0, 1])", "[c / 4]").is_worn);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("survey");
    TCase *tcase = tcase_create("survey");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tcase, rewards_and_ends_are_counted);
    tcase_add_test(tcase, chance_is_found_where_the_same_is_followed_by_another);
    tcase_add_test(tcase, the_first_reward_is_waited_for);
    tcase_add_test(tcase, what_a_reset_leaves_of_the_last_episode_is_told_from_what_no_seed_decides);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
