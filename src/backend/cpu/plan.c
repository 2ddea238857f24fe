#include "backend/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

typedef struct plan_maker {
    cm_status (*make)(cm_stream *stream, const cm_call *call, cm_plan **out);
    int weight[2]; /* positions in call->t; the second one may be NONE */
} plan_maker;

static void key_of(const cm_call *call, const plan_maker *maker, cm_plan_key *key) {
    memset(key, 0, sizeof *key);
    int32_t *f = key->field;
    *f++ = (int32_t)call->op;
    *f++ = (int32_t)call->attr.activation;
    *f++ = (int32_t)call->attr.compute;
    *f++ = (int32_t)call->attr.accumulate;
    *f++ = (int32_t)call->attr.encoding;
    *f++ = call->attr.actions;
    *f++ = call->attr.stride;
    *f++ = CM_PLAN_TENSORS;
    for (int i = 0; i < 2 && maker->weight[i] != NONE; i++) key->weight[i] = call->t[maker->weight[i]].data;
    for (int i = 0; i < CM_PLAN_TENSORS; i++) {
        const cm_tensor *t = &call->t[i];
        if (!t->data) {
            f += 7;
            continue;
        }
        *f++ = 1;
        *f++ = t->ndim;
        for (int d = 0; d < CM_MAX_DIMS; d++) *f++ = t->dim[d];
        *f++ = t->stride;
    }
}

static unsigned hash_of(const cm_plan_key *key) {
    uint64_t h = (uint64_t)(uintptr_t)key->weight[0];
    for (int i = 0; i < CM_PLAN_FIELDS; i++) h = (h ^ (uint32_t)key->field[i]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 32) % CM_PLAN_BUCKETS;
}

static void free_plan(cm_cpu *cpu, cm_plan *plan) {
    if (!plan) return;
    for (int i = 0; i < CM_PLAN_PACKS; i++) cm_pack_release(cpu, plan->packs[i]);
    if (plan->free_rest) plan->free_rest(plan);
    free(plan);
}

static const plan_maker makers[CM_OP_COUNT] = {
    [CM_OP_dense] = {cm_cpu_plan_dense, {CM_T_dense_weight, NONE}},
    [CM_OP_dense_backward] = {cm_cpu_plan_dense_backward, {CM_T_dense_backward_weight, NONE}},
    [CM_OP_conv2d] = {cm_cpu_plan_conv2d, {CM_T_conv2d_weight, NONE}},
    [CM_OP_conv2d_backward] = {cm_cpu_plan_conv2d_backward, {CM_T_conv2d_backward_weight, NONE}},
    [CM_OP_lstm] = {cm_cpu_plan_lstm, {CM_T_lstm_weight_ih, CM_T_lstm_weight_hh}},
    [CM_OP_lstm_backward] = {cm_cpu_plan_lstm_backward, {CM_T_lstm_backward_weight_ih, CM_T_lstm_backward_weight_hh}},
    [CM_OP_muon_step] = {cm_cpu_plan_muon_step, {NONE, NONE}},
};

cm_status cm_cpu_prepare(cm_stream *stream, cm_call *call) {
    const plan_maker *maker = &makers[call->op];
    call->plan = NULL;
    if (!maker->make) return CM_OK;
    cm_cpu *cpu = cm_cpu_of(stream);
    cm_plan_key key;
    key_of(call, maker, &key);
    cm_plan **bucket = &cm_lane_of(stream)->plans[hash_of(&key)];
    for (cm_plan *plan = *bucket; plan; plan = plan->next) {
        if (memcmp(&plan->key, &key, sizeof key) != 0) continue;
        for (int i = 0; i < CM_PLAN_PACKS; i++) CM_TRY(cm_pack_check(cpu, plan->packs[i]));
        call->plan = plan;
        return CM_OK;
    }
    cm_plan *plan = NULL;
    cm_status status = maker->make(stream, call, &plan);
    if (status != CM_OK) {
        free_plan(cpu, plan);
        return status;
    }
    plan->key = key;
    plan->next = *bucket;
    *bucket = plan;
    call->plan = plan;
    return CM_OK;
}

void cm_cpu_free_plans(cm_stream *stream) {
    for (int i = 0; i < CM_PLAN_BUCKETS; i++) {
        for (cm_plan *plan = cm_lane_of(stream)->plans[i], *next; plan; plan = next) {
            next = plan->next;
            free_plan(cm_cpu_of(stream), plan);
        }
    }
}
