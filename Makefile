# Drives CMake and Ninja for the variant that ./configure chose; `make help` lists the targets.
SHELL := /bin/bash
# Without a configuration make writes one first, by ./configure. These need none: a demo begins with what it is about to do.
UNCONFIGURED := demo cluster-demo help clean
ifneq ($(filter-out $(UNCONFIGURED),$(or $(MAKECMDGOALS),all)),)
-include objs/config.mk
else
-include $(wildcard objs/config.mk)
endif
VARIANT ?= release
BUILD := objs/$(VARIANT)
# TARGETS: what to build, everything when empty. DEMO (also of cluster-demo), TEST, BENCH, MICRO: arguments of what is run.
TARGETS ?=
# PROGRESS=scripts/lib/progress: one line that shows how far the build is, in place of a line for each step.
PROGRESS ?=
DEMO ?=
TEST ?=
FAST ?=
ALL ?=
# AREA=rtsp or AREA=rtsp,sip: the tests of an area only (scripts/test -h lists them). FUZZ=all: also the targets that did not change.
# N: how often make test-soak repeats.
AREA ?=
FUZZ ?=
N ?= 20
BENCH ?=
MICRO ?=
# make bench CASES='rtmp-1000 rtmp-500@100' SERVERS=weir,floor ROUNDS=1 WINDOW=8; scripts/bench --list
CASES ?=
SERVERS ?=
ROUNDS ?=
WINDOW ?=

# make leak-hunt HUNT='--tool valgrind --scenario rtmp'; everything that it does by itself when empty.
HUNT ?=

# make zoo CELLS='split* hole/rtmp/*' SAMPLE=60 SEED=3 ZOO='--together 4'; a cell is DEFORMATION/INPUT/OUTPUT
SAMPLE ?=
SEED ?=
ZOO ?=
MINUTES ?=

.PHONY: all help demo cluster-demo test test-all test-soak bench bench-full micro zoo zoo-camera coverage check lint format fuzz clean leak-hunt install uninstall deb

all: build

.PHONY: build configured
build: configured
	@$(PROGRESS) cmake --build $(BUILD) $(if $(TARGETS),--target $(TARGETS))
	@$(MAKE) --no-print-directory links

configured: objs/config.mk
	@# What was built in another folder (a copied or moved tree) names that one everywhere: it is built again.
	@if [ -f $(BUILD)/CMakeCache.txt ] && ! grep -qFx "CMAKE_HOME_DIRECTORY:INTERNAL=$$(pwd -P)/trunk" $(BUILD)/CMakeCache.txt && \
	  ! grep -qFx "CMAKE_HOME_DIRECTORY:INTERNAL=$$PWD/trunk" $(BUILD)/CMakeCache.txt; then \
	  echo "make: $(BUILD) was built in another folder; it is built again"; rm -rf $(BUILD); fi
	@cmake -S trunk -B $(BUILD) -G Ninja $(CMAKE_ARGS) >$(BUILD).cmake.log 2>&1 || { cat $(BUILD).cmake.log; \
	  echo "make: cmake failed; are the packages there? scripts/install-deps.sh --check lists what is missing"; exit 1; }

# objs/weir and objs/weir-bench are those of the configured variant; objs/www/ is what the server serves.
.PHONY: links
links:
	@for b in weir weir-bench; do if [ -x $(BUILD)/$$b ]; then ln -sfn $(VARIANT)/$$b objs/$$b; elif [ -L objs/$$b ]; then rm objs/$$b; fi; done
	@ln -sfn $(VARIANT)/compile_commands.json objs/compile_commands.json
	@mkdir -p objs/www; for f in trunk/www/*; do case $$f in *'*' | */package*.json | */node_modules) ;; \
	  *) cp -ru "$$f" objs/www/ ;; esac; done

objs/config.mk:
	@./configure

help: ## this list
	@echo "make            build the configured variant (./configure --help): objs/weir, objs/weir-bench"
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/make \1|\2/' | awk -F'|' '{printf "%-15s %s\n", $$1, $$2}'

demo: ## install what is missing, build, run the server with a looping sample stream
	@scripts/demo $(DEMO)

cluster-demo: ## two nodes on this machine with Redis: a stream is published at one and played at the other
	@scripts/cluster-demo $(DEMO)

test: ## install what is missing, build, run the tests; ends with "N passed, N failed"; FAST=1: unit and component tests only; AREA=rtsp: one area
	@scripts/test $(if $(FAST),--fast) $(if $(ALL),--all) $(if $(AREA),--area '$(AREA)') $(if $(FUZZ),--fuzz $(FUZZ)) $(TEST)

test-all: ## the same and everything under the sanitizers, and the search of the fuzz targets that changed (FUZZ=all: of all): make test ALL=1
	@$(MAKE) --no-print-directory test ALL=1

test-soak: ## run the tests N times (20), all or those of an AREA: how often does each fail?
	@scripts/test --soak $(N) $(if $(AREA),--area '$(AREA)') $(TEST)

BENCH_ARGS = $(if $(CASES),--cases '$(CASES)') $(if $(SERVERS),--servers '$(SERVERS)') \
  $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(WINDOW),--window $(WINDOW)) $(BENCH)

bench: bench-tools ## Weir beside nginx-rtmp and the floor, the cases that decide: about 20 minutes
	@scripts/bench $(BENCH_ARGS)

bench-full: bench-tools ## all cases and policies, writes doc/benchmarks.md: about an hour
	@scripts/bench --full $(BENCH_ARGS)

.PHONY: bench-tools
bench-tools: objs/bench/floor objs/bench/udp_floor objs/bench/mcast_floor
	@[ "$(VARIANT)" = release ] || { echo "make: a $(VARIANT) build is configured, and its figures mean nothing;" \
	  "./configure && make bench"; exit 1; }
	@scripts/install-deps.sh --bench
	@$(MAKE) --no-print-directory build TARGETS="weir weir-bench weir-micro"

# The reference programs of the benchmark.
objs/bench/floor: trunk/bench/floor/floor.c trunk/bench/floor/common.h trunk/bench/floor/rtmp.h
	@mkdir -p $(@D)
	@$(CC) -O2 -std=gnu11 -Wall -Wextra -o $@ $<

objs/bench/udp_floor: trunk/bench/floor/udp_floor.c trunk/bench/floor/common.h
	@mkdir -p $(@D)
	@$(CC) -O2 -std=gnu11 -Wall -Wextra -o $@ $<

objs/bench/mcast_floor: trunk/bench/floor/mcast_floor.c trunk/bench/floor/common.h
	@mkdir -p $(@D)
	@$(CC) -O2 -std=gnu11 -Wall -Wextra -o $@ $<

micro: ## build and run the micro-benchmarks; MICRO='--benchmark_filter=WireLog' chooses
	@$(MAKE) --no-print-directory build TARGETS=weir-micro
	@$(BUILD)/weir-micro $(MICRO)

zoo: ## deformed streams by each input, read at each output and judged: a table; CELLS='split*' SAMPLE=60 SEED=3 chooses
	@scripts/install-deps.sh --tests
	@$(MAKE) --no-print-directory build TARGETS=weir
	@PYTHONPATH=trunk/test:trunk/test/e2e/support objs/tools/venv/bin/python -m zoo $(CELLS:%='%') \
	  $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(ZOO)

zoo-camera: ## one camera that misbehaves at random for MINUTES=180 by SEED=1, watched at all outputs
	@scripts/install-deps.sh --tests
	@$(MAKE) --no-print-directory build TARGETS=weir
	@PYTHONPATH=trunk/test:trunk/test/e2e/support objs/tools/venv/bin/python -m zoo.camera \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

coverage: ## which lines the tests and a stream reach: a table, and objs/coverage-report/index.html
	@scripts/coverage

# make install PREFIX=/usr DESTDIR=/tmp/weir; scripts/install --help lists the variables.
INSTALL = PREFIX DESTDIR SYSCONFDIR UNITDIR CONFIG STRIP
export $(INSTALL)
install: ## put what is built into PREFIX (/usr/local): program, pages, configuration, unit, manual
	@BUILD="$(CURDIR)/$(BUILD)" scripts/install

uninstall: ## take it away again; a changed configuration stays
	@BUILD="$(CURDIR)/$(BUILD)" scripts/install --uninstall

deb: ## objs/deb/weir_VERSION_ARCH.deb from the release build
	@[ "$(VARIANT)" = release ] || { echo "make: a $(VARIANT) build is configured; ./configure && make deb"; exit 1; }
	@scripts/install-deps.sh --demo
	@$(MAKE) --no-print-directory build TARGETS="weir weir-bench"
	@BUILD="$(CURDIR)/$(BUILD)" scripts/package-deb

check: lint ## lint, formatting, and a build with warnings as errors
	@scripts/format --check
	@./configure --werror=on --pch=off --batches=off --variant=werror >/dev/null && $(MAKE) --no-print-directory build; r=$$?; ./configure >/dev/null; exit $$r

lint: ## layers, headers, sizes, naming: the rules of doc/CONTRIBUTING.md that a script can check
	@scripts/lint

format: ## format the sources in place
	@scripts/format

leak-hunt: ## hunt for leaks in a loaded server: clean by each tool, red with each planted leak; HUNT='--tool valgrind' for one
	@$(if $(HUNT),scripts/leak-hunt $(HUNT),scripts/leak-hunt --everything)

fuzz: ## search for new crashing inputs with clang's libFuzzer, bounded by time
	@scripts/fuzz

clean: ## remove everything built
	@find objs -mindepth 1 -maxdepth 1 ! -name .keep -exec rm -rf {} +
