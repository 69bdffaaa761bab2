# The short way to everything. `make demo` and `make test` install what is missing (packages.txt).
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
RELEASE := build/release

.PHONY: all demo test asan bench install format docs clean setup-build setup-test

# $(call build,PRESET,TESTS): configure quietly, then build. Only the tests need cmocka.
define build
@cmake --preset $(1) -DFERRY_TESTS=$(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
@cmake --build build/$(1) -j $(JOBS)
endef

all: setup-build
	$(call build,release,OFF)

setup-build:
	@mkdir -p build
	@scripts/setup build

setup-test:
	@mkdir -p build
	@scripts/setup build test

demo: all
	@$(RELEASE)/ferry demo

test: setup-test
	$(call build,release,ON)
	@ctest --test-dir $(RELEASE) --output-on-failure -j $(JOBS)

asan: setup-test
	$(call build,asan,ON)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS)

bench: all
	@bench/run

install: all
	@DESTDIR=$(DESTDIR) cmake --install $(RELEASE) --prefix $(PREFIX)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

docs: all
	@$(RELEASE)/ferry methods --markdown >docs/options.md
	@$(RELEASE)/ferry help --markdown >docs/command.md
	@scripts/reproduction
	@python3 -B tests/cli/test_tutorial.py $(RELEASE)/ferry --update

clean:
	@rm -rf build
