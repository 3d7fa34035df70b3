# Short verbs. `make demo` and `make test` do all the set-up on a fresh machine.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help bootstrap build test demo bench format lint gpu clean

JOBS := $(shell nproc)
PYTHON := $(CURDIR)/.venv/bin/python
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS) --test-dir
# The second configuration of `make test` takes most of its objects from the first one's.
CCACHE = $(shell command -v ccache)
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(CCACHE)
export CMAKE_CUDA_COMPILER_LAUNCHER ?= $(CCACHE)

step = @printf '\n== %s\n' "$(1)"

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

bootstrap:  ## install what is missing: system packages, .venv
	@scripts/bootstrap

build: bootstrap  ## build/causeway, and the package for .venv/bin/python
	$(call step,build)
	cmake --preset release -DPython_EXECUTABLE=$(PYTHON)
	cmake --build build -j $(JOBS)
	@echo $(CURDIR)/build/python > \
	  "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/causeway.pth"

test: build  ## every test that needs no GPU, format check and fuzzing
	$(call step,tests)
	$(CTEST) build
	@if build/causeway --version | grep -q 'cpu only'; then \
	  printf '\n== %s\n' 'no CUDA toolkit: the build above was the CPU-only one'; \
	else $(MAKE) --no-print-directory test-cpu-only; fi
	$(call step,Python tests)
	$(PYTHON) -m pytest -q tests/python tests/parity  # the latter where there is PyTorch
	$(call step,examples)
	for example in examples/*.py; do $(PYTHON) $$example; done
	$(call step,format check)
	scripts/format --check
	$(call step,fuzz)
	tests/fuzz/run 30
	$(call step,all tests passed)

.PHONY: test-cpu-only
test-cpu-only:
	$(call step,build without CUDA)
	cmake --preset cpu-only
	cmake --build build/cpu-only -j $(JOBS)
	$(call step,tests without CUDA)
	$(CTEST) build/cpu-only -LE structure

DEMO_SECONDS := 120
demo: build  ## train a small model for two minutes, compare it, write demo/report.html
	$(call step,build/causeway info)
	@build/causeway info
	$(call step,examples/demo)
	@$(PYTHON) examples/demo/demo.py --seconds $(DEMO_SECONDS)

bench: build  ## how fast the operations are
	build/causeway bench ops

format:  ## format the sources
	scripts/format

lint: build  ## clang-tidy
	scripts/lint

gpu:  ## build, test and measure on a machine with a GPU
	scripts/gpu-check

clean:  ## remove build/
	rm -rf build
