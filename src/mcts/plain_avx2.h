/* Growth of the most used trees (PUCT at every node, values scaled by min-max or by parent and siblings, no chance
 * nodes), without branches that depend on numbers. Same bits as the code of step_impl.h, behind which it is included.
 */

#define PLAIN_INLINE static inline __attribute__((always_inline))

typedef struct plain { /* constants of a call, by value so that the compiler may keep them in registers */
    unsigned char *nodes;
    size_t node_bytes, tree_bytes;
    int capacity, columns, max_depth;
    bool is_limited; /* max_depth can end a walk */
    bool by_siblings;
    const float *explore, *reciprocal;
    float *scratch;
    __m128 epsilon;
    __m128 shift, factor; /* the transform, unless by siblings */
} plain;

static inline bool is_plain(const cm_tree *tree) {
    const cm_search_params *params = &tree->params;
    bool puct = params->root_rule == CM_RULE_PUCT && params->interior_rule == CM_RULE_PUCT;
    return puct && tree->num_chance == 0 && params->qtransform.kind != CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
}

static inline plain plain_of(const cm_tree *tree) {
    const cm_qtransform *q = &tree->params.qtransform;
    cm_affine fixed = cm_qtransform_min_max(q);
    plain h = {
        .nodes = tree->nodes,
        .node_bytes = tree->node_bytes,
        .tree_bytes = tree->node_bytes * (size_t)tree->slots,
        .capacity = tree->capacity,
        .columns = tree->columns,
        .max_depth = tree->max_depth,
        .is_limited = tree->max_depth != INT32_MAX,
        .by_siblings = q->kind == CM_QTRANSFORM_PARENT_AND_SIBLINGS,
        .explore = tree->explore,
        .reciprocal = tree->reciprocal,
        .scratch = tree->scratch,
        .epsilon = _mm_set1_ps(q->epsilon),
        .shift = _mm_set1_ps(fixed.shift),
        .factor = _mm_set1_ps(fixed.factor),
    };
    return h;
}

/* Minimum and maximum of four lanes, in every lane. */
static inline __m128 v4_least(__m128 x) {
    x = _mm_min_ps(x, _mm_shuffle_ps(x, x, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm_min_ps(x, _mm_shuffle_ps(x, x, _MM_SHUFFLE(2, 3, 0, 1)));
}
static inline __m128 v4_most(__m128 x) {
    x = _mm_max_ps(x, _mm_shuffle_ps(x, x, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm_max_ps(x, _mm_shuffle_ps(x, x, _MM_SHUFFLE(2, 3, 0, 1)));
}
static inline __m128 v8_low(v8 x) { return _mm256_castps256_ps128(x); }
static inline __m128 v8_high(v8 x) { return _mm256_extractf128_ps(x, 1); }
static inline v8 v8_twice(__m128 x) { return _mm256_set_m128(x, x); }

/* What a node has now; entry `at` of its children has changed. */
typedef struct fresh {
    int at;
    float q, weight; /* of that entry                        */
    __m128 value;    /* of the node, in every lane           */
    __m128 explore;  /* of the node's visits, in every lane  */
} fresh;

/* The best score, in every lane, and a bit for each child that has it. */
typedef struct score {
    __m128 best;
    unsigned equal;
} score;

/* Shift and factor of the transform from the bounds of the children's values. */
static inline void plain_map(const plain *h, __m128 low, __m128 high, __m128 value, __m128 *shift, __m128 *factor) {
    *shift = h->shift;
    *factor = h->factor;
    if (!h->by_siblings) return;
    *shift = _mm_min_ps(low, value);
    __m128 range = _mm_sub_ps(_mm_max_ps(high, value), *shift);
    *factor = _mm_div_ps(_mm_set1_ps(1.0f), _mm_max_ps(range, h->epsilon));
}

/* The scores of up to four children. Rows are loaded before the new numbers are stored: a vector load that meets a
 * store of one lane would wait for it. Lanes behind the last child have the weight -inf; its sign marks them. */
PLAIN_INLINE score plain_score_4(const plain *h, float *q_row, fresh x) {
    __m128 lane = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_set1_epi32(x.at), _mm_setr_epi32(0, 1, 2, 3))), shift, factor;
    __m128 q = _mm_blendv_ps(_mm_loadu_ps(q_row), _mm_set1_ps(x.q), lane);
    __m128 weight = _mm_blendv_ps(_mm_loadu_ps(q_row + 4), _mm_set1_ps(x.weight), lane);
    q_row[x.at] = x.q;
    q_row[4 + x.at] = x.weight;
    q = _mm_blendv_ps(q, x.value, weight);
    plain_map(h, v4_least(q), v4_most(q), x.value, &shift, &factor);
    __m128 y = _mm_add_ps(_mm_mul_ps(_mm_sub_ps(q, shift), factor), _mm_mul_ps(x.explore, weight)), best = v4_most(y);
    return (score){best, (unsigned)_mm_movemask_ps(_mm_cmpeq_ps(y, best))};
}

/* The same for up to eight. */
PLAIN_INLINE score plain_score_8(const plain *h, float *q_row, float *weight_row, fresh x) {
    v8 lane = _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_set1_epi32(x.at), v8i_lanes()));
    v8 q = v8_choose(lane, v8_set(x.q), _mm256_loadu_ps(q_row));
    v8 weight = v8_choose(lane, v8_set(x.weight), _mm256_loadu_ps(weight_row));
    __m128 shift, factor;
    q_row[x.at] = x.q;
    weight_row[x.at] = x.weight;
    q = v8_choose(weight, v8_twice(x.value), q);
    __m128 low = v4_least(_mm_min_ps(v8_low(q), v8_high(q))), high = v4_most(_mm_max_ps(v8_low(q), v8_high(q)));
    plain_map(h, low, high, x.value, &shift, &factor);
    v8 y = _mm256_mul_ps(_mm256_sub_ps(q, v8_twice(shift)), v8_twice(factor));
    y = _mm256_add_ps(y, _mm256_mul_ps(v8_twice(x.explore), weight));
    __m128 best = v4_most(_mm_max_ps(v8_low(y), v8_high(y)));
    return (score){best, (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(y, v8_twice(best), _CMP_EQ_OQ))};
}

/* Any number of children: the entry with the best score, of several the one with the lowest action. */
static int plain_many(const plain *h, float *q_row, float *weight_row, const int32_t *action, int count, fresh x,
                      __m128 *best) {
    q_row[x.at] = x.q;
    weight_row[x.at] = x.weight;
    v8 value = v8_twice(x.value), low = value, high = value, most = v8_set(-INFINITY);
    for (int i = 0; i < count; i += 8) {
        v8 q = v8_choose(_mm256_loadu_ps(weight_row + i), value, _mm256_loadu_ps(q_row + i));
        low = _mm256_min_ps(q, low);
        high = _mm256_max_ps(q, high);
    }
    __m128 shift, factor;
    low = _mm256_min_ps(low, _mm256_permute2f128_ps(low, low, 1));
    high = _mm256_max_ps(high, _mm256_permute2f128_ps(high, high, 1));
    plain_map(h, v4_least(v8_low(low)), v4_most(v8_low(high)), x.value, &shift, &factor);
    for (int i = 0; i < count; i += 8) {
        v8 weight = _mm256_loadu_ps(weight_row + i), q = v8_choose(weight, value, _mm256_loadu_ps(q_row + i));
        v8 y = _mm256_mul_ps(_mm256_sub_ps(q, v8_twice(shift)), v8_twice(factor));
        y = _mm256_add_ps(y, _mm256_mul_ps(v8_twice(x.explore), weight));
        _mm256_storeu_ps(h->scratch + i, y);
        most = _mm256_max_ps(y, most);
    }
    *best = v4_most(_mm_max_ps(v8_low(most), v8_high(most)));
    int entry = 0;
    int32_t lowest = INT32_MAX;
    for (int i = 0; i < count; i += 8) {
        v8 same = _mm256_cmp_ps(_mm256_loadu_ps(h->scratch + i), v8_twice(*best), _CMP_EQ_OQ);
        for (unsigned equal = (unsigned)_mm256_movemask_ps(same); equal; equal &= equal - 1) {
            int at = i + __builtin_ctz(equal);
            if (at < count && action[at] < lowest) entry = at, lowest = action[at];
        }
    }
    return entry;
}

/* The child to select; *best is its score, in every lane. */
PLAIN_INLINE int plain_select(const plain *h, float *rows, int count, fresh x, __m128 *best) {
    size_t n = (size_t)h->capacity;
    const int32_t *action = (const int32_t *)(void *)(rows + 3 * n);
    if (__builtin_expect(count > 8, 0)) return plain_many(h, rows, rows + n, action, count, x, best);
    score found = n == 4 ? plain_score_4(h, rows, x) : plain_score_8(h, rows, rows + n, x);
    int entry = __builtin_ctz(found.equal | 1u << 31);
    if (__builtin_expect((found.equal & (found.equal - 1)) != 0, 0)) entry = lanes_lowest_action(action, found.equal);
    *best = found.best;
    return entry < count ? entry : 0; /* only with numbers that are not finite */
}

/* The backup at a node that was passed on the way to `child`, and its next selection; pass_node of step_impl.h. */
PLAIN_INLINE float plain_pass(const plain *h, unsigned char *tree, cm_node *node, const cm_node *child, float g) {
    float *rows = (float *)(void *)(node + 1);
    size_t n = (size_t)h->capacity;
    const int32_t *children = (int32_t *)(void *)(rows + 2 * n), *action = (int32_t *)(void *)(rows + 3 * n);
    int32_t visits = node->visits + 1, count = node->count;
    float before = (float)node->visits;
    g = child->reward + child->discount * g;
    float value = (node->value * before + g) / (before + 1.0f);
    node->visits = visits;
    node->value = value;
    fresh x = {node->next, cm_backup_q(child), 0.0f, _mm_set1_ps(value), _mm_set1_ps(h->explore[visits])};
    x.weight = rows[4 * n + (size_t)x.at] * h->reciprocal[child->visits + 1];
    __m128 best;
    int entry = plain_select(h, rows, count, x, &best);
    __m128 open = _mm_mul_ss(x.explore, _mm_load_ss(&node->open_prior));
    int is_open = _mm_comigt_ss(open, best);
    if (__builtin_expect(_mm_comieq_ss(open, best), 0)) {
        is_open = node->open_action != CM_NONE && node->open_action < action[entry];
    }
    /* Both ends of the walk are computed and one is taken: which it is cannot be predicted. */
    const cm_node *below = (const cm_node *)(void *)(tree + (size_t)children[entry] * h->node_bytes);
    if (h->is_limited) is_open |= (node->depth + 1 == h->max_depth) << 1;
    const int32_t *leaf = is_open ? &node->slot : &below->leaf;
    node->next = entry | -(is_open & 1);
    node->leaf = *leaf;
    return g;
}

/* The open row of a new node, one vector. False if a logit is not finite. */
PLAIN_INLINE bool plain_open_8(cm_node *node, float *open, const float *logits, int width) {
    v8 x = v8_load_logits(logits, 0, width), nothing = v8_set(-INFINITY);
    __m128 top = v4_most(_mm_max_ps(v8_low(x), v8_high(x)));
    v8 y = v8_exp(_mm256_sub_ps(x, v8_twice(top)));
    float sum = v8_sum(y);
    y = _mm256_mul_ps(y, v8_set(1.0f / sum));
    y = v8_choose(_mm256_cmp_ps(x, v8_set(-FLT_MAX), _CMP_GT_OQ), y, nothing);
    __m128 best = v4_most(_mm_max_ps(v8_low(y), v8_high(y)));
    unsigned equal = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(y, v8_twice(best), _CMP_EQ_OQ));
    int action = __builtin_ctz(equal | 256u);
    _mm256_storeu_ps(open, y);
    node->open_prior = _mm_cvtss_f32(best);
    node->open_action = node->open_prior == -INFINITY ? CM_NONE : action;
    return sum >= 1.0f;
}

/* write_leaf of step_impl.h. */
PLAIN_INLINE bool plain_leaf(cm_tree *tree, const plain *h, cm_node *node, cm_node *parent, int b, cm_leaf leaf,
                             const cm_growth *rows, int row) {
    float *list = (float *)(void *)(node + 1);
    size_t n = (size_t)h->capacity;
    float value = rows->value[row], reward = rows->reward[row], discount = rows->discount[row];
    const float *logits = rows->prior_logits + (size_t)row * (size_t)rows->width;
    bool is_new = parent->next == CM_NONE, finite;
    *node = (cm_node){is_new ? 1 : node->visits + 1,
                      value,
                      reward,
                      discount,
                      leaf.parent,
                      leaf.action,
                      parent->depth + 1,
                      leaf.child,
                      CM_NONE,
                      0,
                      0,
                      0,
                      0.0f,
                      0.0f,
                      value,
                      leaf.child};
    tree->is_used[cm_tree_index(tree, b, leaf.child)] = 1;
    if (h->columns == 8) {
        finite = plain_open_8(node, list + 6 * n, logits, rows->width);
    } else {
        cm_scale scale;
        finite = lanes_write_open(list + 6 * n, h->columns, logits, rows->width, true, &scale) >= 1.0f;
        lanes_best_open(node, list + 6 * n, h->columns);
    }
    node->next_open = node->open_action == CM_NONE ? 0 : node->open_action;
    if (is_new) add_child(tree, 0, parent, leaf.action, leaf.child, true);
    return finite && isfinite(value) && isfinite(reward) && isfinite(discount);
}

PLAIN_INLINE bool plain_grow_root(cm_tree *tree, const plain *h, int b, cm_leaf leaf, const cm_growth *rows, int row) {
    unsigned char *nodes = h->nodes + (size_t)b * h->tree_bytes;
    cm_node *node = (cm_node *)(void *)(nodes + (size_t)leaf.child * h->node_bytes);
    cm_node *parent = (cm_node *)(void *)(nodes + (size_t)leaf.parent * h->node_bytes);
    bool finite = plain_leaf(tree, h, node, parent, b, leaf, rows, row);
    const cm_node *child = node, *last = child;
    float g = child->value;
    for (int level = parent->depth; level >= 0; level--) {
        g = plain_pass(h, nodes, parent, child, g);
        last = child;
        child = parent;
        parent = (cm_node *)(void *)(nodes + (size_t)parent->parent * h->node_bytes);
    }
    write_root(tree, b, last);
    return finite && isfinite(g);
}

PLAIN_INLINE int plain_grow(cm_tree *tree, const cm_growth *rows, const plain h) {
    int bad = CM_NONE;
    for (int row = 0; row < rows->n; row++) {
        int b = rows->order[row];
        if (!plain_grow_root(tree, &h, b, rows->leaf[b], rows, row)) bad = b;
    }
    return bad;
}

/* The usual sizes are known to the compiler. */
static int avx2_grow(cm_tree *tree, const cm_growth *rows) {
    if (!is_plain(tree)) return step_grow(tree, rows);
    plain h = plain_of(tree);
    if (h.is_limited || !h.by_siblings) return plain_grow(tree, rows, h);
    h.is_limited = false;
    h.by_siblings = true;
    if (h.capacity == 4 && h.columns == 8) {
        h.capacity = 4, h.columns = 8;
        return plain_grow(tree, rows, h);
    }
    if (h.capacity == 8 && h.columns == 8) {
        h.capacity = 8, h.columns = 8;
        return plain_grow(tree, rows, h);
    }
    return plain_grow(tree, rows, h);
}
