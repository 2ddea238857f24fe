# CUDA: everything for a GPU is a module (BUILD/lib/*.so) that the program opens when asked for; it links none.
# Compiled for the GPUs of this machine, and as PTX of the newest of these.
#: NVCC=nvcc            the CUDA compiler
#: CUDA_ARCHS='75 90'   the architectures that are compiled, in place of those of the GPUs here; all: from 75 to 120 whatever nvcc knows,
#:                      which is also what is compiled where no GPU is found
#: CUDNN_ROOT=DIR       use the cuDNN in DIR/include and DIR/lib, as pip's nvidia/cudnn, instead of the toolkit's or the system's
#: NVCCFLAGS=-lineinfo  more flags for it; with this one compute-sanitizer and profilers name lines of the kernels
CUDA_HOME ?= /usr/local/cuda
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard $(CUDA_HOME)/bin/nvcc))
# The oldest that is tried (docs/CUDA.md).
NVCC_NEEDED := 12.4
NVCC_RELEASE = $(if $(NVCC),$(shell $(NVCC) --version | sed -n 's/.*release \([0-9.]*\).*/\1/p'))
NVCC_ARCHS = $(patsubst sm_%,%,$(if $(NVCC),$(shell $(NVCC) --list-gpu-code 2>/dev/null)))
CUDA_ALL = $(filter 75 80 86 87 89 90 100 103 110 120,$(NVCC_ARCHS))
# Drivers take a while to say which GPUs there are: they are asked once, where that matters.
CUDA_ARCHS ?= $(eval CUDA_ARCHS := $(or $(shell scripts/find_cuda gpus $(NVCC_ARCHS)),all))$(CUDA_ARCHS)
CUDA_TARGETS = $(or $(filter-out all,$(CUDA_ARCHS)),$(CUDA_ALL))
CUDA_NEWEST = $(lastword $(CUDA_TARGETS))
CUDA_CODE = $(foreach a,$(CUDA_TARGETS),-gencode arch=compute_$a,code=sm_$a) -gencode arch=compute_$(CUDA_NEWEST),code=compute_$(CUDA_NEWEST)
# No contraction of a*b+c here either: the shared headers give the same bits as on the CPU.
NVCC_BASE = -std=c++17 -O3 -fmad=false -Isrc
NVCC_FLAGS = $(NVCC_BASE) $(CUDA_CODE) -Xcompiler -fPIC,-Wall,-Wextra \
             $(if $(filter 1,$(WERROR)),-Werror all-warnings) $(NVCCFLAGS)

# What the module knows of its own code, and where it finds cuBLASLt and cuDNN besides the system's places.
CUDA_DEFINES = $(STAMP_FLAGS) -DCM_CUDA_ARCHS='"$(CUDA_TARGETS)"' -DCM_CUDA_PTX=$(CUDA_NEWEST)
CUDA_LIB = $(firstword $(realpath $(dir $(NVCC))../lib64 $(dir $(NVCC))../lib))
# pip's packages have no libcudnn.so, so it is linked by the name that the module asks for when it is opened. conda's file of that name is a
# link to one of another name.
CUDNN_LIB = $(if $(CUDNN_ROOT),$(patsubst %/libcudnn.so.9,%,$(firstword $(wildcard $(abspath $(CUDNN_ROOT))/lib*/libcudnn.so.9))))
CUDA_INCLUDES = $(if $(CUDNN_ROOT),-isystem $(abspath $(CUDNN_ROOT))/include) -isystem $(dir $(NVCC))../include
CUDA_FOLDERS = $(CUDNN_LIB) $(CUDA_LIB)
CUDA_LIBS = -lcublasLt -l:libcudnn.so.9
FIND_CUDA = NVCC='$(NVCC)' NEEDED=$(NVCC_NEEDED) CUDA_HOME='$(CUDA_HOME)' CUDNN_ROOT='$(CUDNN_ROOT)' CC='$(CC)' INCLUDES='$(CUDA_INCLUDES)' \
    LIBRARIES='$(CUDA_FOLDERS:%=-L%)' scripts/find_cuda

CUDA_SRC := $(MODULE_SRC)
CUDA_OBJ := $(CUDA_SRC:%=$(BUILD)/%.o)
CUDA_MODULE := $(if $(filter %/cuda.c,$(CUDA_SRC)),$(BUILD)/lib/cumind_cuda.so)
# Headers with functions for both sides; those of kernels are compiled with the kernels.
SHARED_HEADERS = $(filter-out src/core/status.h src/backend/cuda/% src/device/cuda/% src/mcts/cuda/%,$(shell grep -lw CM_HD $(HEADERS) 2>/dev/null))

have-nvcc:
	@$(FIND_CUDA) nvcc
have-cuda:
	@$(FIND_CUDA) module

cuda-targets: have-cuda
	@echo 'compiles for sm_$(CUDA_TARGETS)$(if $(filter file,$(origin CUDA_ARCHS)),$(if $(filter all,$(CUDA_ARCHS)),$(comma) as no GPU is found here; \
	    CUDA_ARCHS=90 takes one architecture,$(comma) the GPUs here; CUDA_ARCHS=all takes every architecture))'

cuda: cuda-targets ## compiles the CUDA module and the headers shared with the CPU for the GPUs that are here (CUDA_ARCHS=all: for every architecture)
	+@$(SUBMAKE) CUDA_ARCHS='$(CUDA_TARGETS)' cuda-build

cuda-build: $(BUILD)/cuda/shared_headers.o $(CUDA_OBJ) $(CUDA_MODULE)
	@echo 'CUDA: $(words $(SHARED_HEADERS)) shared headers and $(words $(CUDA_SRC)) sources compiled by' \
	    'nvcc $(NVCC_RELEASE) for sm_$(CUDA_TARGETS)' \
	    'and PTX$(if $(CUDA_MODULE), into $(CUDA_MODULE))'

$(BUILD)/cuda/shared_headers.o: $(HEADERS) $(BUILD)/cuda/flags.stamp
	$(call say,NVCC,shared headers)
	@printf '#include "%s"\n' $(SHARED_HEADERS:src/%=%) >$(@:.o=.cu)
	$(Q)$(NVCC) --threads $(JOBS) $(NVCC_FLAGS) -c $(@:.o=.cu) -o $@

$(BUILD)/cuda/flags.stamp: FORCE
	$(call stamp,$@,$(NVCC) $(NVCC_FLAGS))

# Tensor cores of 9.0 that read shared memory by themselves are in no other architecture, so code for them has a name of
# its own. Files that have any are compiled for it in place of 9.0.
NINES = $(patsubst 90,90a,$1)
$(patsubst %,$(BUILD)/src/backend/cuda/fused/%.cu.o,tower norm_conv norm_grad): private CUDA_CODE = $(foreach a,$(call NINES,$(CUDA_TARGETS)),-gencode arch=compute_$a,code=sm_$a) \
    -gencode arch=compute_$(CUDA_NEWEST),code=compute_$(CUDA_NEWEST)

# Where the libraries are is nothing to kernels.
$(BUILD)/cuda/libraries.stamp: FORCE
	$(call stamp,$@,$(CUDA_INCLUDES) $(CUDA_FOLDERS))

$(BUILD)/%.cu.o: %.cu $(BUILD)/cuda/flags.stamp
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) --threads $(JOBS) $(NVCC_FLAGS) -MD -MP -MF $(@:.o=.d) -c $< -o $@

$(BUILD)/src/%.c.o: src/%.c $(BUILD)/flags.stamp $(BUILD)/cuda/flags.stamp $(BUILD)/cuda/libraries.stamp
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC $(CUDA_INCLUDES) $(CUDA_DEFINES) -MMD -MP -c $< -o $@

$(BUILD)/src/backend/cuda/module/cuda.c.o: $(BUILD)/interface.stamp
$(BUILD)/lib/cumind_cuda.so: $(CUDA_OBJ) $(BUILD)/cuda/libraries.stamp mk/module.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(NVCC) -shared $(CUDA_CODE) $(CUDA_OBJ) -Xlinker --version-script=mk/module.map $(foreach f,$(CUDA_FOLDERS),-L$f -Xlinker -rpath=$f) $(CUDA_LIBS) -o $@

# The module shows nothing but its entry, and programs that open it have all that it calls of them.
check-module: cuda ## compiles the module: every program has what it calls; no files call each other in a circle
	+@$(SUBMAKE) $(SHARED) $(PROGRAMS) $(wildcard $(GPU_TESTS))
	@scripts/check_module $(CUDA_MODULE) $(BUILD)/$(SONAME) $(PROGRAMS) $(wildcard $(GPU_TESTS))
	@scripts/check_cycles $(BUILD)

# cuDNN plans convolutions for GPUs that are not there, and compiles kernels where it finds a driver's functions; where it is
# not installed the test says so.
CUDNN := $(if $(NVCC),$(wildcard $(or $(CUDNN_ROOT),$(dir $(NVCC))..)/include/cudnn.h))
DNN_TEST := $(BUILD)/tests/backend/cuda/module/test_dnn_graph
DNN_DRIVER := $(BUILD)/tests/modules/dnn_driver.so
$(DNN_TEST): $(addprefix $(BUILD)/,$(if $(CUDNN),$(patsubst %,src/backend/cuda/module/dnn_%.c.o,parts graph engine),tests/backend/cuda/module/dnn_graph_absent.o))
$(DNN_TEST): LIBS += $(if $(CUDNN),$(foreach f,$(CUDA_FOLDERS),-L$f -Wl$(comma)-rpath=$f) -l:libcudnn.so.9)
$(DNN_TEST): | $(DNN_DRIVER)
$(DNN_TEST).o: EXTRA_FLAGS += -DCM_TEST_DRIVER=\"$(abspath $(DNN_DRIVER))\"
$(DNN_DRIVER): tests/modules/dnn_driver.c $(BUILD)/flags.stamp
	$(call say,CC,$@)
	$(SHARED_TEST) -Wl,-soname,libcuda.so.1 $< -o $@

# Kernels as nvcc compiles them, run on the CPU instruction by instruction (tests/ptx/ptx.h) by the tests that launch any: all of
# them for 9.0, and the most telling ones for the oldest architecture, which has no tensor cores for 16 bits, and the newest.
#: PTX_ARCHS='75 90a'   the architectures whose kernels `make test-ptx` runs; the newest besides these if it is not given
KERNEL_SRC := $(shell grep -l LAUNCHER $(filter %.cu,$(CUDA_SRC)))
PTX_NEWEST = $(lastword $(CUDA_ALL))
PTX_ARCHS ?= 90a 75 $(PTX_NEWEST)
# The largest are in none of the tests for 7.5.
PTX_SRC_OF = $(notdir $(if $(filter 75,$1),$(filter-out %/tower.cu %/norm_conv.cu %/norm_grad.cu %/simulations.cu,$(KERNEL_SRC)),$(KERNEL_SRC)))
PTX_FILES = $(foreach a,$(PTX_ARCHS),$(patsubst %.cu,$(BUILD)/ptx/$a/%.ptx,$(call PTX_SRC_OF,$a)))
PTX_TESTS_90A = backend/cuda/ops/test_cuda_ops mcts/test_device_search run/test_far backend/cuda/fused/test_cuda_row_kernel backend/cuda/ops/test_cuda_copies backend/cuda/ops/test_cuda_sums \
    backend/cuda/fused/test_cuda_segments backend/cuda/fused/test_cuda_towers backend/cuda/fused/test_cuda_norm_convs backend/cuda/fused/test_cuda_norm_grads backend/cuda/ops/test_cuda_half backend/cuda/ops/test_cuda_int8 \
    backend/test_nonfinite agent/test_device_planner \
    agent/test_simulations
PTX_TESTS_75 = agent/test_device_planner backend/cuda/ops/test_cuda_half backend/cuda/ops/test_cuda_int8 backend/test_nonfinite
PTX_TESTS_NEWEST = backend/cuda/ops/test_cuda_int8 agent/test_simulations backend/cuda/fused/test_cuda_segments backend/cuda/fused/test_cuda_row_kernel agent/test_device_planner backend/cuda/ops/test_cuda_half backend/cuda/fused/test_cuda_towers backend/cuda/fused/test_cuda_norm_convs backend/cuda/fused/test_cuda_norm_grads
RUN_PTX = @echo 'PTX of compute_$1'; $3 CUMIND_TEST_PTX='$(abspath $(BUILD))/ptx/$1' CK_TIMEOUT_MULTIPLIER=50 JOBS=$(JOBS) LIMIT=1200 \
    LOGS=$(BUILD)/logs/ptx$1 scripts/run_tests $(2:%=$(BUILD)/tests/%)

test-ptx: have-nvcc ## runs the kernels that nvcc compiles, instruction by instruction on the CPU, in the tests that launch them
	+@$(SUBMAKE) test-ptx-run

test-ptx-run: $(PTX_FILES) $(PTX_TESTS_90A:%=$(BUILD)/tests/%)
	$(if $(filter 90a,$(PTX_ARCHS)),$(call RUN_PTX,90a,$(PTX_TESTS_90A)))
	$(if $(filter 75,$(PTX_ARCHS)),$(call RUN_PTX,75,$(PTX_TESTS_75)))
	$(if $(filter 75,$(PTX_ARCHS)),$(call RUN_PTX,75,backend/cuda/fused/test_cuda_row_kernel,CK_RUN_CASE=float32))
	$(if $(filter $(PTX_NEWEST),$(PTX_ARCHS)),$(call RUN_PTX,$(PTX_NEWEST),$(PTX_TESTS_NEWEST)))

kernel-costs: have-nvcc ## says what a search costs a GPU, line by line of its kernels, by the model of tests/ptx/profile.h
	+@$(SUBMAKE) $(patsubst %.cu,$(BUILD)/ptx/90a/%.ptx,$(notdir $(KERNEL_SRC))) $(BUILD)/tests/agent/test_simulations
	@for type in bfloat16 float32; do rm -f $(BUILD)/kernel-costs.txt; echo "$$type:"; \
	    CUMIND_TEST_PTX='$(abspath $(BUILD))/ptx/90a' CUMIND_PTX_PROFILE='$(abspath $(BUILD))/kernel-costs.txt' CK_FORK=no CK_RUN_CASE=$$type \
	    CK_TIMEOUT_MULTIPLIER=50 $(BUILD)/tests/agent/test_simulations && cat $(BUILD)/kernel-costs.txt || exit 1; done

# The stem is ARCHITECTURE/NAME.
$(BUILD)/ptx/%.ptx: $(BUILD)/cuda/flags.stamp
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVCC_BASE) -lineinfo -ptx -arch=compute_$(*D) -MD -MP -MF $(@:.ptx=.d) -MT $@ \
	    $(filter %/$(*F).cu,$(KERNEL_SRC)) -o $@

# The tests that have something to do on a GPU, or that stand in for it.
GPU_TESTS = $(addprefix $(BUILD)/tests/backend/,cuda/ops/test_cuda_ops cuda/ops/test_cuda_half cuda/ops/test_cuda_int8 cuda/ops/test_cuda_copies cuda/fused/test_cuda_row_kernel cuda/fused/test_cuda_segments \
    test_ops_far test_ops test_nonfinite test_streams test_op_speed) \
    $(BUILD)/tests/network/test_inference $(BUILD)/tests/trainer/test_graphs $(BUILD)/tests/mcts/test_device_search $(addprefix $(BUILD)/tests/agent/test_,device_planner simulations searches) \
    $(BUILD)/tests/distributed/test_nccl
gpu-check-tests: $(GPU_TESTS)
#: REPORT=FILE          what `make gpu-check` writes (gpu-report.md)
REPORT ?= gpu-report.md
gpu-check: ## builds for the GPU that is here, runs its tests and benchmarks within 9 minutes and writes gpu-report.md
	@BUILD='$(BUILD)' JOBS='$(JOBS)' scripts/gpu_check '$(REPORT)'
#: SMALL=1              `make gpu-learn` in small, without a GPU; JUDGE=1: by what could not judge where it was trained
gpu-learn: $(if $(filter 1,$(SMALL)),all $(REHEARSED),$(if $(filter 1,$(JUDGE)),all)) ## trains the tasks of scripts/gpu_learn.ini (ONLY='go9 connect4') on the GPU that is here, ten minutes each, judges them and writes gpu-learn/NAME
	@BUILD='$(BUILD)' JOBS='$(JOBS)' SMALL='$(SMALL)' JUDGE='$(JUDGE)' scripts/gpu_learn $(ONLY)
.PHONY: have-nvcc have-cuda cuda-targets test-ptx test-ptx-run kernel-costs cuda cuda-build check-module gpu-check gpu-check-tests gpu-learn
-include $(CUDA_OBJ:.o=.d) $(wildcard $(BUILD)/ptx/*/*.d)
