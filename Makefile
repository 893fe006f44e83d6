# The habits of minfer: every target installs what it needs first. `make help` lists them.
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory --no-builtin-rules

# The prompt reaches the program through the environment, as the person typed it: make expands
# nothing in it, nor does the shell.
PROMPT ?= Hello
export MINFER_RUN_PROMPT := $(value PROMPT)
unexport PROMPT

SECONDS ?= 60
FILTER ?= .
# A compiler takes up to 1.5 GB; memory may allow fewer jobs than there are cores.
BUILD_JOBS ?= $(shell n=$$(nproc 2> /dev/null || echo 2); \
  m=$$(awk '/MemAvailable/ {print int($$2 / 1500000)}' /proc/meminfo 2> /dev/null || echo $$n); \
  [ "$$m" -ge 1 ] || m=1; [ "$$m" -lt "$$n" ] && echo $$m || echo $$n)

# Compilations are remembered across clones of the tree, wherever they lie.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

MODEL := models/SmolLM2-135M-Instruct.Q4_1.gguf
# So small a model wanders at the usual temperature, and may not come to an end.
RUN_OPTIONS ?= --temp 0.2 -n 512
CONFIGURE := cmake --log-level=WARNING
BUILD := cmake --build

.PHONY: help build run test unit sanitizers arm64 models bench bench-peer bench-kernels fuzz format docs clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 18
	@echo '  Options: PROMPT="..." RUN_OPTIONS="..." (run), SECONDS=600 (fuzz, for each target), BUILD_JOBS=N,'
	@echo '    PEER=DIR QUICK=1 PAIRS=5 (bench-peer), FILTER=REGEX (bench-kernels)'

build:  ## build/minfer
	@scripts/setup >&2
	@[ -f build/build.ninja ] || $(CONFIGURE) --preset release >&2
	@$(BUILD) build -j $(BUILD_JOBS) --target minfer >&2

run: build  ## the small demo model answers PROMPT
	@scripts/get_models S >&2
	@build/minfer $(MODEL) $(RUN_OPTIONS) -- "$$MINFER_RUN_PROMPT" < /dev/null

# What CI runs. The sanitizer builds, the fuzz targets and the build for arm64 take part in the one
# ctest run at the end.
test: sanitizers arm64  ## all tests: also under ASan, UBSan and TSan, on arm64, fuzzing, checks of the tree
	@scripts/get_models S Q G >&2 || echo 'make test: the tests of the missing models are skipped' >&2
	@$(CONFIGURE) --preset release -DMINFER_BUILD_TESTS=ON -DMINFER_BUILD_BENCH=ON -DMINFER_TEST_BUILDS=$(CURDIR)/build
	@$(BUILD) build -j $(BUILD_JOBS)
	@ctest --test-dir build -j $(BUILD_JOBS) --output-on-failure --no-label-summary

unit:  ## the tests of the release build alone
	@scripts/setup --dev >&2
	@$(CONFIGURE) --preset release -DMINFER_BUILD_TESTS=ON -DMINFER_BUILD_BENCH=ON -DMINFER_TEST_BUILDS=
	@$(BUILD) build -j $(BUILD_JOBS)
	@ctest --test-dir build -j $(BUILD_JOBS) --output-on-failure --no-label-summary

sanitizers:
	@scripts/setup --dev >&2
	@$(CONFIGURE) --preset asan && $(BUILD) build/asan -j $(BUILD_JOBS) --target asan_tests
	@$(CONFIGURE) --preset tsan && $(BUILD) build/tsan -j $(BUILD_JOBS) --target tsan_tests
	@$(CONFIGURE) --preset fuzz && $(BUILD) build/fuzz -j $(BUILD_JOBS) --target fuzzers

# Packages for a second architecture are more than a machine may give.
arm64:
	@if scripts/setup_arm64 >&2; then \
	  $(CONFIGURE) --preset arm64 && $(BUILD) build/arm64 -j $(BUILD_JOBS) --target arm64_tests; \
	else rm -rf build/arm64; echo 'make test: the arm64 tests are left out' >&2; fi

models:  ## the three small models that the tests use, into models/
	@scripts/get_models S Q G

bench: build  ## speed of the demo model on this machine
	@scripts/get_models S >&2
	@build/minfer bench $(MODEL)

bench-peer: build  ## minfer beside the engine in PEER=DIR, interleaved: build/bench_peer.md
	@scripts/get_models S $(if $(QUICK),,Q G) >&2
	@scripts/bench_peer "$(PEER)" $(if $(QUICK),--quick) $(if $(PAIRS),--pairs $(PAIRS))

bench-kernels:  ## every kernel alone: GB/s, GFLOP/s, share of what the machine can do; FILTER=REGEX
	@scripts/setup --dev >&2
	@$(CONFIGURE) --preset release -DMINFER_BUILD_BENCH=ON >&2
	@$(BUILD) build -j $(BUILD_JOBS) --target kernel_bench >&2
	@build/kernel_bench --benchmark_filter='$(FILTER)'

fuzz:  ## each fuzz target for SECONDS
	@scripts/setup --dev >&2
	@$(CONFIGURE) --preset fuzz && $(BUILD) build/fuzz -j $(BUILD_JOBS) --target fuzzers
	@scripts/run_fuzzers build/fuzz --seconds $(SECONDS)

format:  ## clang-format over the tree
	@scripts/setup --dev >&2
	@scripts/check_format --fix

docs:  ## docs/options.md from the table of options
	@scripts/setup >&2
	@[ -f build/build.ninja ] || $(CONFIGURE) --preset release >&2
	@$(BUILD) build -j $(BUILD_JOBS) --target minfer_options_doc >&2
	@build/minfer_options_doc > docs/options.md

clean:  ## removes build/, keeps models/
	@rm -rf build
