#include "backend/cpu/cpu.h"

#include "core/arena.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

static int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

static int action_rows(const cm_pack *p) { return p->tag ? (int)p->tag : p->columns; }

/* ---- layouts of dense layers ---- */

static int at_most(int n, int limit) { return n < limit ? n : limit; }

static cm_status fill_forward(const cm_pack *p, void *out) {
    for (int j = 0; j < p->rows; j += CM_GEMM_PANEL) {
        float *panel = (float *)out + (size_t)j * p->columns;
        p->kernels->panel_of_rows(panel, p->weight + (size_t)j * p->stride + p->first, p->stride,
                                  at_most(p->rows - j, CM_GEMM_PANEL), p->columns);
    }
    return CM_OK;
}

/* A row of pairs is transposed like a row of floats. */
static cm_status fill_forward_bf16(const cm_pack *p, void *out) {
    enum { PAIRS = 128 };
    float pairs[CM_GEMM_PANEL * PAIRS];
    int depth = (p->columns + 1) / 2;
    for (int j = 0; j < p->rows; j += CM_GEMM_PANEL) {
        int rows = at_most(p->rows - j, CM_GEMM_PANEL);
        float *panel = (float *)out + (size_t)j * depth;
        for (int k = 0; k < depth; k += PAIRS) {
            int n = at_most(depth - k, PAIRS);
            p->kernels->bf16_rows(pairs, p->weight + (size_t)j * p->stride + p->first + 2 * k, p->stride, rows,
                                  at_most(p->columns - 2 * k, 2 * n));
            p->kernels->panel_of_rows(panel + (size_t)k * CM_GEMM_PANEL, pairs, n, rows, n);
        }
    }
    return CM_OK;
}

static cm_status fill_backward(const cm_pack *p, void *out) {
    if (p->columns % CM_GEMM_PANEL) memset(out, 0, p->bytes);
    for (int k = 0; k < p->rows; k++) {
        const float *row = p->weight + (size_t)k * p->stride + p->first;
        float *panel = (float *)out + (size_t)k * CM_GEMM_PANEL;
        int j = 0;
        for (; j + CM_GEMM_PANEL <= p->columns; j += CM_GEMM_PANEL, panel += (size_t)p->rows * CM_GEMM_PANEL)
            memcpy(panel, row + j, CM_GEMM_PANEL * sizeof(float));
        if (j < p->columns) memcpy(panel, row + j, (size_t)(p->columns - j) * sizeof(float));
    }
    return CM_OK;
}

static cm_status fill_backward_bf16(const cm_pack *p, void *out) {
    int depth = (p->rows + 1) / 2;
    if (p->columns % CM_GEMM_PANEL) memset(out, 0, p->bytes);
    for (int j = 0; j < p->columns; j += CM_GEMM_PANEL)
        p->kernels->bf16_pairs((float *)out + (size_t)j * depth, CM_GEMM_PANEL, p->weight + p->first + j, p->stride,
                               p->rows, at_most(p->columns - j, CM_GEMM_PANEL));
    return CM_OK;
}

/* Row a: what action a adds. tag 0: onehot, column a; otherwise scaled by a / tag. */
static cm_status fill_actions(const cm_pack *p, void *out) {
    int width = round_up(p->rows, CM_GEMM_PANEL), scale = (int)p->tag;
    bool bf16 = p->layout == CM_PACK_ACTIONS_BF16;
    float *table = out;
    memset(out, 0, p->bytes);
    for (int a = 0; a < action_rows(p); a++) {
        float factor = scale ? cm_cpu_rounded((float)a / (float)scale, bf16) : 1.0f;
        const float *column = p->weight + p->first + (scale ? 0 : a);
        for (int r = 0; r < p->rows; r++)
            table[(size_t)a * width + r] = factor * cm_cpu_rounded(column[(size_t)r * p->stride], bf16);
    }
    return CM_OK;
}

void cm_pack_describe(cm_pack *p) {
    size_t wide_rows = (size_t)round_up(p->rows, CM_GEMM_PANEL),
           wide_columns = (size_t)round_up(p->columns, CM_GEMM_PANEL);
    switch (p->layout) {
    case CM_PACK_FORWARD:
        p->fill = fill_forward;
        p->bytes = wide_rows * p->columns * sizeof(float);
        break;
    case CM_PACK_FORWARD_BF16:
        p->fill = fill_forward_bf16;
        p->bytes = wide_rows * round_up(p->columns, 2) * sizeof(uint16_t);
        break;
    case CM_PACK_BACKWARD:
        p->fill = fill_backward;
        p->bytes = wide_columns * p->rows * sizeof(float);
        break;
    case CM_PACK_BACKWARD_BF16:
        p->fill = fill_backward_bf16;
        p->bytes = wide_columns * round_up(p->rows, 2) * sizeof(uint16_t);
        break;
    case CM_PACK_ACTIONS:
    case CM_PACK_ACTIONS_BF16:
        p->fill = fill_actions;
        p->bytes = wide_rows * action_rows(p) * sizeof(float);
        break;
    case CM_PACK_WINOGRAD:
    case CM_PACK_WINOGRAD_BACKWARD:
    case CM_PACK_LINES_BACKWARD:
    case CM_PACK_INT8:
    case CM_PACK_INT8_WINOGRAD:
    case CM_PACK_OTHER: break;
    }
}

/* ---- registry ---- */

static bool same_key(const cm_pack *a, const cm_pack *b) {
    return a->layout == b->layout && a->weight == b->weight && a->rows == b->rows && a->columns == b->columns &&
           a->stride == b->stride && a->first == b->first && a->tag == b->tag;
}

static void free_pack(cm_pack *pack) {
    if (pack->free_context) pack->free_context(pack->context);
    free(pack->data);
    free(pack);
}

static cm_status aligned_bytes(void **out, size_t bytes) {
    *out = aligned_alloc(CM_ALIGN, cm_align(bytes ? bytes : 1));
    return *out ? CM_OK : cm_memory_fail((double)bytes, "packed weights");
}

/* The address may have been given to another weight since: its content decides. Where it is the same nothing is
 * written, so that calls on other streams may go on. */
static cm_status update_known(cm_cpu *cpu, const cm_pack *pack) {
    if (cpu->compare_bytes < pack->bytes) {
        free(cpu->compare);
        cpu->compare_bytes = 0;
        CM_TRY(aligned_bytes(&cpu->compare, pack->bytes));
        cpu->compare_bytes = pack->bytes;
    }
    CM_TRY(pack->fill(pack, cpu->compare));
    if (memcmp(cpu->compare, pack->data, pack->bytes) != 0) memcpy(pack->data, cpu->compare, pack->bytes);
    return CM_OK;
}

static cm_status add_new(cm_cpu *cpu, const cm_pack *wanted, cm_pack **out) {
    if (cpu->pack_count == cpu->pack_capacity) {
        int capacity = cpu->pack_capacity ? 2 * cpu->pack_capacity : 32;
        cm_pack **grown = realloc(cpu->packs, (size_t)capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "packed weights: no memory for a table of %d", capacity);
        cpu->packs = grown;
        cpu->pack_capacity = capacity;
    }
    cm_pack *pack = malloc(sizeof *pack);
    if (!pack) return cm_fail(CM_ERR_MEMORY, "packed weights: no memory for an entry");
    *pack = *wanted;
    pack->users = 1;
    pack->data = NULL;
    cm_status status = aligned_bytes(&pack->data, pack->bytes);
    if (status == CM_OK) status = pack->fill(pack, pack->data);
    if (status != CM_OK) {
        free(pack->data);
        free(pack);
        return status;
    }
    cpu->packs[cpu->pack_count++] = pack;
    *out = pack;
    return CM_OK;
}

static cm_status acquire_locked(cm_cpu *cpu, const cm_pack *wanted, cm_pack **out) {
    for (int i = 0; i < cpu->pack_count; i++) {
        if (!same_key(cpu->packs[i], wanted)) continue;
        if (wanted->free_context) wanted->free_context(wanted->context);
        CM_TRY(update_known(cpu, cpu->packs[i]));
        *out = cpu->packs[i];
        (*out)->users++;
        return CM_OK;
    }
    cm_status status = add_new(cpu, wanted, out);
    if (status != CM_OK && wanted->free_context) wanted->free_context(wanted->context);
    return status;
}

cm_status cm_pack_acquire(cm_cpu *cpu, const cm_pack *wanted, cm_pack **out) {
    pthread_mutex_lock(&cpu->lock);
    cm_status status = acquire_locked(cpu, wanted, out);
    pthread_mutex_unlock(&cpu->lock);
    return status;
}

cm_status cm_pack_check(cm_cpu *cpu, const cm_pack *pack) {
    if (!pack) return CM_OK;
    pthread_mutex_lock(&cpu->lock);
    cm_status status = update_known(cpu, pack);
    pthread_mutex_unlock(&cpu->lock);
    return status;
}

void cm_pack_release(cm_cpu *cpu, cm_pack *pack) {
    if (!pack) return;
    pthread_mutex_lock(&cpu->lock);
    if (--pack->users == 0) {
        int i = 0;
        while (cpu->packs[i] != pack) i++;
        cpu->packs[i] = cpu->packs[--cpu->pack_count];
        free_pack(pack);
    }
    pthread_mutex_unlock(&cpu->lock);
}

/* ---- a new version of the weights ---- */

typedef struct refresh_job {
    cm_cpu *cpu;
    const unsigned char *first, *end;
} refresh_job;

static cm_status refresh_one(void *context, int task, int worker) {
    const refresh_job *job = context;
    const cm_pack *pack = job->cpu->packs[task];
    size_t elements = (size_t)(pack->rows - 1) * pack->stride + pack->first + pack->columns;
    const unsigned char *weight = (const unsigned char *)pack->weight, *end = weight + elements * sizeof(float);
    (void)worker;
    if (weight < job->first || end > job->end) return CM_OK; /* elsewhere, or gone and its memory used again */
    return pack->fill(pack, pack->data);
}

cm_status cm_pack_refresh(cm_cpu *cpu, const void *block, size_t bytes, cm_pool *pool) {
    const unsigned char *first = block;
    refresh_job job = {cpu, first, first + bytes};
    pthread_mutex_lock(&cpu->lock);
    cm_status status = CM_OK;
    if (pool) {
        status = cm_pool_run(pool, cpu->pack_count, refresh_one, &job);
    } else {
        for (int i = 0; i < cpu->pack_count && status == CM_OK; i++) status = refresh_one(&job, i, 0);
    }
    pthread_mutex_unlock(&cpu->lock);
    return status;
}
