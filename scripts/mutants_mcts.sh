#!/usr/bin/env bash
# Mutation test of the tree search: changes one sign, bound or count at a time in a copy of src/mcts, and expects a test of
# tests/mcts to fail. Run by `make mutants`, which gives OBJECTS, all of the tests but src/mcts, and LIBS; takes some minutes.
#   make mutants [MATCH=PATTERN]          only the mutants whose line contains PATTERN
# Ends with "N killed, M survived" and a line for each survivor; status 0 only if none survived.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

# shellcheck source=scripts/mutants_loop.sh
. scripts/mutants_loop.sh

CC=${CC:-gcc}
SOURCE=src/mcts
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
FLAGS=(-std=c17 -D_GNU_SOURCE -O1 -march=native -ffp-contract=off -w "-DCM_TEST_CASES=\"$PWD/tests/cases\"" -I"$WORK/src" -Isrc -Itests)
TESTS=(mcts/test_formulas mcts/test_vectors cases/test_search cases/test_mctx mcts/test_step mcts/test_search mcts/test_reuse)
for test in "${TESTS[@]}"; do
    [ -e "tests/$test.c" ] || { echo "mutants: tests/$test.c is not there" >&2 && exit 2; }
done

# file | what stands there | what takes its place
mutants() {
    cat <<'END'
backup.h|return child->reward + child->discount * g|return child->reward - child->discount * g
backup.h|return child->reward + child->discount * g|return -child->reward + child->discount * g
backup.h|return child->reward + child->discount * g|return child->reward + fabsf(child->discount) * g
backup.h|return child->reward + child->discount * g|return child->reward + g
backup.h|node->value + (g - node->value)|node->value - (g - node->value)
backup.h|(g - node->value) * node->share|(g + node->value) * node->share
backup.h|node->visits + 1|node->visits + 2
backup.h|return child->reward + child->discount * child->value|return child->reward - child->discount * child->value
backup.h|return child->reward + child->discount * child->value|return child->reward + fabsf(child->discount) * child->value
backup.h|return child->reward + child->discount * child->value|return child->discount * child->value
backup.h|child->prior * child->share|child->prior
backup.h|is_count ? (float)child->visits|is_count ? (float)(child->visits + 1)
tree.h|tree->reciprocal[visits + 1]|tree->reciprocal[visits]
tree.h|tree->explore[visits + 1]|tree->explore[visits]
memory.c|1.0f / (float)i|1.0f / (float)(i + 1)
memory.c|cm_puct_explore((float)i,|cm_puct_explore((float)(i - 1),
step_impl.inc|is_new ? 1 : old->visits + 1|is_new ? 2 : old->visits + 1
step_impl.inc|is_new ? 1 : old->visits + 1|is_new ? 1 : old->visits
step_impl.inc|view->cold->depth = leaf.depth + 1|view->cold->depth = leaf.depth
step_impl.inc|view->cold->depth + 1 >= tree->max_depth|view->cold->depth >= tree->max_depth
step_impl.inc|simulation = root->node->visits - 1|simulation = root->node->visits
step_impl.inc|valid < most ? valid : most|most
step_impl.inc|view->open[action] = -INFINITY;|
step_impl.inc|tree->root_visits[edge] = child->visits|tree->root_visits[edge] = child->visits + 1
step_impl.inc|tree->root_q[edge] = cm_backup_q(child)|tree->root_q[edge] = child->value
step_impl.inc|tree->num_chance > 0 && !is_below_chance|tree->num_chance > 0
step_impl.inc|float g = child.value|float g = -child.value
lanes_alone.inc|return cm_select_chance(view).entry|return cm_select_puct(view, cm_rules_map(tree, view), 1.0f).entry
step_impl.inc|entry >= view->cold->count|entry > view->cold->count
step_impl.inc|if (here > most) most = here, best = a|if (here >= most) most = here, best = a
step_impl.inc|float explore = view.node->explore|float explore = tree->explore[view.node->visits]
rules.h|visits[a] > 0 ? q[a] : fill|q[a]
summary.h|cm_tree_node(tree, b, root->child[at])->visits|cm_tree_node(tree, b, root->child[at])->visits + 1
qtransform.h|{low, cm_max(high - low, epsilon)}|{high, cm_max(high - low, epsilon)}
qtransform.h|float low = value, high = value|float low = 0.0f, high = value
qtransform.h|float low = value, high = value|float low = value, high = 0.0f
qtransform.h|{low, cm_max(high - low, epsilon)}|{low, high - low + epsilon}
qtransform.h|params->max_value - params->min_value|params->max_value + params->min_value
qtransform.h|{range.low, range.low,|{0.0f, range.low,
qtransform.h|(raw_value + total * mean) / (total + 1.0f)|(raw_value + total * mean) / total
qtransform.h|(raw_value + total * mean)|(raw_value - total * mean)
qtransform.h|? cm_max(FLT_MIN, prior[i]) :|? 1.0f :
qtransform.h|sum += visits[i]|sum += visits[i] + 1
qtransform.h|count < n ? fill : q[0]|fill
qtransform.h|params->maxvisit_init + most|params->maxvisit_init - most
qtransform.h|if (!params->rescale_values) low = 0.0f;|
qtransform.h|return (q - map.shift) * map.factor|return (q + map.shift) * map.factor
qtransform.h|return (map.fill - map.shift) * map.factor|return 0.0f
select.h|sqrtf(visits)|sqrtf(visits - 1.0f)
select.h|visits + pb_c_base + 1.0f|visits + pb_c_base
select.h|pb_c_init + logf|pb_c_init - logf
select.h|cm_view_q(view, i)) + explore * *cm_view_weight|cm_view_q(view, i)) - explore * *cm_view_weight
select.h|score = cm_affine_apply(map, *cm_view_q(view, i)) +|score = -cm_affine_apply(map, *cm_view_q(view, i)) +
select.h|above_low + range.size * (explore * weight)|above_low - range.size * (explore * weight)
select.h|above_low + range.size * (explore * weight)|range.size * (explore * weight) - above_low
select.h|above_low + range.size * (explore * weight)|above_low + explore * weight
select.h|*cm_view_q(view, i) - range.low|*cm_view_q(view, i) + range.low
select.h|q == q ? q - range.low : 0.0f|q == q ? q - range.low : range.size
select.h|if (score > most) most = score, best = a|if (score >= most) most = score, best = a
select.h|score == best.score && action < best.action|score == best.score && action > best.action
select.h|cm_affine_open(map) + explore * view->cold->open_prior|explore * view->cold->open_prior
select.h|open = cold->open_prior + cm_affine_open(map)|open = cold->open_prior - cm_affine_open(map)
select.h|scratch[i] * total - (float)view->visits[i] * part|scratch[i] * total + (float)view->visits[i] * part
select.h|part = 1.0f / (float)view->node->visits|part = 1.0f / (float)(view->node->visits + 1)
select.h|cm_sum(scratch, count) + open * cold->open_mass|cm_sum(scratch, count) + open
select.h|? *cm_view_q(view, a) : map.fill|? *cm_view_q(view, a) : map.shift
select.h|scratch[a] * total - *cm_view_weight(view, a) * part|scratch[a] * total + *cm_view_weight(view, a) * part
select.h|if (view->logit[a] > -FLT_MAX && score > best)|if (view->logit[a] > -FLT_MAX && score >= best)
select.h|cm_max(-1e9f, noise|cm_max(-1e30f, noise
select.h|is_considered && score > most|is_considered && score >= most
considered.h|k = half > 2 ? half : 2|k = half > 1 ? half : 1
considered.h|(1 << rounds) < m|(1 << rounds) <= m
considered.h|extra > 1 ? extra : 1|extra > 1 ? extra - 1 : 1
considered.h|m <= 1|m < 1
policy.h|logits[a] - most : -FLT_MAX|logits[a] + most : -FLT_MAX
policy.h|(1.0f - fraction) * p + fraction * *noise|fraction * p + (1.0f - fraction) * *noise
policy.h|(probs[a] - most) / divisor|(probs[a] - most) * divisor
policy.h|is_there = weights[a] > 0.0f|is_there = weights[a] >= 0.0f
policy.h|1.0f / (float)n|0.0f
numeric.h|n * -2.12194440e-4f|n * 2.12194440e-4f
numeric.h|(float)(power - is_low)|(float)power
numeric.h|x < least ? 0.0f : y * power|y * power
numeric.h|x[i] > most|x[i] >= most
search.c|out->discount[row] = 1.0f|out->discount[row] = 0.0f
search.c|search->kept[b] > 0 ? search->kept[b] : 1|search->kept[b] > 0 ? search->kept[b] : 2
policy.h|g + (logit - most)|g - (logit - most)
policy.h|share * *noise|*noise
begin.h|tree->root_valid[b] += logits[a] > -FLT_MAX|tree->root_valid[b] += 1
result.c|logits[a] + value : -FLT_MAX|logits[a] - value : -FLT_MAX
result.c|cm_rng_categorical(&rng, playable, n)|cm_argmax(playable, n)
reuse.c|view.cold->depth -= 1|view.cold->depth -= 0
reuse.c|view.node->parent_edge = map[slot] == CM_ROOT ? 0 : renumber_edge(tree, view.node->parent_edge, map)|(void)0
reuse.c|*cm_view_weight(root, at) = cm_backup_weight(tree, child)|*cm_view_weight(root, at) = child->prior
batched_backup.inc|wf next = reward + discount * g|wf next = reward - discount * g
batched_backup.inc|wf next = reward + discount * g|wf next = reward + g
batched_backup.inc|simd_store(up, 0, reward + discount * value,|simd_store(up, 0, reward - discount * value,
batched_backup.inc|wf weight = prior * share|wf weight = prior
batched_backup.inc|value = a.x[0] + (g - a.x[0])|value = a.x[0] - (g - a.x[0])
batched_backup.inc|visits = wi_add(wi_bits(a.x[1]), wi_set(1))|visits = wi_add(wi_bits(a.x[1]), wi_set(2))
batched_backup.inc|one / wf_of(wi_add(visits, wi_set(1)))|one / wf_of(visits)
batched_backup.inc|share, h->is_gumbel ? a.x[3] : wf_lookup(h->explore, visits)|share, h->is_gumbel ? a.x[3] : wf_lookup(tree->explore, visits)
batched_backup.inc|wf_save(g, reward + discount * value)|wf_save(g, reward - discount * value)
batched_backup.inc|if (h->max_depth == INT32_MAX) return wi_set(1);|if (h->max_depth == INT32_MAX) return wi_set(2);
batched_backup.inc|visits[i] = 1 + (|visits[i] = (
batched_backup.inc|if (h->max_depth == INT32_MAX)|if (h->max_depth > 0)
batched_backup.inc|leaf->depth + 1 < h->max_depth|leaf->depth < h->max_depth
batched_backup.inc|weight = wf_of(visits)|weight = wf_of(wi_add(visits, wi_set(1)))
batched_backup.inc|first = h->is_gumbel ? logit : prior|first = prior
batched_backup.inc|entry->prior * node->share|entry->prior
batched_backup.inc|float g = reward + discount * value;|float g = reward - discount * value;
batched_backup.inc|leaf->edge};|leaf->edge + 1};
batched_backup.inc|cold->depth = leaf->depth + 1|cold->depth = leaf->depth
batched_backup.inc|.depth = leaf->depth + 1}|.depth = leaf->depth}
batched_select.inc|wf y = q - s.low|wf y = q + s.low
batched_select.inc|y)) + s.size * (explore * weight)|y)) - s.size * (explore * weight)
batched_select.inc|wf_min(q[i], i ? wf_set(INFINITY) : value)|wf_min(q[i], wf_set(INFINITY))
batched_select.inc|wf_max(q[i], i ? wf_set(-INFINITY) : value)|wf_max(q[i], wf_set(-INFINITY))
batched_select.inc|for (int i = n - 1; i >= 0; i--) {|for (int i = 0; i < n; i++) {
batched_select.inc|~wm_bits(wi_equal(times, wi_set(1)))|0
batched_select.inc|(counts < 8) & (left == 0)|(counts < 16) & (left == 0)
batched_select.inc|list_count(p[i]) > 7|list_count(p[i]) > 8
batched_select.inc|counts < 4|counts < 8
batched_backup.inc|i < 8 && i < h->capacity|i < 7 && i < h->capacity
batched_backup.inc|*cm_view_weight(view, at + 1) = view->cold->open_prior;|
batched_select.inc|((x[0] + x[4]) + (x[2] + x[6]))|((x[0] + x[2]) + (x[4] + x[6]))
batched_select.inc|(x[0] + x[2]) + (x[1] + x[3])|(x[0] + x[1]) + (x[2] + x[3])
batched_select.inc|tree->max_depth == INT32_MAX|tree->max_depth > 0
batched_select.inc|total = wf_of(wi_add(visits, wi_set(-1)))|total = wf_of(visits)
batched_select.inc|fill = (raw + total * mean)|fill = (raw - total * mean)
batched_select.inc|wf_max(entry.x[3], wf_set(FLT_MIN))|entry.x[3]
batched_select.inc|if (params->use_mixed_value)|if (true)
batched_select.inc|if (params->rescale_values)|if (true)
batched_select.inc|if (a >= h->num_actions) e->value[a] = e->value[0];|
batched_select.inc|e->value[a], fill)|e->value[a], raw)
batched_select.inc|wf_set(params->maxvisit_init) + most_of|wf_set(params->maxvisit_init) - most_of
batched_select.inc|(e->value[a] - low) * factor|(e->value[a] + low) * factor
batched_select.inc|x[a] * total - e->visits[a] * share|x[a] * total + e->visits[a] * share
batched_select.inc|x[a] * total - e->visits[a] * share|x[a] * total - e->visits[a] * total
batched_select.inc|wf_above(e->logit[a], wf_set(-FLT_MAX)), score[a]|wf_above(e->logit[a], wf_set(-INFINITY)), x[a]
batched_select.inc|(valid < most ? valid : most)|most
batched_select.inc|simulation = wi_least(wi_add(visits, wi_set(-1))|simulation = wi_least(visits
batched_select.inc|fits = wm_and(wf_equal(e->visits[a], considered), |fits = (
batched_select.inc|wf_max(score[a] + e->value[a]|wf_max(score[a] - e->value[a]
lanes_avx2.inc|v8_max(_mm256_max_ps(x, v8_set(bound)))|v8_max(x)
lanes_avx2.inc|action[other] < action[best]|action[other] > action[best]
lanes_avx2.inc|cold->open_action < action[entry]|cold->open_action > action[entry]
lanes_avx2.inc|candidate < lowest|candidate > lowest
lanes_avx2.inc|equal &= ~(one << (without - from))|(void)one
lanes_avx2.inc|from += 64|from += 128
lanes_avx2.inc|few ? __builtin_ctzll(first)|few ? 62 - __builtin_clzll(first << 1)
lanes_avx2.inc|_mm256_movemask_ps(same) << a|_mm256_movemask_ps(same)
lanes_avx2.inc|view->visits[at] = visits;|view->visits[at] = visits + 1;
lanes_avx2.inc|(float)(view->node->visits - 1)|(float)view->node->visits
END
}

# Compiles what has not been compiled yet, and what depends on one of the files given. Of the tests only test_formulas calls
# what stands in headers itself.
build() {
    local source object kind changed touched
    # shellcheck disable=SC2046  # names of tests have no spaces
    for source in "$WORK"/src/mcts/*.c $(printf 'tests/%s.c ' "${TESTS[@]}"); do
        kind=mcts
        [[ $source == tests/* ]] && kind=tests
        object=$(basename "$source" .c)
        [[ $kind == tests ]] && object=${source:6:-2}
        object=$WORK/$kind/$object
        changed=
        for touched in "$@"; do
            if [[ $kind == tests && $source != *formulas* ]]; then continue; fi
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
        # shellcheck disable=SC2086  # objects and libraries are lists
        "$CC" "$WORK/tests/$test.o" "$WORK"/mcts/*.o $OBJECTS $LIBS -o "$WORK/test" || exit 2
        timeout 100 "$WORK/test" >/dev/null 2>&1 || return 0
    done
    return 1
}

restore() {
    mkdir -p "$WORK/src/mcts" "$WORK/mcts" "$WORK"/tests/{mcts,cases}
    cp src/mcts/*.c src/mcts/*.h src/mcts/*.inc "$WORK/src/mcts/"
}

# shellcheck disable=SC2016  # the words in backquotes are text
run_mutants "${1:-}" "${BUILD:-build}/mutants.md" '# Mutants of the tree search

What `make mutants` writes: each line is one change of a sign, a bound or a count in src/mcts/, in the scalar code and in its
vector versions, and the first test of tests/mcts/ that fails with it. KILLED are killed, SURVIVED survive.'
