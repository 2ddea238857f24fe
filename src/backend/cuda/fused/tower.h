/* The kernel of a tower (tower_args.h): activations stay in shared memory from the first layer to the last, weights
 * come from the device's memory a piece after the other, the next ones while one is multiplied. */
#ifndef CM_BACKEND_CUDA_FUSED_TOWER_H
#define CM_BACKEND_CUDA_FUSED_TOWER_H

#include "backend/cuda/fused/tower_args.h"
#include "backend/cuda/ops/rows.h"

/* A lane's view of its block. `channels` and `bfloat` below are constants where it is compiled. */
typedef struct cm_tower_block {
    const cm_tower_args *args;
    cm_tower_places at;
    int first, boards; /* those of the block */
    int group, low;    /* low: place of the lane's first row within a tile; the other one is 8 further on */
    int begin;         /* the place of a window with which layers begin, and come round to it */
    cm_slab from, to;  /* activations that a layer reads, and writes */
    uint16_t *stage;   /* [CM_TOWER_STAGES] pieces of weights */
    float *norm;       /* [2, channels] factors and offsets */
    unsigned cells;    /* bit 2 t + h: row low + 8 h of the group's tile t is a cell of a board */
    unsigned sees[3];  /* [dy + 1] bit t: the group's tile t sees any of the board, dy further on */
} cm_tower_block;

static CM_HD inline cm_dtype cm_tower_type(bool bfloat) { return bfloat ? CM_BF16 : CM_F16; }

/* The place of a lane's row `half` in tile t of its group. Groups take turns, so that few tiles are shared. */
static CM_HD inline int cm_tower_place(const cm_tower_block *t, int tile, int half) {
    return (tile * CM_TOWER_GROUPS + t->group) * CM_SLAB_ROWS + t->low + 8 * half;
}

/* The number of the cell at a place, counted as x and y of the tower have them; -1: it is none. */
static CM_HD inline int64_t cm_tower_cell(const cm_tower_block *t, int place) {
    const cm_tower_args *a = t->args;
    const int y = place / t->at.band, rest = place % t->at.band, board = rest / t->at.row, x = rest % t->at.row;
    if (y >= a->height || x >= a->width || board >= t->boards) return -1;
    return ((int64_t)(t->first + board) * a->height + y) * a->width + x;
}

/* Does any row of a tile see a row of the board, dy further on? */
static CM_HD inline bool cm_tower_sees(const cm_tower_block *t, int tile, int dy) {
    const int first = tile * CM_SLAB_ROWS, last = first + CM_SLAB_ROWS - 1;
    if (tile >= t->at.tiles) return false;
    return dy < 0 ? last >= t->at.band : dy == 0 || first < (t->args->height - 1) * t->at.band;
}

CM_KERNEL cm_tower_block cm_tower_of(const cm_tower_args *a, int64_t item, const cm_lanes *lanes, int channels) {
    cm_tower_block t = CM_NOTHING;
    uint16_t *memory = (uint16_t *)lanes->memory;
    t.args = a;
    t.at = cm_tower_places_of(a);
    t.first = (int)item * a->share;
    t.boards = a->boards - t.first < a->share ? a->boards - t.first : a->share;
    t.group = lanes->index / CM_SLAB_GROUP;
    t.low = lanes->index % CM_SLAB_GROUP / CM_WARP * 16 + lanes->index % CM_WARP / 4;
    t.begin = (int)(item % CM_TOWER_WINDOW);
    t.norm = lanes->memory;
    t.stage = memory + cm_tower_stages_at(channels);
    t.from.first = memory + cm_tower_activations_at(channels);
    t.to.first = t.from.first + channels / CM_SLAB_PIECE * t.at.pitch;
    t.from.pitch = t.to.pitch = t.at.pitch;
    for (int i = 0; i < 2 * CM_SLAB_TILES; i++)
        if (cm_tower_cell(&t, cm_tower_place(&t, i / 2, i % 2)) >= 0) t.cells |= 1u << i;
    for (int i = 0; i < 3 * CM_SLAB_TILES; i++)
        if (cm_tower_sees(&t, i / 3 * CM_TOWER_GROUPS + t.group, i % 3 - 1)) t.sees[i % 3] |= 1u << i / 3;
    return t;
}

/* ---- x ---- */

/* Sixteen bytes. */
typedef struct cm_tower_piece {
    uint32_t pair[CM_SLAB_PIECE / 2];
} __attribute__((aligned(16))) cm_tower_piece;

/* Eight channels of x from element `at` on. */
CM_KERNEL cm_tower_piece cm_tower_read(const cm_tower_args *a, int64_t at, bool bfloat) {
    cm_tower_piece piece;
    if (!a->wide_x) return *(const cm_tower_piece *)(const void *)((const uint16_t *)a->x + at);
    const cm_four low = cm_four_at((const float *)a->x + at), high = cm_four_at((const float *)a->x + at + CM_FOUR);
    CM_UNROLL(i, CM_SLAB_PIECE / 2) {
        const cm_four *four = i < 2 ? &low : &high;
        piece.pair[i] = cm_lanes_pair(four->v[i % 2 * 2], four->v[i % 2 * 2 + 1], bfloat);
    }
    return piece;
}

/* Where a cell, counted within the block's boards, has a piece of its channels. */
static CM_HD inline cm_tower_piece *cm_tower_place_of(const cm_tower_block *t, const cm_slab *slab, int cell,
                                                      int piece) {
    const cm_tower_args *a = t->args;
    const int row = cell / a->width, board = row / a->height;
    const int place = row % a->height * t->at.band + board * t->at.row + cell % a->width;
    return (cm_tower_piece *)(void *)cm_slab_at(slab, t->at.lead + place, piece);
}

/* All activations zero; a barrier. */
CM_KERNEL_COPIED void cm_tower_clear(const cm_tower_block *t, int channels, const cm_lanes *lanes) {
    const int pieces = channels / CM_SLAB_PIECE;
    const cm_tower_piece none = {{0, 0, 0, 0}};
    CM_EACH(i, lanes, 2 * pieces * t->at.pitch / CM_SLAB_PIECE)((cm_tower_piece *)(void *)t->from.first)[i] = none;
    cm_lanes_sync(lanes);
}

/* After that x in the activations that are read first: a lane has a few pieces on their way at a time. */
CM_KERNEL void cm_tower_enter(const cm_tower_block *t, int channels, bool bfloat, const cm_lanes *lanes) {
    enum { FEW = 4 };
    const int pieces = channels / CM_SLAB_PIECE, of_board = t->args->height * t->args->width * pieces;
    const int count = t->boards * of_board, last = count - 1;
    const int64_t first = (int64_t)t->first * of_board;
    cm_tower_clear(t, channels, lanes);
    for (int i = lanes->index; i < count; i += FEW * CM_BLOCK) {
        cm_tower_piece own[FEW];
        CM_UNROLL(k, FEW) {
            const int at = i + k * CM_BLOCK < count ? i + k * CM_BLOCK : last;
            own[k] = cm_tower_read(t->args, (first + at) * CM_SLAB_PIECE, bfloat);
        }
        CM_UNROLL(k, FEW) {
            const int at = i + k * CM_BLOCK;
            if (at < count) *cm_tower_place_of(t, &t->from, at / pieces, at % pieces) = own[k];
        }
    }
}

/* ---- weights ---- */

/* Pieces of a layer; of a place of its window. Where a stage begins. */
static CM_HD inline int cm_tower_parts(int channels) { return channels / cm_tower_depth(channels); }
static CM_HD inline int cm_tower_pieces(int channels) { return CM_TOWER_WINDOW * cm_tower_parts(channels); }
static CM_HD inline int cm_tower_stage(int stage, int channels) { return stage * channels * cm_tower_depth(channels); }

/* The stage of piece `number`, which is part `part` of its place: a constant where part is one and stages come round
 * with the parts. */
static CM_HD inline int cm_tower_stage_of(int number, int part, int channels) {
    return cm_tower_parts(channels) % CM_TOWER_STAGES == 0 ? part % CM_TOWER_STAGES : number % CM_TOWER_STAGES;
}

/* What a lane does next to bring weights. Two lanes bring neighbours, which the device has in one piece, of the same
 * output: a group brings `outputs` of them at once, as often as there are more, or more columns. */
typedef struct cm_tower_feed {
    const uint16_t *from;    /* the lane's first 16 bytes of the piece */
    uint16_t *to;            /* where they go in stage 0 */
    int layer, part, number; /* of the piece: part of its layer, number of the tower */
    bool sends;              /* there is something for this lane */
} cm_tower_feed;

enum { CM_TOWER_PAIRS = CM_SLAB_GROUP / 2 };
static CM_HD inline int cm_tower_outputs(int channels) { return channels <= CM_TOWER_PAIRS ? channels : channels / 2; }

/* Elements from the beginning of a piece to columns of an output, on the device and in a stage. */
static CM_HD inline int cm_tower_on_device(int output, int column, int channels) {
    return output * CM_TOWER_WINDOW * channels + column;
}
static CM_HD inline int cm_tower_in_stage(int output, int column, int channels) {
    return column * channels + output * CM_SLAB_PIECE;
}

/* The lane's first columns of the weights of the feed's layer, if there is one. */
CM_KERNEL_COPIED void cm_tower_begin_layer(const cm_tower_block *t, cm_tower_feed *f, int channels,
                                           const cm_lanes *lanes) {
    const int pair = lanes->index % CM_SLAB_GROUP / 2, outputs = cm_tower_outputs(channels);
    const int column = (pair / outputs * 2 + lanes->index % 2) * CM_SLAB_PIECE;
    f->part = 0;
    f->sends = pair < CM_TOWER_PAIRS / outputs * outputs;
    f->to = t->stage + cm_tower_in_stage(pair % outputs, column, channels);
    if (f->layer < t->args->layers)
        f->from = t->args->layer[f->layer].weight + t->begin * channels +
                  cm_tower_on_device(pair % outputs, column, channels);
}

/* Which group brings what comes into a stage: they take turns. A lane that publishes what has arrived waits for all
 * that it has sent, so it must not have sent anything since. */
static CM_HD inline bool cm_tower_brings(const cm_tower_block *t, int stage) {
    return stage % CM_TOWER_GROUPS == t->group;
}

/* Begins to bring the next piece of the tower's weights, if there is one, into a stage. */
CM_KERNEL_COPIED void cm_tower_bring(const cm_tower_block *t, cm_tower_feed *f, int stage, int channels,
                                     const cm_lanes *lanes) {
    const int depth = cm_tower_depth(channels), outputs = cm_tower_outputs(channels), turns = channels / outputs;
    const int columns = CM_TOWER_PAIRS / outputs * 2 * CM_SLAB_PIECE; /* of a turn */
    f->number++;
    if (f->layer >= t->args->layers) return;
    if (f->sends && cm_tower_brings(t, stage)) {
        uint16_t *to = f->to + cm_tower_stage(stage, channels);
        CM_UNROLL(i, turns * depth / columns) {
            const int output = i % turns * outputs, column = i / turns * columns;
            cm_lanes_send(lanes, to + cm_tower_in_stage(output, column, channels),
                          f->from + cm_tower_on_device(output, column, channels));
        }
    }
    f->from += depth;
    f->part++;
    if (f->part == (CM_TOWER_WINDOW - t->begin) * cm_tower_parts(channels)) f->from -= CM_TOWER_WINDOW * channels;
    if (f->part < cm_tower_pieces(channels)) return;
    f->layer++;
    cm_tower_begin_layer(t, f, channels, lanes);
}

/* After a barrier the weights of a stage are there, and so are the activations that were written before it. */
CM_KERNEL_COPIED void cm_tower_wait(const cm_tower_block *t, int stage, bool activations, const cm_lanes *lanes) {
    const bool brought = cm_tower_brings(t, stage);
    if (brought) cm_lanes_wait(lanes);
    if (brought || activations) cm_slabs_publish();
}

/* ---- a layer ---- */

/* Factors and offsets of its norm. */
CM_KERNEL void cm_tower_norm(const cm_tower_block *t, const cm_tower_layer *layer, int channels,
                             const cm_lanes *lanes) {
    const int c = lanes->index;
    if (c >= channels) return;
    const float scale = layer->scale[c], shift = layer->shift[c], mean = layer->mean[c], variance = layer->variance[c];
    const float factor = 1.0f / sqrtf(variance + layer->epsilon) * scale;
    t->norm[c] = factor;
    t->norm[channels + c] = shift - mean * factor;
}

/* Two neighbouring channels. */
typedef struct cm_tower_two {
    float v[2];
} __attribute__((aligned(8))) cm_tower_two;

static CM_HD inline cm_tower_two cm_tower_two_at(const float *from) {
    return *(const cm_tower_two *)(const void *)from;
}

/* What a layer makes of sums: their norm, what is added (`old`, two of 16 bits), the activation, which leaves nothing
 * below `bound` and keeps NaN. */
static CM_HD inline cm_tower_two cm_tower_finish(const float sum[2], cm_tower_two factor, cm_tower_two offset,
                                                 uint32_t old, float bound, cm_dtype type) {
    cm_tower_two out;
    CM_UNROLL(i, 2) {
        const float value = fmaf(sum[i], factor.v[i], offset.v[i]) + cm_widen((uint16_t)(old >> 16 * i), type);
        out.v[i] = value <= bound ? bound : value;
    }
    return out;
}
static CM_HD inline float cm_tower_bound(const cm_tower_layer *layer) { return layer->relu ? 0.0f : -INFINITY; }

/* Rows that a lane has of the group's tiles: number i is row i % 2 of tile i / 2. */
enum { CM_TOWER_ROWS = 2 * CM_SLAB_TILES };

/* Where the lane's first row has its two channels from 8 j on, in the activations that are written, and how far behind
 * it row i has them. What the layer before has read stands there. */
static CM_HD inline uint32_t *cm_tower_old(const cm_tower_block *t, int j, const cm_lanes *lanes) {
    uint16_t *piece = cm_slab_at(&t->to, t->at.lead + cm_tower_place(t, 0, 0), j);
    return (uint32_t *)(void *)(piece + lanes->index % 4 * 2);
}
static CM_HD inline int cm_tower_after(int i) {
    return (i / 2 * CM_TOWER_GROUPS * CM_SLAB_ROWS + i % 2 * 8) * CM_SLAB_PIECE / 2;
}

static CM_HD inline bool cm_tower_has(const cm_tower_block *t, int i) { return t->cells >> i & 1u; }

/* What is read to finish eight channels, of which a lane has two. */
typedef struct cm_tower_terms {
    cm_tower_two factor, offset;
    uint32_t old[CM_TOWER_ROWS];
} cm_tower_terms;

CM_KERNEL_COPIED cm_tower_terms cm_tower_terms_of(const cm_tower_block *t, int j, int channels, bool adds,
                                                  const cm_lanes *lanes) {
    const float *norm = t->norm + 8 * j + lanes->index % 4 * 2;
    const uint32_t *old = cm_tower_old(t, j, lanes);
    cm_tower_terms terms = {cm_tower_two_at(norm), cm_tower_two_at(norm + channels), {0}};
    CM_UNROLL(i, CM_TOWER_ROWS) {
        if (adds && cm_tower_has(t, i)) terms.old[i] = old[cm_tower_after(i)];
    }
    return terms;
}

/* The layer's results, into the activations that the next one reads. What is read for the next channels is on its way
 * while those before them are written. */
CM_KERNEL_COPIED void cm_tower_keep(const cm_tower_block *t, float bound, bool adds, int channels, bool bfloat,
                                    const cm_lanes *lanes, float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    cm_tower_terms next = cm_tower_terms_of(t, 0, channels, adds, lanes);
    CM_UNROLL(j, channels / 8) {
        const cm_tower_terms now = next;
        uint32_t *to = cm_tower_old(t, j, lanes);
        if (j + 1 < channels / 8) next = cm_tower_terms_of(t, j + 1, channels, adds, lanes);
        CM_UNROLL(i, CM_TOWER_ROWS) {
            const cm_tower_two out = cm_tower_finish(sum[i / 2] + 4 * j + i % 2 * 2, now.factor, now.offset, now.old[i],
                                                     bound, cm_tower_type(bfloat));
            const uint32_t two = cm_lanes_pair(out.v[0], out.v[1], bfloat);
            if (cm_tower_has(t, i)) to[cm_tower_after(i)] = two;
        }
    }
}

/* The results of the last layer, into y. */
CM_KERNEL_COPIED void cm_tower_leave(const cm_tower_block *t, const cm_tower_layer *layer, int channels, bool bfloat,
                                     const cm_lanes *lanes, float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    const float bound = cm_tower_bound(layer);
    const bool adds = layer->adds, wide = t->args->wide_y;
    CM_UNROLL(i, CM_TOWER_ROWS) {
        if (!cm_tower_has(t, i)) continue;
        const int64_t at = cm_tower_cell(t, cm_tower_place(t, i / 2, i % 2)) * channels + lanes->index % 4 * 2;
        CM_UNROLL(j, channels / 8) {
            const float *norm = t->norm + 8 * j + lanes->index % 4 * 2;
            const uint32_t old = adds ? cm_tower_old(t, j, lanes)[cm_tower_after(i)] : 0;
            const cm_tower_two out =
                cm_tower_finish(sum[i / 2] + 4 * j + i % 2 * 2, cm_tower_two_at(norm), cm_tower_two_at(norm + channels),
                                old, bound, cm_tower_type(bfloat));
            if (wide) {
                *(cm_tower_two *)(void *)((float *)t->args->y + at + 8 * j) = out;
            } else {
                *(uint32_t *)(void *)((uint16_t *)t->args->y + at + 8 * j) = cm_lanes_pair(out.v[0], out.v[1], bfloat);
            }
        }
    }
}

enum { CM_TOWER_AHEAD = CM_TOWER_STAGES - 2 }; /* pieces of weights that are on their way */

/* Adds what the next piece of the weights, part `part` of its place, makes of the activations from `row` on. A stage is
 * written again two pieces after the last one that was multiplied from it, and after a barrier. The layer's norm, if
 * it has one, is made on the way. */
CM_KERNEL_COPIED void cm_tower_multiply(const cm_tower_block *t, cm_tower_feed *f, const cm_tower_layer *layer, int row,
                                        int part, unsigned tiles, bool has_norm, int channels, bool bfloat,
                                        const cm_lanes *lanes, float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    const int stage = cm_tower_stage_of(f->number - CM_TOWER_AHEAD, part, channels), depth = cm_tower_depth(channels);
    const bool begins = part == 0 && f->part == CM_TOWER_AHEAD;
    cm_slab_set set;
    set.a = t->from, set.row = row, set.column = part * depth;
    set.b.first = t->stage + cm_tower_stage(stage, channels), set.b.pitch = channels * CM_SLAB_PIECE;
    set.apart = CM_TOWER_GROUPS * CM_SLAB_ROWS;
    set.tiles = tiles;
    cm_tower_wait(t, stage, begins, lanes);
    cm_lanes_sync(lanes);
    cm_slabs_multiply(lanes, bfloat, channels, depth, &set, sum);
    cm_tower_bring(t, f, (stage + CM_TOWER_AHEAD) % CM_TOWER_STAGES, channels, lanes);
    if (begins && has_norm) cm_tower_norm(t, layer, channels, lanes);
    cm_slabs_wait(1, channels, sum);
}

/* The sums of a layer. Blocks begin at places of their own: all would want the same weights at the same time, which lie
 * in few parts of the device's cache. */
CM_KERNEL_COPIED void cm_tower_sum(const cm_tower_block *t, cm_tower_feed *f, const cm_tower_layer *layer,
                                   bool has_norm, int channels, bool bfloat, const cm_lanes *lanes,
                                   float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    CM_UNROLL(i, CM_SLAB_TILES) CM_UNROLL(j, channels / 2) sum[i][j] = 0.0f;
    int window = t->begin;
    CM_ROLL(place, CM_TOWER_WINDOW) {
        const int dy = window / 3 - 1, dx = window % 3 - 1;
        const int row = t->at.lead + t->group * CM_SLAB_ROWS + dy * t->at.band + dx;
        const unsigned tiles = dy < 0 ? t->sees[0] : dy == 0 ? t->sees[1] : t->sees[2];
        CM_UNROLL(part, cm_tower_parts(channels)) {
            cm_tower_multiply(t, f, layer, row, part, tiles, has_norm, channels, bfloat, lanes, sum);
        }
        window = window + 1 < CM_TOWER_WINDOW ? window + 1 : 0;
    }
    cm_slabs_wait(0, channels, sum);
}

/* Layer `index`. */
CM_KERNEL_COPIED void cm_tower_run_layer(const cm_tower_block *t, cm_tower_feed *f, int index, int channels,
                                         bool bfloat, const cm_lanes *lanes) {
    const cm_tower_layer *layer = &t->args->layer[index];
    float sum[CM_SLAB_TILES][CM_SLAB_SUMS];
    cm_tower_sum(t, f, layer, true, channels, bfloat, lanes, sum);
    if (index + 1 == t->args->layers) {
        cm_tower_leave(t, layer, channels, bfloat, lanes, sum);
    } else if (layer->adds) {
        cm_tower_keep(t, cm_tower_bound(layer), true, channels, bfloat, lanes, sum);
    } else {
        cm_tower_keep(t, cm_tower_bound(layer), false, channels, bfloat, lanes, sum);
    }
}

/* Item: `share` boards; CM_BLOCK lanes, which share a->memory bytes. */
CM_KERNEL_COPIED void cm_tower_boards(const cm_tower_args *a, int64_t item, int channels, bool bfloat,
                                      const cm_lanes *lanes) {
    cm_tower_block t = cm_tower_of(a, item, lanes, channels);
    cm_tower_feed feed = CM_NOTHING;
    cm_tower_begin_layer(&t, &feed, channels, lanes);
    for (int i = 0; i < CM_TOWER_AHEAD; i++) cm_tower_bring(&t, &feed, i, channels, lanes);
    cm_tower_enter(&t, channels, bfloat, lanes);
    for (int index = 0; index < a->layers; index++) {
        const cm_slab from = t.from;
        cm_tower_run_layer(&t, &feed, index, channels, bfloat, lanes);
        t.from = t.to, t.to = from;
    }
}

/* A kernel of some name for each number of channels, and type: X(name, args, channels, type). */
#define CM_TOWER_WIDTHS(X, name, args)                                                                                 \
    X(name##_bf16_32, args, 32, CM_BF16)                                                                               \
    X(name##_f16_32, args, 32, CM_F16)                                                                                 \
    X(name##_bf16_48, args, 48, CM_BF16)                                                                               \
    X(name##_f16_48, args, 48, CM_F16)                                                                                 \
    X(name##_bf16_64, args, 64, CM_BF16)                                                                               \
    X(name##_f16_64, args, 64, CM_F16)                                                                                 \
    X(name##_bf16_96, args, 96, CM_BF16)                                                                               \
    X(name##_f16_96, args, 96, CM_F16)                                                                                 \
    X(name##_bf16_128, args, 128, CM_BF16)                                                                             \
    X(name##_f16_128, args, 128, CM_F16)
#define CM_TOWER_KERNELS(X) CM_TOWER_WIDTHS(X, cm_tower, cm_tower_args)

#define CM_TOWER_KERNEL(name, args, channels, type)                                                                    \
    CM_KERNEL void name(const args *a, int64_t item, const cm_lanes *lanes) {                                          \
        cm_tower_boards(a, item, channels, (type) == CM_BF16, lanes);                                                  \
    }                                                                                                                  \
    CM_KERNEL_ENTRY(name, args)
CM_TOWER_KERNELS(CM_TOWER_KERNEL)

#endif
