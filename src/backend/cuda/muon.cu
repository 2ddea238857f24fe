#include "backend/cuda/muon.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_muon_begin_each, cm_muon_args)
CM_LAUNCHER(cm_muon_norm_all, cm_muon_args)
CM_LAUNCHER(cm_muon_divide_each, cm_muon_args)
CM_LAUNCHER(cm_muon_gram_each, cm_muon_args)
CM_LAUNCHER(cm_muon_update_each, cm_muon_args)
CM_LAUNCHER(cm_muon_apply_each, cm_muon_args)
CM_LAUNCHER(cm_muon_step_each, cm_muon_args)
