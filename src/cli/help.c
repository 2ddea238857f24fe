#include "cli/help.h"

#include <string.h>

enum { WIDTH = 80 };

/* Prints text in lines of at most WIDTH characters, each behind `indent` spaces; the cursor stands at `column`. */
static void wrap(FILE *out, const char *text, int indent, int column) {
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (*text) text++;
    }
    fputc('\n', out);
}

void cm_help_overview(FILE *out) {
    fprintf(out, "cumind %s: trains MuZero agents\n\nusage: cumind COMMAND [FLAGS]\n\n", CM_VERSION);
    for (int i = 0; i < cm_command_count; i++) {
        fprintf(out, "  %-12s", cm_commands[i]->name);
        wrap(out, cm_commands[i]->about, 14, 14);
    }
    fprintf(out, "\n`cumind help COMMAND` explains one; `cumind train` is the place to begin.\n");
}

void cm_help_command(FILE *out, const cm_command *command) {
    fprintf(out, "usage: cumind %s%s%s%s\n\n", command->name, cm_command_flag(command, 0) ? " [FLAGS]" : "",
            *command->operands ? " " : "", command->operands);
    wrap(out, command->about, 0, 0);
    if (command->details) {
        fputc('\n', out);
        wrap(out, command->details, 0, 0);
    }
    if (cm_command_flag(command, 0)) fprintf(out, "\nflags:\n");
    const cm_flag *flag;
    for (int i = 0; (flag = cm_command_flag(command, i)); i++) {
        int used =
            fprintf(out, "  --%s%s%s", flag->name, flag->argument ? " " : "", flag->argument ? flag->argument : "");
        if (used < 25) {
            fprintf(out, "%*s", 26 - used, "");
        } else {
            fprintf(out, "\n%*s", 26, "");
        }
        wrap(out, flag->help, 26, 26);
    }
}

/* ---- man pages ---- */

/* Text for roff: a backslash is doubled, a dash is a minus, a leading dot or quote is kept from being a request. */
static void roff(FILE *out, const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else if (*text == '\n') {
            fputs("\n.PP\n", out);
        } else {
            fputc(*text, out);
        }
    }
    fputc('\n', out);
}

static void man_overview(FILE *out) {
    fprintf(out, ".TH CUMIND 1 \"\" \"cumind %s\" \"User Commands\"\n.SH NAME\ncumind \\- trains MuZero agents\n",
            CM_VERSION);
    fprintf(out, ".SH SYNOPSIS\n.B cumind\n.I COMMAND\n[FLAGS]\n.SH COMMANDS\n");
    for (int i = 0; i < cm_command_count; i++) {
        fprintf(out, ".TP\n.BR cumind\\-%s (1)\n", cm_commands[i]->name);
        roff(out, cm_commands[i]->about);
    }
    fprintf(out, ".SH EXIT STATUS\n0 done, 2 usage or configuration is wrong, 1 anything else that fails.\n");
}

static void man_command(FILE *out, const cm_command *command) {
    fprintf(out, ".TH CUMIND-%s 1 \"\" \"cumind %s\" \"User Commands\"\n.SH NAME\ncumind\\-%s \\- ", command->name,
            CM_VERSION, command->name);
    roff(out, command->about);
    fprintf(out, ".SH SYNOPSIS\n.B cumind %s\n", command->name);
    fprintf(out, "%s%s\n", cm_command_flag(command, 0) ? "[FLAGS] " : "", command->operands);
    if (command->details) {
        fprintf(out, ".SH DESCRIPTION\n");
        roff(out, command->details);
    }
    const cm_flag *flag;
    if (cm_command_flag(command, 0)) fprintf(out, ".SH OPTIONS\n");
    for (int i = 0; (flag = cm_command_flag(command, i)); i++) {
        fprintf(out, ".TP\n.BI \\-\\-%s \" %s\"\n", flag->name, flag->argument ? flag->argument : "");
        roff(out, flag->help);
    }
    fprintf(out, ".SH SEE ALSO\n.BR cumind (1)\n");
}

/* ---- the command ---- */

static int run_help(const cm_arguments *arguments) {
    const char *name = cm_arguments_operand(arguments, 0);
    bool man = cm_arguments_has(arguments, "man");
    if (!name) {
        man ? man_overview(stdout) : cm_help_overview(stdout);
        return 0;
    }
    const cm_command *command = cm_command_find(name);
    if (!command) {
        return cm_cli_fail(cm_fail(CM_ERR_INPUT, "help: there is no command \"%s\"; `cumind help` lists them", name));
    }
    man ? man_command(stdout, command) : cm_help_command(stdout, command);
    return 0;
}

static const cm_flag help_flags[] = {{"man", NULL, "Prints the manual page (roff) instead."}};

const cm_command cm_command_help = {.name = "help",
                                    .operands = "[COMMAND]",
                                    .max_operands = 1,
                                    .about = "Explains a command, or lists them all.",
                                    .flags = help_flags,
                                    .flag_count = 1,
                                    .run = run_help};

static int run_completion(const cm_arguments *arguments) {
    (void)arguments;
    printf("# bash completion of cumind; load it with: source <(cumind completion)\n_cumind() {\n");
    printf("  local current=${COMP_WORDS[COMP_CWORD]} words\n  COMPREPLY=()\n");
    printf("  if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"");
    for (int i = 0; i < cm_command_count; i++) printf("%s%s", i ? " " : "", cm_commands[i]->name);
    printf("\"\n  else case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < cm_command_count; i++) {
        printf("    %s) words=\"", cm_commands[i]->name);
        const cm_flag *flag;
        for (int j = 0; (flag = cm_command_flag(cm_commands[i], j)); j++) printf("%s--%s", j ? " " : "", flag->name);
        printf("\" ;;\n");
    }
    printf("    *) words=\"\" ;;\n  esac; fi\n");
    printf(
        "  if [[ $current == -* || $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n");
    printf("  else COMPREPLY=($(compgen -f -- \"$current\")); fi\n}\ncomplete -o filenames -F _cumind cumind\n");
    return 0;
}

const cm_command cm_command_completion = {.name = "completion",
                                          .operands = "",
                                          .about = "Prints the completion script for bash.",
                                          .details = "Load it with: source <(cumind completion)",
                                          .run = run_completion};
