# What people type. `make help` lists it.

GOBIN_DIR := $(CURDIR)/bin
LINT_VERSION := v2.14.0
LINT := $(GOBIN_DIR)/golangci-lint-$(LINT_VERSION)
PEBBLE_VERSION := v2.10.1
PEBBLE := $(GOBIN_DIR)/pebble-$(PEBBLE_VERSION)
PROMTOOL := $(GOBIN_DIR)/promtool
VULN_VERSION := v1.8.0
VULN := $(GOBIN_DIR)/govulncheck-$(VULN_VERSION)
GORELEASER_VERSION := v2.16.0
GORELEASER := $(GOBIN_DIR)/goreleaser-$(GORELEASER_VERSION)
FUZZTIME ?= 60s
APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq
BENCHTIME ?= 1s

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

# What the compiler has learnt from quando under load. Only releases and the benchmark are built with it: packages
# that go run compiles with a profile, those of the standard library too, cannot be shared with go test.
PGO := cmd/quando/quando.pgo

# A module of its own, so that what is measured with is no dependency of the product.
BENCH := cmd/bench

# Tests wait for processes, disks and timers more than they compute: on two cores three packages
# run at a time, and two with the race detector beside them.
PACKAGES ?= $(shell n=$$(nproc); echo $$(( n + (n + 1) / 2 )))
RACED_PACKAGES ?= $(shell nproc)
AT_ONCE_SKIP := TestKill|TestDatabaseCrashes|TestConnectionsCut|TestPauseOfAll|TestTicksOnce|TestStopped|TestFlood|TestManyWaitingRuns

# The race detector has something to find where goroutines or what guards them is used. From the
# sources, so that none is left out.
RACED = grep -rlE --include='*.go' '\b(sync|atomic)\.[A-Z]|^\s*go [a-zA-Z]' . | grep -v '^\./$(BENCH)/' | xargs -n 1 dirname | sort -u

# Prints where tests write: their files outlive no test, so they need no disk where the machine has
# memory for them and lets programs run there. What go builds is larger, and stays on the disk.
IN_MEMORY = probe=$$(mktemp -p /dev/shm 2> /dev/null) && echo '\#!/bin/sh' > $$probe && chmod +x $$probe && $$probe && \
	test $$(df -k --output=avail /dev/shm | tail -n 1) -gt 4000000 && echo /dev/shm || echo $${TMPDIR:-/tmp}; rm -f $$probe

.PHONY: test
test: export QUANDO_LEFT_OUT = $(shell $(ABSENT))
# Without the paths of this folder in it, what another checkout has compiled can be taken.
# CI runs every test all the same, also one that has passed in another checkout.
# Nobody debugs these binaries: without the tables for that, a hundred of them are linked in half the time.
test: export GOFLAGS := $(GOFLAGS) -trimpath -ldflags=-w $(if $(CI),-count=1)
# Tests are short and make much garbage, above all with the race detector, which doubles what it costs to collect it.
# Four times as much of it between two collections takes half the work, for some hundred megabytes.
test: export GOGC := 400
# A program with the detector sleeps for a second before it ends, so that other goroutines can report; theirs have ended.
test: export GORACE := atexit_sleep_ms=50
test: export GOTMPDIR := $(or $(TMPDIR),/tmp)
test: export TMPDIR := $(shell $(IN_MEMORY))
test: tools lint ## install what the tests need, then run them all; lint has vetted the code
	$(MAKE) --no-print-directory -j 3 test-packages test-races test-beside

# Of these, the packages whose tests have no short form and leave nothing out for the detector: one run with it shows all.
WHOLE = $(RACED) | while read -r folder; do ls $$folder/*_test.go > /dev/null 2>&1 && \
	! grep -qE 'testing\.Short|InTurn|journaltest|go:build|AllocsPerRun|costtest' $$folder/*_test.go && echo $$folder; done

.PHONY: test-packages
test-packages:
	go test -vet=off -p $(PACKAGES) -parallel 8 -timeout 40m $$(go list ./... | sed 's|^github.com/quandohq/quando|.|' | grep -vxF "$$($(WHOLE))")

# They wait less than they compute, so they take what the other tests leave of the processors.
.PHONY: test-races
test-races:
	nice -n 5 go test -vet=off -p $(RACED_PACKAGES) -race -short -parallel 8 -timeout 40m $$($(RACED))

# What leaves a processor idle on its own.
.PHONY: test-beside
test-beside:
	go test -vet=off -short -timeout 30m ./engine -at-once -skip "$(AT_ONCE_SKIP)"
	cd $(BENCH) && go test -vet=off -timeout 40m ./... && go test -vet=off -race -short -timeout 40m ./...

.PHONY: race
race: tools ## run all tests with the race detector, in full; make test runs the short form of those with goroutines
	go test -race -timeout 2h ./...
	cd $(BENCH) && go test -race -timeout 2h ./...

# Debian keeps some programs where only root looks for them.
export PATH := $(PATH):/usr/sbin

# Programs that tests use, each with the package of Debian that has it.
PROGRAMS := openssl:openssl initdb:postgresql pgbouncer:pgbouncer curl:curl jq:jq man:man-db nvim:neovim systemd-analyze:systemd chromium:chromium-headless-shell

# Prints what of these this machine has not.
ABSENT = for one in $(PROGRAMS); do case $$one in \
		initdb:*) command -v initdb || ls /usr/lib/postgresql/*/bin/initdb ;; \
		chromium:*) command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome ;; \
		*) command -v $${one%%:*} ;; \
	esac > /dev/null 2>&1 || echo $${one\#*:}; done; test -x $(PROMTOOL) || echo promtool

.PHONY: tools
tools: $(PEBBLE) $(PROMTOOL) ## install the programs that tests use, where they are missing and one may
	@absent=$$({ $(ABSENT); } | grep -v promtool | sed 's/^chromium.*/& fonts-noto-core/' | xargs); \
		if [ -n "$$absent" ] && [ $$(id -u) = 0 ]; then echo "installing $$absent"; apt-get update -qq && $(APT_INSTALL) $$absent || true; fi
	@absent=$$({ $(ABSENT); } | xargs); \
		if [ -n "$$absent" ]; then echo "Left out are tests that need what this machine has not: $$absent. To have them too, run as root: make tools"; fi

# A small ACME server, to get certificates from.
$(PEBBLE):
	@mkdir -p $(GOBIN_DIR)
	GOBIN=$(GOBIN_DIR) GOFLAGS=-mod=mod go install github.com/letsencrypt/pebble/v2/cmd/pebble@$(PEBBLE_VERSION)
	@mv $(GOBIN_DIR)/pebble $@

# The checker of alert rules comes in the package of Prometheus; only the program is taken out of it, and no server is started.
$(PROMTOOL):
	@mkdir -p $(GOBIN_DIR)
	@if command -v promtool > /dev/null; then ln -sf "$$(command -v promtool)" $@; else \
		echo "getting promtool"; folder=$$(mktemp -d); cd $$folder; if [ $$(id -u) = 0 ]; then apt-get update -qq; fi; \
		{ apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb . && mv usr/bin/promtool $@; } > /dev/null 2>&1 || true; rm -rf $$folder; fi

.PHONY: lint
lint: $(LINT) vulnerabilities ## check the code: the import law, vet, style, known vulnerabilities
	$(LINT) run --allow-parallel-runners ./...
	cd $(BENCH) && $(LINT) run --allow-parallel-runners ./...

# Known vulnerabilities are looked for where their database can be had; without it nothing is said of them.
.PHONY: vulnerabilities
vulnerabilities:
	@if timeout 10 bash -c '< /dev/tcp/vuln.go.dev/443' 2> /dev/null; then $(MAKE) -s $(VULN) && $(VULN) ./... && (cd $(BENCH) && $(VULN) ./...); \
		else echo "vuln.go.dev cannot be reached: known vulnerabilities are not looked for"; fi

$(VULN):
	@mkdir -p $(GOBIN_DIR)
	GOBIN=$(GOBIN_DIR) GOFLAGS=-mod=mod go install golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION)
	@mv $(GOBIN_DIR)/govulncheck $@

# The linter is built once, into this folder: its dependencies are no business of the module.
$(LINT):
	@echo "building golangci-lint $(LINT_VERSION), once; this takes a few minutes"
	@mkdir -p $(GOBIN_DIR)
	GOBIN=$(GOBIN_DIR) GOFLAGS=-mod=mod go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(GOBIN_DIR)/golangci-lint $@

.PHONY: build
build: ## build bin/quando
	@mkdir -p $(GOBIN_DIR)
	go build -trimpath -o $(GOBIN_DIR)/quando ./cmd/quando

OUT ?= $(GOBIN_DIR)/quando
VERSION ?=
STATIC_TAGS := sqlite_omit_load_extension,netgo,osusergo
.PHONY: static
static: ## build a binary that needs no library of the machine that it runs on, as releases are: OUT names it, VERSION is what it says of itself
	CGO_ENABLED=1 go build -pgo=$(PGO) -trimpath -tags $(STATIC_TAGS) -ldflags '-s -w -X github.com/quandohq/quando/cmd/quando/internal/cli.release=$(VERSION) -linkmode external -extldflags "-static"' -o $(OUT) ./cmd/quando

MAN ?= $(CURDIR)/build/man
.PHONY: man
man: ## write the man pages to MAN
	rm -rf $(MAN)
	go test -run '^TestMan$$' -count 1 ./cmd/quando -man $(abspath $(MAN))

COMPLETIONS ?= $(CURDIR)/build/completions
.PHONY: completions
completions: ## write what bash, zsh and fish complete quando by to COMPLETIONS
	@mkdir -p $(COMPLETIONS)
	for shell in bash zsh fish; do go run ./cmd/quando completion $$shell > $(abspath $(COMPLETIONS))/quando.$$shell; done

VSIX ?= $(CURDIR)/build/quando-vscode.vsix
.PHONY: vscode
vscode: ## pack the extension for VS Code into VSIX; it needs no Node
	go test -run '^TestVSCode$$' -count 1 ./cmd/quando -vsix $(abspath $(VSIX))

comma := ,
.PHONY: release-check
release-check: $(GORELEASER) ## build everything that a release is made of, into dist, and publish nothing
	$(GORELEASER) check
	$(GORELEASER) release --snapshot --clean --skip=sign$(if $(shell command -v syft),,$(comma)sbom)

$(GORELEASER):
	@echo "building goreleaser $(GORELEASER_VERSION), once; this takes a few minutes"
	@mkdir -p $(GOBIN_DIR)
	GOBIN=$(GOBIN_DIR) GOFLAGS=-mod=mod go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	@mv $(GOBIN_DIR)/goreleaser $@

.PHONY: generate
generate: ## rewrite what is generated: golden files, the tables of docs/language.md, docs/sentences.md, the editor of the console (which needs Node)
	go test ./rules ./rules/form/sentence ./cmd/quando -update
	cd engine/console/editor && npm ci --ignore-scripts && npm run build

SCALE ?= full
.PHONY: bench
bench: ## measure quando against a bare server, and write docs/bench.json, bench.svg and the table of benchmarks.md; SCALE=short takes minutes, PEERS=yes measures others too
	cd $(BENCH) && go run . -scale $(SCALE) -write $(CURDIR)/docs $(if $(PEERS),-run '.*')

.PHONY: learn
learn: ## let the compiler learn from quando under load: write cmd/quando/quando.pgo
	folder=$$(mktemp -d) && (cd $(BENCH) && go run . -run '^(acknowledge|runs)$$' -rounds 1 -duration 10s -profile "$$folder" -learn $(CURDIR)/$(PGO)) && rm -r "$$folder"

.PHONY: microbench
microbench: ## print what matching, compiling, calendars, visits, calls and the journal cost
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) -count 3 ./rules/... ./service ./actions/builtin ./triggers/webhook ./engine ./engine/journal/... ./cmd/quando/internal/process

.PHONY: pages
pages: EVENTS = 1000000
pages: ## fill a journal with EVENTS events and runs, and print how long each page of the console takes; then the same with 10,000 rules and unfinished runs on a tenth of the events
	go test -run '^TestManyPages$$' -count 1 -v -timeout 4h ./engine/console -events $(EVENTS)
	go test -run '^TestManyPages$$' -count 1 -v -timeout 4h ./engine/console -events $$(($(EVENTS) / 10)) -rules 10000 -unfinished 10000

.PHONY: screenshots
screenshots: tools ## write pictures of every page of the console to docs/screenshots, of three in both languages and themes
	rm -f $(CURDIR)/docs/screenshots/*.png
	go test -run 'InABrowser$$' -count 1 -timeout 20m ./engine/console -screenshots $(CURDIR)/docs/screenshots
	cd $(CURDIR)/docs/screenshots && ls | grep -v -E '^phone-|-en-light|^(today|rule|write)-' | xargs rm -f

KILLS ?= 1000
.PHONY: kill
kill: ## kill -9 the engine KILLS times under load, and compare what it did with what it should have done
	go test -run '^TestKill$$' -v -timeout 6h ./engine -kills $(KILLS)

STOPS ?= 50
DISTURBANCES ?= 50
.PHONY: share
share: ## stop engines that share a PostgreSQL STOPS times, crash it DISTURBANCES times and cut its connections five times as often, under load
	go test -run '^(TestStopped|TestPauseStopsCalls|TestStoppedAtACall|TestDatabaseCrashes|TestConnectionsCut|TestTicksOnce|TestPauseOfAll|TestAnswerIsClaimed)$$' -v -parallel 1 -timeout 6h ./engine -stops $(STOPS) -disturbances $(DISTURBANCES)

FLOOD ?= 60000
WORKERS ?= 0
.PHONY: flood
flood: ## flood one of 200 workspaces with FLOOD events, and print how long it takes from event to effect in the others, alone and meanwhile
	go test -run '^TestFloodTimes$$' -v -timeout 1h ./engine -flood $(FLOOD) -workers $(WORKERS)

WAITING ?= 1000000
.PHONY: waiting
waiting: ## let WAITING runs wait: what they cost in memory, how fast a start and a wake-up are
	go test -run '^TestManyWaitingRuns$$' -v -timeout 6h ./engine -waiting $(WAITING)

DAYS ?= 90
.PHONY: retention
retention: ## let DAYS days of the same traffic pass on a simulated clock, and print how large the journal is on each; it must be flat when as much is forgotten as comes
	go test -run '^TestRetention$$' -v -timeout 6h ./engine -days $(DAYS)

COMMIT ?= HEAD
NAME ?= journal
.PHONY: old-journal
old-journal: ## store a journal NAME that the program wrote as it was at COMMIT, for the test of upgrades; POSTGRES is an empty database for the same in PostgreSQL
	cmd/quando/testdata/journals/make.sh $(COMMIT) $(NAME) $(POSTGRES)

EVENTS ?= 100000
.PHONY: backtest
backtest: ## try rules on EVENTS recorded events, as they were and with one changed, and print how long that takes
	go test -run '^$$' -bench '^BenchmarkBacktest$$' -benchtime $$(($(EVENTS) / 1000))x -timeout 6h ./engine/backtest

ATTACK ?= 4s
.PHONY: attack
attack: build ## attack bin/quando for ATTACK as strangers would: forged floods, slow clients, many connections, hostile bodies; print its memory, descriptors, calls and lines logged
	go test -run '^(TestAttack|TestAttackOnTheSecret|TestUnverifiedBodies|TestManyConnections)$$' -count 1 -v -timeout 6h ./cmd/quando -attack $(ATTACK) -program $(GOBIN_DIR)/quando

CUTS ?= 10000
.PHONY: powercut
powercut: ## cut the power of a journal in a file CUTS times under load, lose what was not synced, and look for everything that was acknowledged
	go test -run '^TestPowerCuts$$' -count 1 -v -timeout 6h ./engine/journal/sqlite/powercut -cuts $(CUTS)

CASES ?= 100000
.PHONY: sentences
sentences: ## read CASES random conditions as sentences, print them again, and compare what both decide on random events
	go test -run '^TestRandom' -count 1 -v -timeout 6h ./rules/form/sentence -cases $(CASES)

.PHONY: random
random: ## compare CASES random calendars, forms and explanations with what is known of them
	go test -run '^Test(CalendarAgreesWithReference|RandomForms|RandomRules)$$' -count 1 -v -timeout 6h ./rules/calendar ./rules/form ./engine/explain -cases $(CASES)

RULES ?= 10000
.PHONY: gap
gap: ## open RULES made-up rules in the studio, with nothing by hand and no code, change chips of them, and print how many
	go test -run '^Test(Random)?(NoGap|Changes)$$' -count 1 -v -timeout 6h ./engine/console/internal/studio -cases $(RULES)

.PHONY: newcomers
newcomers: ## build seven rules in a browser as a new user would, and lose no click: with a mouse, with keys alone and on a phone, and print the clicks
	go test -run '^Test(The(AwayReply|TwoLevelSLA|Menu|Survey|DailyReport|Canary)|VIPRouting|NoClickIsLost)$$' -count 1 -v -timeout 1h ./engine/console -ways

.PHONY: looks
looks: tools ## look at every page and state of the console in each language, at each width and in both themes, with axe; make test shows them in turns
	go test -run 'InABrowser$$|^Test(EveryState|ProofForEverybody|Readers)$$' -count 1 -v -timeout 1h ./engine/console -looks

.PHONY: faults
faults: ## tell the stories of all examples, of the cookbook and of sixteen automations under every fault, and replay those of the examples
	go test -run '^Test(Stories|Together|Cookbook|Sixteen)$$' -count 1 -timeout 1h ./examples ./cmd/quando ./engine/backtest -faults

.PHONY: mutants
mutants: ## plant bugs into the engine, one after another, and see the tests of the examples find each
	go test -run '^TestMutants$$' -v -timeout 3h ./engine/ruletest -mutants all

BUGS ?= all
.PHONY: planted
planted: ## plant the same bugs and others, or those with BUGS in their names, and see made-up desks find each within five minutes of processor time
	go test -run '^TestPlanted$$' -count 1 -v -timeout 12h ./engine/simulation -planted '$(BUGS)'

SEEDS ?= 1000
FROM ?= 1
STORY ?=
POSTGRES_EVERY ?= 20
SIMULATIONS ?= $(CURDIR)/build/simulations
.PHONY: simulate
simulate: ## play SEEDS made-up desks, from seed FROM on, and judge them; what fails is shrunk and written to SIMULATIONS. STORY plays one such file again
	@mkdir -p $(SIMULATIONS)
	go test -run '^TestSimulate$$' -count 1 -v -timeout 12h ./engine/simulation -seeds $(SEEDS) -from $(FROM) -postgres $(POSTGRES_EVERY) -write $(SIMULATIONS) $(if $(STORY),-story $(abspath $(STORY)))

# From the sources, so that none is left out.
FUZZ_TARGETS = grep -rE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+\(' . | sed -E 's|^\./(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]+).*|\1:\2|' | sort
.PHONY: fuzz-targets
fuzz-targets: ## print every fuzz target, as package:name
	@$(FUZZ_TARGETS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@for target in $$($(FUZZ_TARGETS)); do \
		echo "== $$target"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x ./$${target%%:*} || exit 1; \
	done
