/* Recipes are found by name: what takes one, and what it gives way to. */
#include <dirent.h>

#include "cli/runs.h"

#define CONFIGS CM_TEST_CASES "/../../configs"
#define BRIEF   " --env-steps 64 --set num_envs=4 --set min_memory_steps=32 --set final_evaluation_episodes=0 "

enum { NAMES = 64 };

static char names[NAMES][64];
static int count;

/* The first words of all lines of the last output, but for the first line. */
static void read_names(void) {
    count = 0;
    for (const char *at = strchr(result.out, '\n'); at && at[1] && count < NAMES; at = strchr(at + 1, '\n'))
        snprintf(names[count++], sizeof names[0], "%.*s", (int)strcspn(at + 1, " "), at + 1);
}

static void write_here(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

/* `key` has this value, from there, in the configuration that `arguments` make. */
static void expect_value(const char *arguments, const char *key, const char *value, const char *origin) {
    char line[512], wanted[128];
    snprintf(line, sizeof line, "config --explain %s%s%s", key, *arguments ? " " : "", arguments);
    expect_ok(line);
    snprintf(wanted, sizeof wanted, "\n  value    %s (%s", value, origin);
    ck_assert_msg(strstr(result.out, wanted) != NULL, "%s: not \"%s\" in %s", line, wanted, result.out);
}

static void expect_said(const char *line) {
    ck_assert_msg(strstr(result.out, line) != NULL, "not \"%s\" in %s", line, result.out);
}

/* One reward, far from where random steps lead. */
static void write_grid(void) {
    write_here("grid.py", "class Grid:\n  actions, max_steps = 2, 50\n"
                          "  def reset(s):\n    s.x = 0; return [0.0]\n"
                          "  def step(s, a):\n    s.x += 2 * a - 1; return [s.x / 40], float(s.x == 40), s.x == 40\n");
}

START_TEST(a_task_without_a_recipe_is_played_for_its_defaults) {
    write_grid();
    expect_value("--env ./grid.py", "td_steps", "50", "rewards are rare");
    expect_value("--env ./grid.py", "discount", "0.95", "rewards are rare");
    expect_value("--env ./grid.py --set td_steps=30", "td_steps", "30", "--set");
    write_here("my.json", "{\"MCTS\": {\"num_simulations\": 9}}");
    expect_value("--env ./grid.py --config ./my.json", "td_steps", "30", "default"); /* that says it all */
    write_here("configuration.json", "{\"Self-Play\": {\"td_steps\": 30, \"discount\": 0.5}}");
    expect_value("--env ./grid.py", "td_steps", "50", "rewards are rare"); /* it is the default there */
    expect_value("--env ./grid.py", "discount", "0.5", "configuration.json");
    expect_ok("train --env ./grid.py --run grid" BRIEF);
    expect_said("recipe    rewards are rare: policy=gumbel_muzero ");
    expect_ok("config --config grid/config.json");
    expect_said("\"td_steps\": 50,");
    expect_ok("train --resume grid --env-steps 128");
    ck_assert_ptr_null(strstr(result.out, "recipe "));
}
END_TEST

/* Counts its episodes, and shows the count. */
START_TEST(a_task_whose_reset_leaves_something_is_trained_and_gone_on_with) {
    write_here("worn.py", "class Worn:\n"
                          "    actions, max_steps, episodes = 2, 5, 0\n"
                          "    def reset(self):\n"
                          "        self.episodes += 1\n"
                          "        return [self.episodes]\n"
                          "    def step(self, action): return [self.episodes], 1.0, False\n");
    expect_exit("train --env ./worn.py --set reusable=true --run worn" BRIEF, 2, "--set reusable=false gives each one");
    expect_ok("train --env ./worn.py --run worn" BRIEF);
    expect_said("recipe    resets leave something of the last episode: reusable=false");
    expect_ok("train --resume worn --env-steps 128");
    expect_ok("eval --run worn --episodes 4");
}
END_TEST

START_TEST(every_row_of_the_registry_has_a_recipe) {
    char line[256], wanted[128];
    expect_ok("environments");
    read_names();
    ck_assert_int_ge(count, 15);
    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof line, "config --config %.60s", names[i]);
        expect_ok(line);
        snprintf(wanted, sizeof wanted, "\"env_name\": \"%.60s\"", names[i]);
        ck_assert_msg(strcasestr(result.out, wanted) != NULL, "%s: %s", line, result.out);
        static cm_output by_file;
        by_file = result;
        snprintf(line, sizeof line, "config %.60s", names[i]);
        expect_ok(line);
        ck_assert_msg(strcasecmp(by_file.out, result.out) == 0, "%s: %s", line, result.out);
    }
}
END_TEST

START_TEST(every_file_of_configs_is_a_recipe_of_its_name) {
    static cm_output by_path;
    char line[512];
    int files = 0;
    DIR *folder = opendir(CONFIGS);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0) continue;
        snprintf(line, sizeof line, "config --env catch --config " CONFIGS "/%.100s", entry->d_name);
        expect_ok(line);
        by_path = result;
        snprintf(line, sizeof line, "config --env catch --config %.*s", (int)(dot - entry->d_name), entry->d_name);
        expect_ok(line);
        ck_assert_msg(strcmp(by_path.out, result.out) == 0, "%s is not %s", line, entry->d_name);
        files++;
    }
    closedir(folder);
    ck_assert_int_ge(files, 15);
}
END_TEST

START_TEST(what_is_said_later_counts) {
    write_here("own.json", "{\"Training\": {\"batch_size\": 64}, \"Environment\": {\"env_name\": \"catch\"}}");
    expect_value("", "learning_rate", "0.003", "default");
    expect_value("catch", "learning_rate", "0.001", "configs/catch.json:");
    expect_value("--env CATCH", "learning_rate", "0.001", "configs/catch.json:");
    expect_value("--set env_name=catch", "learning_rate", "0.001", "configs/catch.json:");
    expect_value("--set env_name=catch --set learning_rate=0.5", "learning_rate", "0.5", "--set");
    expect_value("--config own.json", "learning_rate", "0.003", "default");
    expect_value("catch --config own.json", "learning_rate", "0.003", "default");
    expect_value("--set env_name=catch --config own.json", "batch_size", "64", "own.json:1");
    expect_value("--set env_name=catch --config default", "learning_rate", "0.003", "default");
    expect_value("connect4_muzero --env hex5", "env_name", "\"hex5\"", "--env");
    expect_value("connect4_muzero --env hex5", "policy", "\"gumbel_muzero\"", "configs/connect4_muzero.json:");
}
END_TEST

/* Of a family that with the next larger size, of what Gymnasium has too that of the same id; a file has none. */
START_TEST(recipe_of_an_environment_is_that_of_its_kind) {
    static const char *const rows[][2] = {{"hex", "configs/hex7.json:"},
                                          {"hex5", "configs/hex7.json:"},
                                          {"go13", "configs/go5.json:"},
                                          {"gomoku15", "configs/gomoku9.json:"},
                                          {"glide2", "configs/glide3.json:"},
                                          {"glide4", "configs/glide6.json:"},
                                          {"Acrobot", "configs/acrobot.json:"},
                                          {"MOUNTAINCAR-V0", "configs/mountaincar.json:"},
                                          {"2048", "configs/2048.json:"},
                                          {"gymnasium:LunarLander-v2", "configs/lunarlander.json:"},
                                          {"gymnasium:LunarLander-v3,continuous=true", "default"},
                                          {"gymnasium:Acrobot-v1", "configs/acrobot.json:"}};
    char line[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line, "config --explain env_steps --set env_name=%s", rows[i][0]);
        expect_ok(line);
        ck_assert_msg(strstr(result.out, rows[i][1]) != NULL, "%s: %s", line, result.out);
    }
}
END_TEST

/* It may be that of another task. */
START_TEST(configuration_here_counts_where_no_environment_is_named) {
    char path[256];
    write_here("configuration.json", "{\"Training\": {\"batch_size\": 32}}");
    expect_value("", "batch_size", "32", "configuration.json:1");
    expect_value("--set env_name=catch", "batch_size", "128", "default");
    expect_ok("train catch --run placed" BRIEF);
    ck_assert_ptr_null(strstr(result.err, "configs/catch.json")); /* what the flags leave no effect was not given */
    expect_said("recipe    catch (--config catch) in place of configuration.json\n");
    write_here("configuration.json", "{\"Environment\": {\"env_name\": \"catch\"}}");
    expect_ok("train --run there" BRIEF);
    expect_said("recipe    there is one for this task: --config catch\n");
    snprintf(path, sizeof path, "%s/configuration.json", cm_test_folder);
    ck_assert_int_eq(unlink(path), 0);
    expect_ok("train --run plain" BRIEF);
    ck_assert_ptr_null(strstr(result.out, "recipe "));
    expect_ok("train --config catch --run asked" BRIEF);
    ck_assert_ptr_null(strstr(result.out, "recipe "));
    expect_ok("train --set env_name=catch --run unasked" BRIEF);
    expect_said("recipe    catch (--config catch)\n");
}
END_TEST

START_TEST(a_run_keeps_what_its_recipe_said) {
    static cm_output before;
    expect_ok("train catch --quiet --run kept" BRIEF);
    expect_ok("config --config kept/config.json");
    before = result;
    ck_assert_ptr_nonnull(strstr(result.out, "\"learning_rate\": 0.001,"));
    expect_ok("train --quiet --resume kept --env-steps 128");
    ck_assert_ptr_null(strstr(result.out, "recipe "));
    expect_ok("config --config kept/config.json");
    char *steps = strstr(before.out, "\"env_steps\": 64,");
    ck_assert_ptr_nonnull(steps);
    ck_assert_int_eq(strncmp(before.out, result.out, (size_t)(steps - before.out)), 0);
    ck_assert_str_eq(steps + strlen("\"env_steps\": 64,"),
                     strstr(result.out, "\"env_steps\": 128,") + strlen("\"env_steps\": 128,"));
}
END_TEST

/* A path has a / in it or .json after it; what stands here under a recipe's name is none. */
START_TEST(files_are_told_from_names) {
    write_here("catch", "{\"Training\": {\"batch_size\": 16}}");
    write_here("catch.json", "{\"Training\": {\"batch_size\": 8}}");
    write_here("mine", "{}");
    expect_value("--config catch", "batch_size", "128", "default");
    expect_value("--config ./catch", "batch_size", "16", "./catch:1");
    expect_value("--config catch.json", "batch_size", "8", "catch.json:1");
    expect_value("catch.json", "batch_size", "8", "catch.json:1");
    expect_exit("config --config mine", 2, "--config mine: there is no such recipe; the file here is ./mine\n");
    expect_exit("config --config catsh", 2, "--config catsh: there is no such recipe; did you mean catch?\n");
    expect_exit("config --config zzzz", 2, "there are 2048, acrobot, ");
}
END_TEST

START_TEST(names_that_cannot_be_taken_are_refused) {
    static const char *const rows[][2] = {
        {"train catch --env hex5", "train: give either catch or --env\n"},
        {"train lunarlander --config catch", "train: give either lunarlander or --config\n"},
        {"train catch hex5", "train: unexpected argument \"hex5\""},
        {"train seed=3", "unexpected argument \"seed=3\"; did you mean --set seed=3?\n"},
        {"train ./no=such.py", "Environment.env_name: ./no=such.py"},
        {"train cathc", "Environment.env_name: cathc: there is no such environment; the nearest one is catch\n"},
        {"train catch --resume here", "--resume goes on with a run: catch belongs to a new one\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_exit(rows[i][0], 2, rows[i][1]);
    expect_ok("train --quiet --run here" BRIEF);
    expect_exit("train here", 2, "unexpected argument \"here\"; did you mean --resume here?\n");
}
END_TEST

#define PICTURES                                                                                                       \
    "class Env:\n  actions, max_steps = 2, 8\n"                                                                        \
    "  def reset(s):\n    s.n = 0; return [[[0.0]] * %d] * 12\n"                                                       \
    "  def step(s, a):\n    s.n += 1; return [[[float(s.n)]] * %d] * 12, 1.0, s.n == 8\n"

/* Of ten numbers or more each way; what is smaller is a board. */
START_TEST(pictures_take_a_network_for_them) {
    char text[512];
    snprintf(text, sizeof text, PICTURES, 10, 10);
    write_here("wide.py", text);
    snprintf(text, sizeof text, PICTURES, 9, 9);
    write_here("narrow.py", text);
    write_here("own.json", "{\"MCTS\": {\"num_simulations\": 2}, \"Environment\": {\"env_name\": \"./wide.py\"}}");
    write_here("mlp.json", "{\"Network architecture\": {\"family\": \"mlp\"}}");
    expect_value("./wide.py", "family", "\"resnet\"", "observations are pictures");
    expect_value("./wide.py", "preset", "\"none\"", "observations are pictures");
    expect_value("./wide.py --config own.json", "family", "\"resnet\"", "observations are pictures");
    expect_value("./wide.py --config mlp.json", "family", "\"mlp\"", "mlp.json:1");
    expect_value("./wide.py --set family=mlp", "family", "\"mlp\"", "--set");
    expect_value("./wide.py --set preset=plain", "family", "\"mlp\"", "default");
    expect_value("./narrow.py", "family", "\"mlp\"", "default");
    expect_value("catch --set rows=12 --set columns=12", "family", "\"mlp\"", "default");
    expect_ok("train ./wide.py --run pictures" BRIEF "--set num_simulations=2 --set conv_channels=4");
    expect_said("recipe    observations are pictures: family=resnet preset=none\n");
    expect_ok("config --config pictures/config.json");
    expect_said("\"family\": \"resnet\",");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("recipes");
    TCase *t = tcase_create("recipes");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(t, a_task_without_a_recipe_is_played_for_its_defaults);
    tcase_add_test(t, a_task_whose_reset_leaves_something_is_trained_and_gone_on_with);
    tcase_add_test(t, every_row_of_the_registry_has_a_recipe);
    tcase_add_test(t, every_file_of_configs_is_a_recipe_of_its_name);
    tcase_add_test(t, what_is_said_later_counts);
    tcase_add_test(t, recipe_of_an_environment_is_that_of_its_kind);
    tcase_add_test(t, configuration_here_counts_where_no_environment_is_named);
    tcase_add_test(t, a_run_keeps_what_its_recipe_said);
    tcase_add_test(t, files_are_told_from_names);
    tcase_add_test(t, names_that_cannot_be_taken_are_refused);
    tcase_add_test(t, pictures_take_a_network_for_them);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
