# Running tests.
#: CASES=DIR            the folder of reference cases that `make test-cases` runs; BACKEND= and DTYPE= narrow it
#: CUMIND_REQUIRE=cuda  skipped tests that name one of these words are failures; "all" for every skip
#: LIMIT=300            seconds that one test program may run
#: ONLY='mcts env'      only the tests of these folders, or with a name after it of that program: mcts/test_step
#: EXCEPT=mcts/test_x   without these test programs
#: FUZZ_SECONDS=60      how long all fuzzers together run
LIMIT ?= 300
FUZZ_SECONDS ?= 60
CASES ?= tests/cases
# One more at a time than there are processors: some wait for the processes that they begin.
RUN_TESTS = JOBS=$$(($(JOBS) + 1)) LIMIT=$(LIMIT) LOGS=$(BUILD)/logs scripts/run_tests

test: ## builds and runs every test; ends with "N passed, N failed[, N skipped]"
	@test -e $(PROBE) || $(INSTALL)
	+@$(SUBMAKE) test-run

# What takes longest begins first, so that no processor waits for it at the end.
LONGEST := $(addprefix $(BUILD)/tests/,run/test_far trainer/test_unroll backend/cuda/ops/test_cuda_ops cli/test_offline cli/test_models run/test_rehearsal \
    cli/test_usage cli/test_runs mcts/test_step replay/test_replay cli/test_resume mcts/test_search cases/test_trainer cli/test_python distributed/test_resume run/test_variants serve/test_serve)
RUN_BIN = $(filter-out $(EXCEPT:%=$(BUILD)/tests/%),$(filter $(if $(ONLY),$(ONLY:%=$(BUILD)/tests/%/%) $(ONLY:%=$(BUILD)/tests/%),%),$(LONGEST) $(filter-out $(LONGEST),$(TEST_BIN))))
test-run: all $(RUN_BIN) ## the same, but installs nothing
	@$(RUN_TESTS) $(RUN_BIN)

test-cases: all ## runs the reference cases below CASES on every backend and dtype
	@$(BUILD)/cumind test-cases $(CASES) $(if $(BACKEND),--backend $(BACKEND)) $(if $(DTYPE),--dtype $(DTYPE))
#: FROM=FILE            games of an agent for `make positions`; without it plain tree search plays
positions: all ## writes tests/data/connect4.jsonl again: solved positions of random games and of those in FROM
	@$(BUILD)/solved_positions tests/data/connect4.jsonl $(FROM)
#: PYTHON=python3       has numpy, gymnasium, pettingzoo and mypy for `make test-python`; torch, jax, pygame with pillow are tested where it has them
PYTHON ?= python3
test-python: all ## types and tests of the Python package (docs/PYTHON.md)
	@$(PYTHON) -m mypy --config-file python/pyproject.toml python/cumind
	@CUMIND='$(BUILD)/cumind' CUMIND_LIBRARY='$(abspath $(BUILD)/$(SONAME))' PYTHONPATH=python $(PYTHON) -X dev -m unittest discover -s tests/python
check-tensorboard: all ## has TensorBoard and pandas read what runs write for them (PYTHON has tensorboard and pandas)
	@$(PYTHON) scripts/check_tensorboard $(BUILD)/cumind
.PHONY: check-tensorboard test test-python test-run test-cases positions
