#include "backend/cpu/int8.h"

#include "backend/int8.h"
#include "core/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- packed weights ---- */

typedef struct layout {
    int taps, channels, numbers;
    int row; /* numbers of a row of the weight, columns of the action encoding too: its range is that of all */
} layout;

static int words_of(int channels, int numbers) { return (channels + numbers - 1) / numbers; }
static size_t panel_words(const layout *l) {
    return (size_t)l->taps * (size_t)words_of(l->channels, l->numbers) * CM_GEMM_PANEL;
}

/* A pack begins with a step and an excess of each output; its words come after them. */
static float *steps_of(void *data) { return data; }
static int32_t *excess_of(void *data, int outputs) { return (int32_t *)data + cm_padded(outputs); }
static uint32_t *packed_words(void *data, int outputs) { return (uint32_t *)data + 2 * (size_t)cm_padded(outputs); }

static uint32_t word_of(const layout *l, const float *w, int first, float inverse, int32_t *sum) {
    uint32_t word = 0;
    const int bits = 32 / l->numbers;
    for (int i = 0; i < l->numbers && first + i < l->channels; i++) {
        const int number = cm_int8_of(w[first + i], inverse);
        *sum += number;
        word |= ((uint32_t)number & (bits == 8 ? 0xffu : 0xffffu)) << (bits * i);
    }
    return word;
}

/* All words of one output; the sum of its numbers. */
static int32_t fill_output(const layout *l, const float *w, float inverse, uint32_t *out) {
    const int words = words_of(l->channels, l->numbers);
    int32_t sum = 0;
    for (int t = 0; t < l->taps; t++, w += l->channels)
        for (int k = 0; k < words; k++, out += CM_GEMM_PANEL) *out = word_of(l, w, k * l->numbers, inverse, &sum);
    return sum;
}

static cm_status fill(const cm_pack *pack, void *out) {
    const layout *l = pack->context;
    memset(out, 0, pack->bytes);
    for (int o = 0; o < pack->rows; o++) {
        const float *w = pack->weight + (size_t)o * pack->stride;
        const float range = cm_int8_range(w, (size_t)l->row);
        uint32_t *words = packed_words(out, pack->rows) + (size_t)(o / CM_GEMM_PANEL) * panel_words(l);
        const int32_t sum = fill_output(l, w, cm_int8_inverse(range), words + o % CM_GEMM_PANEL);
        steps_of(out)[o] = cm_int8_step(range);
        excess_of(out, pack->rows)[o] = l->numbers == 4 ? 128 * sum : 0;
    }
    return CM_OK;
}

static cm_status acquire(cm_cpu *cpu, const cm_tensor *weight, const layout *wanted, cm_pack **out) {
    layout *l = NULL;
    CM_TRY(cm_alloc(&l, 1, sizeof *l, "weights of 8 bits"));
    *l = *wanted;
    const size_t panels = (size_t)cm_padded(weight->dim[0]) / CM_GEMM_PANEL;
    cm_pack pack = {.layout = CM_PACK_INT8,
                    .weight = weight->data,
                    .rows = weight->dim[0],
                    .columns = l->row,
                    .stride = weight->stride,
                    .tag = (uint64_t)l->channels << 32 | (uint64_t)l->taps << 8 | (uint64_t)l->numbers,
                    .bytes = panels * (2 * CM_GEMM_PANEL + panel_words(l)) * sizeof(uint32_t),
                    .fill = fill,
                    .context = l,
                    .free_context = free};
    return cm_pack_acquire(cpu, &pack, out);
}

/* ---- plans ---- */

/* x as images of lines of places, each of some numbers; a dense layer's rows are the places of one line. */
typedef struct int8_plan {
    cm_plan plan;
    const cm_int8_kernels *kernels;
    layout layout;
    int images, lines, places, step; /* step: numbers of x from place to place */
    int pad, stride, outputs, rows;  /* rows: of y, of an image */
    int32_t *row, *tap;              /* [rows], [taps]; owned */
    size_t words;                    /* of an image */
    size_t scale;                    /* place in the scratch memory; shift is behind it */
} int8_plan;

static void free_int8(cm_plan *plan) {
    int8_plan *p = (int8_plan *)plan;
    free(p->row);
    free(p->tap);
}

static void measure_conv(int8_plan *p, const cm_int8_operands *o) {
    const int k = o->weight->dim[1];
    p->layout = (layout){.taps = k * k, .channels = o->x->dim[3], .row = cm_tensor_row_size(o->weight)};
    p->images = o->x->dim[0], p->lines = o->x->dim[1], p->places = o->x->dim[2], p->step = o->x->dim[3];
    p->pad = k / 2;
    p->rows = o->y->dim[1] * o->y->dim[2];
}

static void measure_dense(int8_plan *p, const cm_int8_operands *o) {
    p->layout = (layout){.taps = 1, .channels = o->x->dim[1], .row = o->weight->dim[1]};
    p->images = p->lines = 1, p->places = p->rows = o->x->dim[0], p->step = o->x->stride;
}

/* Where the rows of y and the taps of their windows begin among the words of a padded image. */
static cm_status place_rows(int8_plan *p, int columns) {
    const int words = words_of(p->layout.channels, p->layout.numbers), line = (p->places + 2 * p->pad) * words;
    const int k = 2 * p->pad + 1;
    CM_TRY(cm_alloc(&p->row, (size_t)p->rows, sizeof *p->row, "a plan"));
    CM_TRY(cm_alloc(&p->tap, (size_t)p->layout.taps, sizeof *p->tap, "a plan"));
    for (int i = 0; i < p->rows; i++) p->row[i] = p->stride * (i / columns * line + i % columns * words);
    for (int t = 0; t < p->layout.taps; t++) p->tap[t] = t / k * line + t % k * words;
    p->words = (size_t)(p->lines + 2 * p->pad) * (size_t)line;
    return CM_OK;
}

static cm_status run(cm_stream *stream, const cm_call *call);

cm_status cm_int8_plan(cm_stream *stream, const cm_call *call, cm_pack *actions, cm_plan **out) {
    const cm_int8_operands o = cm_int8_operands_of(call);
    const bool is_dense = call->op == CM_OP_dense;
    cm_cpu *cpu = cm_cpu_of(stream);
    int8_plan *p = NULL;
    cm_status status = cm_alloc(&p, 1, sizeof *p, "a plan");
    if (status != CM_OK) {
        cm_pack_release(cpu, actions);
        return status;
    }
    *out = &p->plan;
    p->plan.free_rest = free_int8;
    p->plan.run = run;
    p->plan.packs[1] = actions;
    (is_dense ? measure_dense : measure_conv)(p, &o);
    p->kernels = cpu->int8;
    p->layout.numbers = cpu->int8->numbers;
    p->stride = is_dense ? 1 : call->attr.stride;
    p->outputs = o.weight->dim[0];
    CM_TRY(place_rows(p, is_dense ? p->rows : o.y->dim[2]));
    CM_TRY(acquire(cpu, o.weight, &p->layout, &p->plan.packs[0]));
    p->scale = cm_align(p->words * sizeof(uint32_t));
    return cm_cpu_reserve(stream, p->scale + 2 * (size_t)cm_padded(p->outputs) * sizeof(float));
}

/* ---- calls ---- */

void cm_int8_write_scales(const cm_call *call, const cm_int8_operands *o, const float *steps, float step, float *scale,
                          float *shift) {
    const int outputs = o->weight->dim[0];
    for (int j = 0; j < cm_padded(outputs); j++) scale[j] = steps[j] * step, shift[j] = 0.0f;
    if (o->bias->data) memcpy(shift, o->bias->data, (size_t)outputs * sizeof *shift);
    if (!o->norm->data) return;
    const float *gain = o->norm[0].data, *offset = o->norm[1].data, *mean = o->norm[2].data,
                *variance = o->norm[3].data;
    for (int j = 0; j < outputs; j++) {
        const float factor = gain[j] / sqrtf(variance[j] + call->attr.epsilon);
        scale[j] *= factor;
        shift[j] = offset[j] - mean[j] * factor;
    }
}

static void convert(const int8_plan *p, const float *x, float inverse, uint32_t *out) {
    const int words = words_of(p->layout.channels, p->layout.numbers), width = p->places + 2 * p->pad;
    const bool is_line = p->step == p->layout.channels && p->step % p->layout.numbers == 0; /* without gaps */
    const int rows = is_line ? 1 : p->places, columns = is_line ? p->places * p->step : p->layout.channels;
    for (int l = 0; l < p->lines; l++, x += (size_t)p->places * (size_t)p->step)
        p->kernels->rows(out + ((size_t)(l + p->pad) * (size_t)width + (size_t)p->pad) * (size_t)words, x, p->step,
                         rows, columns, inverse);
}

static cm_gemm_int8 product_of(const int8_plan *p, const cm_call *call, const cm_int8_operands *o, void *scratch) {
    void *pack = p->plan.packs[0]->data;
    float *scale = (float *)(void *)((unsigned char *)scratch + p->scale);
    cm_gemm_int8 g = {.m = p->rows,
                      .n = p->outputs,
                      .taps = p->layout.taps,
                      .depth = words_of(p->layout.channels, p->layout.numbers),
                      .a = scratch,
                      .row = p->row,
                      .tap = p->tap,
                      .b = packed_words(pack, p->outputs),
                      .b_panel = panel_words(&p->layout),
                      .excess = excess_of(pack, p->outputs),
                      .scale = scale,
                      .shift = scale + cm_padded(p->outputs),
                      .action = o->action->data,
                      .residual = o->residual->data,
                      .relu = call->attr.activation == CM_ACT_RELU,
                      .c = o->y->data,
                      .ldc = call->op == CM_OP_dense ? o->y->stride : p->outputs};
    if (g.action) g.table = p->plan.packs[1]->data, g.ldt = cm_padded(p->outputs);
    cm_int8_write_scales(call, o, steps_of(pack), cm_int8_step(call->attr.range), scale, scale + cm_padded(p->outputs));
    return g;
}

static cm_status run(cm_stream *stream, const cm_call *call) {
    const int8_plan *p = call->plan;
    const cm_int8_operands o = cm_int8_operands_of(call);
    uint32_t *words = (uint32_t *)(void *)cm_lane_of(stream)->scratch;
    const float *x = o.x->data, inverse = cm_int8_inverse(call->attr.range);
    const size_t image = (size_t)p->lines * (size_t)p->places * (size_t)p->step;
    const size_t result = (size_t)p->rows * (size_t)p->outputs;
    cm_gemm_int8 g = product_of(p, call, &o, words);
    for (size_t i = 0; p->pad > 0 && i < p->words; i++) words[i] = p->kernels->zero;
    for (int i = 0; i < p->images; i++, x += image, g.c += result) {
        convert(p, x, inverse, words);
        p->kernels->gemm(&g);
        if (g.residual) g.residual += result;
    }
    return CM_OK;
}
