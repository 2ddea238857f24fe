# cumind: the front door. `make help` lists every target and every variable; the rules are in mk/.
#: BUILD=build          where everything that is built goes
#: CC=gcc               gcc or clang
#: ARCH=native          x86-64-v3 gives a program that may be copied to another machine
#: WERROR=1             warnings are errors (0 by default, so that a newer compiler stops no build)
#: V=1                  show every command
#: DNNL_ROOT=DIR        use the oneDNN in DIR/include and DIR/lib instead of the system's
VERSION := 0.2.0

BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
ARCH ?= native
WERROR ?= 0
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

include mk/flags.mk
include mk/build.mk
include mk/mpi.mk
include mk/user.mk
include mk/test.mk
include mk/check.mk
include mk/cuda.mk
include mk/install.mk

# A `## text` after a target and a `#: text` above are what this prints.
help: ## lists every target with its meaning
	@echo 'cumind $(VERSION). Usage: make [target] [VARIABLE=value]'; echo; echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  %-19s %s\n", $$1, $$2 }' mk/user.mk mk/build.mk mk/test.mk \
	    mk/check.mk mk/cuda.mk mk/install.mk Makefile
	@echo; echo 'Variables:'; sed -n 's/^#: /  /p' Makefile mk/*.mk
.PHONY: help
