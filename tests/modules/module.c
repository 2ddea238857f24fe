/* A small module of the backend "cuda", in the kinds that the loader must tell apart; one object per KIND. */
#include "backend/module.h"
#include "backend/classes.h"
#include "core/log.h"

#define GOOD          1
#define OTHER_VERSION 2
#define OTHER_BUILD   3
#define NO_ENTRY      4
#define NO_SYMBOL     5

static cm_status open_it(cm_backend *backend) {
    backend->device = &cm_device_cpu;
    return cm_fail(CM_ERR_DEVICE, "the module's own message about %s", backend->kind->name);
}

static const cm_backend_class kind = {.name = "test module", .open = open_it};

#if KIND == NO_SYMBOL
int cm_is_nowhere(void);
int cm_module_calls(void);
int cm_module_calls(void) { return cm_is_nowhere(); }
#endif

const cm_backend_class *cumind_module(const cm_module_stamp **stamp);
#if KIND == NO_ENTRY
#define cumind_module cumind_other
const cm_backend_class *cumind_other(const cm_module_stamp **stamp);
#endif

const cm_backend_class *cumind_module(const cm_module_stamp **stamp) {
    static cm_module_stamp mine;
    mine = cm_module_stamp_here;
    if (KIND == OTHER_VERSION) mine.version = "0.0.9";
    if (KIND == OTHER_BUILD) mine.interface = "0";
    *stamp = &mine;
    return &kind;
}
