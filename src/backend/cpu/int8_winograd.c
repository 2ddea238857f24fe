#include "backend/cpu/int8_winograd.h"

#include "backend/cpu/int8_board.h"
#include "backend/cpu/winograd.h"
#include "backend/int8.h"
#include "core/arena.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 4,                           /* the longest of a tile */
    ELEMENTS = (SIDE + 2) * (SIDE + 2), /* of a transformed tile, at most */
    MULTIPLE = 16,                      /* of channels */
    LEAST_OF_BYTES = 32,                /* channels and outputs; with fewer, direct sums of bytes are faster */
    CHUNK = 48                          /* tiles, about */
};

bool cm_int8_winograd_fits(const cm_int8_kernels *kernels, const cm_tensor *x, const cm_tensor *weight, int stride) {
    cm_int8_board board;
    const int least = kernels->numbers == 4 ? LEAST_OF_BYTES : 0;
    if (!kernels->pairs || weight->dim[3] % MULTIPLE != 0) return false;
    if (weight->dim[0] < least || weight->dim[3] < least) return false;
    if (!cm_int8_board_find(x->dim[1], x->dim[2], x->dim[3], &board)) return false;
    return cm_winograd_gains(cm_int8_board_products(&board), x, weight, stride);
}

/* ---- weights ---- */

/* G g times 6 if `side` is 3, times 24, or 12 the last one, if it is 4: side + 2 elements of 3, `to` and `from` apart.
 */
static void lift(int side, int *u, int to, const int *g, int from) {
    static const int at[] = {0, 1, -1, 2, -2}, three[] = {3, -3, -1, 1, 6}, four[] = {6, -4, -4, 1, 1, 12};
    const int *factor = side == 3 ? three : four;
    for (int k = 0; k <= side; k++) u[k * to] = factor[k] * (g[0] + at[k] * (g[from] + at[k] * g[2 * from]));
    u[(side + 1) * to] = factor[side + 1] * g[2 * from];
}

/* G g G^T of one channel, whose taps are `step` numbers apart. */
static void transform_weight(const cm_int8_winograd_tile *tile, const float *w, int step, float inverse,
                             int u[ELEMENTS]) {
    int g[9], columns[3 * (SIDE + 2)];
    for (int k = 0; k < 9; k++) g[k] = cm_int8_of(w[(size_t)k * (size_t)step], inverse);
    for (int c = 0; c < 3; c++) lift(tile->down, columns + c, 3, g + c, 3);
    for (int r = 0; r < tile->down + 2; r++) lift(tile->across, u + (tile->across + 2) * r, 1, columns + 3 * r, 1);
}

static int elements_of(const cm_int8_winograd_tile *tile) { return (tile->down + 2) * (tile->across + 2); }

/* Steps of the outputs come first in a pack, then an operand of cm_gemm_int8 for each element of a tile. */
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
        uint32_t *first = (uint32_t *)out + (size_t)cm_padded(outputs) + (size_t)(o / CM_GEMM_PANEL) * panel;
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
    const size_t words = (size_t)cm_padded(outputs) + (size_t)elements_of(tile) * operand_words(outputs, channels);
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

/* A tile of an image: where it begins in a padded one, and the places of its outputs; -1: outside. */
typedef struct spot {
    size_t input;
    int32_t rows[SIDE * SIDE];
} spot;

/* Tiles of one size: their weights are the pack of the same number. */
typedef struct tile_group {
    const cm_int8_winograd_tile *tile;
    spot *spots; /* [count], of an image; the plan's */
    int count;
} tile_group;

/* Images lie in whole numbers with a border of zeros, so that every tile is inside. */
typedef struct winograd_plan {
    cm_plan plan;
    const cm_int8_kernels *kernels;
    cm_int8_board board;
    tile_group group[CM_INT8_WINOGRADS]; /* [groups] */
    int groups;
    int images, height, width, channels, outputs;
    int chunk;                 /* images that are transformed together */
    spot *spots;               /* of all groups; owned */
    int32_t *row;              /* where the tiles of a group of a chunk begin in an operand; owned */
    size_t line, image;        /* numbers of a padded image */
    size_t v_stride, m_stride; /* numbers from one element of the transformed tiles to the next (winograd.h) */
    size_t v, m, scale;        /* places in the scratch memory; images come first */
} winograd_plan;

static void free_winograd(cm_plan *plan) {
    winograd_plan *p = (winograd_plan *)plan;
    free(p->spots);
    free(p->row);
}

static size_t take(size_t *used, size_t bytes) {
    const size_t place = *used;
    *used += cm_align(bytes);
    return place;
}

static int greater(int a, int b) { return a > b ? a : b; }

static size_t place_scratch(winograd_plan *p) {
    size_t used = 0;
    const size_t outputs = (size_t)cm_padded(p->outputs);
    int elements = 0, count = 0;
    for (int i = 0; i < p->groups; i++) {
        elements = greater(elements, elements_of(p->group[i].tile));
        count = greater(count, p->group[i].count);
    }
    const size_t tiles = (size_t)p->chunk * (size_t)count;
    p->v_stride = cm_winograd_stride(tiles * (size_t)p->channels, sizeof(int16_t));
    p->m_stride = cm_winograd_stride(tiles * outputs, sizeof(int32_t));
    take(&used, (size_t)p->chunk * p->image * sizeof(int16_t));
    p->v = take(&used, (size_t)elements * p->v_stride * sizeof(int16_t));
    p->m = take(&used, (size_t)elements * p->m_stride * sizeof(int32_t));
    p->scale = take(&used, 2 * outputs * sizeof(float));
    return used;
}

static spot spot_at(const winograd_plan *p, const cm_int8_winograd_tile *tile, int top, int left) {
    spot s = {.input = (size_t)top * p->line + (size_t)left * (size_t)p->channels};
    for (int k = 0; k < tile->down * tile->across; k++) {
        const int h = top + k / tile->across, w = left + k % tile->across;
        s.rows[k] = h < p->height && w < p->width ? h * p->width + w : -1;
    }
    return s;
}

/* The tiles of each size that the board has; *all of them. */
static cm_status group_tiles(winograd_plan *p, int *all) {
    const cm_int8_board *b = &p->board;
    const int most = (b->down.fours + b->down.threes) * (b->across.fours + b->across.threes);
    CM_TRY(cm_alloc(&p->spots, (size_t)most, sizeof *p->spots, "a plan"));
    *all = 0;
    for (int i = 0; i < CM_INT8_WINOGRADS; i++) {
        const cm_int8_winograd_tile *tile = &p->kernels->winograd[i];
        const int down = cm_int8_side_tiles(b->down, tile->down), across = cm_int8_side_tiles(b->across, tile->across);
        if (down * across == 0) continue;
        p->group[p->groups++] = (tile_group){.tile = tile, .spots = p->spots + *all, .count = down * across};
        for (int k = 0; k < down * across; k++)
            p->spots[(*all)++] = spot_at(p, tile, cm_int8_side_begin(b->down, tile->down, k / across),
                                         cm_int8_side_begin(b->across, tile->across, k % across));
    }
    return CM_OK;
}

static cm_status run(cm_stream *stream, const cm_call *call);

cm_status cm_int8_winograd_plan(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_int8_operands o = cm_int8_operands_of(call);
    winograd_plan *p = NULL;
    int tiles;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.free_rest = free_winograd;
    p->plan.run = run;
    p->kernels = cm_cpu_of(stream)->int8->pairs;
    p->images = o.x->dim[0], p->height = o.x->dim[1], p->width = o.x->dim[2], p->channels = o.x->dim[3];
    p->outputs = o.weight->dim[0];
    (void)cm_int8_board_find(p->height, p->width, p->channels, &p->board); /* there is one: it fits */
    p->line = (size_t)(cm_int8_side_places(p->board.across) + 2) * (size_t)p->channels;
    p->image = (size_t)(cm_int8_side_places(p->board.down) + 2) * p->line;
    CM_TRY(group_tiles(p, &tiles));
    p->chunk = tiles < CHUNK ? CHUNK / tiles : 1;
    if (p->chunk > p->images) p->chunk = p->images;
    CM_TRY(cm_alloc(&p->row, (size_t)(p->chunk * tiles), sizeof *p->row, "a plan"));
    for (int i = 0; i < p->chunk * tiles; i++) p->row[i] = i * (p->channels / 2);
    for (int i = 0; i < p->groups; i++)
        CM_TRY(acquire(cm_cpu_of(stream), p->group[i].tile, o.weight, &p->plan.packs[i]));
    return cm_cpu_reserve(stream, place_scratch(p));
}

/* ---- calls ---- */

static void convert_image(const winograd_plan *p, const float *x, float inverse, int16_t *image) {
    const size_t row = (size_t)p->width * (size_t)p->channels;
    for (size_t h = 0; h < (size_t)p->height; h++)
        p->kernels->rows((uint32_t *)(void *)(image + (h + 1) * p->line + (size_t)p->channels), x + h * row, (int)row,
                         1, (int)row, inverse);
}

static void transform_image(const winograd_plan *p, const tile_group *group, const int16_t *image, int16_t *v) {
    for (int t = 0; t < group->count; t++, v += p->channels)
        group->tile->input(v, p->v_stride, image + group->spots[t].input, p->line, p->channels);
}

static void multiply(const winograd_plan *p, unsigned char *scratch, const tile_group *group, int images,
                     const cm_gemm_int8 *whole) {
    const uint32_t *operands = (const uint32_t *)p->plan.packs[group - p->group]->data + cm_padded(p->outputs);
    cm_gemm_int8 g = *whole;
    g.m = images * group->count;
    g.ld_sums = cm_padded(p->outputs);
    for (size_t k = 0; k < (size_t)elements_of(group->tile); k++) {
        g.a = (const uint32_t *)(const void *)(scratch + p->v) + k * (p->v_stride / 2);
        g.sums = (int32_t *)(void *)(scratch + p->m) + k * p->m_stride;
        g.b = operands + k * operand_words(p->outputs, p->channels);
        p->kernels->gemm(&g);
    }
}

static void finish_image(const winograd_plan *p, const tile_group *group, const int32_t *m, const cm_gemm_int8 *g) {
    for (int t = 0; t < group->count; t++, m += cm_padded(p->outputs))
        group->tile->output(g, group->spots[t].rows, m, p->m_stride);
}

/* The outputs of the tiles of one size of some images; g is that of the first image. */
static void run_group(const winograd_plan *p, unsigned char *scratch, const tile_group *group, int images,
                      cm_gemm_int8 g) {
    const int16_t *image = (const int16_t *)(const void *)scratch;
    int16_t *v = (int16_t *)(void *)(scratch + p->v);
    const int32_t *m = (const int32_t *)(const void *)(scratch + p->m);
    const size_t result = (size_t)p->height * (size_t)p->width * (size_t)p->outputs, count = (size_t)group->count;
    for (size_t i = 0; i < (size_t)images; i++)
        transform_image(p, group, image + i * p->image, v + i * count * (size_t)p->channels);
    multiply(p, scratch, group, images, &g);
    for (size_t i = 0; i < (size_t)images; i++, g.c += result) {
        finish_image(p, group, m + i * count * (size_t)cm_padded(p->outputs), &g);
        if (g.residual) g.residual += result;
    }
}

static cm_status run(cm_stream *stream, const cm_call *call) {
    static const int32_t no_tap = 0;
    const winograd_plan *p = call->plan;
    const cm_int8_operands o = cm_int8_operands_of(call);
    unsigned char *scratch = cm_lane_of(stream)->scratch;
    int16_t *image = (int16_t *)(void *)scratch;
    const size_t places = (size_t)p->height * (size_t)p->width, result = places * (size_t)p->outputs;
    const float *x = o.x->data, inverse = cm_int8_inverse(call->attr.range);
    float *scale = (float *)(void *)(scratch + p->scale), *shift = scale + cm_padded(p->outputs);
    cm_gemm_int8 g = {.n = p->outputs,
                      .taps = 1,
                      .depth = p->channels / 2,
                      .row = p->row,
                      .tap = &no_tap,
                      .b_panel = (size_t)(p->channels / 2) * CM_GEMM_PANEL,
                      .scale = scale,
                      .shift = shift,
                      .residual = o.residual->data,
                      .relu = call->attr.activation == CM_ACT_RELU,
                      .c = o.y->data,
                      .ldc = p->outputs};
    cm_int8_write_scales(call, &o, p->plan.packs[0]->data, cm_int8_step(call->attr.range), scale, shift);
    memset(image, 0, (size_t)p->chunk * p->image * sizeof *image);
    for (int first = 0; first < p->images; first += p->chunk) {
        const int images = p->images - first < p->chunk ? p->images - first : p->chunk;
        for (int i = 0; i < images; i++, x += places * (size_t)p->channels)
            convert_image(p, x, inverse, image + (size_t)i * p->image);
        for (int i = 0; i < p->groups; i++) run_group(p, scratch, &p->group[i], images, g);
        g.c += (size_t)images * result;
        if (g.residual) g.residual += (size_t)images * result;
    }
    return CM_OK;
}
