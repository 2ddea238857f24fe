#include "backend/ref/ref.h"

#include "backend/classes.h"

static const char *describe(const cm_backend *backend) {
    (void)backend;
    return "ref: plain loops, sums in double";
}

static cm_status open_ref(cm_backend *backend) {
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) backend->native[type] = true; /* rounds as asked */
    return CM_OK;
}

const cm_backend_class cm_ref_class = {
    .name = "ref",
    .device = &cm_device_cpu,
    .takes_int8 = true,
    .open = open_ref,
    .describe = describe,
    .run =
        {
#define CM_OP(name, ...) [CM_OP_##name] = cm_ref_##name,
#include "backend/ops.def"
#undef CM_OP
        },
};
