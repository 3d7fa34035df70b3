# Short verbs. `make demo` and `make test` do all the set-up on a fresh machine.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help bootstrap build test demo bench format lint gpu clean

JOBS := $(shell nproc)
PYTHON := $(CURDIR)/.venv/bin/python
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS) --test-dir
CCACHE = $(shell command -v ccache)
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(CCACHE)
export CMAKE_CUDA_COMPILER_LAUNCHER ?= $(CCACHE)
# Tests run side by side: OpenMP threads that wait must not spin.
export OMP_WAIT_POLICY ?= passive
# CUDA code is built for tests where there is a toolkit, for the demo where there is a GPU too. CUDA=ON
# or CUDA=OFF decides for both.
CUDA =
HAS_GPU = $(shell nvidia-smi -L >/dev/null 2>&1 && echo yes)
phase = @scripts/phase

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

bootstrap:  ## install what is missing: system packages, .venv
	$(phase) "install what is missing" scripts/bootstrap

# Makes the built package importable by .venv/bin/python.
link_package = @echo $(CURDIR)/build/python > \
	  "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/causeway.pth"

build: bootstrap  ## program, package for .venv/bin/python, tests and benchmarks, in build/
	$(phase) "configure" cmake --preset release -DPython_EXECUTABLE=$(PYTHON) \
	  -DCAUSEWAY_CUDA=$(or $(CUDA),AUTO) -DCAUSEWAY_TESTS=ON -DCAUSEWAY_BENCH=ON
	$(phase) "build" cmake --build build -j $(JOBS)
	$(link_package)

test: build  ## every test that needs no GPU, format check and fuzzing
	$(phase) "tests" $(CTEST) build
	$(phase) "Python tests" $(PYTHON) -m pytest -q tests/python tests/parity  # the latter with PyTorch
	$(phase) "examples" bash -ec 'for example in examples/*.py examples/kernels/*.py; do $(PYTHON) $$example; done'
	$(phase) "format check" scripts/format --check
	$(phase) "fuzz" tests/fuzz/run 30
	@printf '\n== %s\n' "all tests passed"

# Only what the demo runs. A build folder that is there already keeps its settings.
DEMO_SECONDS := 120
demo:  ## train a small model for two minutes, compare it, write demo/report.html
	$(phase) "install what is missing" scripts/bootstrap build
	@if [[ ! -f build/build.ninja || -n "$(CUDA)" ]]; then \
	  scripts/phase "configure" cmake --preset release -DPython_EXECUTABLE=$(PYTHON) \
	    -DCAUSEWAY_CUDA=$(or $(CUDA),$(if $(HAS_GPU),AUTO,OFF)) -DCAUSEWAY_TESTS=OFF \
	    -DCAUSEWAY_BENCH=OFF; fi
	$(phase) "build" cmake --build build -j $(JOBS) --target causeway _core
	$(link_package)
	$(phase) "build/causeway info" build/causeway info
	$(phase) "examples/demo" $(PYTHON) examples/demo/demo.py --seconds $(DEMO_SECONDS)

bench: build  ## how fast the operations are
	build/causeway-bench ops

format:  ## format the sources
	scripts/format

lint: build  ## clang-tidy
	scripts/lint

gpu:  ## build, test and measure on a machine with a GPU
	scripts/gpu-check

clean:  ## remove build/
	rm -rf build
