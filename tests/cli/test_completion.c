/* Completion: what may follow a line, and what the three shells make of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "env/env.h"
#include "run/configuration.h"
#include "run/metrics.h"
#include "run/recipe.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output result;

static void make_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_msg(cm_file_write(path, text, strlen(text)) == CM_OK, "%s", cm_error_message());
}

static void make_folder(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
}

/* Two runs where a configuration keeps them, and other folders. */
static void begin_all(void) {
    cm_test_folder_make();
    make_folder("checkpoints/catch/1/checkpoints/120");
    make_folder("checkpoints/catch/1/checkpoints/3000");
    make_folder("checkpoints/catch/2");
    make_folder("my folder/inner");
    make_file("checkpoints/catch/1/config.json", "{}\n");
    make_file("checkpoints/catch/1/lock", "");
    make_file("checkpoints/catch/1/metrics.jsonl", "");
    make_file("checkpoints/catch/2/config.json", "{}\n");
    make_file("checkpoints/catch/2/lock", "");
    make_file("mine.json", "{}\n");
}

/* Whether `text` has a line that begins with `word` and ends there or with a tab. */
static bool has_line(const char *text, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, word, length) == 0 && strchr("\n\t", at[length])) return true;
    return false;
}

static void ask(const char *line) {
    char words[512];
    snprintf(words, sizeof words, "completion words -- %s", line);
    cm_program_run(cm_test_folder, words, &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.err, "");
}

/* The words, "|" between them, that a line may go on with, and none of `without`. */
static const struct {
    const char *line, *words, *without;
} lines[] = {
    {"tr", "train", "trains|eval"},
    {"train --", "--run|--set|--help|--init-from", "--episodes|catch"},
    {"train ca", "catch", "acrobot|@files"},
    {"train connect4_", "connect4_muzero", "connect4"},
    {"train --set num_sim", "num_simulations=", "seed="},
    {"train --set optimizer=", "optimizer=adamw|optimizer=sgd", "adamw"},
    {"train --set mcts.num_sim", "mcts.num_simulations=", "num_simulations=|mcts.seed="},
    {"train --set MCTS.policy=g", "MCTS.policy=gumbel_muzero", "MCTS.policy=muzero"},
    {"train --set residual_dynamics=", "residual_dynamics=true|residual_dynamics=false", "true"},
    {"train --backend ", "auto|ref|cpu|cuda", "--run"},
    {"train --backend=c", "--backend=cpu|--backend=cuda", "--backend=ref|cpu"},
    {"train --config ca", "catch|@files", "connect4"},
    {"train --resume ", "checkpoints/catch/1|checkpoints/catch/2|@folders", "@files"},
    {"config --explain MC", "MCTS", "seed"},
    {"config --explain num_si", "num_simulations", "num_simulations="},
    {"config --env go", "go9|gomoku15", "hex11"},
    {"plot --metric value", "value_loss", "policy_loss|total_loss"},
    {"plot --over ", "env_steps|updates|seconds", "eval_return"},
    {"plot checkpoints/catch/", "checkpoints/catch/2|@folders", "--run"},
    {"eval --run checkpoints/catch/1 --checkpoint ", "best|latest|120|3000", "--run"},
    {"eval --checkpoint ", "best|latest|120|3000", "1"},
    {"eval --opponent ", "random|perfect|mcts:|all|checkpoints/catch/1", "agent"},
    {"play --opponent ", "agent|human|random", "perfect"},
    {"play --human ", "first|second|only|none", "--run"},
    {"plot --svg ", "@files", "--run"},
    {"plot --theme ", "auto|light|dark", "catch"},
    {"benchmark --network ", "plain|configured", "catch"},
    {"benchmark --policy ", "muzero|gumbel_muzero", "catch"},
    {"ladder ", "checkpoints/catch/1|@folders", "--run"},
    {"report ", "atari100k|minatar", "checkpoints/catch/1|--json"},
    {"report minatar ", "checkpoints/catch/1|@folders", "atari100k"},
    {"version ", "--help", "catch"},
    {"help plo", "plot", "play"},
    {"completion ", "bash|zsh|fish", "words"},
    {"nonsense ", "", "train|--help"},
    {"train --seed ", "", "--run|catch"},
};

static bool all_of(const char *text, const char *words, bool wanted) {
    char word[128];
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
        if (has_line(text, word) != wanted) return false;
    }
    return true;
}

/* An empty last word cannot be written between single blanks: the line goes by a shell. */
static void ask_shell(const char *line) {
    char command[1024];
    const size_t length = strlen(line);
    snprintf(command, sizeof command, "cd %s && %s completion words -- %s%s 2>&1", cm_test_folder, CM_TEST_PROGRAM,
             line, line[length - 1] == ' ' ? "''" : "");
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    result.out[fread(result.out, 1, sizeof result.out - 1, pipe)] = '\0';
    ck_assert_int_eq(pclose(pipe), 0);
}

START_TEST(words_that_may_follow_are_those_of_the_tables) {
    ask_shell(lines[_i].line);
    ck_assert_msg(all_of(result.out, lines[_i].words, true), "%s: %s", lines[_i].line, result.out);
    ck_assert_msg(all_of(result.out, lines[_i].without, false), "%s: %s", lines[_i].line, result.out);
}
END_TEST

START_TEST(every_key_number_environment_and_recipe_is_proposed) {
    cm_configuration configuration;
    cm_config *config;
    char word[CM_OPTION_WORD + 2];
    int count;
    ck_assert_int_eq(cm_configuration_create(&configuration, &config), CM_OK);
    ask_shell("train --set ");
    for (int i = 0; cm_config_row(config, i); i++) {
        snprintf(word, sizeof word, "%s=", cm_config_row(config, i)->key);
        ck_assert_msg(has_line(result.out, word), "%s", word);
    }
    cm_config_destroy(config);
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    ask_shell("plot --metric ");
    for (int i = 0; i < count; i++) ck_assert_msg(has_line(result.out, fields[i].name), "%s", fields[i].name);
    ask_shell("train ");
    for (int i = 0; cm_recipe_at(i); i++) ck_assert_msg(has_line(result.out, cm_recipe_at(i)->name), "%d", i);
    const cm_env_def *const *rows = cm_env_registry(&count);
    for (int i = 0; i < count; i++) ck_assert_msg(strstr(result.out, rows[i]->name) != NULL, "%s", rows[i]->name);
}
END_TEST

START_TEST(a_run_whose_name_acts_on_a_terminal_is_not_proposed) {
    make_folder("checkpoints/catch/4\033[31m");
    make_file("checkpoints/catch/4\033[31m/config.json", "{}\n");
    make_file("checkpoints/catch/4\033[31m/lock", "");
    ask("plot --run checkpoints/");
    ck_assert_msg(has_line(result.out, "checkpoints/catch/1"), "%s", result.out);
    ck_assert_ptr_null(strchr(result.out, '\033'));
}
END_TEST

START_TEST(a_meaning_stands_behind_a_tab) {
    ask("plot --ta");
    ck_assert_str_eq(result.out, "--table\tPrint the numbers as a table in Markdown.\n");
}
END_TEST

/* ---- shells ---- */

static bool is_installed(const char *shell) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", shell);
    return system(command) == 0;
}

/* What a shell prints for a script, with the program on the path. */
static void run_shell(const char *shell, const char *script) {
    char command[4096];
    make_file("script", script);
    snprintf(
        command, sizeof command,
        "cd %s && HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD PATH=$(dirname %s):$PATH TERM=dumb %s script 2>&1",
        cm_test_folder, CM_TEST_PROGRAM, shell);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    result.out[fread(result.out, 1, sizeof result.out - 1, pipe)] = '\0';
    pclose(pipe);
}

/* Calls the function as bash does, and prints its replies, a line each. */
#define BASH_OF(line)                                                                                                  \
    "source <(cumind completion bash)\n"                                                                               \
    "COMP_LINE=\"" line "\" COMP_POINT=${#COMP_LINE}\n"                                                                \
    "_cumind cumind\n"                                                                                                 \
    "printf '%s\\n' \"${COMPREPLY[@]}\"\n"

START_TEST(bash_lists_flags_values_and_folders) {
    run_shell("bash --norc", BASH_OF("cumind train --"));
    ck_assert_msg(all_of(result.out, "--run|--set|--init-from|--help", true), "%s", result.out);
    run_shell("bash --norc", BASH_OF("cumind train --set optimizer=a")); /* behind the = , at which bash breaks words */
    ck_assert_msg(all_of(result.out, "adamw", true), "%s", result.out);
    run_shell("bash --norc", BASH_OF("cumind eval --opponent mc"));
    ck_assert_msg(all_of(result.out, "mcts:", true), "%s", result.out);
    run_shell("bash --norc", BASH_OF("cumind train --resume my"));
    ck_assert_msg(all_of(result.out, "my folder", true), "%s", result.out);
    run_shell("bash --norc", BASH_OF("cumind config --config m"));
    ck_assert_msg(all_of(result.out, "mine.json|my folder", true), "%s", result.out);
    run_shell("bash --norc", BASH_OF("cumind config --explain The"));
    ck_assert_msg(strcmp(result.out, "\n") == 0, "%s", result.out);
}
END_TEST

/* As it is typed into a terminal: a letter behind the tab joins the folder's name, as a blank would stand between them.
 */
START_TEST(bash_completes_a_folder_without_a_blank_behind_it) {
    make_file("typed",
              "source <(cumind completion bash)\n"
              "cumind() { if [ \"$1\" = completion ]; then command cumind \"$@\"; else printf '<%s>' \"$@\"; fi; }\n"
              "cumind train --resume my\tX\n"
              "cumind train --set num_sim\t7\n"
              "cumind train --overw\tX\n"
              "exit\n");
    run_shell("sh", "script -qec 'bash --norc -i' /dev/null <typed\n");
    ck_assert_msg(strstr(result.out, "<train><--resume><my folder/X>") != NULL, "%s", result.out);
    ck_assert_msg(strstr(result.out, "<train><--set><num_simulations=7>") != NULL, "%s", result.out);
    ck_assert_msg(strstr(result.out, "<train><--overwrite><X>") != NULL, "%s", result.out);
}
END_TEST

/* Runs that somebody else has named. */
START_TEST(bash_runs_nothing_of_the_name_of_a_run) {
    make_folder("checkpoints/catch/a;b>ran");
    make_file("checkpoints/catch/a;b>ran/config.json", "{}\n");
    make_file("checkpoints/catch/a;b>ran/lock", "");
    run_shell("bash --norc", BASH_OF("cumind plot --run=checkpoints/catch/a"));
    ck_assert_str_eq(result.out, "checkpoints/catch/a\\;b\\>ran\n");
    make_file("typed",
              "source <(cumind completion bash)\n"
              "cumind() { if [ \"$1\" = completion ]; then command cumind \"$@\"; else printf '<%s>' \"$@\"; fi; }\n"
              "cumind plot --run=checkpoints/catch/a\t\n"
              "cumind plot --run checkpoints/catch/a\t\n"
              "exit\n");
    run_shell("sh", "script -qec 'bash --norc -i' /dev/null <typed\n");
    ck_assert_msg(strstr(result.out, "<plot><--run=checkpoints/catch/a;b>ran>") != NULL, "%s", result.out);
    ck_assert_msg(strstr(result.out, "<plot><--run><checkpoints/catch/a;b>ran/>") != NULL, "%s", result.out);
}
END_TEST

START_TEST(fish_lists_flags_values_and_folders) {
    if (!is_installed("fish")) {
        printf("SKIP fish_lists_flags_values_and_folders: fish is not installed\n");
        return;
    }
    run_shell("fish -N", "cumind completion fish | source\ncomplete -C 'cumind train --'\n");
    ck_assert_msg(all_of(result.out, "--run|--set|--init-from|--help", true), "%s", result.out);
    run_shell("fish -N", "cumind completion fish | source\ncomplete -C 'cumind train --set optimizer='\n");
    ck_assert_msg(all_of(result.out, "optimizer=adamw", true), "%s", result.out);
    run_shell("fish -N", "cumind completion fish | source\ncomplete -C 'cumind train --resume '\n");
    ck_assert_msg(all_of(result.out, "checkpoints/catch/1|checkpoints/|my folder/", true), "%s", result.out);
    ck_assert_msg(!strstr(result.out, "mine.json"), "%s", result.out);
    run_shell("fish -N", "cumind completion fish | source\ncomplete -C 'cumind plot --svg '\n");
    ck_assert_msg(all_of(result.out, "mine.json", true), "%s", result.out);
}
END_TEST

/* A zsh that a script types into, and what its terminal shows up to `last`. */
#define ZSH_OF(line, last)                                                                                             \
    "zmodload zsh/zpty\n"                                                                                              \
    "zpty shell zsh -f -i\n"                                                                                           \
    "say() { zpty -w shell \"$1\"; }\n"                                                                                \
    "say 'PS1= PROMPT_EOL_MARK= ; stty rows 200 columns 120; autoload -Uz compinit; compinit -u -D'\n"                 \
    "say 'source <(cumind completion zsh); LISTMAX=1000'\n"                                                            \
    "say 'bindkey \"^I\" list-choices; print ready-$((1+1))'\n"                                                        \
    "zpty -r shell text '*ready-2*'\n"                                                                                 \
    "zpty -w -n shell \"" line "\"$'\\t'\n"                                                                            \
    "zpty -r shell text '*" last "*'\n"                                                                                \
    "print -r -- $text\n"

START_TEST(zsh_lists_flags_values_and_folders) {
    if (!is_installed("zsh")) {
        printf("SKIP zsh_lists_flags_values_and_folders: zsh is not installed\n");
        return;
    }
    run_shell("zsh -f", ZSH_OF("cumind train --", "--verbose"));
    static const char *const flags[] = {"--init-from", "--resume", "--help", "-- Go on with a run"};
    for (int i = 0; i < 4; i++) ck_assert_msg(strstr(result.out, flags[i]) != NULL, "%s: %s", flags[i], result.out);
    run_shell("zsh -f", ZSH_OF("cumind train --set optimizer=", "optimizer=sgd"));
    ck_assert_msg(strstr(result.out, "optimizer=adamw") != NULL, "%s", result.out);
    run_shell("zsh -f", ZSH_OF("cumind train --resume ", "folder/"));
    ck_assert_msg(strstr(result.out, "checkpoints/catch/1") && strstr(result.out, "my\\ folder/"), "%s", result.out);
}
END_TEST

START_TEST(another_shell_is_refused) {
    cm_program_run(cm_test_folder, "completion tcsh", &result);
    cm_program_expect_error(&result, 2, "completion: known are bash, zsh and fish, got \"tcsh\"");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/completion");
    TCase *tests = tcase_create("completion");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_loop_test(tests, words_that_may_follow_are_those_of_the_tables, 0, sizeof lines / sizeof *lines);
    tcase_add_test(tests, every_key_number_environment_and_recipe_is_proposed);
    tcase_add_test(tests, a_run_whose_name_acts_on_a_terminal_is_not_proposed);
    tcase_add_test(tests, a_meaning_stands_behind_a_tab);
    tcase_add_test(tests, bash_lists_flags_values_and_folders);
    tcase_add_test(tests, bash_completes_a_folder_without_a_blank_behind_it);
    tcase_add_test(tests, bash_runs_nothing_of_the_name_of_a_run);
    tcase_add_test(tests, fish_lists_flags_values_and_folders);
    tcase_add_test(tests, zsh_lists_flags_values_and_folders);
    tcase_add_test(tests, another_shell_is_refused);
    return cm_test_main(suite);
}
