/* What a learnt model cannot hold: values and rewards beyond its supports, counted and told with what would hold them;
 * players who do not alternate. */
#include "runs.h"

#define GIVEN(head, bound)                                                                                             \
    " --set " head "_support_min=-" bound " --set " head "_support_max=" bound " --set " head "_support_size=41"
#define LEARNS " --set min_memory_steps=256 --set hidden_dim=32 --set num_envs=8 --set num_simulations=4"

static void put(const char *name, const char *text) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

static void begin_all(void) {
    cm_test_folder_make();
    put("bandit.py", "class Bandit:\n  actions, max_steps = 2, 1\n"
                     "  def reset(self, seed): return [1.0]\n"
                     "  def step(self, action): return [1.0], (500.0, 5000.0)[action], True\n");
    put("million.py", "class Million:\n  actions, max_steps = 2, 10\n"
                      "  def reset(self, seed): self.t = 0; return [0.0]\n"
                      "  def step(self, action):\n    self.t += 1\n"
                      "    return [self.t / 10], 1e6 * action, self.t == 10\n");
}

/* The model of a search takes the other player's view at every step. */
START_TEST(a_player_who_moves_twice_in_a_row_is_refused) {
    put("double.py", "class Double:\n  players, actions, max_steps = 2, 2, 2\n"
                     "  def reset(self, seed): self.t = 0; return [0.0]\n"
                     "  def to_play(self): return 0\n"
                     "  def step(self, action): self.t += 1; return [self.t / 2], 0.0, self.t == 2\n");
    expect_exit("train --quiet --run twice --env-steps 100 --set env_name=./double.py", 2,
                "Environment.env_name: double: its to_play gives 0 twice in a row (step 1); players must alternate "
                "where the model is learnt: give the other one a pass");
}
END_TEST

static void expect_said(const char *text) { ck_assert_msg(strstr(result.err, text), "%s", result.err); }
static void expect_unsaid(const char *text) { ck_assert_msg(!strstr(result.err, text), "%s", result.err); }

START_TEST(rewards_outside_the_support_are_counted_and_told) {
    char path[640], *text, *counted;
    size_t size;
    expect_ok("train --quiet --run bandit --env-steps 600 --set env_name=./bandit.py" GIVEN("reward", "20") LEARNS);
    expect_said("% of the reward targets lie outside the support: rewards reach 5000: begin again with --set "
                "reward_support_min=-75 --set reward_support_max=75 --set reward_support_size=151, or scale rewards\n");
    snprintf(path, sizeof path, "%s/bandit/metrics.jsonl", cm_test_folder);
    ck_assert_int_eq(cm_file_read(path, 1 << 24, &text, &size), CM_OK);
    counted = strstr(text, "\"clipped_rewards\": 0.");
    ck_assert_msg(counted && strtod(counted + 19, NULL) > 0.05, "%s", text);
    free(text);
    expect_ok("plot bandit --metric clipped_rewards");
}
END_TEST

static void expect_number(const char *file, const char *key, double value) {
    char path[640], quoted[64], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, file);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    ck_assert_int_eq(cm_file_read(path, 1 << 24, &text, &size), CM_OK);
    const char *at = strstr(text, quoted);
    ck_assert_msg(at && strtod(at + strlen(quoted), NULL) == value, "%s: %s", key, text);
    free(text);
}

/* They are those of the run from then on. */
START_TEST(supports_that_are_not_given_fit_the_task) {
    expect_ok("train -v --run fits --env-steps 1500 --set env_name=./bandit.py --set evaluation_interval=0" LEARNS);
    ck_assert_msg(strstr(result.out, "\nsupports  of values -161..161, 323 atoms; of rewards -161..161, 323 atoms\n"),
                  "%s", result.out);
    ck_assert_msg(strstr(result.out, "mean return 5000.0"), "%s", result.out);
    expect_unsaid("outside the support");
    expect_number("fits/config.json", "value_support_max", 161.0);
    expect_number("fits/config.json", "reward_support_min", -161.0);
    expect_number("fits/config.json", "reward_support_size", 323.0);
    expect_ok("train --resume fits --env-steps 1600");
    ck_assert_msg(!strstr(result.out, "supports"), "%s", result.out);
    expect_ok("eval --run fits --episodes 2 --json");
    ck_assert_double_eq(number_in("mean"), 5000.0);
}
END_TEST

/* Once, and what is named holds. */
START_TEST(a_support_that_holds_the_values_is_named_at_once) {
    static const char wide[] = "--set value_support_min=-13100 --set value_support_max=13100 --set "
                               "value_support_size=601";
    char line[1024];
    expect_ok("train --quiet --run narrow --env-steps 600 --set env_name=./million.py" GIVEN("value", "40") LEARNS);
    expect_said("% of the value targets lie outside the support: values reach 9.866e+06: begin again with ");
    expect_said(wide);
    snprintf(line, sizeof line, "train --quiet --run wide --env-steps 600 --set env_name=./million.py%s %s", LEARNS,
             wide);
    expect_ok(line);
    expect_unsaid("value targets");
}
END_TEST

/* Numbers that no support holds. */
START_TEST(where_no_support_is_wide_enough_rewards_are_to_be_scaled) {
    expect_ok("train --quiet --run plain --env-steps 600 --set env_name=./million.py --set value_transform=false" GIVEN(
        "value", "40") LEARNS);
    expect_said("% of the value targets lie outside the support: values reach 9.866e+06: scale rewards\n");
}
END_TEST

START_TEST(discount_1_with_a_time_limit_is_warned_of_where_the_limit_cuts_episodes_off) {
    static const char said[] = "discount: 1 with a time limit of 500 steps: an episode that the limit cuts off counts";
    expect_ok("train --quiet --run pole --env-steps 8 --set discount=1 --set num_envs=1");
    expect_said(said);
    expect_ok("train --quiet --run less --env-steps 8 --set num_envs=1");
    expect_unsaid("time limit");
    expect_ok("train --quiet --run ends --env-steps 8 --set env_name=./million.py --set discount=1 --set num_envs=1");
    expect_unsaid("time limit");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("values");
    TCase *tcase = tcase_create("values");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, begin_all, cm_test_folder_remove);
    tcase_add_test(tcase, a_player_who_moves_twice_in_a_row_is_refused);
    tcase_add_test(tcase, rewards_outside_the_support_are_counted_and_told);
    tcase_add_test(tcase, supports_that_are_not_given_fit_the_task);
    tcase_add_test(tcase, a_support_that_holds_the_values_is_named_at_once);
    tcase_add_test(tcase, where_no_support_is_wide_enough_rewards_are_to_be_scaled);
    tcase_add_test(tcase, discount_1_with_a_time_limit_is_warned_of_where_the_limit_cuts_episodes_off);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
