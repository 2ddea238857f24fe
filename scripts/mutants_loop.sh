# shellcheck shell=bash
# What the mutation tests share, to be sourced. The caller has
#   WORK SOURCE   a temporary folder; the folder whose files are changed, as src/mcts: its copy is $WORK/$SOURCE
#   mutants       prints the list: file below SOURCE | what stands there | what takes its place; \n: the end of a line
#   restore       copies the files again; build FILE... compiles what depends on them; is_killed is true if a test fails, and
#                 leaves its name in `by`
# run_mutants MATCH DOC TEXT: only the mutants whose line contains MATCH; without MATCH the list is written to DOC below
# TEXT, where KILLED and SURVIVED stand for the numbers. Status 0 only if none survived. MATCH --check: only whether the
# sources have what each mutant changes, which is part of lint.
check_mutants() {
    local file from to missing=0
    declare -A sources
    while IFS='|' read -r file from to; do
        [ -n "${sources[$file]:-}" ] || sources[$file]=$(<"$SOURCE/$file") || return 1
        [[ ${sources[$file]} != *"${from//\\n/$'\n'}"* ]] || continue
        echo "mutants: $file has no \"$from\"" >&2
        missing=1
    done < <(mutants)
    return $missing
}
run_mutants() {
    local match=$1 doc=$2 text=$3 killed=0 survived=0 last='' file from to
    check_mutants || exit 2
    [ "$match" != --check ] || return 0
    by=
    restore
    build || exit 2
    if is_killed; then
        echo "mutants: test_$by fails without a mutant" >&2
        exit 2
    fi
    while IFS='|' read -r file from to; do
        if [[ "$file|$from|$to" != *"$match"* ]]; then continue; fi
        restore
        FROM=${from//\\n/$'\n'} TO=${to//\\n/$'\n'} perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$WORK/$SOURCE/$file"
        if ! build "$file" "$last"; then
            echo "mutants: does not compile: $file: $from -> $to" >&2
            exit 2
        fi
        last=$file
        if is_killed; then
            killed=$((killed + 1))
            printf 'killed by %-10s %s: %s -> %s\n' "$by" "$file" "$from" "$to"
            # shellcheck disable=SC2016
            printf '| %s | `%s` | `%s` | test_%s |\n' "$file" "$from" "${to:- }" "$by" >>"$WORK/list"
        else
            survived=$((survived + 1))
            printf 'SURVIVED             %s: %s -> %s\n' "$file" "$from" "$to"
            # shellcheck disable=SC2016
            printf '| %s | `%s` | `%s` | none |\n' "$file" "$from" "${to:- }" >>"$WORK/list"
        fi
    done < <(mutants)
    echo "$killed killed, $survived survived"
    if [ -z "$match" ]; then
        text=${text/KILLED/$killed}
        printf '%s\n\n| file | in place of | stands | killed by |\n|---|---|---|---|\n' "${text/SURVIVED/$survived}" |
            cat - "$WORK/list" >"$doc"
    fi
    [ "$survived" -eq 0 ]
}
