/* Completion for bash, made from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/curves.h"
#include "run/configuration.h"

static void put_flags(const cm_command *command) {
    for (const cm_flag *flag = command->flags; flag->name; flag++) printf(" %s", flag->name);
    printf(" --help");
}

/* "a|b" as "a b". */
static void put_words(const char *flag, const char *choices) {
    printf("        %s) words=\"", flag);
    for (const char *c = choices; *c; c++) putchar(*c == '|' ? ' ' : *c);
    printf("\" ;;\n");
}

/* The words of flags that stand for a key, or have a list of their own. */
static cm_status put_choices(void) {
    static const struct { const char *flag, *key; } keys[] = {{"--backend", "backend"}, {"--dtype", "model_dtype"}};
    cm_configuration configuration;
    cm_config *config = NULL;
    const cm_option *row;
    CM_TRY(cm_configuration_create(&configuration, &config));
    for (int i = 0; (row = cm_config_row(config, i)) != NULL; i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (strcmp(row->key, keys[k].key) == 0) put_words(keys[k].flag, row->choices);
    cm_config_destroy(config);
    put_words("--over", CM_CURVES_OVER("|"));
    return CM_OK;
}

static cm_status run_completion(cm_arguments *arguments) {
    const char *shell = arguments->positional_count > 0 ? arguments->positional[0] : "bash";
    if (strcmp(shell, "bash") != 0) {
        return cm_fail(CM_ERR_INPUT, "completion: only bash is known, got \"%.40s\"", shell);
    }
    printf("# bash completion of cumind; load it with:  source <(cumind completion)\n"
           "_cumind() {\n"
           "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\"\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
           "        words=\"");
    for (int i = 0; cm_commands[i]; i++) printf("%s%s", i ? " " : "", cm_commands[i]->name);
    printf("\"\n    else\n        case \"${COMP_WORDS[1]}\" in\n");
    for (int i = 0; cm_commands[i]; i++) {
        printf("            %s) words=\"", cm_commands[i]->name);
        put_flags(cm_commands[i]);
        printf("\" ;;\n");
    }
    printf("        esac\n    fi\n"
           "    case \"$previous\" in\n");
    CM_TRY(put_choices());
    printf("        --policy) words=\"muzero gumbel_muzero\" ;;\n"
           "        --include) words=\"random perfect mcts:\" ;;\n"
           "        --opponent) [ \"${COMP_WORDS[1]}\" = eval ] && words=\"random perfect mcts: all\" ;;\n"
           "        --run|--resume|--init-from|--replay-from) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n"
           "        --config|--case|--positions|--save-games|--svg|--write|--trace) COMPREPLY=($(compgen -f -- "
           "\"$current\")); return ;;\n"
           "    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "}\n"
           "complete -o default -F _cumind cumind\n");
    return CM_OK;
}

static const cm_flag flags[] = {{NULL, NULL, NULL}};

const cm_command cm_command_completion = {
    .name = "completion",
    .about = "print the completion script for bash",
    .positional = "[bash]",
    .details = "",
    .flags = flags,
    .examples = "  source <(cumind completion)            # for this shell\n",
    .run = run_completion,
};
