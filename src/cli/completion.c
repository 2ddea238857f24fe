/* Completion for bash, zsh and fish. The scripts ask the program itself what may follow (cli/candidates.h), so that all
 * three propose the same, and what is there now: runs and checkpoints, too. */
#include <stdio.h>
#include <string.h>

#include "cli/candidates.h"
#include "cli/command.h"

/* Bash completes what stands behind the last = or : of a word, if it breaks words there. Names of runs and files may
 * hold what a shell acts on: bash quotes file names itself, other words are quoted here. */
static const char bash[] =
    "# bash completion of cumind; load it with:  source <(cumind completion bash)\n"
    "_cumind() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} current found word breaks=${COMP_WORDBREAKS//[^=:]/} cut='' kind=''\n"
    "    local -a typed=()\n"
    "    read -a typed <<<\"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && typed+=('')\n"
    "    current=${typed[${#typed[@]}-1]}\n"
    "    [ -n \"$breaks\" ] && cut=${current%\"${current##*[$breaks]}\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r found; do\n"
    "        word=${found%%$'\\t'*}\n"
    "        case $word in\n"
    "            @files) kind=-f ;;\n"
    "            @folders) kind=-d ;;\n"
    "            *) COMPREPLY+=(\"${word#\"$cut\"}\") ;;\n"
    "        esac\n"
    "    done < <(\"$1\" completion words -- \"${typed[@]:1}\" 2>/dev/null)\n"
    "    if [ -n \"$kind\" ]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        while IFS= read -r found; do COMPREPLY+=(\"$found\"); done < <(compgen \"$kind\" -- \"$current\")\n"
    "        return\n"
    "    fi\n"
    "    for word in \"${!COMPREPLY[@]}\"; do printf -v \"COMPREPLY[$word]\" %q \"${COMPREPLY[$word]}\"; done\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]]; then\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "}\n"
    "complete -F _cumind cumind\n";

static const char zsh[] =
    "#compdef cumind\n"
    "# zsh completion of cumind; load it with:  source <(cumind completion zsh)\n"
    "_cumind() {\n"
    "    local found word help kind=''\n"
    "    local -a ended shown open shown_open\n"
    "    while IFS= read -r found; do\n"
    "        word=${found%%$'\\t'*} help=${found#*$'\\t'}\n"
    "        [[ $help == $word ]] && help=$word || help=\"${(r:28:)word} -- $help\"\n"
    "        case $word in\n"
    "            @files) kind=files ;;\n"
    "            @folders) kind=folders ;;\n"
    "            *[=:]) open+=(\"$word\") shown_open+=(\"$help\") ;;\n"
    "            *) ended+=(\"$word\") shown+=(\"$help\") ;;\n"
    "        esac\n"
    "    done < <(\"${(Q)words[1]}\" completion words -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    (( $#ended )) && compadd -l -d shown -a ended\n"
    "    (( $#open )) && compadd -l -S '' -d shown_open -a open\n"
    "    [[ $kind == files ]] && _files\n"
    "    [[ $kind == folders ]] && _files -/\n"
    "    return 0\n"
    "}\n"
    "if [[ ${funcstack[1]} == _cumind ]]; then _cumind \"$@\"; else compdef _cumind cumind; fi\n";

static const char fish[] = "# fish completion of cumind; load it with:  cumind completion fish | source\n"
                           "function __cumind_complete\n"
                           "    set -l typed (commandline -opc)\n"
                           "    set -l current (commandline -ct)\n"
                           "    test (count $current) -eq 0; and set current ''\n"
                           "    set -l program $typed[1]\n"
                           "    set -e typed[1]\n"
                           "    for found in ($program completion words -- $typed $current 2>/dev/null)\n"
                           "        switch $found\n"
                           "            case @files\n"
                           "                __fish_complete_path \"$current\"\n"
                           "            case @folders\n"
                           "                __fish_complete_directories \"$current\" ''\n"
                           "            case '*'\n"
                           "                printf '%s\\n' $found\n"
                           "        end\n"
                           "    end\n"
                           "end\n"
                           "complete -c cumind -f -a '(__cumind_complete)'\n";

static const struct { const char *shell, *script; } scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static cm_status run_completion(cm_arguments *arguments) {
    const char *const *words = arguments->positional;
    const char *name = arguments->positional_count > 0 ? words[0] : "bash";
    if (strcmp(name, "words") == 0) return cm_candidates_print(words + 1, arguments->positional_count - 1);
    if (arguments->positional_count > 1) return cm_argument_unexpected(arguments->command, words[1]);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(name, scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout);
            return CM_OK;
        }
    return cm_fail(CM_ERR_INPUT, "completion: known are bash, zsh and fish, got \"%.40s\"", name);
}

static const cm_flag flags[] = {{NULL, NULL, NULL}};

const cm_command cm_command_completion = {
    .name = "completion",
    .about = "print the completion script for bash, zsh or fish",
    .positional = "[SHELL] [words -- WORD...]",
    .details =
        "Without SHELL that for bash. The scripts propose commands, flags and their values: keys of --set and "
        "--explain, numbers of --metric, environments, recipes, runs and checkpoints. They ask `completion words "
        "-- WORD...` for what may follow the words of a line, the last of which may be \"\": a line each, with "
        "its meaning behind a tab; @files and @folders stand for what the shell finds.",
    .flags = flags,
    .examples = "  source <(cumind completion bash)       # for this bash\n"
                "  source <(cumind completion zsh)        # for this zsh, after compinit\n"
                "  cumind completion fish | source        # for this fish\n",
    .run = run_completion,
};
