#include "backend/cpu/conv_lines.h"

#include "core/arena.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_WIDTH = 12, LEAST_IN = 16, LEAST_OUT = 16 };

static int divide_up(int n, int by) { return (n + by - 1) / by; }

bool cm_conv_lines_fits(const cm_tensor *x, const cm_tensor *weight, const cm_attr *attr) {
    const bool wide = attr->stride > 1 && divide_up(x->dim[2], attr->stride) >= LEAST_WIDTH;
    return wide && attr->activation == CM_ACT_NONE && weight->dim[0] >= LEAST_OUT && weight->dim[3] >= LEAST_IN;
}

/* x [batch, height, width, in] -> y [batch, down, across, out] by a kernel of k x k. */
typedef struct layer {
    int batch, height, width, in, down, across, out, k, stride, border;
} layer;

static layer layer_of(const cm_tensor *x, const cm_tensor *weight, int stride) {
    return (layer){.batch = x->dim[0],
                   .height = x->dim[1],
                   .width = x->dim[2],
                   .in = x->dim[3],
                   .down = divide_up(x->dim[1], stride),
                   .across = divide_up(x->dim[2], stride),
                   .out = weight->dim[0],
                   .k = weight->dim[1],
                   .stride = stride,
                   .border = weight->dim[1] / 2};
}

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* ---- lines with borders of zeros ---- */

/* The last k lines that were read of an image; line i stands in slot i mod k. */
typedef struct lines {
    float *slot;       /* [k, length] */
    size_t length;     /* of a slot */
    size_t left;       /* zeros in front */
    const float *from; /* the image */
    size_t row;        /* numbers of a line of it */
    int k, next;       /* the next line to be read */
} lines;

/* As many zeros as any tap reaches beyond, on both sides. */
static size_t line_floats(const layer *l, int width, int channels) {
    return cm_align(((size_t)width + 2 * (size_t)l->k + (size_t)l->stride) * (size_t)channels * sizeof(float)) /
           sizeof(float);
}

static lines lines_in(const layer *l, void *scratch, int width, int channels, int left) {
    lines s = {.slot = scratch,
               .length = line_floats(l, width, channels),
               .left = (size_t)left * (size_t)channels,
               .row = (size_t)width * (size_t)channels,
               .k = l->k};
    memset(scratch, 0, (size_t)s.k * s.length * sizeof(float));
    return s;
}

static void begin_image(lines *s, const float *image) {
    s->from = image;
    s->next = 0;
}

/* Place 0 of line i, which is at most k - 1 before the last that was asked for. */
static const float *line_at(lines *s, int i) {
    for (; s->next <= i; s->next++)
        memcpy(s->slot + (size_t)(s->next % s->k) * s->length + s->left, s->from + (size_t)s->next * s->row,
               s->row * sizeof(float));
    return s->slot + (size_t)(i % s->k) * s->length + s->left;
}

static size_t image_floats(const layer *l) { return (size_t)l->height * (size_t)l->width * (size_t)l->in; }
static size_t output_floats(const layer *l) { return (size_t)l->down * (size_t)l->across * (size_t)l->out; }

/* The lines of the kernel that meet the image at line h of the output: from *first to before *end. */
static void kernel_lines(const layer *l, int h, int *first, int *end) {
    const int top = h * l->stride - l->border, over = top + l->k - l->height;
    *first = top < 0 ? -top : 0;
    *end = over > 0 ? l->k - over : l->k;
}

/* ---- forward ---- */

typedef struct lines_plan {
    cm_plan plan;
    layer layer;
} lines_plan;

static cm_status run_forward(cm_stream *stream, const cm_call *call) {
    const lines_plan *p = call->plan;
    const layer *l = &p->layer;
    const int taps = l->k * l->in;
    const bool adds = call->attr.accumulate >> CM_T_conv2d_y & 1u;
    lines s = lines_in(l, cm_lane_of(stream)->scratch, l->width, l->in, l->border);
    cm_gemm g = {.m = l->across,
                 .n = l->out,
                 .k = taps,
                 .lda = l->stride * l->in,
                 .b_panel = (size_t)l->k * (size_t)taps * CM_GEMM_PANEL,
                 .b_step = CM_GEMM_PANEL,
                 .c = call->t[CM_T_conv2d_y].data,
                 .ldc = l->out};
    for (int b = 0; b < l->batch; b++) {
        begin_image(&s, (const float *)call->t[CM_T_conv2d_x].data + (size_t)b * image_floats(l));
        for (int h = 0; h < l->down; h++, g.c += (size_t)l->across * (size_t)l->out) {
            int first, end;
            kernel_lines(l, h, &first, &end);
            for (int r = first; r < end; r++) {
                g.a = line_at(&s, h * l->stride - l->border + r) - (size_t)l->border * (size_t)l->in;
                g.b = (const float *)p->plan.packs[0]->data + (size_t)r * (size_t)taps * CM_GEMM_PANEL;
                g.accumulate = adds || r > first;
                g.bias = r == first ? call->t[CM_T_conv2d_bias].data : NULL;
                cm_cpu_of(stream)->kernels.gemm(&g);
            }
        }
    }
    return CM_OK;
}

cm_status cm_conv_lines_plan(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = &call->t[CM_T_conv2d_x], *weight = &call->t[CM_T_conv2d_weight];
    lines_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.run = run_forward;
    p->layer = layer_of(x, weight, call->attr.stride);
    cm_pack wanted = {.layout = CM_PACK_FORWARD,
                      .kernels = &cm_cpu_of(stream)->kernels,
                      .weight = weight->data,
                      .rows = weight->dim[0],
                      .columns = cm_tensor_row_size(weight),
                      .stride = weight->stride};
    cm_pack_describe(&wanted);
    CM_TRY(cm_pack_acquire(cm_cpu_of(stream), &wanted, &p->plan.packs[0]));
    const layer *l = &p->layer;
    return cm_cpu_reserve(stream, (size_t)l->k * line_floats(l, l->width, l->in) * sizeof(float));
}

/* ---- gradient of the input ---- */

/* Columns i of dx with (i + border) mod stride = f are reached by the taps f, f + stride, ...: so many. */
static int taps_of(const layer *l, int f) { return f < l->k ? divide_up(l->k - f, l->stride) : 0; }

/* The operand for one line of the kernel and one class of columns: rows are the taps, the last first, and of each the
 * outputs; panels are over the inputs. Where it begins in the pack, in rows. */
static size_t operand_row(const layer *l, int r, int f) {
    size_t taps = (size_t)r * (size_t)l->k;
    for (int earlier = 0; earlier < f; earlier++) taps += (size_t)taps_of(l, earlier);
    return taps * (size_t)l->out;
}

static void fill_operand(const cm_pack *pack, const layer *l, int r, int f, float *out) {
    const int taps = taps_of(l, f), rows = taps * l->out;
    for (int q = 0; q < taps; q++) {
        const size_t tap = (size_t)(r * l->k + f + (taps - 1 - q) * l->stride);
        for (int o = 0; o < l->out; o++) {
            const float *from = pack->weight + (size_t)o * (size_t)pack->stride + tap * (size_t)l->in;
            for (int c = 0; c < l->in; c += CM_GEMM_PANEL) {
                const int n = l->in - c < CM_GEMM_PANEL ? l->in - c : CM_GEMM_PANEL;
                memcpy(out + (size_t)c * (size_t)rows + (size_t)(q * l->out + o) * CM_GEMM_PANEL, from + c,
                       (size_t)n * sizeof(float));
            }
        }
    }
}

static cm_status fill_backward(const cm_pack *pack, void *out) {
    const layer *l = pack->context;
    memset(out, 0, pack->bytes);
    for (int r = 0; r < l->k; r++)
        for (int f = 0; f < l->stride; f++)
            fill_operand(pack, l, r, f, (float *)out + operand_row(l, r, f) * (size_t)cm_padded(l->in));
    return CM_OK;
}

static cm_status acquire_backward(cm_cpu *cpu, const cm_tensor *weight, const layer *l, cm_pack **out) {
    layer *context = NULL;
    CM_TRY(cm_alloc(&context, 1, sizeof *context, "a layout of weights"));
    *context = *l;
    const cm_pack wanted = {.layout = CM_PACK_LINES_BACKWARD,
                            .weight = weight->data,
                            .rows = weight->dim[0],
                            .columns = cm_tensor_row_size(weight),
                            .stride = weight->stride,
                            .tag = (uint64_t)l->stride << 32 | (uint64_t)l->k,
                            .bytes = operand_row(l, l->k, 0) * (size_t)cm_padded(l->in) * sizeof(float),
                            .fill = fill_backward,
                            .context = context,
                            .free_context = free};
    return cm_pack_acquire(cpu, &wanted, out);
}

/* Adds what line r of the kernel takes from a line of dy to a line of dx. */
static void add_line(const layer *l, const cm_kernels *kernels, float *dx, const float *dy, const float *weight, int r,
                     bool accumulate) {
    for (int f = 0; f < l->stride; f++) {
        const int taps = taps_of(l, f), first = divide_up(l->border - f < 0 ? 0 : l->border - f, l->stride);
        const int column =
            first * l->stride + f - l->border; /* that it begins with, and tap f of place `first` meets */
        if (!taps || column >= l->width) continue;
        const cm_gemm g = {.m = divide_up(l->width - column, l->stride),
                           .n = l->in,
                           .k = taps * l->out,
                           .a = dy + (ptrdiff_t)(first - taps + 1) * l->out,
                           .lda = l->out,
                           .b = weight + operand_row(l, r, f) * (size_t)cm_padded(l->in),
                           .b_panel = (size_t)taps * (size_t)l->out * CM_GEMM_PANEL,
                           .b_step = CM_GEMM_PANEL,
                           .c = dx + (size_t)column * (size_t)l->in,
                           .ldc = l->stride * l->in,
                           .accumulate = accumulate};
        kernels->gemm(&g);
    }
}

/* The line of y that line r of the kernel leads to from line i of x; -1: none. */
static int line_of_output(const layer *l, int i, int r) {
    const int from = i + l->border - r;
    return from >= 0 && from % l->stride == 0 && from / l->stride < l->down ? from / l->stride : -1;
}

static void input_gradient(const layer *l, const cm_kernels *kernels, float *dx, const float *dy, const float *weight,
                           bool accumulate, void *scratch) {
    lines s = lines_in(l, scratch, l->across, l->out, l->k);
    const size_t row = (size_t)l->width * (size_t)l->in;
    for (int b = 0; b < l->batch; b++) {
        begin_image(&s, dy + (size_t)b * output_floats(l));
        for (int i = 0; i < l->height; i++, dx += row) {
            if (!accumulate) memset(dx, 0, row * sizeof(float)); /* no tap may meet some of it */
            for (int r = l->k - 1; r >= 0; r--) {
                const int h = line_of_output(l, i, r);
                if (h >= 0) add_line(l, kernels, dx, line_at(&s, h), weight, r, true);
            }
        }
    }
}

/* ---- gradient of the weight ---- */

static void weight_gradient(const layer *l, const cm_kernels *kernels, float *dweight, int stride, const float *x,
                            const float *dy, void *scratch) {
    const int taps = l->k * l->in;
    lines s = lines_in(l, scratch, l->width, l->in, l->border);
    cm_gemm g = {.m = l->out,
                 .n = taps,
                 .k = l->across,
                 .a = dy,
                 .lda = l->out,
                 .b_panel = CM_GEMM_PANEL,
                 .b_step = (size_t)l->stride * (size_t)l->in,
                 .n_load = taps,
                 .ldc = stride,
                 .accumulate = true};
    for (int b = 0; b < l->batch; b++) {
        begin_image(&s, x + (size_t)b * image_floats(l));
        for (int h = 0; h < l->down; h++, g.a += (size_t)l->across * (size_t)l->out) {
            int first, end;
            kernel_lines(l, h, &first, &end);
            for (int r = first; r < end; r++) {
                g.b = line_at(&s, h * l->stride - l->border + r) - (size_t)l->border * (size_t)l->in;
                g.c = dweight + (size_t)r * (size_t)taps;
                kernels->gemm_across(&g);
            }
        }
    }
}

/* ---- backward ---- */

static cm_status run_backward(cm_stream *stream, const cm_call *call) {
    const lines_plan *p = call->plan;
    const layer *l = &p->layer;
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const cm_tensor *dy = &call->t[CM_T_conv2d_backward_dy], *dx = &call->t[CM_T_conv2d_backward_dx];
    const cm_tensor *dweight = &call->t[CM_T_conv2d_backward_dweight], *dbias = &call->t[CM_T_conv2d_backward_dbias];
    unsigned char *scratch = cm_lane_of(stream)->scratch;
    const unsigned adds = call->attr.accumulate;
    if (dweight->data) {
        float *first = dweight->data;
        for (int o = 0; o < l->out && !(adds >> CM_T_conv2d_backward_dweight & 1u); o++)
            memset(first + (size_t)o * (size_t)dweight->stride, 0, (size_t)cm_tensor_row_size(dweight) * sizeof(float));
        weight_gradient(l, kernels, first, dweight->stride, call->t[CM_T_conv2d_backward_x].data, dy->data, scratch);
    }
    if (dbias->data)
        kernels->column_sums(dbias->data, dy->data, l->out, l->batch * l->down * l->across, l->out,
                             adds >> CM_T_conv2d_backward_dbias & 1u);
    if (dx->data)
        input_gradient(l, kernels, dx->data, dy->data, p->plan.packs[0]->data, adds >> CM_T_conv2d_backward_dx & 1u,
                       scratch);
    return CM_OK;
}

cm_status cm_conv_lines_plan_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = &call->t[CM_T_conv2d_backward_x], *weight = &call->t[CM_T_conv2d_backward_weight];
    lines_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.run = run_backward;
    p->layer = layer_of(x, weight, call->attr.stride);
    const layer *l = &p->layer;
    if (call->t[CM_T_conv2d_backward_dx].data)
        CM_TRY(acquire_backward(cm_cpu_of(stream), weight, l, &p->plan.packs[0]));
    const size_t of_x = line_floats(l, l->width, l->in), of_dy = line_floats(l, l->across, l->out);
    return cm_cpu_reserve(stream, (size_t)l->k * max_size(of_x, of_dy) * sizeof(float));
}
