SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

GO ?= go
export GO
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 30s
BENCH ?= .
BENCHTIME ?= 3s
TEST ?= .

# The race detector needs a C compiler; without one the same tests run without it, and say so.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

GOLANGCI_LINT = $$(.ci/tool golangci-lint v2.15.0 github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
GO_ARCH_LINT = $$(.ci/tool go-arch-lint v1.13.0 github.com/fe3dback/go-arch-lint)

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.* ## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name what; do \
		printf '%-16s %s\n' "$$name" "$$what"; done

.PHONY: run
run: build ## build and start everything on loopback; Ctrl-C stops it, ./.berth keeps its state
	@exec bin/berthd dev

.PHONY: test
test: generate-check lint vet unit e2e ## everything: generated code, lint, vet, unit and conformance tests, e2e

.PHONY: build
build: ## build every binary into bin/, static
	@mains=$$($(GO) list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./cmd/...); \
	test -n "$$mains" || { echo "there is nothing under cmd/ to build" >&2; exit 1; }; \
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ $$mains

.PHONY: images
images: ## build a container image of every binary that has a Dockerfile, as berth/NAME:VERSION and berth/NAME:dev
	@e2e/lab/docker
	@.ci/images '$(VERSION)'

.PHONY: lint
lint: ## golangci-lint and go-arch-lint, built once into the user's cache
	$(GO_ARCH_LINT) check --output-color=false
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: generate
generate: ## write generated code
	@.ci/wire gen
	@$(GO) test -count=1 ./cmd/internal/docs -update >/dev/null

.PHONY: generate-check
generate-check: ## fail where generated code is not fresh
	@.ci/wire diff

# What a binary links is found by asking the go command, which the test cache does not see: never from the cache.
.PHONY: unit
unit: lab ## unit and conformance tests and the kept fuzz inputs, with the race detector; TEST=regexp picks some
	@test -n "$(RACE)" || echo "NOTE: no C compiler, so the race detector is off"
	$(GO) test -count=1 ./cmd/internal/deps
	$(GO) test $(RACE) -timeout 15m -run '$(TEST)' $$($(GO) list ./... | grep -vE '^berth/(e2e|cmd/internal/deps)(/|$$)')

.PHONY: race
race: unit e2e ## every test with the race detector, without lint

.PHONY: lab
lab: ## bring up what tests need: a Docker engine, a Postgres image (BERTH_POSTGRES_IMAGE names another one), docker-registry
	@e2e/lab/tools
	@e2e/lab/docker
	@e2e/lab/postgres >/dev/null
	@e2e/lab/registry >/dev/null

.PHONY: e2e
e2e: build lab ## black-box tests against the built binaries, and against replicas in containers
	$(GO) test $(RACE) -count=1 -timeout 15m -run '$(TEST)' $$($(GO) list ./e2e/... | grep -vE '/(replicas|nodes|connect|delivery)$$')
	@echo "the scenarios with replicas in containers, and their verdicts:"
	$(GO) test -count=1 -timeout 15m -parallel 4 -run '$(TEST)' -v ./e2e/replicas | .ci/verdicts
	@echo "the scenarios of nodes, and their verdicts:"
	$(GO) test -count=1 -timeout 15m -run '$(TEST)' -v ./e2e/nodes | .ci/verdicts
	@echo "the scenarios of devices, and their verdicts:"
	$(GO) test -count=1 -timeout 15m -run '$(TEST)' -v ./e2e/connect | .ci/verdicts
	@echo "the scenarios of deliveries, and their verdicts:"
	$(GO) test -count=1 -timeout 15m -parallel 8 -run '$(TEST)' -v ./e2e/delivery | .ci/verdicts

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (30s)
	@.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## benchmarks; BENCH=regexp picks some, BENCHTIME (3s) is how long each is measured through HTTP
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $$($(GO) list ./... | grep -v '^berth/e2e/')
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -timeout 30m ./e2e/load

.PHONY: scale
scale: ## what operations cost at 1,000 and at 1,000,000 tenants; SCALE='-many 100000 -during 3s' makes it smaller
	$(GO) test -run '^$$' -bench Scale -benchtime 1x -timeout 2h ./e2e/scale $(SCALE)
