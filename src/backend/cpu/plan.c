#include "backend/cpu/cpu.h"

#include <stdlib.h>

typedef struct plan_maker {
    cm_status (*make)(cm_stream *stream, const cm_call *call, cm_plan **out);
    uint32_t kept; /* bits of the tensors that it packs */
} plan_maker;

static unsigned hash_of(const cm_call_key *key) {
    uint64_t h = 0;
    for (int i = 0; i < CM_CALL_TENSORS; i++) h ^= (uint64_t)(uintptr_t)key->kept[i];
    for (int i = 0; i < CM_CALL_KEY_FIELDS; i++) h = (h ^ (uint32_t)key->field[i]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 32) % CM_PLAN_BUCKETS;
}

static void free_plan(cm_cpu *cpu, cm_plan *plan) {
    if (!plan) return;
    for (int i = 0; i < CM_PLAN_PACKS; i++) cm_pack_release(cpu, plan->packs[i]);
    if (plan->free_rest) plan->free_rest(plan);
    free(plan);
}

static const plan_maker makers[CM_OP_COUNT] = {
    [CM_OP_dense] = {cm_cpu_plan_dense, 1u << CM_T_dense_weight},
    [CM_OP_dense_backward] = {cm_cpu_plan_dense_backward, 1u << CM_T_dense_backward_weight},
    [CM_OP_conv2d] = {cm_cpu_plan_conv2d, 1u << CM_T_conv2d_weight},
    [CM_OP_conv2d_norm] = {cm_cpu_plan_conv2d_norm, 1u << CM_T_conv2d_norm_weight},
    [CM_OP_conv2d_backward] = {cm_cpu_plan_conv2d_backward, 1u << CM_T_conv2d_backward_weight},
    [CM_OP_lstm] = {cm_cpu_plan_lstm, 1u << CM_T_lstm_weight_ih | 1u << CM_T_lstm_weight_hh},
    [CM_OP_lstm_backward] = {cm_cpu_plan_lstm_backward,
                             1u << CM_T_lstm_backward_weight_ih | 1u << CM_T_lstm_backward_weight_hh},
    [CM_OP_muon_step] = {cm_cpu_plan_muon_step, 0},
};

cm_status cm_cpu_prepare(cm_stream *stream, cm_call *call) {
    const plan_maker *maker = &makers[call->op];
    call->plan = NULL;
    if (!maker->make) return CM_OK;
    cm_cpu *cpu = cm_cpu_of(stream);
    const cm_call_key key = cm_call_key_of(call, maker->kept);
    cm_plan **bucket = &cm_lane_of(stream)->plans[hash_of(&key)];
    for (cm_plan *plan = *bucket; plan; plan = plan->next) {
        if (!cm_call_key_same(&plan->key, &key)) continue;
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
