/* A profile as JSON. */
#include "cli/profile.h"

static void put_rate(cm_json_writer *w, const char *key, const cm_profile_rate *r) {
    cm_json_begin_object(w, key);
    cm_json_put_double(w, "env_steps_per_second", r->env_steps);
    cm_json_put_double(w, "simulations_per_second", r->simulations);
    cm_json_put_double(w, "updates_per_second", r->updates);
    cm_json_put_double(w, "seconds", r->seconds);
    cm_json_put_int(w, "iterations", r->iterations);
    cm_json_put_double(w, "opening_seconds", r->opening);
    cm_json_put_double(w, "first_iteration_extra_seconds", r->first);
    cm_json_put_double(w, "heap_bytes_per_iteration", r->growth);
    cm_json_end_object(w);
}

static void put_stages(cm_json_writer *w, const cm_stage_times *t) {
    cm_json_begin_array(w, "stages");
    for (int s = 0; s < CM_STAGES; s++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "name", cm_stage_name(s));
        cm_json_put_double(w, "share", t->seconds[s] / t->wall);
        cm_json_put_double(w, "seconds", t->seconds[s]);
        cm_json_put_string(w, "about", cm_stage_about(s));
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
}

static void put_operation(cm_json_writer *w, const cm_roofs *roofs, const cm_operation *row) {
    bool by_products;
    const double least = cm_roofs_least(roofs, row, &by_products);
    cm_json_begin_object(w, NULL);
    cm_json_put_string(w, "name", row->name);
    cm_json_put_string(w, "operation", cm_op_name(row->op));
    cm_json_put_string(w, "stage", cm_stage_name(row->stage));
    cm_json_put_int(w, "calls", row->calls);
    cm_json_put_double(w, "seconds", row->seconds);
    cm_json_put_double(w, "flop", row->flop);
    cm_json_put_double(w, "bytes", row->bytes);
    cm_json_put_double(w, "intensity", row->bytes > 0.0 ? row->flop / row->bytes : 0.0);
    cm_json_put_double(w, "flop_per_second", row->flop / row->seconds);
    cm_json_put_double(w, "bytes_per_second", row->bytes / row->seconds);
    cm_json_put_string(w, "roof", by_products ? "products" : "copies");
    cm_json_put_double(w, "share_of_roof", least / row->seconds);
    cm_json_end_object(w);
}

static void put_operations(cm_json_writer *w, const cm_profile *p) {
    cm_json_begin_array(w, "operations");
    for (int i = 0; i < p->operations.count; i++) put_operation(w, &p->roofs, &p->operations.row[i]);
    cm_json_end_array(w);
}

static void put_roofs(cm_json_writer *w, const cm_roofs *r) {
    cm_json_begin_object(w, "roofs");
    for (int type = 0; type < CM_PRODUCT_TYPES; type++)
        if (r->flops[type] > 0.0) cm_json_put_double(w, cm_dtype_name(type), r->flops[type]);
    cm_json_begin_array(w, "copies");
    for (int i = 0; i < CM_ROOF_SIZES; i++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_double(w, "bytes", r->size[i]);
        cm_json_put_double(w, "bytes_per_second", r->bytes[i]);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
    cm_json_end_object(w);
}

static void put_ladder(cm_json_writer *w, const cm_profile *p) {
    cm_json_begin_array(w, "precisions");
    for (int i = 0; i < p->ladder_count; i++) {
        const cm_precision *l = &p->ladder[i];
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "dtype", cm_dtype_name(l->dtype));
        cm_json_put_double(w, "positions_per_second", l->per_second);
        cm_json_put_double(w, "policy_error", l->policy_error);
        cm_json_put_double(w, "value_error", l->value_error);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
}

static void put_sweep(cm_json_writer *w, const cm_sweep *s) {
    cm_json_begin_object(w, NULL);
    cm_json_put_string(w, "key", s->key);
    if (s->knee >= 0) cm_json_put_string(w, "knee", s->point[s->knee].value);
    cm_json_begin_array(w, "points");
    for (int i = 0; i < s->count; i++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "value", s->point[i].value);
        cm_json_put_double(w, "env_steps_per_second", s->point[i].rate);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
    cm_json_end_object(w);
}

static void put_memory(cm_json_writer *w, const cm_profile *p) {
    cm_json_begin_array(w, "memory");
    for (int i = 0; i < p->memory_count; i++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "name", p->memory[i].name);
        cm_json_put_int(w, "bytes", (int64_t)p->memory[i].bytes);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
}

static void put_advice(cm_json_writer *w, const cm_profile *p) {
    double together = 1.0;
    cm_json_begin_array(w, "advice");
    for (int i = 0; i < p->advice_count; i++) {
        const cm_advice *a = &p->advice[i];
        together *= a->gain;
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "set", a->set);
        cm_json_put_double(w, "gain", a->gain);
        cm_json_put_double(w, "env_steps_per_second_before", a->before);
        cm_json_put_double(w, "env_steps_per_second", a->after);
        cm_json_put_double(w, "gain_with_those_before", together);
        cm_json_put_string(w, "why", a->why);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
}

cm_status cm_profile_print_json(const cm_profile *p) {
    cm_json_writer *w;
    CM_TRY(cm_json_writer_create(2, &w));
    cm_json_begin_object(w, NULL);
    cm_json_put_string(w, "environment", p->environment);
    cm_json_put_string(w, "backend", p->backend);
    cm_json_put_int(w, "threads", p->threads);
    cm_json_put_double(w, "wall_seconds", p->stages.wall);
    cm_json_put_double(w, "threads_busy", p->stages.busy / p->stages.wall);
    put_rate(w, "training", &p->base);
    put_stages(w, &p->stages);
    put_operations(w, p);
    put_roofs(w, &p->roofs);
    put_ladder(w, p);
    if (p->graph_count > 0) {
        cm_json_begin_object(w, "graphs");
        for (int i = 0; i < p->graph_count; i++) cm_json_put_double(w, p->graph[i].key, p->graph[i].value);
        cm_json_end_object(w);
    }
    cm_json_begin_array(w, "sweeps");
    for (int i = 0; i < p->sweep_count; i++) put_sweep(w, &p->sweep[i]);
    cm_json_end_array(w);
    put_memory(w, p);
    if (p->has_advice) put_advice(w, p);
    if (p->left[0]) cm_json_put_string(w, "left_out", p->left);
    cm_json_end_object(w);
    return cm_cli_print(w, CM_OK);
}
