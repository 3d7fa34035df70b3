# Common tasks. `make demo` and `make test` do all the set-up on a fresh machine.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help bootstrap build package test fuzz demo docs wheels bench format lint gpu clean

JOBS := $(shell nproc)
PYTHON := $(CURDIR)/.venv/bin/python
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS) --test-dir
CCACHE = $(shell command -v ccache)
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(CCACHE)
export CMAKE_CUDA_COMPILER_LAUNCHER ?= $(CCACHE)
# Caches objects compiled with precompiled headers too.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros,include_file_mtime,include_file_ctime
# Clones of the repository share what they compile.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
# Tests run in parallel, so idle OpenMP threads must not spin.
export OMP_WAIT_POLICY ?= passive
# Tests build CUDA code if the toolkit is installed, the demo if there is a GPU too. CUDA=ON or CUDA=OFF
# overrides both.
CUDA =
HAS_GPU = $(shell nvidia-smi -L >/dev/null 2>&1 && echo yes)
# Without a GPU `make test` compiles CUDA code faster, as it does not run; CUDA_CHECK=OFF compiles it in full.
CUDA_CHECK = OFF
phase = @scripts/phase
export STARTED := $(shell date +%s)

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

bootstrap:  ## install dependencies: system packages, .venv
	$(phase) "install dependencies" scripts/bootstrap

# Makes the built package importable by .venv/bin/python.
link_package = @echo $(CURDIR)/build/python > \
	  "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/causeway.pth"

build: bootstrap  ## build the program, the Python package, tests and benchmarks in build/
	$(phase) "configure" cmake --preset release -DPython_EXECUTABLE=$(PYTHON) \
	  -DCAUSEWAY_CUDA=$(or $(CUDA),AUTO) -DCAUSEWAY_CUDA_CHECK=$(CUDA_CHECK) -DCAUSEWAY_TESTS=ON \
	  -DCAUSEWAY_BENCH=ON
	$(phase) "build" cmake --build build -j $(JOBS)
	$(link_package)

test: CUDA_CHECK = $(if $(HAS_GPU),OFF,ON)
test: build  ## run all tests that need no GPU, also with sanitizers and fuzzing; check the format
	$(phase) "tests" $(CTEST) build
	# tests/parity needs PyTorch.
	$(phase) "Python tests" $(PYTHON) -m pytest -q -n $(JOBS) --dist worksteal tests/python tests/parity
	$(phase) "examples" bash -ec 'for example in examples/*.py examples/kernels/*.py; do $(PYTHON) $$example; done'
	$(phase) "documentation" scripts/build-docs
	$(phase) "format check" scripts/format --check
	$(phase) "build with ASan and UBSan" bash -ec \
	  'cmake --preset asan >/dev/null; cmake --build build/asan -j $(JOBS) --target causeway_tests fuzzers'
	$(phase) "tests with ASan and UBSan" $(CTEST) build/asan -L sanitized
	$(phase) "build with TSan" cmake --build build -j $(JOBS) --target causeway_thread_tests
	$(phase) "tests with TSan" $(CTEST) build -C threads -L sanitized
	$(phase) "fuzz" tests/fuzz/run -seed=1 -runs=20000 -max_total_time=20
	@printf '\n== %s\n' "all tests passed"
	@sed -n 's/^$(STARTED) //p' build/phases.txt

# Sixteen targets, one per core at a time.
fuzz: bootstrap  ## fuzz the parsers for about an hour, for nightly runs
	$(phase) "fuzz" tests/fuzz/run -max_total_time=$$((225 * $(JOBS)))

# Builds only the program and the Python package. An existing build folder keeps its settings, unless its CUDA code was
# only checked and there is a GPU.
CHECKED = $(if $(HAS_GPU),$(shell grep -s CAUSEWAY_CUDA_CHECK:BOOL=ON build/CMakeCache.txt))
package:
	$(phase) "install dependencies" scripts/bootstrap build
	@if [[ ! -f build/build.ninja || -n "$(CUDA)$(CHECKED)" ]]; then \
	  scripts/phase "configure" cmake --preset release -DPython_EXECUTABLE=$(PYTHON) \
	    -DCAUSEWAY_CUDA=$(or $(CUDA),$(if $(HAS_GPU),AUTO,OFF)) \
	    -DCAUSEWAY_CUDA_CHECK=OFF -DCAUSEWAY_TESTS=OFF -DCAUSEWAY_BENCH=OFF; fi
	$(phase) "build" cmake --build build -j $(JOBS) --target causeway _core
	$(link_package)

DEMO_SECONDS := 120
demo: package  ## train a small model for two minutes, compare it with others, write demo/report.html
	$(phase) "build/causeway info" build/causeway info
	$(phase) "examples/demo" $(PYTHON) examples/demo/demo.py --seconds $(DEMO_SECONDS)

docs: package  ## build the documentation in build/docs, which runs the tutorials
	$(phase) "documentation" scripts/build-docs

HAS_NVCC = $(shell PATH="$$PATH:/usr/local/cuda/bin" command -v nvcc)
wheels:  ## build wheels in dist/ and check them: without CUDA, and with it if there is a toolkit
	$(phase) "install dependencies" scripts/bootstrap build
	$(phase) "CPU wheel" scripts/build-wheels cpu
	$(if $(HAS_NVCC),$(phase) "CUDA wheel" scripts/build-wheels cuda)

bench: build  ## run the benchmark of tensor operations
	build/causeway-bench ops

format:  ## format the sources
	scripts/format

lint: build  ## clang-tidy
	scripts/lint

gpu:  ## build, test and benchmark on a machine with a GPU
	scripts/gpu-check

clean:  ## remove build/
	rm -rf build
