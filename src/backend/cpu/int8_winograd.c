#include "backend/cpu/int8_winograd.h"

#include "backend/cpu/winograd.h"
#include "backend/int8.h"
#include "core/arena.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 4,                                 /* the longest of a tile */
    ELEMENTS = (SIDE + 2) * (SIDE + 2),       /* of a transformed tile, at most */
    MULTIPLE = 16,                            /* of channels */
    CHUNK = 48,                               /* tiles, about */
    LARGEST = 9 * CM_INT8_MOST * CM_INT8_MOST /* sum of a channel */
};

/* The tile with the fewest products of those whose sums are exact; NULL: none. */
static const cm_int8_winograd_tile *best_tile(const cm_int8_kernels *kernels, const cm_tensor *x,
                                              const cm_tensor *weight) {
    const cm_int8_winograd_tile *best = NULL;
    int fewest = INT_MAX;
    for (int i = 0; kernels->pairs && i < CM_INT8_WINOGRADS; i++) {
        const cm_int8_winograd_tile *tile = &kernels->pairs->winograd[i];
        const int products = cm_winograd_products(tile->down, tile->across, x->dim[1], x->dim[2]);
        const uint32_t end = UINT32_C(1) << (31 - cm_int8_bits(tile->down, tile->across));
        if (products >= fewest || (uint32_t)weight->dim[3] >= end / LARGEST) continue;
        best = tile, fewest = products;
    }
    return best;
}

bool cm_int8_winograd_fits(const cm_int8_kernels *kernels, const cm_tensor *x, const cm_tensor *weight, int stride) {
    const cm_int8_winograd_tile *tile = best_tile(kernels, x, weight);
    if (!tile || weight->dim[3] % MULTIPLE != 0) return false;
    return cm_winograd_gains(cm_winograd_products(tile->down, tile->across, x->dim[1], x->dim[2]), x, weight, stride);
}

/* ---- weights ---- */

/* G g without denominators: points + 1 elements of 3, `to` and `from` apart. */
static void lift(int points, int *u, int to, const int *g, int from) {
    static const int at[SIDE + 1] = {0, 1, -1, 2, -2};
    for (int k = 0; k < points; k++) u[k * to] = g[0] + at[k] * g[from] + at[k] * at[k] * g[2 * from];
    u[points * to] = g[2 * from];
}

/* G g G^T of one channel, whose taps are `step` numbers apart. */
static void transform_weight(const cm_int8_winograd_tile *tile, const float *w, int step, float inverse,
                             int u[ELEMENTS]) {
    int g[9], columns[3 * (SIDE + 2)];
    for (int k = 0; k < 9; k++) g[k] = cm_int8_of(w[(size_t)k * (size_t)step], inverse);
    for (int c = 0; c < 3; c++) lift(tile->down + 1, columns + c, 3, g + c, 3);
    for (int r = 0; r < tile->down + 2; r++) lift(tile->across + 1, u + (tile->across + 2) * r, 1, columns + 3 * r, 1);
}

static int elements_of(const cm_int8_winograd_tile *tile) { return (tile->down + 2) * (tile->across + 2); }

/* An operand of cm_gemm_int8 for each element, steps of the outputs, and zeros, which no sum exceeds. */
static size_t operand_words(int outputs, int channels) { return (size_t)cm_padded(outputs) * (size_t)(channels / 2); }

static cm_status fill(const cm_pack *pack, void *out) {
    const cm_int8_winograd_tile *tile = pack->context;
    const int channels = pack->columns / 9, outputs = pack->rows;
    const size_t panel = (size_t)(channels / 2) * CM_GEMM_PANEL, operand = operand_words(outputs, channels);
    memset(out, 0, pack->bytes);
    for (int o = 0; o < outputs; o++) {
        const float *w = pack->weight + (size_t)o * pack->stride;
        const float range = cm_int8_range(w, (size_t)pack->columns);
        ((float *)out)[o] = cm_int8_step(range);
        uint32_t *first = (uint32_t *)out + 2 * (size_t)cm_padded(outputs) + (size_t)(o / CM_GEMM_PANEL) * panel;
        for (int c = 0; c < channels; c++) {
            int u[ELEMENTS];
            transform_weight(tile, w + c, channels, cm_int8_inverse(range), u);
            int16_t *at = (int16_t *)(first + (size_t)(c / 2) * CM_GEMM_PANEL + o % CM_GEMM_PANEL) + c % 2;
            for (int k = 0; k < elements_of(tile); k++) at[2 * operand * (size_t)k] = (int16_t)u[k];
        }
    }
    return CM_OK;
}

static cm_status acquire(cm_cpu *cpu, const cm_int8_winograd_tile *tile, const cm_tensor *weight, cm_pack **out) {
    const int outputs = weight->dim[0], channels = weight->dim[3];
    const size_t words = 2 * (size_t)cm_padded(outputs) + (size_t)elements_of(tile) * operand_words(outputs, channels);
    const cm_pack pack = {.layout = CM_PACK_INT8_WINOGRAD,
                          .weight = weight->data,
                          .rows = outputs,
                          .columns = cm_tensor_row_size(weight),
                          .stride = weight->stride,
                          .tag = (uint64_t)tile->down << 8 | (uint64_t)tile->across,
                          .bytes = words * sizeof(uint32_t),
                          .fill = fill,
                          .context = (void *)(uintptr_t)tile};
    return cm_pack_acquire(cpu, &pack, out);
}

/* ---- plans ---- */

/* An image lies in whole numbers with a border of zeros, so that every tile is inside. */
typedef struct winograd_plan {
    cm_plan plan;
    const cm_int8_kernels *kernels;
    const cm_int8_winograd_tile *tile;
    int images, height, width, channels, outputs;
    int down, across;          /* tiles of an image */
    int chunk;                 /* images that are transformed together */
    int32_t *row;              /* [tiles of a chunk] where they begin in an operand; owned */
    size_t v_stride, m_stride; /* numbers from one element of the transformed tiles to the next (winograd.h) */
    size_t image, v, m, scale; /* places in the scratch memory */
} winograd_plan;

static void free_winograd(cm_plan *plan) { free(((winograd_plan *)plan)->row); }

static int tiles_of(const winograd_plan *p) { return p->down * p->across; }
static size_t line_of(const winograd_plan *p) {
    return (size_t)(p->tile->across * p->across + 2) * (size_t)p->channels;
}

static size_t take(size_t *used, size_t bytes) {
    const size_t place = *used;
    *used += cm_align(bytes);
    return place;
}

static size_t place_scratch(winograd_plan *p) {
    size_t used = 0;
    const size_t tiles = (size_t)p->chunk * (size_t)tiles_of(p), outputs = (size_t)cm_padded(p->outputs);
    const size_t elements = (size_t)elements_of(p->tile);
    p->v_stride = cm_winograd_stride(tiles * (size_t)p->channels, sizeof(int16_t));
    p->m_stride = cm_winograd_stride(tiles * outputs, sizeof(int32_t));
    p->image = take(&used, (size_t)(p->tile->down * p->down + 2) * line_of(p) * sizeof(int16_t));
    p->v = take(&used, elements * p->v_stride * sizeof(int16_t));
    p->m = take(&used, elements * p->m_stride * sizeof(int32_t));
    p->scale = take(&used, 2 * outputs * sizeof(float));
    return used;
}

static cm_status run(cm_stream *stream, const cm_call *call);

cm_status cm_int8_winograd_plan(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_int8_operands o = cm_int8_operands_of(call);
    winograd_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.free_rest = free_winograd;
    p->plan.run = run;
    p->tile = best_tile(cm_cpu_of(stream)->int8, o.x, o.weight);
    p->kernels = cm_cpu_of(stream)->int8->pairs;
    p->images = o.x->dim[0], p->height = o.x->dim[1], p->width = o.x->dim[2], p->channels = o.x->dim[3];
    p->outputs = o.weight->dim[0];
    p->down = (p->height + p->tile->down - 1) / p->tile->down;
    p->across = (p->width + p->tile->across - 1) / p->tile->across;
    p->chunk = tiles_of(p) < CHUNK ? CHUNK / tiles_of(p) : 1;
    if (p->chunk > p->images) p->chunk = p->images;
    const int tiles = p->chunk * tiles_of(p);
    CM_TRY(cm_alloc(&p->row, (size_t)tiles, sizeof *p->row, "a plan"));
    for (int i = 0; i < tiles; i++) p->row[i] = i * (p->channels / 2);
    CM_TRY(acquire(cm_cpu_of(stream), p->tile, o.weight, &p->plan.packs[0]));
    return cm_cpu_reserve(stream, place_scratch(p));
}

/* ---- calls ---- */

/* The tiles of image `i` of a chunk. */
static void transform_image(const winograd_plan *p, unsigned char *scratch, const float *x, float inverse, int i) {
    int16_t *image = (int16_t *)(void *)(scratch + p->image), *v = (int16_t *)(void *)(scratch + p->v);
    const size_t line = line_of(p), channels = (size_t)p->channels, row = (size_t)p->width * channels;
    for (int h = 0; h < p->height; h++)
        p->kernels->rows((uint32_t *)(void *)(image + (size_t)(h + 1) * line + channels), x + (size_t)h * row, (int)row,
                         1, (int)row, inverse);
    v += (size_t)i * (size_t)tiles_of(p) * channels;
    for (int t = 0; t < tiles_of(p); t++, v += channels) {
        const size_t top = (size_t)(t / p->across * p->tile->down), left = (size_t)(t % p->across * p->tile->across);
        p->tile->input(v, p->v_stride, image + top * line + left * channels, line, p->channels);
    }
}

static void multiply(const winograd_plan *p, unsigned char *scratch, int tiles, const cm_gemm_int8 *whole) {
    cm_gemm_int8 g = *whole;
    g.m = tiles;
    g.ld_sums = cm_padded(p->outputs);
    for (size_t k = 0; k < (size_t)elements_of(p->tile); k++) {
        g.a = (const uint32_t *)(const void *)(scratch + p->v) + k * (p->v_stride / 2);
        g.sums = (int32_t *)(void *)(scratch + p->m) + k * p->m_stride;
        g.b = whole->b + k * operand_words(p->outputs, p->channels);
        p->kernels->gemm(&g);
    }
}

/* Places of the image that a tile's outputs have; -1: outside of it. */
static void find_rows(const winograd_plan *p, int t, int32_t rows[SIDE * SIDE]) {
    const int down = p->tile->down, across = p->tile->across;
    for (int k = 0; k < down * across; k++) {
        const int h = down * (t / p->across) + k / across, w = across * (t % p->across) + k % across;
        rows[k] = h < p->height && w < p->width ? h * p->width + w : -1;
    }
}

static void finish_image(const winograd_plan *p, const unsigned char *scratch, const cm_gemm_int8 *g, int i) {
    const int32_t *m = (const int32_t *)(const void *)(scratch + p->m);
    m += (size_t)i * (size_t)tiles_of(p) * (size_t)cm_padded(p->outputs);
    for (int t = 0; t < tiles_of(p); t++, m += cm_padded(p->outputs)) {
        int32_t rows[SIDE * SIDE];
        find_rows(p, t, rows);
        p->tile->output(g, rows, m, p->m_stride);
    }
}

static cm_status run(cm_stream *stream, const cm_call *call) {
    static const int32_t no_tap = 0;
    const winograd_plan *p = call->plan;
    const cm_int8_operands o = cm_int8_operands_of(call);
    unsigned char *scratch = cm_lane_of(stream)->scratch;
    void *pack = p->plan.packs[0]->data;
    const size_t places = (size_t)p->height * (size_t)p->width, result = places * (size_t)p->outputs;
    const float *x = o.x->data, inverse = cm_int8_inverse(call->attr.range);
    float *scale = (float *)(void *)(scratch + p->scale), *shift = scale + cm_padded(p->outputs);
    cm_gemm_int8 g = {.n = p->outputs,
                      .taps = 1,
                      .depth = p->channels / 2,
                      .row = p->row,
                      .tap = &no_tap,
                      .b = (const uint32_t *)pack + 2 * cm_padded(p->outputs),
                      .b_panel = (size_t)(p->channels / 2) * CM_GEMM_PANEL,
                      .excess = (const int32_t *)pack + cm_padded(p->outputs),
                      .scale = scale,
                      .shift = shift,
                      .residual = o.residual->data,
                      .relu = call->attr.activation == CM_ACT_RELU,
                      .c = o.y->data,
                      .ldc = p->outputs};
    cm_int8_write_scales(call, &o, pack, cm_int8_step(call->attr.range), scale, shift);
    memset(scratch + p->image, 0, p->v - p->image);
    for (int first = 0; first < p->images; first += p->chunk) {
        const int images = p->images - first < p->chunk ? p->images - first : p->chunk;
        for (int i = 0; i < images; i++, x += places * (size_t)p->channels) transform_image(p, scratch, x, inverse, i);
        multiply(p, scratch, images * tiles_of(p), &g);
        for (int i = 0; i < images; i++, g.c += result) {
            finish_image(p, scratch, &g, i);
            if (g.residual) g.residual += result;
        }
    }
    return CM_OK;
}
