# Everything that checks the code: layers, headers, style, sanitizers, coverage, fuzzers.
SHELL_SCRIPTS := scripts/deps scripts/episodes scripts/find_cuda scripts/check_layers scripts/check_options scripts/check_headers scripts/check_module scripts/coverage scripts/fuzz scripts/run_tests scripts/selftest scripts/test_network scripts/two_hosts scripts/slurm/try scripts/slurm/train.sbatch scripts/tidy scripts/try_environment scripts/check_wheel scripts/check_python scripts/check_python_memory scripts/check_gtp scripts/bare_debian scripts/mutants_mcts.sh scripts/mutants_kernels.sh scripts/mutants_cpu.sh scripts/mutants_loop.sh scripts/gpu_check scripts/gpu_claims scripts/gpu_sanitize scripts/arm64 .ci/run
C_FILES = $(sort $(shell find include src tests scripts docs -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' -o -name '*.cpp'))
# Builds of another kind stand next to the ordinary one and are as incremental. Their tests may take longer: what hangs is ended
# by LIMIT. JOBS is passed on, as nproc says what OMP_NUM_THREADS says.
OTHER_BUILD = CK_TIMEOUT_MULTIPLIER=50 $(SUBMAKE) BUILD=$(BUILD)/$1 WERROR=$(WERROR) JOBS=$(JOBS)

# What is compiled where there is no CUDA toolkit may not include its headers: a machine that has them would not notice.
check-layers: ## every folder includes only what the design allows it
	@scripts/check_layers .
	@! grep -nE '^#include <(cu|nv|nccl)' $(LIB_SRC) $(filter-out $(CUDA_ONLY),$(wildcard src/backend/cuda/*/*.c)) src/agent/cuda/*.c || \
	    { echo 'headers of CUDA in what is compiled without it'; exit 1; }

check-options: ## every option of a configuration is read by something
	@scripts/check_options .

check-cycles: all ## no files call each other in a circle
	@scripts/check_cycles $(BUILD)

check-headers: ## every header compiles alone, as C17 and as C++17
	@CC='$(CC)' JOBS=$(JOBS) scripts/check_headers include/cumind.h $(HEADERS)

check-names: ## a name is defined in one header only
	@scripts/check_names .

check-links: ## the links of the pages lead to files and headings that are there
	@scripts/check_links .

check-words: ## words that the field has better ones for do not come back
	@scripts/check_words .

lint: check-format check-options check-names check-words ## clang-format, unread options, names of two headers, clang-tidy, cppcheck, shellcheck, mutants of lines that are gone
	@shellcheck -x $(SHELL_SCRIPTS)
	@bash scripts/mutants_mcts.sh --check
	@bash scripts/mutants_kernels.sh --check
	@bash scripts/mutants_cpu.sh --check
	@cppcheck --quiet --max-configs=1 --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem --suppress=memleak:src/core/arena.c --suppress=uninitvar --suppress=invalidPointerCast --suppress=shiftTooManyBitsSigned -j$(JOBS) -Iinclude -Isrc -D__GNUC__ src
	@wc -l $(ALL_SRC) $(HEADERS) | awk '$$2 != "total" && $$1 > 650 { print $$2 ": " $$1 " lines: two things in one?"; bad = 1 } END { exit bad }'
	@printf '%s\n' $(filter-out src/core/status.c,$(LIB_SRC)) $(CLI_SRC) $(if $(MPI_MODULE),$(MPI_SRC)) | \
	    JOBS=$(JOBS) VERSION=$(VERSION) FLAGS='$(MPI_CFLAGS)' scripts/tidy

check-format: ## the sources are formatted as .clang-format says
	@clang-format --dry-run -Werror $(C_FILES)

format: ## formats the sources
	@clang-format -i $(C_FILES)

# Kernels are optimized: without it they take 30 times as long under the sanitizers. In code of vectors, whose every access to
# memory is watched, arrays of vectors are not, which are registers, nor is that addresses are aligned, within an object and not
# null: each is a third of its time, and a half of the compiler's. cuDNN does not free all it takes when it plans.
VECTORS := --param asan-stack=0 -fno-sanitize=alignment,null,object-size,pointer-overflow
# Counters of lines that threads share may lose some: what matters is that a line was run, and atomic ones take five times as
# long. Without -fno-ivopts gcc counts a loop by such a counter, which another thread changes, and the program does something else.
#: COVERAGE=85          `make sanitize` also counts the lines of src/ that tests run (gcc), and fails below this percentage
COUNTED := $(if $(COVERAGE),-fno-ivopts -fprofile-arcs -ftest-coverage -fprofile-update=single)
SANITIZED := -fsanitize=address,undefined
# What a test itself does takes no time, but its code is half of all: it is compiled as it stands, and its lines are not counted.
UNCOUNTED := -O0 $(if $(COVERAGE),-fno-profile-arcs -fno-test-coverage)
SANITIZE_BUILD = $(call OTHER_BUILD,sanitize) KERNEL_FLAGS=-O2 TILE_FLAGS='$(VECTORS)' TEST_FLAGS='$(UNCOUNTED)' LDFLAGS='$(SANITIZED) $(COUNTED)' \
    CFLAGS='-O1 -g1 -fno-omit-frame-pointer $(SANITIZED) -fno-sanitize-recover=all $(COUNTED)'
# Cases with the tag "goals" learn for long, by code that shorter runs go through: .ci/run leaves them out (CK_EXCLUDE_TAGS).
sanitize: ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@find $(BUILD)/sanitize -name '*.gcda' -delete 2>/dev/null || true
	+@ASAN_OPTIONS='allocator_may_return_null=1' $(SANITIZE_BUILD) LIMIT=600 EXCEPT='backend/cuda/module/test_dnn_graph $(EXCEPT)' test-run
	@$(if $(COVERAGE),scripts/coverage $(BUILD)/sanitize $(COVERAGE))

check-python: all ## every test of the Python package, with PyTorch, JAX, Stable-Baselines3 and PettingZoo's games: none is skipped
	@scripts/check_python $(BUILD) .venv-python-all

check-python-memory: ## valgrind on the examples in C, the Python tests over a library with sanitizers, 10,000 loads and closes
	@scripts/deps install memory
	+@$(call OTHER_BUILD,valgrind) ARCH=x86-64-v3 CFLAGS='-O1 -g1' $(BUILD)/valgrind/cumind $(BUILD)/valgrind/libcumind.so
	+@$(SANITIZE_BUILD) $(BUILD)/sanitize/cumind $(BUILD)/sanitize/libcumind.so
	@scripts/check_python_memory $(BUILD)/valgrind $(BUILD)/sanitize .venv-python

coverage: ## the same, and line coverage of src/: fails under 85 %
	+@$(SUBMAKE) sanitize CC=gcc COVERAGE=85

# oneDNN's OpenMP threads are not instrumented: one of them, so that all threads seen are our own. The tests of the GPU kernels
# have one thread, and change stacks in ways that ThreadSanitizer does not follow; nor are MPI and cuDNN instrumented. Of the tests
# that never start a thread, those that take long are left out: there is nothing to race with; and what run/test_rehearsal does
# run/test_far does, too. So are cases that their test says to be of one thread by the tag "alone".
tsan: ## the tests under ThreadSanitizer, without some of one thread (oneDNN with one OpenMP thread)
	+@OMP_NUM_THREADS=1 CK_EXCLUDE_TAGS=alone TSAN_OPTIONS='halt_on_error=1 exitcode=66 allocator_may_return_null=1' $(call OTHER_BUILD,tsan) LIMIT=600 KERNEL_FLAGS=-O2 \
	    EXCEPT='backend/cuda/ops/test_cuda_ops backend/cuda/fused/test_cuda_row_kernel agent/test_simulations trainer/test_unroll cases/test_trainer replay/test_replay run/test_rehearsal \
	    backend/cuda/module/test_dnn_graph distributed/test_ranks distributed/test_launch distributed/test_job_ends distributed/test_scaling distributed/test_resume' CFLAGS='-O1 -g1 -fsanitize=thread' TEST_FLAGS=-O0 LDFLAGS='-fsanitize=thread' test-run

check-tree: all ## pages of `cumind search --tree` in headless Chromium (chromium-driver): keys, numbers, contrast, axe-core, nothing loaded
	@.venv-tree/bin/python3 -c 'import selenium, axe_selenium_python' 2>/dev/null || \
	    { python3 -m venv .venv-tree && .venv-tree/bin/pip install -q selenium axe-selenium-python; }
	@.venv-tree/bin/python3 scripts/check_tree $(BUILD)/cumind
.PHONY: check-tree

check-profile: all ## takes the advice of `cumind profile` from five bad starts, and measures whether it brings what it promises
	@scripts/check_profile $(BUILD)/cumind

# oneDNN v3, whose interface is another, from its wheel: the whole program, and the tests of the arithmetic and of what stands on it,
# without the longest of other backends' arithmetic.
ONEDNN3 := .venv-onednn3
$(ONEDNN3)/include/dnnl.h:
	python3 -m venv $(ONEDNN3)
	$(ONEDNN3)/bin/pip install -q onednn-devel-cpu-gomp==2023.2.0

check-onednn3: ONLY ?= backend network trainer agent
check-onednn3: EXCEPT ?= trainer/test_unroll backend/cuda/module/test_dnn_graph agent/test_simulations backend/cuda/ops/test_cuda_ops backend/cuda/fused/test_cuda_towers backend/cuda/fused/test_cuda_norm_convs backend/cuda/fused/test_cuda_norm_grads backend/cuda/fused/test_cuda_segments backend/cuda/fused/test_cuda_row_kernel
check-onednn3: $(ONEDNN3)/include/dnnl.h ## builds with oneDNN v3 and runs the tests of arithmetic
	+@$(SUBMAKE) DNNL_ROOT=$(ONEDNN3) BUILD=$(BUILD)/onednn3 CFLAGS=-O1 KERNEL_FLAGS=-O3 WERROR=$(WERROR) ONLY='$(ONLY)' EXCEPT='$(EXCEPT)' test

# Kernels of its instruction set, and what stands on them.
ARM64_TESTS := backend/cpu/test_cpu_kernels backend/cpu/test_cpu_dense backend/cpu/test_cpu_conv cases/test_search core/test_rng
check-arm64: ## builds for 64-bit ARM with Debian's cross compiler and runs the tests of arithmetic in QEMU
	@scripts/deps install arm64
	+@MAKE='$(SUBMAKE)' WERROR=$(WERROR) JOBS=$(JOBS) scripts/arm64 $(BUILD)/arm64 $(ARM64_TESTS)

#: GAMES=1000000        random games of each kind that `make games-soak` plays; NAMES='go9 hex11': only these
GAMES ?= 1000000
SOAK_BUILD = $(call OTHER_BUILD,soak) KERNEL_FLAGS=-O2 TILE_FLAGS='$(VECTORS)' LDFLAGS='$(SANITIZED)' \
    CFLAGS='-O2 -g1 -fno-omit-frame-pointer $(SANITIZED) -fno-sanitize-recover=all'
games-soak: ## random games of every board game under AddressSanitizer and UndefinedBehaviorSanitizer
	+@$(SOAK_BUILD) $(BUILD)/soak/games_soak
	@$(BUILD)/soak/games_soak $(GAMES) $(NAMES)

fuzz: ## fuzzes every parser for FUZZ_SECONDS in all (clang)
	+@$(call OTHER_BUILD,fuzz) CC=clang TILE_FLAGS=-fno-sanitize=undefined CFLAGS='-O1 -g1 -fno-omit-frame-pointer \
	    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' LDFLAGS='-fsanitize=address,undefined' fuzz-build
	@scripts/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS) $(JOBS)

FUZZ_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
fuzz-build: $(FUZZ_BIN)
$(BUILD)/tests/fuzz/fuzz_http: $(addprefix $(BUILD)/src/serve/,http.o access.o)
# It has server.c in it, and stand-ins for agents.
$(BUILD)/tests/fuzz/fuzz_serve: $(filter-out %/server.o %/table.o %/table_json.o,$(SERVE_OBJ))
$(BUILD)/tests/fuzz/fuzz_serve: SERVE_LIBS = $(EVENT_LIBS)
$(FUZZ_BIN): %: %.o $(BUILD)/libcumind.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(TEST_LINK) -fsanitize=fuzzer,address,undefined $(filter %.o,$^) $(filter %.a,$^) $(SERVE_LIBS) $(LIBS) -o $@

#: KILLED=38            runs that `make soak-resume` kills, the kinds in turn; KIND=ranks: these alone; SEED=N: the same ones again
KILLED ?= 38
soak-resume: all ## kills runs of every algorithm, in Python and of ranks at random moments, goes on with them and compares all to the bit
	@python3 scripts/soak_resume $(BUILD)/cumind $(KILLED) '$(SEED)' '$(KIND)'

#: TIMES=20             runs of several ranks that `make soak-ranks` kills a rank of; SEED=N: the same ones again
TIMES ?= 20
soak-ranks: all ## kills a random rank at a random moment, goes on with another number of ranks and checks what is left
	@python3 scripts/soak_ranks $(BUILD)/cumind $(TIMES) $(SEED)

#: STOPS=100            ends that `make soak-stop` measures, the kinds in turn; KIND=slow: these alone; SEED=N: the same ones again
STOPS ?= 100
soak-stop: all ## asks runs and commands of every kind to stop at random moments and measures how long they take to end
	@python3 scripts/soak_stop $(BUILD)/cumind $(STOPS) '$(SEED)' '$(KIND)'

#: CHANGES=2000         changes of every kind of file of run folders by `make soak-files`; SEED=N FIRST=N KIND=NAME: the same ones again
CHANGES ?= 2000
soak-files: ## changes files of run folders with right checksums; a program with sanitizers goes on or refuses each by a line
	+@$(SOAK_BUILD) $(BUILD)/soak/cumind $(MPI_MODULE:$(BUILD)/%=$(BUILD)/soak/%)
	@python3 scripts/soak_files $(BUILD)/soak/cumind $(CHANGES) '$(SEED)' $(or $(FIRST),0) $(KIND)

#: MEMORY_SECONDS=600   how long `make soak-memory` goes on, with MEMORY_STEPS=300000 pictures of 27.6 kB, in the folder MEMORY_PATH
MEMORY_SECONDS ?= 600
MEMORY_STEPS ?= 300000
soak-memory: $(BUILD)/memory_soak ## fills a memory of pictures in a file: resident memory and speed stay as they are, and batches come as fast as half from RAM
	@$(BUILD)/memory_soak file $(MEMORY_SECONDS) $(MEMORY_STEPS) $(or $(MEMORY_PATH),$(BUILD))

#: FIRST=1              which of the configurations of SEED `make soak-configurations` begins with; COUNT=30 of them
soak-configurations: all ## trains short runs with random legal configurations, kills them, goes on with them and checks each
	@python3 scripts/soak_configurations $(BUILD)/cumind $(COUNT) '$(SEED)' $(FIRST)

#: FILES=1000           configuration files that `make check-schema` changes; SEED=N: others
FILES ?= 1000
JSONSCHEMA := .venv-schema
$(JSONSCHEMA)/ready:
	python3 -m venv $(JSONSCHEMA)
	$(JSONSCHEMA)/bin/pip install -q jsonschema
	@touch $@

check-schema: $(BUILD)/cumind $(JSONSCHEMA)/ready ## changes configuration files and compares what the JSON Schema refuses with what the program refuses
	@$(JSONSCHEMA)/bin/python3 scripts/check_schema $(BUILD)/cumind $(FILES) $(SEED)
.PHONY: check-schema

#: GAMES=200            of each kind that `make check-gtp` plays
check-gtp: all ## plays GNU Go and gtp-rhino by the Go Text Protocol: refused moves, scores, clocks, games in SGF; hours
	@scripts/check_gtp $(BUILD)/cumind long $(or $(GAMES),200)
.PHONY: check-gtp

RLIABLE := .venv-report
$(RLIABLE)/ready:
	python3 -m venv $(RLIABLE)
	$(RLIABLE)/bin/pip install -q rliable 'pandas<3'
	@touch $@

check-report: all $(RLIABLE)/ready ## has rliable, the field's package for scores of several runs, compute what `cumind report` says of drawn ones
	@$(RLIABLE)/bin/python3 scripts/check_report $(BUILD)/cumind $(or $(SEED),1)
.PHONY: check-report

OPTUNA := .venv-sweep
$(OPTUNA)/ready:
	python3 -m venv $(OPTUNA)
	$(OPTUNA)/bin/pip install -q optuna
	@touch $@

check-sweep: $(BUILD)/cumind $(OPTUNA)/ready ## kills a sweep of 27 trials five times: its ledger is that of an unbroken one, and Optuna reads it and names the same best trial
	@$(OPTUNA)/bin/python3 scripts/check_sweep $(BUILD)/cumind 27 5 $(or $(SEED),1)
sweep-cartpole: $(BUILD)/cumind ## environment steps until CartPole is solved from bad defaults, by a sweep and by random search, five times each; an hour
	@python3 scripts/sweep_cartpole $(BUILD)/cumind $(BUILD)/sweep_cartpole
.PHONY: check-sweep sweep-cartpole

check-serve: $(BUILD)/cumind ## uses the page of cumind serve as a person does, in Chromium (PYTHON has selenium, axe-selenium-python; Debian: chromium-driver)
	@$(PYTHON) scripts/check_serve $(BUILD)/cumind $(PICTURES)
#: RUNS=checkpoints     folder of runs that `make check-serve-load` serves
RUNS ?= checkpoints
check-serve-load: $(BUILD)/cumind ## 200 connections, readers that do not read and random requests at cumind serve: its memory stays flat, and it answers at once
	@python3 scripts/check_serve_load $(BUILD)/cumind $(RUNS) 10000
#: PAIRS=20             pairs of runs that `make serve-cost` trains
PAIRS ?= 20
serve-cost: $(BUILD)/cumind ## processor seconds of a training with and without a page that follows it
	@python3 scripts/serve_cost $(BUILD)/cumind $(PAIRS)
.PHONY: check-serve check-serve-load serve-cost

#: DECISIONS=20000      of each game that `make check-atari` plays
ATARI := .venv-atari
$(ATARI)/ready:
	python3 -m venv $(ATARI)
	$(ATARI)/bin/pip install -q ale-py gymnasium numpy opencv-python-headless
	@touch $@
ATARI_RUN = PATH="$(CURDIR)/$(ATARI)/bin:$$PATH" CUMIND_LIBRARY='$(abspath $(BUILD)/$(SONAME))' PYTHONPATH=python python3

check-atari: all $(ATARI)/ready ## games of Atari's against a plain loop over ale-py and OpenCV: rewards, ends, pictures
	@$(ATARI_RUN) scripts/check_atari --decisions $(or $(DECISIONS),20000)

#: UPDATES=500          of each run of `make check-atari-recipe`; ONLY=runs or ONLY=memory: one half of it
check-atari-recipe: all $(ATARI)/ready $(REHEARSED) ## recipe B of Atari-100k on ref, cpu and far memory, killed and resumed, and its plan of memory against what it takes (12 GB)
	@PATH="$(CURDIR)/$(ATARI)/bin:$$PATH" python3 scripts/check_atari_recipe $(BUILD)/cumind $(REHEARSAL)/cumind $(or $(UPDATES),500) $(ONLY)

check-gpu-learn: all $(ATARI)/ready $(REHEARSED) ## every task of `make gpu-learn`: its plan of a GPU's memory, and in small on the CPU and on a stand-in for a GPU
	@PATH="$(CURDIR)/$(ATARI)/bin:$$PATH" BUILD='$(BUILD)' OUT='$(BUILD)/learned' SMALL=1 scripts/gpu_learn

peer-atari: all $(ATARI)/ready ## the speed of games of Atari's against ale-py's own vector environment, in gray and in colours
	@$(ATARI_RUN) scripts/peers/atari_steps.py
	@$(ATARI_RUN) scripts/peers/atari_steps.py --colour --size 96
.PHONY: check-atari check-atari-recipe check-gpu-learn peer-atari

test-network: all ## two ranks on two hosts (network namespaces) whose cable is pulled; says so where the system has none
	@scripts/test_network $(BUILD)/cumind

test-slurm: all ## scripts/slurm/train.sbatch under a real SLURM on two such hosts (root; Debian: slurm-wlm munge); two minutes
	@scripts/slurm/try $(BUILD)/cumind

#: ROUNDS=3             how often `make peers` measures each side
BASELINES := .venv-peers
ROUNDS ?= 3
$(BASELINES)/ready: scripts/peers/requirements.txt
	python3 -m venv $(BASELINES)
	$(BASELINES)/bin/pip install -q -r $<
	@touch $@

COMPARE = scripts/peers/compare.py --cumind $(BUILD)/cumind --programs $(BUILD) --rounds $(ROUNDS)
peers: all $(BUILD)/map_tree $(BASELINES)/ready ## measures cumind against mctx and PyTorch in a virtual environment of their own
	@$(BASELINES)/bin/python $(COMPARE) --json $(BUILD)/peers.json $(ARGS)

check-gpu-peers: all $(BASELINES)/ready ## every comparison of `make gpu-peers`, in small on the CPU: both sides run, with as many parameters
	@$(BASELINES)/bin/python $(COMPARE) --only gpu --small --rounds 1 --seconds 0.1

# Where packages were brought along (scripts/gpu_check) they are taken.
GPU_BASELINES := .venv-gpu-peers
$(GPU_BASELINES)/ready: scripts/peers/requirements.txt
	python3 -m venv $(GPU_BASELINES)
	$(GPU_BASELINES)/bin/pip install -q -r $< 'jax[cuda13]'
	@touch $@

#: TOTAL=3600           seconds in which `make gpu-peers` ends
gpu-peers: REPORT := gpu-peers.md
gpu-peers: $(if $(wildcard .device/python),,$(GPU_BASELINES)/ready) ## measures PyTorch, mctx and pgx on the GPU that is here, next to cumind, and writes gpu-peers.md
	@PATH="$(CURDIR)/$(GPU_BASELINES)/bin:$$PATH" BUILD='$(BUILD)' JOBS='$(JOBS)' TOTAL='$(or $(TOTAL),3600)' scripts/gpu_check '$(REPORT)' scripts/gpu_peers
.PHONY: check-gpu-peers gpu-peers

#: COUNT=30             random searches and training steps that `make reference` draws; SEED=N: others
COUNT ?= 30
REFERENCE := $(BUILD)/reference
reference: $(BUILD)/cumind $(BUILD)/$(SONAME) $(BASELINES)/ready ## draws games, searches, operations and training steps, has OpenSpiel, Gymnasium, mctx and JAX compute them, and runs those
	$(Q)rm -rf $(REFERENCE)
	@$(BASELINES)/bin/python scripts/peers/environment_cases.py $(REFERENCE)/environments --seed $(or $(SEED),1)
	@$(BASELINES)/bin/python scripts/peers/search_cases.py $(REFERENCE)/search --count $(COUNT) --seed $(or $(SEED),1)
	@$(BASELINES)/bin/python scripts/peers/operation_cases.py $(REFERENCE)/operations --seed $(or $(SEED),1)
	@$(BASELINES)/bin/python scripts/peers/training_cases.py $(REFERENCE)/training --count $(COUNT) --seed $(or $(SEED),1)
	@$(BUILD)/cumind test-cases $(REFERENCE) --quiet
	@$(MINATAR) --rounds 0 --seed $(or $(SEED),1)
	@$(ANGLES) --draws 1000000 --rounds 1 --seed $(or $(SEED),1)

MINATAR = CUMIND_LIBRARY='$(abspath $(BUILD)/$(SONAME))' PYTHONPATH=python $(BASELINES)/bin/python scripts/peers/minatar_frames.py --cumind $(BUILD)/cumind
peer-minatar: all $(BASELINES)/ready ## plays MinAtar's games in its package and in cumind, bit for bit, and measures both
	@$(MINATAR) --rounds $(ROUNDS) --seed $(or $(SEED),1) $(ARGS)

ANGLES = CUMIND_LIBRARY='$(abspath $(BUILD)/$(SONAME))' PYTHONPATH=python $(BASELINES)/bin/python scripts/peers/von_mises.py
peer-angles: all $(BASELINES)/ready ## draws 10^7 angles of each of 12 concentrations, which SciPy judges, and measures the rate against NumPy's
	@$(ANGLES) --rounds $(ROUNDS) --seed $(or $(SEED),1) --json $(BUILD)/angles.json $(ARGS)

check-export: all $(BASELINES)/ready ## exports networks of every family and option: the checker of onnx, ONNX Runtime and PyTorch judge the files
	@$(BASELINES)/bin/python scripts/check_export $(BUILD)/cumind

exact-values: all $(BASELINES)/ready ## trains eleven small environments in Python, each of a kind, and compares what agents say with values worked out by hand
	@PATH="$(CURDIR)/$(BASELINES)/bin:$$PATH" python3 scripts/exact_values $(BUILD)/cumind

# The baseline of the tree is our own C++: it needs no virtual environment.
$(BUILD)/map_tree: scripts/peers/map_tree.cpp src/core/rng.h $(BUILD)/flags.stamp
	$(call say,CXX,$@)
	$(Q)g++ -std=c++17 -O3 -march=$(ARCH) -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Isrc $< -o $@

peer-tree: $(BUILD)/cumind $(BUILD)/map_tree ## measures the search tree against one of nodes and maps in C++, one thread each
	@python3 $(COMPARE) --only tree --threads 1 --seconds 0.5 --json $(BUILD)/peer_tree.json $(ARGS)
#: MATCH='backup.h'     only the mutants whose line contains this
mutants: $(SUPPORT_OBJ) $(BUILD)/libcumind.a ## changes a sign, bound or count of the tree search, one at a time: a test must fail each time; writes build/mutants.md
	@CC='$(CC)' BUILD='$(BUILD)' OBJECTS='$(SUPPORT_OBJ) $(BUILD)/libcumind.a' LIBS='$(LIBS) $(TEST_LIBS)' scripts/mutants_mcts.sh '$(MATCH)'
KERNEL_SUPPORT_OBJ = $(filter-out %/tree_cpu.o,$(SUPPORT_OBJ)) $(BUILD)/libcumind.a
KERNEL_TEST_OBJ = $(filter-out %/cuda_cpu.o,$(CUDA_OPS_OBJ)) $(filter %/test_cuda_$1.o,$(TEST_BIN:=.o)) $(KERNEL_SUPPORT_OBJ)
TOWER_TEST_OBJ = $(filter-out %/tower_build.o,$(call KERNEL_TEST_OBJ,towers)) $(BUILD)/tests/support/tree_cpu.o
NORM_TEST_OBJ = $(filter-out %/norm_convs.o %/norm_convs_forward.o %/norm_convs_backward.o %/test_cuda_norm_convs.o,$(call KERNEL_TEST_OBJ,norm_convs)) $(BUILD)/tests/support/tree_cpu.o
SIMULATIONS_TEST_OBJ = $(filter-out %_cpu.o,$(SIMULATIONS_OBJ)) $(BUILD)/tests/agent/test_simulations.o $(KERNEL_SUPPORT_OBJ)
SEARCH_TEST_OBJ = $(BUILD)/tests/mcts/test_device_search.o $(KERNEL_SUPPORT_OBJ)
mutants-kernels: $(filter $(patsubst %,\%/test_cuda_%,ops half int8 row_kernel segments towers norm_convs norm_grads),$(TEST_BIN)) $(BUILD)/tests/mcts/test_device_search $(BUILD)/tests/agent/test_simulations ## the same for the arithmetic of the GPU kernels, run on the CPU; writes build/mutants-kernels.md
	@CC='$(CC)' BUILD='$(BUILD)' FLAGS='$(BASE_FLAGS)' LIBS='$(LIBS) $(TEST_LIBS)' OBJECTS='$(call KERNEL_TEST_OBJ,ops)' HALF_OBJECTS='$(call KERNEL_TEST_OBJ,half)' INT8_OBJECTS='$(call KERNEL_TEST_OBJ,int8)' \
	    ROW_OBJECTS='$(call KERNEL_TEST_OBJ,row_kernel)' SEGMENT_OBJECTS='$(call KERNEL_TEST_OBJ,segments)' SEARCH_OBJECTS='$(SEARCH_TEST_OBJ)' \
	    TOWER_OBJECTS='$(TOWER_TEST_OBJ)' NORM_OBJECTS='$(NORM_TEST_OBJ)' SIMULATIONS_OBJECTS='$(SIMULATIONS_TEST_OBJ)' \
	    scripts/mutants_kernels.sh '$(MATCH)'
CPU_TEST_OBJ = $(BUILD)/tests/$1.o $(SUPPORT_OBJ) $(BUILD)/libcumind.a
mutants-cpu: $(BUILD)/tests/backend/cpu/test_cpu_int8 $(BUILD)/tests/core/test_von_mises ## the same for the products in 8 bits and the von Mises draws of CPUs; writes build/mutants-cpu.md
	@CC='$(CC)' BUILD='$(BUILD)' FLAGS='$(BASE_FLAGS)' LIBS='$(LIBS) $(TEST_LIBS)' INT8_OBJECTS='$(SUPPORT_OBJ) $(BUILD)/libcumind.a' ANGLES_OBJECTS='$(call CPU_TEST_OBJ,core/test_von_mises)' \
	    FLAGS_AVX2='$(call SIMD_FLAGS,a_avx2.c)' FLAGS_AVX512='$(call SIMD_FLAGS,a_avx512.c)' FLAGS_AVXVNNI='$(call SIMD_FLAGS,a_avxvnni.c)' FLAGS_AVX512VNNI='$(call SIMD_FLAGS,a_avx512vnni.c)' TEST_FLAGS='-include tests/support/check.h' FLAGS_AMX='$(call SIMD_FLAGS,a_amx.c)' \
	    scripts/mutants_cpu.sh '$(MATCH)'

# What .ci/run leaves out or does in part, and what takes longest of it in full. Each is a target of its own.
CHECK_ALL := check-atari check-atari-recipe check-gpu-learn check-gpu-peers check-wheel check-export check-gtp check-tree check-profile check-wheel-aarch64 check-schema check-report check-sweep check-python check-python-memory check-module test-ptx check-onednn3 sanitize tsan games-soak soak-resume soak-stop soak-ranks soak-files soak-memory soak-configurations exact-values reference mutants mutants-kernels mutants-cpu fuzz
check-all: ## what .ci/run does in part or not at all, and an hour of fuzzing (docs/CI.md); several hours
	+@for target in $(CHECK_ALL); do echo "== $$target"; $(MAKE) $$target FUZZ_SECONDS=3600 CUDA_ARCHS=all || exit 1; done

ci: ## everything that must pass before a change is merged: .ci/run
	@bash .ci/run
.PHONY: check-profile check-export exact-values check-all ci check-python check-python-memory check-onednn3 games-soak check-layers check-cycles check-names check-words check-links check-options check-headers lint check-format format sanitize tsan coverage fuzz fuzz-build check-arm64 soak-resume soak-stop soak-ranks soak-files soak-memory soak-configurations test-network test-slurm peers reference peer-tree peer-minatar peer-angles mutants mutants-kernels mutants-cpu
