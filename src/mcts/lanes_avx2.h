/* The parts of a step with vectors of eight floats (AVX2), bit for bit those of lanes_scalar.h. Included by step_avx2.c
 * before step_impl.h. */
#include <immintrin.h>

#include "mcts/rules.h"

typedef __m256 v8;
typedef __m256i v8i;

static inline v8 v8_set(float x) { return _mm256_set1_ps(x); }
static inline v8i v8i_lanes(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
/* All ones in the lanes below n. */
static inline v8 v8_below(int n) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), v8i_lanes())); }
static inline v8 v8_choose(v8 mask, v8 yes, v8 no) { return _mm256_blendv_ps(no, yes, mask); }

static inline float s_max(float a, float b) { return _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(b), _mm_set_ss(a))); }
static inline float s_min(float a, float b) { return _mm_cvtss_f32(_mm_min_ss(_mm_set_ss(b), _mm_set_ss(a))); }
static inline float v4_max(__m128 x) {
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
static inline float v4_min(__m128 x) {
    x = _mm_min_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_min_ss(x, _mm_movehdup_ps(x)));
}
static inline float v4_sum(__m128 x) { /* the order of cm_sum */
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline float v8_max(v8 x) { return v4_max(_mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))); }
static inline float v8_min(v8 x) { return v4_min(_mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))); }
static inline float v8_sum(v8 x) { return v4_sum(_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))); }

/* cm_exp in every lane. */
static inline v8 v8_exp(v8 x) {
    const v8 low = v8_set(-87.0f), magic = v8_set(12582912.0f);
    v8 under = _mm256_cmp_ps(x, low, _CMP_LT_OQ), clamped = v8_choose(under, low, x);
    v8 shifted = _mm256_add_ps(_mm256_mul_ps(clamped, v8_set(1.44269504088896341f)), magic);
    v8 n = _mm256_sub_ps(shifted, magic);
    v8 r = _mm256_sub_ps(clamped, _mm256_mul_ps(n, v8_set(0.693359375f)));
    r = _mm256_sub_ps(r, _mm256_mul_ps(n, v8_set(-2.12194440e-4f)));
    v8 y = v8_set(1.9875691500e-4f);
    y = _mm256_add_ps(_mm256_mul_ps(y, r), v8_set(1.3981999507e-3f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), v8_set(8.3334519073e-3f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), v8_set(4.1665795894e-2f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), v8_set(1.6666665459e-1f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), v8_set(5.0000001201e-1f));
    y = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(y, _mm256_mul_ps(r, r)), r), v8_set(1.0f));
    v8i power = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(0x4B400000 - 127));
    return _mm256_andnot_ps(under, _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(power, 23))));
}

/* Eight of the logits [n] from a on; -inf past the end. */
static inline v8 v8_load_logits(const float *logits, int a, int n) {
    if (a + 8 <= n) return _mm256_loadu_ps(logits + a);
    v8 mask = v8_below(n - a);
    return v8_choose(mask, _mm256_maskload_ps(logits + a, _mm256_castps_si256(mask)), v8_set(-INFINITY));
}

static inline float lanes_write_open(float *open, int columns, const float *logits, int width, bool priors,
                                     cm_scale *scale) {
    const v8 least = v8_set(-FLT_MAX), nothing = v8_set(-INFINITY);
    v8 most = nothing, sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int a = 0; a < width; a += 8) most = _mm256_max_ps(v8_load_logits(logits, a, width), most);
    float top = v8_max(most);
    for (int a = 0; a < width; a += 8) {
        v8 x = v8_load_logits(logits, a, width), y = v8_exp(_mm256_sub_ps(x, v8_set(top)));
        y = _mm256_and_ps(v8_below(width - a), y);
        sums[a / 8 % 2] = _mm256_add_ps(sums[a / 8 % 2], y);
        _mm256_storeu_ps(open + a, priors ? y : x);
    }
    float sum = v8_sum(_mm256_add_ps(sums[0], sums[1])), factor = 1.0f / sum;
    *scale = (cm_scale){top, factor};
    for (int a = 0; a < columns; a += 8) {
        v8 x = v8_load_logits(logits, a, width), there = _mm256_cmp_ps(x, least, _CMP_GT_OQ);
        v8 y = priors ? _mm256_mul_ps(_mm256_loadu_ps(open + a), v8_set(factor)) : x;
        _mm256_storeu_ps(open + a, v8_choose(there, y, nothing));
    }
    return sum;
}

static inline void lanes_best_open(cm_node *node, const float *open, int columns) {
    v8 most = _mm256_loadu_ps(open);
    for (int a = 8; a < columns; a += 8) most = _mm256_max_ps(_mm256_loadu_ps(open + a), most);
    float best = v8_max(most);
    int at = 0, equal = 0;
    for (int a = 0; a < columns && !equal; a += 8) {
        equal = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(open + a), v8_set(best), _CMP_EQ_OQ));
        at = a;
    }
    node->open_prior = best;
    node->open_action = best == -INFINITY ? CM_NONE : at + __builtin_ctz((unsigned)equal | 256u);
}

static inline float lanes_open_mass(const float *open, int columns, float top, float *scratch) {
    (void)scratch;
    v8 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int a = 0; a < columns; a += 8) {
        v8 y = v8_exp(_mm256_sub_ps(_mm256_loadu_ps(open + a), v8_set(top)));
        sums[a / 8 % 2] = _mm256_add_ps(sums[a / 8 % 2], y);
    }
    return v8_sum(_mm256_add_ps(sums[0], sums[1]));
}

/* The child with the best score among the lanes of `equal`; of several the lowest action. */
static inline int lanes_lowest_action(const int32_t *action, unsigned equal) {
    int best = __builtin_ctz(equal | 256u) & 7; /* 0 if nothing compares (numbers that are not finite) */
    for (equal &= equal - 1; __builtin_expect(equal != 0, 0); equal &= equal - 1) {
        int other = __builtin_ctz(equal);
        if (action[other] < action[best]) best = other;
    }
    return best;
}

/* The winner of child `entry` and the best open action. */
static inline cm_choice lanes_winner(const cm_node *node, const int32_t *action, int entry, float score,
                                     float open_score) {
    int32_t child_action = action[entry];
    int32_t open_action = node->open_action; /* all comparisons are made: branches would be taken at random */
    int open = (open_action >= 0) & ((open_score > score) | ((open_score == score) & (open_action < child_action)));
    cm_choice choice = {score, child_action ^ ((child_action ^ open_action) & -open), entry | -open};
    return choice;
}

/* The searches that matter take plain_avx2.h instead. */
static inline cm_choice lanes_puct(const cm_tree *tree, const cm_node *node, cm_edges edges, int at, float q,
                                   float weight) {
    edges.q[at] = q;
    edges.weight[at] = weight;
    return cm_select_puct(node, edges, cm_rules_map(tree, node, edges), tree->explore[node->visits]);
}

/* cm_mixed_value of up to eight children. */
static inline float lanes_mixed(const cm_node *node, v8 used, v8 q, v8 prior) {
    v8 weight = _mm256_and_ps(used, _mm256_max_ps(prior, v8_set(FLT_MIN)));
    float mean = v8_sum(_mm256_mul_ps(weight, q)) / v8_sum(weight), total = (float)(node->visits - 1);
    return (node->raw_value + total * mean) / (total + 1.0f);
}

/* Gumbel below the root, completed by the mixed value, with up to eight children. */
static inline cm_choice lanes_gumbel_8(const cm_tree *tree, const cm_node *node, cm_edges edges, int at, float new_q,
                                       int32_t new_visits) {
    const cm_qtransform *params = &tree->params.qtransform;
    v8 used = v8_below(node->count);
    v8i lane = _mm256_cmpeq_epi32(_mm256_set1_epi32(at), v8i_lanes());
    v8 q = v8_choose(_mm256_castsi256_ps(lane), v8_set(new_q), _mm256_loadu_ps(edges.q));
    v8i visits = _mm256_blendv_epi8(_mm256_loadu_si256((const __m256i *)(const void *)edges.visits),
                                    _mm256_set1_epi32(new_visits), lane);
    edges.q[at] = new_q;
    edges.visits[at] = new_visits;
    q = _mm256_and_ps(used, q);
    visits = _mm256_and_si256(_mm256_castps_si256(used), visits);
    float fill = node->raw_value;
    if (params->use_mixed_value) fill = lanes_mixed(node, used, q, _mm256_and_ps(used, _mm256_loadu_ps(edges.prior)));
    v8 bounded = v8_choose(used, q, v8_set(node->count < tree->num_actions ? fill : _mm256_cvtss_f32(q)));
    v8 counts = _mm256_cvtepi32_ps(visits);
    float low = v8_min(bounded), factor = (params->maxvisit_init + v8_max(counts)) * params->value_scale;
    if (params->rescale_values) factor = factor / s_max(v8_max(bounded) - low, params->epsilon);
    cm_affine map = {fill, params->rescale_values ? low : 0.0f, factor};
    v8 x = _mm256_mul_ps(_mm256_sub_ps(q, v8_set(map.shift)), v8_set(map.factor));
    x = _mm256_add_ps(v8_choose(used, _mm256_loadu_ps(edges.weight), v8_set(-INFINITY)), x);
    float open = node->open_prior + cm_affine_open(map), most = s_max(-FLT_MAX, v8_max(x));
    if (node->open_action != CM_NONE) most = s_max(most, open);
    v8 y = v8_exp(_mm256_sub_ps(x, v8_set(most)));
    open = node->open_action != CM_NONE ? cm_exp(open - most) : 0.0f;
    float total = 1.0f / (v8_sum(y) + open * node->open_mass), part = 1.0f / (float)node->visits;
    v8 score = _mm256_sub_ps(_mm256_mul_ps(y, v8_set(total)), _mm256_mul_ps(counts, v8_set(part)));
    score = v8_choose(used, score, v8_set(-INFINITY));
    float best = v8_max(score);
    unsigned equal = (unsigned)_mm256_movemask_ps(_mm256_and_ps(used, _mm256_cmp_ps(score, v8_set(best), _CMP_EQ_OQ)));
    return lanes_winner(node, edges.action, lanes_lowest_action(edges.action, equal), best, open * total);
}

static inline cm_choice lanes_gumbel(const cm_tree *tree, const cm_node *node, cm_edges edges, int at, float q,
                                     int32_t visits) {
    bool is_completed = tree->params.qtransform.kind == CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    if (is_completed && node->count <= 8) return lanes_gumbel_8(tree, node, edges, at, q, visits);
    edges.q[at] = q;
    edges.visits[at] = visits;
    return cm_select_gumbel_interior(node, edges, cm_rules_map(tree, node, edges), node->open_mass, tree->scratch);
}

/* cm_select_gumbel_root. */
static inline int lanes_root_gumbel(const float *noise, const float *logits, const int32_t *visits, const float *q,
                                    int n, cm_affine map, int32_t considered) {
    const v8 nothing = v8_set(-INFINITY), open = v8_set(cm_affine_open(map));
    v8 best = nothing;
    v8i index = _mm256_setzero_si256(), at = v8i_lanes();
    for (int a = 0; a < n; a += 8, at = _mm256_add_epi32(at, _mm256_set1_epi32(8))) {
        v8i inside = _mm256_castps_si256(v8_below(n - a)), times = _mm256_maskload_epi32(visits + a, inside);
        v8 value =
            _mm256_mul_ps(_mm256_sub_ps(_mm256_maskload_ps(q + a, inside), v8_set(map.shift)), v8_set(map.factor));
        v8 visited = _mm256_castsi256_ps(_mm256_cmpgt_epi32(times, _mm256_setzero_si256()));
        v8 score = _mm256_add_ps(_mm256_maskload_ps(noise + a, inside), v8_choose(visited, value, open));
        v8 is_considered = _mm256_castsi256_ps(_mm256_cmpeq_epi32(times, _mm256_set1_epi32(considered)));
        v8 is_there = _mm256_cmp_ps(_mm256_maskload_ps(logits + a, inside), v8_set(-FLT_MAX), _CMP_GT_OQ);
        v8 fits = _mm256_and_ps(_mm256_and_ps(is_considered, is_there), _mm256_castsi256_ps(inside));
        score = v8_choose(fits, _mm256_max_ps(score, v8_set(-1e9f)), nothing);
        v8 better = _mm256_cmp_ps(score, best, _CMP_GT_OQ);
        best = v8_choose(better, score, best);
        index = _mm256_blendv_epi8(index, at, _mm256_castps_si256(better));
    }
    float most = v8_max(best);
    unsigned equal = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(best, v8_set(most), _CMP_EQ_OQ));
    int32_t indices[8];
    _mm256_storeu_si256((__m256i *)(void *)indices, index);
    int lowest = n - 1;
    for (; equal; equal &= equal - 1) {
        int candidate = indices[__builtin_ctz(equal)];
        lowest = candidate < lowest ? candidate : lowest;
    }
    return most > -INFINITY ? lowest : 0;
}
