# Drives CMake and Ninja for the variant that ./configure chose; `make help` lists the targets.
SHELL := /bin/bash
-include objs/config.mk
VARIANT ?= release
BUILD := objs/$(VARIANT)

.PHONY: all help demo test check lint format clean

all: build

.PHONY: build
build: objs/config.mk
	@cmake -S trunk -B $(BUILD) -G Ninja $(CMAKE_ARGS) >$(BUILD).cmake.log 2>&1 || { cat $(BUILD).cmake.log; \
	  echo "make: cmake failed; are the packages there? scripts/install-deps.sh --check lists what is missing"; exit 1; }
	@cmake --build $(BUILD)
	@for b in weir weir-bench; do if [ -x $(BUILD)/$$b ]; then ln -sfn $(VARIANT)/$$b objs/$$b; fi; done
	@ln -sfn $(VARIANT)/compile_commands.json objs/compile_commands.json

objs/config.mk:
	@./configure

help: ## this list
	@echo "make            build the configured variant (./configure --help): objs/weir, objs/weir-bench"
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/make \1|\2/' | awk -F'|' '{printf "%-15s %s\n", $$1, $$2}'

demo: ## install what is missing, build, run the server with a looping sample stream
	@scripts/demo

test: ## install what is missing, build, run every test; ends with "N passed, N failed"
	@scripts/test

check: lint ## lint, and a build with warnings as errors
	@./configure --werror=on --variant=werror >/dev/null && $(MAKE) --no-print-directory build; r=$$?; ./configure >/dev/null; exit $$r

lint: ## layers, headers, sizes, naming: the rules of doc/CONTRIBUTING.md that a script can check
	@scripts/lint

format: ## format the sources in place
	@scripts/format

clean: ## remove everything built
	@find objs -mindepth 1 -maxdepth 1 ! -name .keep -exec rm -rf {} +
