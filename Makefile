# cumind: the front door. `make help` lists every target.
BUILD ?= build
CC ?= gcc
ARCH ?= native
include mk/build.mk
