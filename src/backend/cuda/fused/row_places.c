#include "backend/cuda/fused/row_places.h"

#include <stddef.h>
#include <string.h>

enum { NONE = -1 };

/* ---- steps and slots ---- */

cm_row_step *cm_places_last(cm_row_places *all) { return &all->args->step[all->args->steps - 1]; }

cm_row_step *cm_places_step(cm_row_places *all, cm_op op, int n) {
    if (all->args->steps == CM_ROW_STEPS) return NULL;
    memset(all->used[all->args->steps], NONE, sizeof all->used[0]);
    all->args->steps++;
    *cm_places_last(all) = (cm_row_step){.n = n, .k = 1, .op = (uint8_t)op};
    return cm_places_last(all);
}

void cm_places_undo(cm_row_places *all, int steps, int slots) {
    all->args->steps = steps;
    all->slots = slots;
}

static cm_row_place *place_of(cm_row_step *s, cm_row_use use) {
    cm_row_place *const places[CM_ROW_USES] = {&s->y, &s->x, &s->z, &s->w, &s->also};
    return places[use];
}

static bool is_within(const void *at, const void *base, size_t bytes) {
    return (const char *)at >= (const char *)base && (const char *)at < (const char *)base + bytes;
}

/* What a slot stands for: t of float32 is found by its rows, another by its copies. */
static const cm_row_range *range_of(const cm_row_slot *s, const cm_tensor *t) {
    return t->dtype == CM_F32 ? &s->rows : &s->copy;
}

/* The latest slot in whose rows t begins. */
static int find_slot(const cm_row_places *all, const cm_tensor *t) {
    for (int i = all->slots - 1; i >= 0; i--) {
        const cm_row_range *r = range_of(&all->slot[i], t);
        if (r->base && is_within(t->data, r->base, (size_t)r->bytes)) return i;
    }
    return NONE;
}

/* The column of a slot that t begins with. */
static int column_of(const cm_row_slot *s, const cm_tensor *t) {
    return (int)(((const char *)t->data - range_of(s, t)->base) / (int64_t)cm_dtype_size(t->dtype));
}

/* Are the rows of t, which begins in a slot, rows of that, or parts of them? */
static bool is_whole(const cm_row_slot *s, const cm_tensor *t) {
    return t->stride * (int64_t)cm_dtype_size(t->dtype) == range_of(s, t)->stride &&
           column_of(s, t) + cm_tensor_row_size(t) <= s->columns;
}

/* A place of the last step is a new slot, with the rows of t. */
static void add_slot(cm_row_places *all, cm_row_use use, const cm_tensor *t) {
    const int step = all->args->steps - 1;
    cm_row_slot *s = &all->slot[all->slots];
    *s = (cm_row_slot){.columns = cm_tensor_row_size(t), .made = step, .last = step};
    *(t->dtype == CM_F32 ? &s->rows : &s->copy) = cm_row_range_of(t);
    all->used[step][use] = (int16_t)all->slots++;
    *place_of(cm_places_last(all), use) = (cm_row_place){NULL, 0, 1};
}

/* A place of the last step is t in a slot. */
static void use_slot(cm_row_places *all, cm_row_use use, int slot, const cm_tensor *t) {
    const int step = all->args->steps - 1;
    *place_of(cm_places_last(all), use) = (cm_row_place){NULL, column_of(&all->slot[slot], t), 1};
    all->used[step][use] = (int16_t)slot;
    all->slot[slot].last = step;
}

/* ---- rows on the device ---- */

static bool are_rows(const cm_row_places *all, const cm_tensor *t) {
    return t->dtype == CM_F32 && t->dim[0] == all->args->rows;
}

/* Does only the pass look at t? */
static bool is_work(const cm_row_places *all, const cm_tensor *t) {
    return is_within(t->data, all->pass->work, all->pass->work_bytes);
}

static cm_row_place on_device(const cm_tensor *t) { return (cm_row_place){t->data, 0, t->stride}; }

/* Rows of the device's memory; the slots that have some of what is written there are old. */
static bool touch(cm_row_places *all, const cm_tensor *t, bool writes) {
    const cm_row_range rows = cm_row_range_of(t);
    if (t->data && t->dim[0] != all->args->rows) return false;
    for (int i = 0; writes && i < all->slots; i++) {
        cm_row_slot *s = &all->slot[i];
        if (cm_row_relate(&s->rows, &rows) != CM_ROWS_APART) s->rows.base = NULL;
        if (cm_row_relate(&s->copy, &rows) != CM_ROWS_APART) s->copy.base = NULL;
    }
    return cm_row_touch(&all->touched, &rows, writes);
}

/* ---- what a step reads ---- */

bool cm_places_read(cm_row_places *all, cm_row_use use, const cm_tensor *t) {
    if (!t->data) return true;
    if (!are_rows(all, t)) return false;
    if (all->scattered && is_within(t->data, all->scattered->data, cm_tensor_bytes(all->scattered))) return false;
    const int slot = find_slot(all, t);
    if (slot != NONE && is_whole(&all->slot[slot], t)) {
        use_slot(all, use, slot, t);
        return true;
    }
    *place_of(cm_places_last(all), use) = on_device(t);
    return !is_work(all, t) && touch(all, t, false);
}

bool cm_places_is_shared(const cm_row_places *all, const cm_tensor *t) {
    const int slot = find_slot(all, t);
    return slot != NONE && is_whole(&all->slot[slot], t) && column_of(&all->slot[slot], t) % 4 == 0;
}

void cm_places_read_near(cm_row_places *all, const cm_tensor *t) { use_slot(all, CM_ROW_X, find_slot(all, t), t); }

bool cm_places_read_copy(cm_row_places *all, const cm_tensor *t) {
    cm_row_step *s = cm_places_last(all);
    s->of.from = (cm_row_copy){t->data, t->stride};
    s->type = (uint8_t)t->dtype;
    return touch(all, t, false);
}

bool cm_places_gather(cm_row_places *all, const cm_tensor *t) {
    cm_places_last(all)->x = on_device(t);
    return find_slot(all, t) == NONE && !(all->scattered && all->scattered->data == t->data);
}

/* ---- what a step writes ---- */

/* To the device, and where others look at it to shared memory, too, where a layer may read it next. Layers
 * themselves write their results once, lane by lane; where the device's rows are added to, they are y. */
static bool write_out(cm_row_places *all, const cm_tensor *t) {
    cm_row_step *s = cm_places_last(all);
    if (!touch(all, t, true)) return false;
    if (!all->shows || cm_row_is_layer(s)) {
        s->y = on_device(t);
        return true;
    }
    add_slot(all, s->add ? CM_ROW_ALSO : CM_ROW_Y, t);
    *(s->add ? &s->y : &s->also) = on_device(t);
    return true;
}

void cm_places_write_near(cm_row_places *all, const cm_tensor *t) { add_slot(all, CM_ROW_Y, t); }

bool cm_places_write(cm_row_places *all, const cm_tensor *t) {
    if (!are_rows(all, t)) return false;
    if (!is_work(all, t)) return write_out(all, t);
    cm_places_write_near(all, t);
    return true;
}

bool cm_places_save(cm_row_places *all, const cm_tensor *t, bool writes) {
    if (!t->data) return true;
    cm_places_last(all)->saved = on_device(t);
    return all->shows && touch(all, t, writes);
}

bool cm_places_write_copy(cm_row_places *all, cm_row_copy *copy, const cm_tensor *t) {
    if (!t->data) return true;
    *copy = (cm_row_copy){t->data, t->stride};
    cm_places_last(all)->type = (uint8_t)t->dtype;
    return touch(all, t, true);
}

bool cm_places_write_half(cm_row_places *all, const cm_tensor *t) {
    if (!cm_places_write_copy(all, &cm_places_last(all)->half, t)) return false;
    if (t->data) all->slot[all->slots - 1].copy = cm_row_range_of(t);
    return true;
}

bool cm_places_scatter(cm_row_places *all, const cm_tensor *t) {
    if (is_work(all, t) || all->scattered) return false;
    cm_places_last(all)->y = on_device(t);
    all->scattered = t;
    return true;
}

/* ---- shared memory ---- */

/* Floats from row to row: rows of a tile that lanes read at once begin at different banks. */
static int32_t stride_for(int columns) { return (columns + 7) / 8 * 8 + 4; }

static int32_t end_of(const cm_row_places *all, const cm_row_slot *s) { return s->first + all->args->tile * s->stride; }

/* The first place for slot i next to those before it that are still read when it is made. */
static void put_slot(cm_row_places *all, int i) {
    cm_row_slot *s = &all->slot[i];
    s->stride = stride_for(s->columns);
    s->first = 0;
    for (int j = 0; j < i; j++) {
        const cm_row_slot *other = &all->slot[j];
        if (other->last < s->made || s->first >= end_of(all, other) || other->first >= end_of(all, s)) continue;
        s->first = end_of(all, other);
        j = -1; /* next to those before it, too? */
    }
}

/* Tells step i where its slots lie. */
static void set_places(cm_row_places *all, int i) {
    for (int use = 0; use < CM_ROW_USES; use++) {
        if (all->used[i][use] == NONE) continue;
        const cm_row_slot *slot = &all->slot[all->used[i][use]];
        cm_row_place *place = place_of(&all->args->step[i], (cm_row_use)use);
        place->first += slot->first;
        place->stride = slot->stride;
    }
}

void cm_places_lay_out(cm_row_places *all) {
    cm_row_kernel_args *args = all->args;
    int32_t end = 0;
    for (int i = 0; i < all->slots; i++) {
        put_slot(all, i);
        if (end_of(all, &all->slot[i]) > end) end = end_of(all, &all->slot[i]);
    }
    for (int i = 0; i < args->steps; i++) set_places(all, i);
    args->ahead = CM_ROW_FETCH;
    args->memory = (uint32_t)end * (uint32_t)sizeof(float);
    args->used = (uint32_t)(offsetof(cm_row_kernel_args, step) + (size_t)args->steps * sizeof(cm_row_step));
}
