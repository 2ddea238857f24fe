/* cumind: reads the command line, runs a subcommand, reports its error as one line. The only file that exits. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"
#include "core/crash.h"
#include "core/nearest.h"
#include "core/terminal.h"
#include "env/trust.h"

static const char *flag_name(const void *rows, int i) { return ((const char *const *)rows)[i]; }

/* A flag where a command belongs: one that stands alone, mistyped, or one of a command. */
static cm_status unknown_flag(const char *name) {
    static const char *const alone[] = {"--help", "--version"};
    const int nearest = cm_nearest_name(name, alone, 2, flag_name);
    if (nearest < 0) return cm_fail(CM_ERR_INPUT, "%.40s: a command comes first; cumind help lists all", name);
    return cm_fail(CM_ERR_INPUT, "unknown flag \"%.40s\"; did you mean %s?", name, alone[nearest]);
}

static int report(cm_status status) {
    cm_cli_say("cumind: %s", cm_error_message());
    if (status == CM_ERR_INTERRUPTED) return CM_EXIT_INTERRUPTED;
    return status == CM_ERR_INPUT ? CM_EXIT_USAGE : CM_EXIT_OTHER;
}

static bool asks_for_help(int count, char **argv) {
    for (int i = 0; i < count && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

/* The exit status of a command that gave verdict, once all that it printed is written. */
static int written(int verdict) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return verdict;
    cm_cli_say("cumind: standard output cannot be written");
    return CM_EXIT_OTHER;
}

/* No command calls exit: what does is a library, most likely that of an environment. */
static const cm_command *running;

static void on_exit_of_a_command(void) {
    if (!running) return;
    cm_cli_say("cumind: %s: a library ended the process by a call of exit; if it is the environment's, let it return "
               "in place of that",
               running->name);
    _exit(CM_EXIT_OTHER);
}

/* argv[0] is the program, argv[1] the command. */
static int run_command(const cm_command *command, int argc, char **argv) {
    if (asks_for_help(argc - 2, argv + 2)) {
        cm_help_command(command, stdout);
        return written(0);
    }
    cm_arguments arguments;
    cm_status status = cm_arguments_parse(command, argc - 2, argv + 2, &arguments);
    arguments.program = argv[0];
    arguments.argv = argv;
    running = command;
    cm_crash_catch(cm_terminal_of(STDERR_FILENO).redraws ? "\r\033[K" : "", command->name);
    if (status == CM_OK) status = command->run(&arguments);
    running = NULL;
    const int code = status == CM_OK ? written(arguments.verdict) : report(status);
    if (arguments.has_left) _exit(code);
    return code;
}

/* Buffers that only a checkpoint needs go back to the system at once, so that a long run does not grow. */
static void return_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    mallopt(M_TRIM_THRESHOLD, 64 * 1024);
}

/* The next file that is opened would take the place of a standard one that is closed, and get what is printed. Instead
 * something stands there that reading, or writing, fails on as it did. */
static void fill_standard_files(void) {
    for (int file = 0; file <= 2; file++)
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files: writing fails, as on a full disk */
    fill_standard_files();
    return_memory();
    cm_env_trust(CM_ENV_TRUST_KNOWN);
    atexit(on_exit_of_a_command);
    if (argc < 2) {
        cm_help_all(stderr);
        return CM_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cm_help_all(stdout);
        return written(0);
    }
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    const cm_command *command = cm_command_find(name);
    if (!command) return report(name[0] == '-' ? unknown_flag(name) : cm_command_unknown(name));
    return run_command(command, argc, argv);
}
