#include "backend/cpu/winograd.h"

#include "core/arena.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 4,                 /* of a tile of the output */
    RESULTS = SIDE * SIDE,    /* its places */
    ACROSS = SIDE + 2,        /* side of a transformed tile */
    PLACES = ACROSS * ACROSS, /* of a transformed tile */
    LEAST_CHANNELS = 16,
    CHUNK_BYTES = 512 << 10, /* of both transforms of a chunk */
    LEAST_CHUNK = 32
};

/* Along one side of an image. */
static int tiles_along(int n, int side) { return (n + side - 1) / side; }
static int greater(int a, int b) { return a > b ? a : b; }

int cm_winograd_products(int down, int across, int height, int width) {
    return (down + 2) * tiles_along(height, down) * (across + 2) * tiles_along(width, across);
}

bool cm_winograd_gains(int products, const cm_tensor *x, const cm_tensor *weight, int stride) {
    const bool is_small = weight->dim[0] < LEAST_CHANNELS || weight->dim[3] < LEAST_CHANNELS;
    if (weight->dim[1] != 3 || stride > 1 || is_small) return false;
    return 3 * products <= 2 * 9 * x->dim[1] * x->dim[2];
}

bool cm_winograd_fits(const cm_tensor *x, const cm_tensor *weight, int stride) {
    return cm_winograd_gains(cm_winograd_products(SIDE, SIDE, x->dim[1], x->dim[2]), x, weight, stride);
}

/* One direction of a layer: activations [batch, height, width, in] -> [batch, height, width, out]. */
typedef struct winograd {
    int batch, height, width, in, out;
    int chunk;    /* tiles that are transformed together */
    size_t bytes; /* of scratch memory that a call needs */
} winograd;

/* Where a tile reads and writes: numbers of places in the image, line by line; -1: outside of it. */
typedef struct tile {
    int32_t input[PLACES], output[RESULTS];
} tile;

static size_t tiles_per_image(const winograd *w) {
    return (size_t)tiles_along(w->height, SIDE) * (size_t)tiles_along(w->width, SIDE);
}
static size_t tiles_of(const winograd *w) { return (size_t)w->batch * tiles_per_image(w); }

static size_t stride_of(const winograd *w, int channels) {
    return cm_winograd_stride((size_t)w->chunk * (size_t)channels, sizeof(float));
}

/* The layer from activations like x with `in` channels to some with `out`. */
static winograd sizes_of(const cm_tensor *x, int in, int out) {
    winograd w = {.batch = x->dim[0], .height = x->dim[1], .width = x->dim[2], .in = in, .out = out};
    size_t tiles = tiles_of(&w);
    size_t channels = (size_t)w.in + (size_t)w.out, most = CHUNK_BYTES / (PLACES * sizeof(float) * channels) / 8 * 8;
    if (most < LEAST_CHUNK) most = LEAST_CHUNK;
    w.chunk = (int)(tiles < most ? tiles : most);
    w.bytes = cm_align(PLACES * stride_of(&w, w.in) * sizeof(float)) +
              cm_align(PLACES * stride_of(&w, w.out) * sizeof(float)) +
              cm_align(2 * (size_t)greater(w.in, w.out) * sizeof(float)) +
              cm_align(PLACES * (size_t)w.in * w.out * sizeof(float)) + cm_align(tiles_per_image(&w) * sizeof(tile));
    return w;
}

/* ---- weights ---- */

/* The rows of g for output o, of the kernel as it is or turned by half. */
static void filter_rows(const cm_pack *p, int o, int channels, bool turned, const float *rows[9]) {
    const float *g = p->weight + (size_t)o * p->stride;
    for (int k = 0; k < 9; k++) rows[k] = g + (size_t)(turned ? 8 - k : k) * channels;
}

/* k runs over the inputs, panels over the outputs. */
static cm_status fill_forward(const cm_pack *p, void *out) {
    int in = p->columns / 9;
    size_t operand = (size_t)cm_padded(p->rows) * in, stride = (size_t)CM_GEMM_PANEL * in;
    float *u = p->context;
    const float *rows[9];
    for (int first = 0; first < p->rows; first += CM_GEMM_PANEL) {
        int count = p->rows - first < CM_GEMM_PANEL ? p->rows - first : CM_GEMM_PANEL;
        for (int o = 0; o < count; o++) {
            filter_rows(p, first + o, in, false, rows);
            p->kernels->winograd.filter(u + (size_t)o * in, stride, rows, in);
        }
        for (size_t i = 0; i < PLACES; i++)
            p->kernels->panel_of_rows((float *)out + i * operand + (size_t)first * in, u + i * stride, in, count, in);
    }
    return CM_OK;
}

/* k runs over the outputs, panels over the inputs. */
static cm_status fill_backward(const cm_pack *p, void *out) {
    int in = p->columns / 9;
    size_t operand = (size_t)cm_padded(in) * p->rows, stride = (size_t)cm_padded(in);
    float *u = p->context;
    const float *rows[9];
    for (int o = 0; o < p->rows; o++) {
        filter_rows(p, o, in, true, rows);
        p->kernels->winograd.filter(u, stride, rows, in);
        for (size_t i = 0; i < PLACES; i++) {
            float *to = (float *)out + i * operand + (size_t)o * CM_GEMM_PANEL;
            for (int c = 0; c < in; c += CM_GEMM_PANEL, to += (size_t)p->rows * CM_GEMM_PANEL)
                memcpy(to, u + i * stride + c, CM_GEMM_PANEL * sizeof(float));
        }
    }
    return CM_OK;
}

/* The transformed weight: 36 operands of cm_gemm that lead from in to out, or, for gradients of the input, back. */
static cm_status acquire(cm_cpu *cpu, const cm_tensor *weight, bool backward, cm_pack **out) {
    int in = weight->dim[3], rows = weight->dim[0];
    size_t floats = PLACES * (backward ? (size_t)cm_padded(in) * rows : (size_t)cm_padded(rows) * in);
    float *u = NULL; /* zero after the last channel */
    CM_TRY(cm_alloc(&u, PLACES * (backward ? (size_t)cm_padded(in) : (size_t)CM_GEMM_PANEL * in), sizeof *u,
                    "transformed weights"));
    cm_pack wanted = {.layout = backward ? CM_PACK_WINOGRAD_BACKWARD : CM_PACK_WINOGRAD,
                      .weight = weight->data,
                      .rows = rows,
                      .columns = 9 * in,
                      .stride = weight->stride,
                      .bytes = floats * sizeof(float),
                      .kernels = &cpu->kernels,
                      .fill = backward ? fill_backward : fill_forward,
                      .context = u,
                      .free_context = free};
    return cm_pack_acquire(cpu, &wanted, out);
}

/* ---- tiles ---- */

typedef struct work { /* places in the scratch memory */
    float *v;         /* [36, chunk, in] transformed tiles of x */
    float *m;         /* [36, chunk, out] those of y, before the last transform, or of dy */
    float *nothing;   /* [channels] zeros: what lies outside of the images */
    float *waste;     /* [channels] what is written outside of them */
    float *du;        /* [36, out, in] */
    tile *tiles;      /* [tiles per image] */
} work;

/* The size x size places from (row, column) on. */
static void write_places(const winograd *w, int row, int column, int size, int32_t *places) {
    for (int k = 0; k < size * size; k++) {
        int r = row + k / size, c = column + k % size;
        bool inside = r >= 0 && r < w->height && c >= 0 && c < w->width;
        places[k] = inside ? r * w->width + c : -1;
    }
}

static work work_in(const winograd *w, void *scratch) {
    size_t channels = (size_t)greater(w->in, w->out), across = (size_t)tiles_along(w->width, SIDE);
    unsigned char *at = scratch;
    work s = {.v = (float *)at};
    s.m = (float *)(at += cm_align(PLACES * stride_of(w, w->in) * sizeof(float)));
    s.nothing = (float *)(at += cm_align(PLACES * stride_of(w, w->out) * sizeof(float)));
    s.waste = s.nothing + channels;
    s.du = (float *)(at += cm_align(2 * channels * sizeof(float)));
    s.tiles = (tile *)(at + cm_align(PLACES * (size_t)w->in * w->out * sizeof(float)));
    memset(s.nothing, 0, 2 * channels * sizeof(float));
    for (size_t t = 0; t < tiles_per_image(w); t++) {
        int row = SIDE * (int)(t / across), column = SIDE * (int)(t % across);
        write_places(w, row - 1, column - 1, ACROSS, s.tiles[t].input);
        write_places(w, row, column, SIDE, s.tiles[t].output);
    }
    return s;
}

/* The rows of channels at some places of an image; `outside` for those outside of it. */
static inline void find_rows(const float **rows, const int32_t *places, int count, const float *image, int channels,
                             const float *outside) {
    for (int k = 0; k < count; k++) {
        const float *inside = image + (ptrdiff_t)places[k] * channels;
        rows[k] = places[k] < 0 ? outside : inside;
    }
}

/* The image that a tile belongs to. */
static size_t image_of(const winograd *w, size_t t, int channels) {
    return t / tiles_per_image(w) * (size_t)w->height * w->width * channels;
}

static void transform_input(const winograd *w, const cm_kernels *kernels, const work *s, const float *x, size_t first,
                            int tiles) {
    const float *rows[PLACES];
    for (int t = 0; t < tiles; t++) {
        const tile *at = &s->tiles[(first + t) % tiles_per_image(w)];
        find_rows(rows, at->input, PLACES, x + image_of(w, first + t, w->in), w->in, s->nothing);
        kernels->winograd.input(s->v + (size_t)t * w->in, stride_of(w, w->in), rows, w->in);
    }
}

/* The rows of output that tile t stands for. */
static void output_rows(const winograd *w, const work *s, const float *y, size_t t, const float *outside,
                        const float *rows[RESULTS]) {
    find_rows(rows, s->tiles[t % tiles_per_image(w)].output, RESULTS, y + image_of(w, t, w->out), w->out, outside);
}

static int chunk_at(const winograd *w, size_t first) {
    size_t left = tiles_of(w) - first;
    return left < (size_t)w->chunk ? (int)left : w->chunk;
}

typedef struct ending { /* what happens to y */
    const float *bias;  /* [out] or NULL */
    bool relu, accumulate;
} ending;

/* y = (or +=) the convolution of x with a packed weight. */
static void convolve(const winograd *w, const cm_kernels *kernels, float *y, const float *x, const cm_pack *weight,
                     ending end, void *scratch) {
    work s = work_in(w, scratch);
    size_t from = stride_of(w, w->in), to = stride_of(w, w->out), operand = (size_t)cm_padded(w->out) * w->in;
    for (size_t first = 0; first < tiles_of(w); first += w->chunk) {
        int tiles = chunk_at(w, first);
        transform_input(w, kernels, &s, x, first, tiles);
        for (size_t i = 0; i < PLACES; i++) {
            cm_gemm g = {.m = tiles,
                         .n = w->out,
                         .k = w->in,
                         .a = s.v + i * from,
                         .lda = w->in,
                         .b = (const float *)weight->data + i * operand,
                         .b_panel = (size_t)w->in * CM_GEMM_PANEL,
                         .b_step = CM_GEMM_PANEL,
                         .c = s.m + i * to,
                         .ldc = w->out};
            kernels->gemm(&g);
        }
        for (int t = 0; t < tiles; t++) {
            const float *rows[RESULTS];
            output_rows(w, &s, y, first + t, s.waste, rows);
            kernels->winograd.output((float *const *)rows, s.m + (size_t)t * w->out, to, w->out, end.bias, end.relu,
                                     end.accumulate);
        }
    }
}

/* dweight [out, 3, 3, in], rows `stride` apart, = or += the gradient from x and dy [batch, height, width, out]. */
static void weight_gradient(const winograd *w, const cm_kernels *kernels, float *dweight, int stride, const float *x,
                            const float *dy, bool accumulate, void *scratch) {
    work s = work_in(w, scratch);
    size_t from = stride_of(w, w->in), to = stride_of(w, w->out), operand = (size_t)w->out * w->in;
    for (size_t first = 0; first < tiles_of(w); first += w->chunk) {
        int tiles = chunk_at(w, first);
        transform_input(w, kernels, &s, x, first, tiles);
        for (int t = 0; t < tiles; t++) {
            const float *rows[RESULTS];
            output_rows(w, &s, dy, first + t, s.nothing, rows);
            kernels->winograd.output_gradient(s.m + (size_t)t * w->out, to, rows, w->out);
        }
        for (size_t i = 0; i < PLACES; i++) {
            cm_gemm g = {.m = w->out,
                         .n = w->in,
                         .k = tiles,
                         .a = s.m + i * to,
                         .lda = w->out,
                         .b = s.v + i * from,
                         .b_panel = CM_GEMM_PANEL,
                         .b_step = (size_t)w->in,
                         .n_load = w->in,
                         .c = s.du + i * operand,
                         .ldc = w->in,
                         .accumulate = first > 0};
            kernels->gemm_across(&g);
        }
    }
    for (int o = 0; o < w->out; o++) {
        float *rows[9], *row = dweight + (size_t)o * stride;
        for (int k = 0; k < 9; k++) rows[k] = row + (size_t)k * w->in;
        kernels->winograd.filter_gradient(rows, s.du + (size_t)o * w->in, operand, w->in, accumulate);
    }
}

/* ---- calls ---- */

typedef struct tiles_plan {
    cm_plan plan;
    winograd layer;
} tiles_plan;

static cm_status run_forward(cm_stream *stream, const cm_call *call) {
    const tiles_plan *p = call->plan;
    ending end = {call->t[CM_T_conv2d_bias].data, call->attr.activation == CM_ACT_RELU,
                  call->attr.accumulate >> CM_T_conv2d_y & 1u};
    convolve(&p->layer, &cm_cpu_of(stream)->kernels, call->t[CM_T_conv2d_y].data, call->t[CM_T_conv2d_x].data,
             p->plan.packs[0], end, cm_lane_of(stream)->scratch);
    return CM_OK;
}

cm_status cm_winograd_plan(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = &call->t[CM_T_conv2d_x], *weight = &call->t[CM_T_conv2d_weight];
    tiles_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.run = run_forward;
    p->layer = sizes_of(x, weight->dim[3], weight->dim[0]);
    CM_TRY(acquire(cm_cpu_of(stream), weight, false, &p->plan.packs[0]));
    return cm_cpu_reserve(stream, p->layer.bytes);
}

typedef struct tiles_backward_plan {
    cm_plan plan;
    winograd layer, back; /* from x to y, and from dy to dx */
} tiles_backward_plan;

static cm_status run_backward(cm_stream *stream, const cm_call *call) {
    const tiles_backward_plan *p = call->plan;
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const cm_tensor *dy = &call->t[CM_T_conv2d_backward_dy], *dx = &call->t[CM_T_conv2d_backward_dx];
    const cm_tensor *dweight = &call->t[CM_T_conv2d_backward_dweight], *dbias = &call->t[CM_T_conv2d_backward_dbias];
    unsigned char *scratch = cm_lane_of(stream)->scratch;
    unsigned adds = call->attr.accumulate;
    if (dweight->data)
        weight_gradient(&p->layer, kernels, dweight->data, dweight->stride, call->t[CM_T_conv2d_backward_x].data,
                        dy->data, adds >> CM_T_conv2d_backward_dweight & 1u, scratch);
    if (dbias->data)
        kernels->column_sums(dbias->data, dy->data, dy->dim[3], dy->dim[0] * dy->dim[1] * dy->dim[2], dy->dim[3],
                             adds >> CM_T_conv2d_backward_dbias & 1u);
    ending end = {.accumulate = adds >> CM_T_conv2d_backward_dx & 1u};
    if (dx->data) convolve(&p->back, kernels, dx->data, dy->data, p->plan.packs[0], end, scratch);
    return CM_OK;
}

cm_status cm_winograd_plan_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *weight = &call->t[CM_T_conv2d_backward_weight], *dy = &call->t[CM_T_conv2d_backward_dy];
    tiles_backward_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.run = run_backward;
    p->layer = sizes_of(dy, weight->dim[3], weight->dim[0]);
    p->back = sizes_of(dy, weight->dim[0], weight->dim[3]);
    if (call->t[CM_T_conv2d_backward_dx].data) CM_TRY(acquire(cm_cpu_of(stream), weight, true, &p->plan.packs[0]));
    return cm_cpu_reserve(stream, p->layer.bytes > p->back.bytes ? p->layer.bytes : p->back.bytes);
}
