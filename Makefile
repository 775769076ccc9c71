# Everything that one does with this repository. "make help" lists it. What runs
# on every change runs these same targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The version that the binary reports: the tag, or the commit when there is none.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# What the time limits are for: a hung test must say where it hangs before
# whoever runs it loses patience.
TEST_TIMEOUT ?= 15m
# More flags for go test, such as -v.
TEST_FLAGS ?=

PKG      ?= ./...
BENCH    ?= .
COUNT    ?= 6
FUZZTIME ?= 30s
FUZZ     ?= .
KILLS    ?= 200
MINUTES  ?= 60
SNAPSHOT ?= 10m
CONNECTIONS ?= 2000
CUTS     ?= 300
HOURS    ?= 2
SCHEDULES ?= 1000000

# Each tool is pinned in a module file of its own, so that its dependencies do
# not choose the versions of ours. The first use compiles it.
GOLANGCI  := go tool -modfile=tools/golangci-lint.mod golangci-lint
GO_BUILD  := CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
CONTRACT  := api/openapi.yaml
# Where PostgreSQL has its files in tests: in memory if there is room, else on a disk.
PGDATA_IN  = PETCAT_TEST_POSTGRES_DATA=$(shell if [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'END {print $$4 + 0}')" -gt 4000000 ]; then echo /dev/shm; else echo /tmp; fi)
# The tests in a browser, those on a disk of their own, and all that have a command of
# their own: make test does not skip them, it does not name them.
BROWSER   := '^Test(ReferencePage|ConsoleInBrowser)$$'
POWERCUT  := '^TestPowerCuts|^TestDiskErrorsAnywhere'
APART     := $(BROWSER)'|'$(POWERCUT)'|^TestSoak$$|^TestFloods$$|^TestTortureCluster$$|^TestTortureSnapshot$$'
# What the program compiles for besides this machine.
PLATFORMS := $(filter-out $(shell go env GOHOSTOS 2>/dev/null)/$(shell go env GOHOSTARCH 2>/dev/null),linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)

##@ Run

.PHONY: run
run: build ## Build, serve on the embedded database, and print what to do next
	./bin/petcat dev

.PHONY: build
build: need-go ## Build bin/petcat: one static file, no cgo
	$(GO_BUILD) -o bin/petcat ./cmd/petcat

##@ Test

.PHONY: test
test: need-go need-servers need-npm tools/clients/node_modules ## Run all tests in their short forms; one that misses a program fails
	$(PGDATA_IN) PETCAT_TEST_REQUIRE=1 go test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) -skip $(APART) $$(go list ./... | grep -v '/e2e$$')
	$(PGDATA_IN) PETCAT_TEST_REQUIRE=1 go test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) -skip $(APART) ./e2e # alone: it measures time
	PETCAT_TEST_REQUIRE=1 PETCAT_POWER_CUTS=20 go test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./e2e -run $(POWERCUT)

.PHONY: quick
quick: need-go ## Run the tests that start no server, in their shortest forms: 45 s from a warm cache
	go test -short -timeout $(TEST_TIMEOUT) ./...

.PHONY: race
race: need-go need-servers need-npm tools/clients/node_modules ## Run the same tests but two under the race detector, where no bound of time holds (needs a C compiler)
	@command -v "$$(go env CC)" >/dev/null || { echo "make race: the race detector needs a C compiler; install one, on Debian: apt-get install gcc libc6-dev" >&2; exit 1; }
	@# One package at a time: the tests of the built program are late beside others. TestOverload measures the pace
	@# of the store.
	$(PGDATA_IN) CGO_ENABLED=1 PETCAT_TEST_REQUIRE=1 go test -race -count=1 -p 1 -timeout 3h $(TEST_FLAGS) -skip $(APART)'|^TestMutants$$|^TestOverload$$' $(PKG)

.PHONY: race-quick
race-quick: need-go ## Run the tests that start no server under the race detector (needs a C compiler)
	@command -v "$$(go env CC)" >/dev/null || { echo "make race-quick: the race detector needs a C compiler; install one, on Debian: apt-get install gcc libc6-dev" >&2; exit 1; }
	@# archtest reads files. TestMutants runs what TestSimulations does, with faults in it, for minutes.
	CGO_ENABLED=1 go test -race -short -timeout $(TEST_TIMEOUT) -skip '^TestMutants$$' $$(go list ./... | grep -v '/archtest$$')

.PHONY: browser
browser: need-go need-npm tools/clients/node_modules ## Use the reference page and the console in headless Chromium (SCREENSHOTS=docs makes the pictures of the documents again)
	@scripts/need-servers chromium
	PETCAT_TEST_REQUIRE=1 PETCAT_SCREENSHOTS=$(abspath $(SCREENSHOTS)) go test -timeout $(TEST_TIMEOUT) ./e2e -run $(BROWSER) -count=1 -v

.PHONY: bench-test
bench-test: need-go ## Run the tests of bench/, which is a module of its own
	@scripts/need-servers wrk
	cd bench && go vet ./... && PETCAT_TEST_REQUIRE=1 go test -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...

.PHONY: test-versions
test-versions: need-go need-servers ## Test with each PostgreSQL, Redis and Valkey that is promised (VERSIONS='postgres-16 valkey-8')
	@VERSIONS='$(VERSIONS)' TEST_TIMEOUT=$(TEST_TIMEOUT) scripts/server-versions

.PHONY: fuzz
fuzz: need-go ## Fuzz each target for FUZZTIME=30s (FUZZ=regexp chooses, PKG=./... where)
	@FUZZTIME=$(FUZZTIME) FUZZ='$(FUZZ)' scripts/fuzz $(PKG)

.PHONY: torture
torture: need-go need-servers ## Run the tests of kills, clusters and usage in their long forms (KILLS=200, MINUTES=60, SNAPSHOT=10m)
	PETCAT_TORTURE_KILLS=$(KILLS) PETCAT_TORTURE_COMMANDS=1000 go test ./e2e ./internal/postgres -run 'Torture|Cluster|Busy|Usage$$|UsageOf' -count=1 -v -timeout 2h
	PETCAT_TORTURE_MINUTES=$(MINUTES) go test ./e2e -run '^TestTortureCluster$$' -count=1 -v -timeout $$(( $(MINUTES) + 30 ))m
	PETCAT_TORTURE_SNAPSHOT=$(SNAPSHOT) go test ./internal/pgcounters -run Torture -count=1 -v -timeout 3h

.PHONY: powercut
powercut: need-go ## Cut the power of a disk under the program CUTS=300 times, and let each operation on it fail (needs root and FUSE); about 20 minutes
	@[[ $$(id -u) == 0 && -c /dev/fuse ]] || { echo "make powercut: it mounts a file system, which needs root and /dev/fuse (modprobe fuse)" >&2; exit 1; }
	PETCAT_POWER_CUTS=$(CUTS) PETCAT_TEST_REQUIRE=1 go test ./e2e -run $(POWERCUT) -count=1 -v -timeout 1h

.PHONY: soak
soak: need-go need-servers ## Use a cluster and a single node for HOURS=2 while things fail, and see that nothing grows
	PETCAT_SOAK_HOURS=$(HOURS) go test ./e2e -run '^TestSoak$$' -count=1 -v -timeout 49h

.PHONY: simulate
simulate: need-go ## Let SCHEDULES=1000000 simulated clusters count requests while servers fail; a quarter of an hour
	PETCAT_SIMULATIONS=$(SCHEDULES) PETCAT_MIDNIGHT=long go test ./internal/clusterlimit -run '^Test(Simulations|Midnight)$$' -count=1 -v -timeout 3h

.PHONY: hostile
hostile: need-go ## Hold CONNECTIONS=2000 of every hostile kind open, with each sort of key; 15 minutes
	PETCAT_HOSTILE_CONNECTIONS=$(CONNECTIONS) go test ./e2e -run '^TestFloods$$' -count=1 -v -parallel 8 -timeout 2h

.PHONY: bench
bench: need-go ## Measure petcat beside its peers: table, results, plots (BENCHFLAGS='-only create')
	cd bench && go run . $(BENCHFLAGS)

.PHONY: bench-quick
bench-quick: need-go ## The same in two minutes: shows that it works, the numbers are noise
	cd bench && go run . -quick $(BENCHFLAGS)

.PHONY: bench-go
bench-go: need-go ## Run the Go benchmarks (BENCH=regexp, PKG=./..., COUNT=6)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG)

.PHONY: bench-compare
bench-compare: need-go ## Compare the Go benchmarks with another revision: BASE=main
	@BENCH='$(BENCH)' COUNT=$(COUNT) scripts/bench-compare '$(BASE)' $(PKG)

##@ Check

.PHONY: check
check: fmt-check vet cross lint tidy-check gen-check contract vuln ## Run every check that is not a test

.PHONY: fmt
fmt: need-go ## Format the Go files
	$(GOLANGCI) fmt

.PHONY: fmt-check
fmt-check: need-go ## Fail when a Go file is not formatted (the first run compiles the linter: minutes)
	@$(GOLANGCI) fmt --diff || { echo "make fmt-check: run make fmt" >&2; exit 1; }

.PHONY: vet
vet: need-go ## Run go vet, also as if on Windows: the tests that nobody runs there compile
	go vet ./...
	GOOS=windows go vet ./...

.PHONY: cross
cross: need-go ## Compile for other platforms (the first run takes minutes)
	@for platform in $(PLATFORMS); do \
		echo "go build for $$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO_BUILD) -o /dev/null ./cmd/petcat || exit; \
	done

.PHONY: lint
lint: need-go ## Run the linters of .golangci.yml (the first run compiles them: minutes)
	$(GOLANGCI) run

.PHONY: tidy-check
tidy-check: need-go ## Fail when go.mod does not say exactly what is imported
	@go mod tidy -diff || { echo "make tidy-check: run go mod tidy, and give each new module its line in docs/decisions/" >&2; exit 1; }

.PHONY: gen
gen: need-go ## Make the generated files again
	go generate ./...
	go test ./internal/archtest -run Generated -count=1 -update

.PHONY: gen-check
gen-check: ## Fail when a generated file is not what make gen makes
	@scripts/gen-check

.PHONY: contract
contract: need-go need-npm tools/redocly/node_modules ## Lint the OpenAPI document, and compare it with the one of 1.0.0
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true tools/redocly/node_modules/.bin/redocly lint --config tools/redocly/redocly.yaml $(CONTRACT)
	go tool -modfile=tools/tools.mod oasdiff breaking --fail-on=WARN --stability-level=beta --deprecation-days-stable=180 --deprecation-days-beta=30 \
		--severity-levels=api/released/oasdiff-levels.txt api/released/1.0.0.yaml $(CONTRACT)

tools/%/node_modules: tools/%/package-lock.json
	npm --prefix $(@D) ci
	@touch $@

.PHONY: vuln
vuln: need-go ## Look for known vulnerabilities (VULNDB=url: a mirror of the database)
	@VULNDB='$(VULNDB)' scripts/vuln ./...

##@ Release

.PHONY: release
release: need-go ## Make the files of a release from this commit: VERSION=1.2.3 MAINTAINER='Example <packages@example.com>', into dist/1.2.3
	@cd tools/release && go run . -root ../.. -version '$(VERSION)' -maintainer "$$MAINTAINER"

.PHONY: release-test
release-test: need-go ## Make a release twice, compare, install the package, run the image (as root, on Debian)
	@scripts/need-servers "systemctl systemd" "deb-systemd-helper init-system-helpers" "ip iproute2" "ps procps"
	cd tools/release && go vet ./... && PETCAT_TEST_REQUIRE=1 go test -count=1 -timeout 30m $(TEST_FLAGS) ./...

##@ Other

.PHONY: clean
clean: ## Remove what was built and the test cache; data/ stays
	rm -rf bin dist tools/*/node_modules
	go clean -testcache

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What has to be there, and what to do when it is not.

.PHONY: need-go
need-go:
	@command -v go >/dev/null || { echo "Go is not installed. Install Go 1.26 or newer from https://go.dev/dl/ and put its bin directory in PATH." >&2; exit 1; }

.PHONY: need-npm
need-npm:
	@command -v npm >/dev/null || { echo "npm is not installed; it installs the linter of the OpenAPI document and what tests use. On Debian: apt-get install nodejs npm" >&2; exit 1; }

.PHONY: need-servers
need-servers:
	@scripts/need-servers
