#include "backend/classes.h"

static cm_status open_absent(cm_backend *backend) {
    (void)backend;
    return cm_fail(CM_ERR_ABSENT, "backend cuda is not in this build; use \"cpu\"");
}

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = open_absent};
