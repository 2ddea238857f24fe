#!/usr/bin/env bash
# Mutation test of the tree search: changes one sign, bound or count at a time in a copy of src/mcts, and expects a test of
# tests/mcts to fail. Run by hand; takes some minutes.
#   scripts/mutants_mcts.sh [PATTERN]     only the mutants whose line contains PATTERN
# Ends with "N killed, M survived" and a line for each survivor; status 0 only if none survived.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

CC=${CC:-gcc}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
FLAGS=(-std=c17 -D_GNU_SOURCE -O1 -march=native -ffp-contract=off -w "-DCM_TEST_CASES=\"$PWD/tests/cases\"" -I"$WORK/src" -Itests)
TESTS=(formulas vectors cases mctx search step reuse case_files)

# file | what stands there | what takes its place
mutants() {
    cat <<'END'
backup.h|g = child->reward + child->discount * g|g = child->reward - child->discount * g
backup.h|g = child->reward + child->discount * g|g = -child->reward + child->discount * g
backup.h|g = child->reward + child->discount * g|g = child->reward + g
backup.h|parent->value * n + g|parent->value * n - g
backup.h|(n + 1.0f)|n
backup.h|parent->visits += 1|parent->visits += 2
backup.h|return child->reward + child->discount|return child->reward - child->discount
backup.h|return child->reward + child->discount * child->value|return child->discount * child->value
step_impl.inc|child->visits + 1|child->visits
step_impl.inc|is_new ? 1 : node->visits + 1|is_new ? 2 : node->visits + 1
step_impl.inc|is_new ? 1 : node->visits + 1|is_new ? 1 : node->visits
step_impl.inc|node->depth = parent->depth + 1|node->depth = parent->depth
step_impl.inc|node->depth + 1 >= tree->max_depth|node->depth >= tree->max_depth
step_impl.inc|node->depth + 1 >= tree->max_depth|node->depth >= tree->max_depth + 1
step_impl.inc|node->visits - 1 < simulations ? node->visits - 1|node->visits < simulations ? node->visits
step_impl.inc|valid < most ? valid : most|most
step_impl.inc|edges.open[action] = -INFINITY|(void)0
step_impl.inc|tree->root_visits[edge] = child->visits|tree->root_visits[edge] = child->visits + 1
step_impl.inc|tree->root_q[edge] = cm_backup_q(child)|tree->root_q[edge] = child->value
step_impl.inc|tree->num_chance > 0 && !tree->is_chance[above]|tree->num_chance > 0
step_impl.inc|float g = child->value|float g = -child->value
step_impl.inc|choice = cm_select_chance(node, edges)|choice = cm_select_puct(node, edges, cm_rules_map(tree, node, edges), 1.0f)
qtransform.h|{low, low, 1.0f / cm_max(high - low, epsilon)}|{high, low, 1.0f / cm_max(high - low, epsilon)}
qtransform.h|float low = value, high = value|float low = 0.0f, high = value
qtransform.h|float low = value, high = value|float low = value, high = 0.0f
qtransform.h|cm_max(high - low, epsilon)}|(high - low + epsilon)}
qtransform.h|{params->min_value, params->min_value, 1.0f / (params->max_value - params->min_value)}|{params->min_value, params->min_value, 1.0f / (params->max_value + params->min_value)}
qtransform.h|(raw_value + total * mean) / (total + 1.0f)|(raw_value + total * mean) / total
qtransform.h|(raw_value + total * mean)|(raw_value - total * mean)
qtransform.h|weight[i] = cm_max(FLT_MIN, prior[i])|weight[i] = 1.0f
qtransform.h|count < n ? fill : q[0]|fill
qtransform.h|params->maxvisit_init + (float)most|params->maxvisit_init - (float)most
qtransform.h|if (!params->rescale_values) low = 0.0f;|
qtransform.h|return (q - map.shift) * map.factor|return (q + map.shift) * map.factor
qtransform.h|return (map.fill - map.shift) * map.factor|return 0.0f
select.h|sqrtf(visits)|sqrtf(visits - 1.0f)
select.h|visits + pb_c_base + 1.0f|visits + pb_c_base
select.h|pb_c_init + logf|pb_c_init - logf
select.h|cm_affine_apply(map, edges.q[i]) + explore * edges.weight[i]|cm_affine_apply(map, edges.q[i]) - explore * edges.weight[i]
select.h|cm_affine_apply(map, edges.q[i]) + explore * edges.weight[i]|explore * edges.weight[i] - cm_affine_apply(map, edges.q[i])
select.h|score == best.score && action < best.action|score == best.score && action > best.action
select.h|cm_affine_open(map) + explore * node->open_prior|explore * node->open_prior
select.h|node->open_prior + cm_affine_open(map)|node->open_prior - cm_affine_open(map)
select.h|scratch[i] * total - (float)edges.visits[i] * part|scratch[i] * total + (float)edges.visits[i] * part
select.h|part = 1.0f / (float)node->visits|part = 1.0f / (float)(node->visits + 1)
select.h|cm_sum(scratch, count) + open * open_mass|cm_sum(scratch, count) + open
select.h|cm_max(-1e9f, noise[a]|cm_max(-1e30f, noise[a]
select.h|is_considered && score > most|is_considered && score >= most
considered.h|k = half > 2 ? half : 2|k = half > 1 ? half : 1
considered.h|(1 << rounds) < m|(1 << rounds) <= m
considered.h|extra > 1 ? extra : 1|extra > 1 ? extra - 1 : 1
considered.h|m <= 1|m < 1
policy.h|logits[a] - most : -FLT_MAX|logits[a] + most : -FLT_MAX
policy.h|(1.0f - fraction) * scratch[a] + fraction * noise[a]|fraction * scratch[a] + (1.0f - fraction) * noise[a]
policy.h|(probs[a] - most) / divisor|(probs[a] - most) * divisor
policy.h|1.0f / (float)n|0.0f
numeric.h|x < -87.0f ? 0.0f : y * power|y * power
numeric.h|x[i] > most|x[i] >= most
search.c|search->out.discount[row] = 1.0f|search->out.discount[row] = 0.0f
search.c|search->kept[b] > 0 ? search->kept[b] : 1|search->kept[b] > 0 ? search->kept[b] : 2
search.c|g + (logits[a] - most)|g - (logits[a] - most)
search.c|g = scale * |g = 
search.c|tree->root_valid[b] += logits[a] > -FLT_MAX|tree->root_valid[b] += 1
result.c|logits[a] + value : -FLT_MAX|logits[a] - value : -FLT_MAX
result.c|cm_rng_categorical(&rng, probs, n)|cm_argmax(probs, n)
reuse.c|node->depth -= 1|node->depth -= 0
reuse.c|node->leaf = map[node->leaf]|(void)map
reuse.c|1.0f / (visits + 1.0f)|1.0f / visits
plain_avx2.inc|g = child->reward + child->discount * g|g = child->reward - child->discount * g
plain_avx2.inc|node->value * before + g|node->value * before - g
plain_avx2.inc|child->visits + 1|child->visits
plain_avx2.inc|_mm_mul_ps(x.explore, weight)), best|_mm_mul_ps(x.value, weight)), best
plain_avx2.inc|node->open_action < action[entry]|node->open_action > action[entry]
plain_avx2.inc|entry = at, lowest = action[at]|entry = at
lanes_avx2.inc|(node->raw_value + total * mean) / (total + 1.0f)|(node->raw_value + total * mean) / total
lanes_avx2.inc|action[other] < action[best]|action[other] > action[best]
lanes_avx2.inc|open_action < child_action|open_action > child_action
lanes_avx2.inc|candidate < lowest|candidate > lowest
END
}

# Compiles what has not been compiled yet or depends on one of the files given.
build() {
    local source object kind changed touched
    for source in "$WORK"/src/mcts/*.c tests/mcts/test_*.c; do
        kind=mcts
        [[ $source == tests/* ]] && kind=tests
        object=$WORK/$kind/$(basename "$source" .c)
        changed=
        for touched in "$@"; do
            if [[ -n $touched ]] && grep -q "/$touched" "$object.d" 2>/dev/null; then changed=1; fi
        done
        if [[ -e $object.o && -z $changed ]]; then continue; fi
        "$CC" "${FLAGS[@]}" -MMD -c "$source" -o "$object.o" 2>/dev/null || return 1
    done
}

# True if a test fails, or takes for ever; `by` is its name.
is_killed() {
    local test
    for test in "${TESTS[@]}"; do
        by=$test
        "$CC" "$WORK/tests/test_$test.o" "$WORK"/mcts/*.o "$WORK"/core/*.o -lcheck -lsubunit -lrt -lcjson -lpthread -lm \
            -o "$WORK/test" || exit 2
        timeout 300 "$WORK/test" >/dev/null 2>&1 || return 0
    done
    return 1
}

restore() { cp src/mcts/*.c src/mcts/*.h src/mcts/*.inc "$WORK/src/mcts/" && rm -f "$WORK/src/mcts/options.c"; }

mkdir -p "$WORK/src/mcts" "$WORK/mcts" "$WORK/tests" "$WORK/core"
cp -r src/core src/config "$WORK/src/"
for source in src/core/*.c; do "$CC" "${FLAGS[@]}" -c "$source" -o "$WORK/core/$(basename "$source" .c).o" || exit 2; done
restore
build || exit 2
if is_killed; then
    echo "mutants: test_$by fails without a mutant" >&2
    exit 2
fi

killed=0
survived=0
last=
while IFS='|' read -r file from to; do
    if [[ "$file|$from|$to" != *"${1:-}"* ]]; then continue; fi
    restore
    FROM=$from TO=$to perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$WORK/src/mcts/$file"
    if cmp -s "src/mcts/$file" "$WORK/src/mcts/$file"; then
        echo "mutants: $file has no \"$from\"" >&2
        exit 2
    fi
    if ! build "$file" "$last"; then
        echo "mutants: does not compile: $file: $from -> $to" >&2
        exit 2
    fi
    last=$file
    if is_killed; then
        killed=$((killed + 1))
        printf 'killed by %-10s %s: %s -> %s\n' "$by" "$file" "$from" "$to"
    else
        survived=$((survived + 1))
        printf 'SURVIVED             %s: %s -> %s\n' "$file" "$from" "$to"
    fi
done < <(mutants)
echo "$killed killed, $survived survived"
[ "$survived" -eq 0 ]
