#include "backend/cuda/fused/row_range.h"

cm_row_range cm_row_range_of(const cm_tensor *t) {
    const int64_t size = (int64_t)cm_dtype_size(t->dtype);
    if (!t->data) return (cm_row_range){0};
    return (cm_row_range){t->data, t->stride * size, cm_tensor_row_size(t) * size, t->dim[0]};
}

static const char *end_of(const cm_row_range *r) { return r->base + (r->rows - 1) * r->stride + r->bytes; }

cm_row_relation cm_row_relate(const cm_row_range *a, const cm_row_range *b) {
    if (!a->base || !b->base || end_of(a) <= b->base || end_of(b) <= a->base) return CM_ROWS_APART;
    const cm_row_range *low = a->base <= b->base ? a : b, *high = low == a ? b : a;
    const int64_t apart = high->base - low->base;
    if (a->stride != b->stride || apart + high->bytes > a->stride) return CM_ROWS_CROSSED;
    return apart < low->bytes ? CM_ROWS_ALIKE : CM_ROWS_APART;
}

bool cm_row_touch(cm_row_ranges *all, const cm_row_range *rows, bool writes) {
    if (!rows->base) return true;
    if (all->count == CM_ROW_RANGES) return false;
    for (int i = 0; i < all->count; i++)
        if ((writes || all->written[i]) && cm_row_relate(&all->range[i], rows) == CM_ROWS_CROSSED) return false;
    all->range[all->count] = *rows;
    all->written[all->count++] = writes;
    return true;
}
