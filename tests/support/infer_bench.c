#include "support/infer_bench.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "network/sampled.h"

/* ---- networks ---- */

static cm_support scalar = {0.0f, 0.0f, 1, true}, atoms = {-5.0f, 5.0f, 21, true};

static cm_network_config plain(void) { return cm_test_mlp(6, 5, 32, 16, atoms); }

/* Nothing is a multiple of 4; heads are columns between others. */
static cm_network_config odd(void) {
    cm_network_config c = cm_test_mlp(3, 7, 37, 13, scalar);
    c.body = CM_BODY_GELU_LAYERNORM;
    c.minmax = false;
    c.encoding = CM_ENCODE_SCALED;
    c.residual_dynamics = true;
    c.trunk_layers = 2;
    return c;
}

/* Sums over more than one reading of a weight, layers of more outputs than the warps make at once. */
static cm_network_config wide(void) {
    cm_network_config c = cm_test_mlp(4, 2, 140, 50, atoms);
    c.norm = CM_NORM_NONE;
    c.minmax = false;
    return c;
}

static cm_network_config batch_norm(void) {
    cm_network_config c = cm_test_mlp(8, 4, 24, 8, atoms);
    c.norm = CM_NORM_BATCH;
    c.body = CM_BODY_GELU_LAYERNORM;
    c.trunk_layers = 1;
    return c;
}

static cm_network_config cumind(void) {
    cm_network_config c = cm_test_mlp(5, 3, 40, 0, atoms);
    c.family = CM_FAMILY_CUMIND;
    c.norm = CM_NORM_NONE;
    c.blocks = 2;
    return c;
}

static cm_network_config chance(void) {
    cm_network_config c = plain();
    c.model = CM_NETWORK_CHANCE;
    c.codes = INFER_CODES;
    return c;
}

static cm_network_config with_prefix(cm_network_config c) {
    c.prefix_horizon = 2, c.lstm = 11;
    return c;
}

static cm_network_config prefix(void) { return with_prefix(odd()); }
static cm_network_config prefix_chance(void) { return with_prefix(chance()); }

static cm_network_config prefix_nhwc(void) {
    cm_network_config c = with_prefix(plain());
    c.family = CM_FAMILY_RESNET, c.norm = CM_NORM_BATCH;
    c.observation_ndim = 3, c.observation[0] = 3, c.observation[1] = 2, c.observation[2] = 2;
    c.blocks = 1, c.channels = 8, c.head_channels = 3;
    return c;
}

static cm_network_config pictures(void) {
    cm_network_config c = prefix_nhwc();
    c.prefix_horizon = c.lstm = 0;
    c.observation[0] = 18, c.observation[1] = 16, c.downsample = true;
    return c;
}

static cm_network_config towers(void) {
    cm_network_config c = prefix_nhwc();
    c.prefix_horizon = c.lstm = 0;
    c.observation[1] = 4;
    c.blocks = 2, c.channels = 64;
    return c;
}

cm_network_config infer_network(int index) {
    static cm_network_config (*const networks[INFER_ALL])(void) = {[INFER_PLAIN] = plain,
                                                                   [INFER_ODD] = odd,
                                                                   [INFER_WIDE] = wide,
                                                                   [INFER_BATCH_NORM] = batch_norm,
                                                                   [INFER_CUMIND] = cumind,
                                                                   [INFER_CHANCE] = chance,
                                                                   [INFER_PREFIX] = prefix,
                                                                   [INFER_PREFIX_NHWC] = prefix_nhwc,
                                                                   [INFER_PREFIX_CHANCE] = prefix_chance,
                                                                   [INFER_PICTURES] = pictures,
                                                                   [INFER_TOWERS] = towers};
    return networks[index]();
}

/* ---- both sides ---- */

/* The network's weights on the backend's device. */
static void copy_weights(cm_mirror *mirror, const cm_device *device, const float *weights, size_t count) {
    ck_assert_int_eq(cm_mirror_create(mirror, device, (count + 1) * sizeof(float), "weights"), CM_OK);
    memcpy(mirror->host, weights, count * sizeof(float));
    ck_assert_int_eq(cm_mirror_push(mirror), CM_OK);
}

/* What lies between the parameters of a block is nothing that a kernel may use. */
static void fill_gaps(float *parameters, const cm_param_table *table) {
    size_t end = 0;
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->state) continue;
        for (; end < p->offset; end++) parameters[end] = NAN;
        end = p->offset + p->count;
    }
    for (; end < table->parameters; end++) parameters[end] = NAN;
}

void infer_bench_open(infer_bench *b, cm_backend *backend, cm_network_config config) {
    *b = (infer_bench){.backend = backend};
    cm_test_network_open(&b->network, &config, "ref", 3);
    const cm_param_table *table = cm_network_parameters(b->network.network);
    cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        for (size_t k = 0; !p->state && k < p->count; k++)
            b->network.parameters[p->offset + k] += 0.1f * cm_rng_normal(&rng);
    }
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        for (size_t k = 0; p->state && k < p->count; k++) b->network.state[p->offset + k] += cm_rng_uniform(&rng);
    }
    fill_gaps(b->network.parameters, table);
    copy_weights(&b->parameters, backend->device, b->network.parameters, table->parameters);
    copy_weights(&b->state, backend->device, b->network.state, table->states);
    ck_assert_int_eq(cm_stream_open(backend, &b->stream), CM_OK);
    ck_assert_int_eq(cm_stream_open(b->network.backend, &b->ref_stream), CM_OK);
}

void infer_bench_close(infer_bench *b) {
    cm_stream_close(b->stream);
    cm_stream_close(b->ref_stream);
    cm_mirror_destroy(&b->parameters);
    cm_mirror_destroy(&b->state);
    cm_test_network_close(&b->network);
}

cm_inference *infer_bench_make(infer_bench *b, bool on_ref, int rows, cm_dtype compute) {
    cm_inference *made;
    cm_network_use use = cm_test_network_use(&b->network, on_ref ? b->ref_stream : b->stream, rows);
    use.compute = compute;
    use.draws = b->draws;
    if (!on_ref) {
        use.parameters = (float *)(void *)b->parameters.block.base;
        use.state = (float *)(void *)b->state.block.base;
    }
    cm_status status = cm_inference_create(&use, rows * (INFER_STEPS + 2), &made);
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    return made;
}

/* States of the root lie in slots 0 .. rows - 1, those of a step after them. */
void infer_bench_fill(const infer_bench *b, cm_inference *inference, int step) {
    const cm_inference_arrays *a = cm_inference_get(inference);
    const cm_network_config *c = cm_network_get_config(b->network.network);
    const int rows = cm_inference_rows(inference);
    cm_rng rng = cm_rng_init(cm_key_make(2, CM_RNG_TEST, (uint64_t)step), 0);
    int width = 1;
    for (int i = 0; i < c->observation_ndim; i++) width *= c->observation[i];
    for (int i = 0; step == 0 && i < rows * width; i++) a->observation[i] = cm_rng_normal(&rng);
    for (int i = 0; b->draws > 0 && step == 0 && i < rows * c->actions; i++) a->root_legal[i] = i % 5 != 1;
    for (int i = 0; i < rows; i++) {
        const cm_key key = cm_key_make(4, CM_RNG_TEST, (uint64_t)i);
        if (b->draws > 0) cm_sampled_seed(cm_key_fold_in(key, 0), a->root_seed + 2 * i);
        a->root_slots[i] = rows - 1 - i;
        a->parent_slots[i] = step * rows + i;
        a->child_slots[i] = (step + 1) * rows + (i + 1) % rows;
        if (a->actions) a->actions[i] = (int32_t)cm_rng_below(&rng, (uint32_t)(b->draws > 0 ? b->draws : c->actions));
        for (int k = 0; a->codes && k < INFER_CODES; k++) a->codes[i * INFER_CODES + k] = k == i % INFER_CODES;
        if (!a->after_actions) continue;
        a->after_parent_slots[i] = a->parent_slots[i];
        a->after_child_slots[i] = a->child_slots[i];
        a->after_actions[i] = (int32_t)cm_rng_below(&rng, (uint32_t)c->actions);
    }
}

static void compare(const char *what, const float *got, const float *want, int rows, int columns, float tolerance) {
    float most = 1.0f;
    for (int i = 0; i < rows * columns; i++)
        if (want[i] > -FLT_MAX) most = fmaxf(most, fabsf(want[i]));
    for (int i = 0; i < rows * columns; i++)
        ck_assert_msg(fabsf(got[i] - want[i]) <= tolerance * most, "%s of row %d, column %d, is %g, ref has %g", what,
                      i / columns, i % columns, (double)got[i], (double)want[i]);
}

void infer_bench_compare(const infer_bench *b, const cm_inference *got, const cm_inference *want, float tolerance,
                         bool root) {
    const cm_inference_arrays *g = cm_inference_get(got), *w = cm_inference_get(want);
    const int rows = cm_inference_rows(got), all = cm_network_get_config(b->network.network)->actions;
    const int actions = b->draws > 0 ? b->draws : all;
    if (root) {
        if (b->draws > 0) compare("what is drawn", g->root_drawn, w->root_drawn, rows, b->draws + 2, 0.0f);
        compare("the root's policy", g->root_policy, w->root_policy, rows, actions, tolerance);
        compare("the root's value", g->root_value, w->root_value, rows, 1, tolerance);
        return;
    }
    compare("the policy", g->policy, w->policy, rows, actions, tolerance);
    compare("the value", g->value, w->value, rows, 1, tolerance);
    compare("the reward", g->reward, w->reward, rows, 1, tolerance);
    if (!g->after_codes) return;
    compare("the logits of codes", g->after_codes, w->after_codes, rows, INFER_CODES, tolerance);
    compare("the value of afterstates", g->after_value, w->after_value, rows, 1, tolerance);
}

void infer_bench_run(infer_bench *b, int rows, cm_dtype compute, float tolerance) {
    cm_inference *got = infer_bench_make(b, false, rows, compute), *want = infer_bench_make(b, true, rows, compute);
    for (int step = 0; step <= INFER_STEPS; step++) {
        cm_inference *const both[2] = {got, want};
        for (int i = 0; i < 2; i++) {
            infer_bench_fill(b, both[i], step ? step - 1 : 0);
            cm_status status = step ? cm_inference_recurrent(both[i]) : cm_inference_root(both[i]);
            if (status == CM_OK && step && cm_inference_get(both[i])->after_codes)
                status = cm_inference_afterstate(both[i]);
            ck_assert_msg(status == CM_OK, "%s", cm_error_message());
        }
        infer_bench_compare(b, got, want, tolerance, step == 0);
    }
    cm_inference_destroy(got);
    cm_inference_destroy(want);
}
