#include "run/outline.h"

#include <stdlib.h>

#include "core/arena.h"

/* A node of the tree while the outline is made. */
typedef struct entry {
    int32_t slot, visits;
    float prior;
} entry;

/* Of each slot, [slots]. */
typedef struct links {
    int32_t *parent, *first, *next; /* slots, -1: none; first and next: children that are kept, best first */
    int32_t *hidden;
    uint8_t *is_kept;
} links;

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->visits != y->visits) return x->visits > y->visits ? -1 : 1;
    if (x->prior != y->prior) return x->prior > y->prior ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* A parent has at least the visits of its child and is older, but may have the smaller prior. */
static int compare_age(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->visits != y->visits) return x->visits > y->visits ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int list_used(const cm_outline *o, int slots, entry *list, int32_t *parent) {
    int count = 0;
    for (int32_t slot = 0; slot < slots; slot++) {
        const cm_node_info node = cm_search_node(o->trees, o->row, slot);
        parent[slot] = node.parent;
        if (node.visits == 0 || (slot > 0 && node.parent < 0)) continue;
        const float prior =
            slot == 0 ? 1.0f : cm_search_edge(o->trees, o->row, node.parent, node.action_from_parent).prior;
        list[count++] = (entry){slot, node.visits, prior};
    }
    return count;
}

/* Keeps the first `most` whose parents are kept; returns how many. */
static int keep(const entry *list, int count, int most, links *l) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const int32_t slot = list[i].slot, parent = l->parent[slot];
        if (kept < most && (slot == 0 || l->is_kept[parent])) {
            l->is_kept[slot] = 1;
            kept++;
        } else if (slot > 0) {
            l->hidden[parent]++;
        }
    }
    return kept;
}

/* The list from its end, so that the best child of a node comes to stand first. */
static void link_children(const entry *list, int count, int slots, links *l) {
    for (int i = 0; i < slots; i++) l->first[i] = l->next[i] = -1;
    for (int i = count - 1; i >= 0; i--) {
        const int32_t slot = list[i].slot;
        if (slot == 0 || !l->is_kept[slot]) continue;
        l->next[slot] = l->first[l->parent[slot]];
        l->first[l->parent[slot]] = slot;
    }
}

static void write_node(cm_outline *o, int i, int32_t slot, int parent, const links *l) {
    o->slot[i] = slot;
    o->parent[i] = parent;
    o->depth[i] = parent < 0 ? 0 : o->depth[parent] + 1;
    o->hidden[i] = l->hidden[slot];
}

/* What follows a node in the order: below it, next to it, or next to one above it; -1: nothing. `*parent` becomes the
 * number of its parent. */
static int32_t follow(const cm_outline *o, int i, const links *l, int *parent) {
    int32_t slot = o->slot[i];
    *parent = i;
    if (l->first[slot] >= 0) return l->first[slot];
    for (*parent = o->parent[i]; slot > 0 && l->next[slot] < 0; *parent = o->parent[*parent]) slot = l->parent[slot];
    return slot > 0 ? l->next[slot] : -1;
}

static void write_nodes(cm_outline *o, const links *l) {
    int parent = -1, i = 0;
    for (int32_t slot = 0; slot >= 0 && i < o->count; i++) {
        write_node(o, i, slot, parent, l);
        slot = follow(o, i, l, &parent);
    }
}

static void sort_by_visits(cm_outline *o, entry *list) {
    for (int i = 0; i < o->count; i++) list[i] = (entry){i, cm_outline_node(o, i).visits, 0.0f};
    qsort(list, (size_t)o->count, sizeof *list, compare_age);
    for (int i = 0; i < o->count; i++) o->by_visits[i] = list[i].slot;
}

static cm_status fill(cm_outline *o, int slots, int most, entry *list, links *l) {
    const int used = list_used(o, slots, list, l->parent);
    qsort(list, (size_t)used, sizeof *list, compare_age);
    o->count = keep(list, used, most, l);
    o->left_out = used - o->count;
    qsort(list, (size_t)used, sizeof *list, compare);
    link_children(list, used, slots, l);
    const size_t n = (size_t)o->count + 1;
    CM_TRY(cm_alloc(&o->slot, 5 * n, sizeof *o->slot, "an outline"));
    o->parent = o->slot + n, o->depth = o->parent + n, o->hidden = o->depth + n, o->by_visits = o->hidden + n;
    write_nodes(o, l);
    sort_by_visits(o, list);
    return CM_OK;
}

cm_status cm_outline_create(const cm_search *trees, int row, int slots, int most, cm_outline *out) {
    const size_t n = (size_t)slots;
    entry *list = NULL;
    links l = {0};
    *out = (cm_outline){.trees = trees, .row = row};
    cm_status status = cm_alloc(&list, n, sizeof *list, "an outline");
    if (status == CM_OK) status = cm_alloc(&l.parent, 4 * n, sizeof *l.parent, "an outline");
    if (status == CM_OK) status = cm_alloc(&l.is_kept, n, 1, "an outline");
    if (status == CM_OK) {
        l.first = l.parent + n, l.next = l.first + n, l.hidden = l.next + n;
        status = fill(out, slots, most, list, &l);
    }
    free(l.is_kept);
    free(l.parent);
    free(list);
    if (status != CM_OK) cm_outline_destroy(out);
    return status;
}

void cm_outline_destroy(cm_outline *outline) {
    free(outline->slot);
    *outline = (cm_outline){0};
}

cm_node_info cm_outline_node(const cm_outline *o, int i) { return cm_search_node(o->trees, o->row, o->slot[i]); }

cm_edge_info cm_outline_edge(const cm_outline *o, int i) {
    return cm_search_edge(o->trees, o->row, o->slot[o->parent[i]], cm_outline_node(o, i).action_from_parent);
}
