# The short way to everything. `make demo` and `make test` install what is missing (packages.txt).
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
RELEASE := build/release

.PHONY: all help demo test asan bench install format docs site wheel clean setup-build setup-test

# $(call build,PRESET,TESTS): configure quietly, then build. Only the tests need cmocka.
define build
@cmake --preset $(1) -DFERRY_TESTS=$(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
@cmake --build build/$(1) -j $(JOBS)
endef

all: setup-build ## build the library and the command (build/release)
	$(call build,release,OFF)

setup-build:
	@mkdir -p build
	@scripts/setup build

setup-test:
	@mkdir -p build
	@scripts/setup build test

demo: all ## a first look: what a source is worth, on handwritten digits
	@$(RELEASE)/ferry demo

test: setup-test ## build and run all tests
	$(call build,release,ON)
	@scripts/leaves-nothing ctest --test-dir $(RELEASE) --output-on-failure -j $(JOBS)

asan: setup-test ## all tests under address and undefined-behaviour sanitizers
	$(call build,asan,ON)
	@scripts/leaves-nothing ctest --test-dir build/asan --output-on-failure -j $(JOBS)

bench: all ## measure speed against other programs
	@bench/run

install: all ## install under PREFIX (/usr/local), below DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install $(RELEASE) --prefix $(PREFIX)

format: ## clang-format all C files
	@git ls-files '*.c' '*.h' | xargs clang-format -i

docs: all ## make the generated pages of docs/ again
	@$(RELEASE)/ferry methods --markdown >docs/options.md
	@$(RELEASE)/ferry help --markdown >docs/command.md
	@FERRY_LIBRARY=$(RELEASE)/libferry.so python3 -B python/generate.py update
	@scripts/reproduction
	@scripts/papers
	@python3 -B tests/cli/test_tutorial.py $(RELEASE)/ferry --update

site: all ## build the manual as a site (build/site/index.html)
	@scripts/setup site
	@site/build $(RELEASE)/ferry

wheel: setup-build ## a wheel of ferryml for other Linux systems (build/dist); needs a package index
	@scripts/wheel

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

clean: ## remove build/
	@rm -rf build
