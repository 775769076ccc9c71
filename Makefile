# All tasks of this repository; "make help" lists them. CI runs the same targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The version that the binary reports: the tag, or the commit if there is no tag.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Short enough that a hung test soon prints its stack.
TEST_TIMEOUT ?= 10m
# Additional flags for go test, such as -v.
TEST_FLAGS ?=

PKG      ?= ./...
BENCH    ?= .
COUNT    ?= 6
FUZZTIME ?= 30s
FUZZ     ?= .
KILLS    ?= 50
MINUTES  ?= 60
CONNECTIONS ?= 2000
CUTS     ?= 100
FAILOVERS ?= 3
LOSSES ?= 5
HOURS    ?= 0.5
SCHEDULES ?= 100000

# Tools are pinned in separate module files, so that their dependencies do not affect
# petcat's. The first use compiles them.
GOLANGCI  := go tool -modfile=tools/golangci-lint.mod golangci-lint
# Without programs that may be installed: the result does not depend on the machine.
ACTIONLINT := go tool -modfile=tools/actionlint.mod actionlint -shellcheck= -pyflakes=
GO_BUILD  := CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
CONTRACT  := api/openapi.yaml
# The requests and responses recorded by tests.
EXCHANGES := build/exchanges.jsonl
# The SDK is a separate module, which ./... does not include.
SDK       := $(shell sed -n 's/^module //p' go.mod)/client
# Formats the templates of all pages.
FORMAT_TEMPLATES = find internal -name '*.html' -print0 | xargs -0 go run ./tools/templates
# The supported platforms, except linux/amd64.
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64
# The packages with goroutines.
RACE := $(SDK) ./cmd/petcat $(addprefix ./internal/,backup catalog console groupcommit httpapi importer keyring logging postgres ratelimit server sqlite usage)

##@ Run

.PHONY: run
run: build ## Build and serve with SQLite, and print the next steps
	./bin/petcat dev

.PHONY: build
build: need-go ## Build bin/petcat, a static binary without cgo
	$(GO_BUILD) -o bin/petcat ./cmd/petcat

##@ Test

.PHONY: test
test: need-go ## Run all tests, with a temporary PostgreSQL (four minutes)
	@scripts/need postgresql "curl curl"
	scripts/with-postgres go test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./... $(SDK)

.PHONY: quick
quick: need-go ## Run the tests that don't need a server (under 45 s)
	unset $${!OTEL_@}; go test -short -timeout $(TEST_TIMEOUT) $$(go list ./... $(SDK) | grep -v -e /e2e$$ -e /internal/postgres$$ -e /internal/pgtest$$)

.PHONY: browser
browser: need-go need-npm tools/browser/node_modules ## Test the pages in headless Chromium (SCREENSHOTS=docs updates the documents' screenshots)
	@scripts/need "chromium chromium"
	PETCAT_SCREENSHOTS=$(abspath $(SCREENSHOTS)) go test -tags browser -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./e2e -run '^TestBrowser' -count=1

.PHONY: clients
clients: need-go need-npm clients/typescript/node_modules $(addprefix tools/,attw/node_modules pyright/node_modules newman/node_modules) ## Build the TypeScript and Python clients, run their tests, test them against a server (waits for the end of a minute), and run the Postman collection
	@scripts/clients
	go -C tools/webhooks test -count=1 ./...
	go test -tags clients -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./e2e -run '^TestClients' -count=1

##@ Check

.PHONY: check
check: fmt-check wording vet cross lint tidy-check workflows gen-check contract alerts vuln ## Run all checks other than tests

.PHONY: fmt
fmt: need-go ## Format the Go files, the pages' templates and the documents
	$(GOLANGCI) fmt
	$(FORMAT_TEMPLATES)
	git ls-files -z '*.md' | xargs -0 scripts/paragraphs

.PHONY: fmt-check
fmt-check: need-go ## Fail if a Go file, a template or a document is not formatted (the first run compiles the linter: minutes)
	@git ls-files -z '*.md' | xargs -0 scripts/paragraphs -check
	@$(FORMAT_TEMPLATES) -check || { echo "make fmt-check: run make fmt" >&2; exit 1; }
	@$(GOLANGCI) fmt --diff || { echo "make fmt-check: run make fmt" >&2; exit 1; }

.PHONY: wording
wording: ## Fail if a document, a page, a message or a comment contains a phrase that CONTRIBUTING.md rules out
	@scripts/wording

.PHONY: vet
vet: need-go ## Run go vet, including files with build tags
	go vet -tags 'long browser clients' ./... $(SDK)

.PHONY: cross
cross: need-go ## Compile for other platforms (the first run takes minutes)
	@for platform in $(PLATFORMS); do \
		echo "go build for $$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO_BUILD) -o /dev/null ./cmd/petcat || exit; \
	done

.PHONY: lint
lint: need-go ## Run the linters of .golangci.yml (the first run compiles them: minutes)
	$(GOLANGCI) run
	cd client && go tool -modfile=../tools/golangci-lint.mod golangci-lint run

.PHONY: tidy-check
tidy-check: need-go ## Fail if go.mod does not match the imports
	@(go mod tidy -diff && go -C client mod tidy -diff) || { echo "make tidy-check: run go mod tidy" >&2; exit 1; }

.PHONY: workflows
workflows: need-go ## Check the workflows in .github
	$(ACTIONLINT) .github/workflows/*

.PHONY: gen
gen: need-go need-npm clients/typescript/node_modules ## Regenerate files, and build the TypeScript client
	go generate ./...
	npm run --silent --prefix clients/typescript build
	go test ./internal/archtest -run Generated -count=1 -update

.PHONY: gen-check
gen-check: ## Fail if a generated file, or what is built of the clients, is out of date
	@scripts/gen-check

.PHONY: contract
contract: need-go need-npm tools/redocly/node_modules ## Lint the OpenAPI document, check compatibility with 1.0.0, and validate the tests' requests and responses (the first run compiles the validator: minutes)
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true tools/redocly/node_modules/.bin/redocly lint --config tools/redocly/redocly.yaml $(CONTRACT)
	go tool -modfile=tools/tools.mod oasdiff breaking --fail-on=WARN --stability-level=beta --deprecation-days-stable=180 --deprecation-days-beta=30 \
		--severity-levels=api/released/oasdiff-levels.txt api/released/1.0.0.yaml $(CONTRACT)
	@mkdir -p build && rm -f $(EXCHANGES)
	PETCAT_EXCHANGES="$(CURDIR)/$(EXCHANGES)" go test -count=1 ./internal/httpapi
	go -C tools/exchanges run . "$(CURDIR)/$(CONTRACT)" "$(CURDIR)/$(EXCHANGES)"

%/node_modules: %/package-lock.json
	npm --prefix $(@D) ci
	@touch $@

.PHONY: alerts
alerts: ## Test the alerts of deploy/prometheus
	@scripts/need "promtool prometheus"
	cd deploy/prometheus && promtool test rules alerts_test.yaml

.PHONY: charts
charts: need-go ## Lint and render the Helm chart with the values in its folder ci, and check it and deploy/kubernetes (the first run compiles Helm: minutes)
	go -C tools/charts test -count=1 ./...

.PHONY: vuln
vuln: need-go ## Check for known vulnerabilities (VULNDB=url: a mirror of the database)
	@VULNDB='$(VULNDB)' scripts/vuln ./... $(SDK)

##@ Long runs

.PHONY: race
race: need-go need-postgres ## Run the tests of packages with goroutines under the race detector (needs a C compiler)
	@scripts/need "$$(go env CC) gcc libc6-dev"
	CGO_ENABLED=1 scripts/with-postgres go test -race -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(RACE)

.PHONY: fuzz
fuzz: need-go ## Fuzz each target for FUZZTIME=30s (select with FUZZ=regexp and PKG=./...)
	@FUZZTIME=$(FUZZTIME) FUZZ='$(FUZZ)' scripts/fuzz $(PKG)

LONG = go test -tags long -count=1 -v

.PHONY: torture
torture: need-go need-postgres ## Kill a server KILLS=50 times, then inject faults into a cluster for MINUTES=60 (PETCAT_SEED repeats a run)
	PETCAT_KILLS=$(KILLS) PETCAT_MINUTES=$(MINUTES) scripts/with-postgres $(LONG) ./e2e -run '^TestTorture' -timeout $$(( $(MINUTES) + 60 ))m

.PHONY: powercut
powercut: need-go ## Simulate CUTS=100 power cuts of the disk (needs root and FUSE)
	@[[ $$(id -u) == 0 && -c /dev/fuse ]] || { echo "make powercut: mounting the test file system needs root and /dev/fuse (modprobe fuse)" >&2; exit 1; }
	PETCAT_CUTS=$(CUTS) $(LONG) ./e2e -run '^TestPowerCut' -timeout 1h

.PHONY: failover
failover: need-go need-postgres ## Kill the leader of a Patroni cluster FAILOVERS=3 times under load
	@scripts/need "patroni patroni" "etcd etcd-server"
	PETCAT_FAILOVERS=$(FAILOVERS) $(LONG) ./e2e -run '^TestFailover' -timeout 1h

.PHONY: litestream
litestream: need-go ## Lose a single node LOSSES=5 times under load, and restore it from litestream's copy (the first run compiles it: minutes)
	PETCAT_LOSSES=$(LOSSES) $(LONG) ./e2e -run '^TestLitestream' -timeout 1h

.PHONY: soak
soak: need-go need-postgres ## Use a cluster and a single node with injected faults for HOURS=0.5, and check for leaks
	PETCAT_HOURS=$(HOURS) scripts/with-postgres $(LONG) ./e2e -run '^TestSoak' -timeout 49h

.PHONY: simulate
simulate: need-go ## Simulate limits in SCHEDULES=100000 clusters with injected faults
	PETCAT_SCHEDULES=$(SCHEDULES) $(LONG) ./internal/ratelimit -run '^TestSimulate' -timeout 3h

.PHONY: hostile
hostile: need-go ## Test CONNECTIONS=2000 hostile connections of each kind
	PETCAT_CONNECTIONS=$(CONNECTIONS) $(LONG) ./e2e -run '^TestHostile' -timeout 2h

.PHONY: bench
bench: need-go ## Run the benchmarks (BENCHFLAGS='-only create' or -quick)
	cd bench && go run -mod=mod . $(BENCHFLAGS)

.PHONY: profile
profile: need-go ## Write CPU and allocation profiles of lists and creates to build/ (a minute)
	cd bench && go run -mod=mod . -only profile

.PHONY: bench-go
bench-go: need-go ## Run the Go benchmarks (BENCH=regexp, PKG=./..., COUNT=6)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG)

##@ Release

.PHONY: release
release: need-go ## Build a release in dist/: VERSION=1.2.3 [MAINTAINER='Name <mail>'] (the first run compiles GoReleaser: minutes)
	@[[ '$(VERSION)' =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$$ ]] || { echo "make release: set the version, for example: make release VERSION=1.2.3" >&2; exit 1; }
	VERSION='$(VERSION)' REVISION="$$(git rev-parse HEAD)" MAINTAINER="$${MAINTAINER:-petcat <petcat-api@users.noreply.github.com>}" go tool -modfile=tools/goreleaser.mod goreleaser release --snapshot --clean

.PHONY: sign
sign: ## Sign the release in dist/ with the key in COSIGN_KEY, whose password is COSIGN_PASSWORD
	@scripts/sign dist

##@ Other

.PHONY: clean
clean: ## Remove build outputs and the test cache, but not data/
	rm -rf bin build dist {tools,clients}/*/node_modules clients/python/{build,dist}
	go clean -testcache

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Required programs, and how to install them.

.PHONY: need-go
need-go:
	@command -v go >/dev/null || { echo "Go is not installed. Install Go 1.26 or newer from https://go.dev/dl/ and add its bin directory to PATH." >&2; exit 1; }

.PHONY: need-npm
need-npm:
	@command -v npm >/dev/null || { echo "npm is not installed. On Debian: apt-get install nodejs npm" >&2; exit 1; }

.PHONY: need-postgres
need-postgres:
	@scripts/need postgresql
