# What a user calls first. These install what is missing; the compile probe costs nothing when all is there.
#: ARGS='...'           further arguments of `make train`, `make benchmark` and `make profile`
SUBMAKE = $(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
# Runs of several ranks are built where Open MPI is or can be installed; nothing else waits for it.
INSTALL = { $(WITH_TOOLS) scripts/deps install build $(if $(MPICC),mpi) || $(WITH_TOOLS) scripts/deps check build; }
WITH_TOOLS = CC='$(CC)' FLAGS='$(BASE_FLAGS) $(DNNL_CFLAGS) $(LDFLAGS)' DNNL_LIBS='$(DNNL_LIBS)' DYGRAPHS='$(DYGRAPHS)'

deps: ## installs the Debian packages that the build needs, Open MPI among them (root or sudo; otherwise prints the command)
	@$(WITH_TOOLS) scripts/deps install build $(if $(MPICC),mpi)

deps-lint: ## installs the packages that lint, the sanitizers and the fuzzers need
	@$(WITH_TOOLS) scripts/deps install build lint

# What is built by the same call, in parallel or not, waits for these.
$(PROBE): | $(filter deps deps-lint,$(MAKECMDGOALS))

# A GPU is used where one is found and its module can be built (mk/cuda.mk); elsewhere training takes the CPU.
train: ## installs what is missing, builds, for a GPU too where one is found, and trains CartPole-v1 from configuration.json
	@test -e $(PROBE) || $(INSTALL)
	+@module=$$($(FIND_CUDA) goal $(CUDA_MODULE)); $(SUBMAKE) all && { [ -z "$$module" ] || $(SUBMAKE) $$module || \
	    echo 'cumind: the CUDA module is not built, for what is said above: training takes the CPU' >&2; }
	@$(BUILD)/cumind train $(ARGS)

benchmark: all ## times every part of the program on this machine
	@$(BUILD)/cumind benchmark $(ARGS)

profile: all ## says what a training spends its time on, and which keys to change (ARGS='connect4')
	@$(BUILD)/cumind profile $(ARGS)
profile-search: ## times searches of the configured network, and their share of the machine's speed
profile-train: ## the same of updates
profile-act: ## the same of self-play
profile-search profile-train profile-act: profile-%: all
	@$(BUILD)/cumind benchmark $* --network configured $(ARGS)
.PHONY: deps deps-lint train benchmark profile profile-search profile-train profile-act
