#include "cli/output.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/resolve.h"
#include "core/file.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/terminal.h"
#include "run/checkpoint.h"
#include "run/directory.h"
#include "run/recipe.h"
#include "run/weights.h"

/* A run's own values have been warned of when it began, so that those of a run that is only looked at are not. */
static cm_status finish(const cm_arguments *arguments, cm_config *config, cm_configuration *configuration,
                        bool is_new) {
    const cm_log_level level = arguments->is_mute ? CM_ERROR : (cm_log_level)configuration->run.log_level;
    cm_log_set_level(is_new || cm_argument_is_set(arguments, "--resume") ? level : CM_ERROR);
    if (is_new) cm_configuration_prefer_time(config, configuration);
    cm_status status = cm_configuration_finish(config, configuration);
    cm_log_set_level(level);
    return status;
}

static cm_status load(const cm_arguments *arguments, const char *run, cm_configuration *configuration,
                      cm_config **config) {
    cm_cli_given given;
    cm_sources sources;
    if (arguments->is_mute) cm_log_set_level(CM_ERROR);
    CM_TRY(cm_cli_sources(arguments, run, &given, &sources));
    CM_TRY(cm_run_resolve(&sources, configuration, config));
    const cm_status status = finish(arguments, *config, configuration, !run);
    if (status == CM_OK) return CM_OK;
    cm_config_destroy(*config);
    *config = NULL;
    return status;
}

cm_status cm_cli_configuration(const cm_arguments *arguments, cm_configuration *configuration, cm_config **config) {
    return load(arguments, NULL, configuration, config);
}

cm_status cm_cli_run_configuration(const cm_arguments *arguments, const char *run, cm_configuration *configuration,
                                   cm_config **config) {
    CM_TRY(cm_recipe_advise_run(run));
    return load(arguments, run, configuration, config);
}

cm_status cm_cli_run_root(const cm_command *command, char root[CM_OPTION_TEXT]) {
    const cm_arguments bare = {.command = command, .is_mute = true};
    cm_configuration configuration;
    cm_config *config = NULL;
    CM_TRY(cm_cli_configuration(&bare, &configuration, &config));
    snprintf(root, CM_OPTION_TEXT, "%s", configuration.run.checkpoint_root_dir);
    cm_log_set_level((cm_log_level)configuration.run.log_level);
    cm_config_destroy(config);
    return CM_OK;
}

cm_status cm_cli_default_run(cm_arguments *arguments) {
    char root[CM_OPTION_TEXT];
    if (cm_argument_is_set(arguments, "--run")) return CM_OK;
    CM_TRY(cm_cli_run_root(arguments->command, root));
    CM_TRY(cm_run_directory_newest(root, arguments->run));
    if (arguments->run[0] == '\0') return CM_OK;
    cm_argument_set(arguments, "--run", arguments->run);
    cm_cli_say("%s: the newest run, %s (--run DIR takes another)", arguments->command->name,
               CM_PRINTABLE(arguments->run));
    return CM_OK;
}

cm_status cm_cli_need_run(cm_arguments *arguments, const char **run) {
    CM_TRY(cm_cli_default_run(arguments));
    *run = cm_argument(arguments, "--run");
    if (!*run) {
        return cm_fail(CM_ERR_INPUT, "%s: needs --run DIR: there is no run here yet (cumind runs DIR looks elsewhere)",
                       arguments->command->name);
    }
    CM_TRY(cm_recipe_advise_run(*run));
    return cm_run_directory_check(*run);
}

cm_status cm_cli_checkpoint(const cm_arguments *arguments, int64_t *checkpoint) {
    const char *text = cm_argument(arguments, "--checkpoint");
    *checkpoint = CM_CHECKPOINT_PREFERRED;
    if (!text) return CM_OK;
    *checkpoint = strcmp(text, "best") == 0 ? CM_CHECKPOINT_BEST : CM_CHECKPOINT_LATEST;
    if (strcmp(text, "best") == 0 || strcmp(text, "latest") == 0) return CM_OK;
    if (!*text || text[strspn(text, "0123456789")] != '\0') {
        return cm_fail(CM_ERR_INPUT, "--checkpoint: must be a number, best or latest, got \"%.40s\"", text);
    }
    return cm_argument_int(arguments, "--checkpoint", 0, INT64_MAX, checkpoint);
}

/* The locale is asked, not taken over: in a Turkish one the letters of MOUNTAINCAR are not those of mountaincar. */
static bool is_utf8(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale) return false;
    const bool is = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return is;
}

cm_status cm_cli_try_file(const char *flag, const char *path) {
    cm_file_writer *file = NULL;
    if (!path) return CM_OK;
    const cm_status status = cm_file_begin(path, &file);
    if (status != CM_OK) return cm_fail_in(status, "%s", flag);
    cm_file_abandon(file);
    return CM_OK;
}

void cm_cli_line(int indent, const char *format, ...) {
    enum { LINE = 4096, NARROW = 60, NARROW_INDENT = 4 };
    char line[LINE], lines[2 * LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const int columns = cm_terminal_of(STDOUT_FILENO).columns;
    cm_terminal_fold(line, columns, columns < NARROW && indent > NARROW_INDENT ? NARROW_INDENT : indent, lines,
                     sizeof lines);
    fputs(lines, stdout);
}

void cm_cli_say(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fflush(stdout);
    if (!cm_terminal_write(STDERR_FILENO, line)) return; /* there is no one left to tell */
}

cm_progress_style cm_cli_style(const cm_arguments *arguments) {
    const char *no_color = getenv("NO_COLOR");
    cm_progress_style style = {
        .file = STDOUT_FILENO,
        .tty = cm_terminal_of(STDOUT_FILENO).redraws,
        .utf8 = is_utf8(),
        .json = cm_argument_is_set(arguments, "--json"),
        .quiet = cm_argument_is_set(arguments, "--quiet"),
    };
    style.colour = style.tty && !(no_color && *no_color);
    return style;
}

void cm_cli_put_interval(cm_json_writer *json, double low, double high) {
    cm_json_begin_array(json, "ci95");
    cm_json_put_double(json, NULL, low);
    cm_json_put_double(json, NULL, high);
    cm_json_end_array(json);
}

static cm_status print(const cm_json_writer *json) {
    const char *text = cm_json_writer_text(json, NULL);
    if (!text) return CM_ERR_MEMORY;
    if (fputs(text, stdout) < 0 || fputc('\n', stdout) < 0 || fflush(stdout) != 0) {
        return cm_fail(CM_ERR_IO, "standard output: cannot write: %s", strerror(errno));
    }
    return CM_OK;
}

cm_status cm_cli_print(cm_json_writer *json, cm_status status) {
    if (status == CM_OK) status = print(json);
    cm_json_writer_destroy(json);
    return status;
}
