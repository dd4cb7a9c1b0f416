# Everything a developer does, by name. `make help` lists it.

GO ?= go
BASE ?= HEAD~1
COUNT ?= 6
FUZZTIME ?= 5m
SECONDS ?= 60
MINUTES ?= 60

.PHONY: help build test test-quick race hostile chaos lint format generate screenshots recording bench bench-go bench-compare pages sim soak planted-faults fuzz demo release release-check

help: ## list what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

build: ## build the binary: bin/punctual, static
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/punctual ./cmd/punctual

test: ## run every test; sets up what it needs
	./scripts/test

test-quick: ## run the tests that need no server and no browser: less than two minutes
	./scripts/test-quick

race: ## run every test with the race detector, also the service that they start
	./scripts/test -plan=race

hostile: ## attack the service beside a victim; needs a quiet machine
	PUNCTUAL_HOSTILE_STRICT=1 $(GO) test ./test/hostile -count=1 -v -timeout 0

chaos: ## storm three nodes with 300 jobs/s for two minutes, then run all other tests of several nodes and of kills at their full size
	PUNCTUAL_NODES_FULL=1 ./scripts/test -race=false ./test/nodes -count=1 -v
	PUNCTUAL_E2E_FULL=1 ./scripts/test -race=false ./test/e2e -run TestDurabilityKill -count=1 -v
	PUNCTUAL_OUTBOX_TORTURE=5m ./scripts/test -race=false ./test/goclient -run TestOutbox -count=1 -v
	PUNCTUAL_COPIES=2m ./scripts/test -race=false ./test/copies -count=1 -v
	PUNCTUAL_WORKFLOW_RUNS=201 ./scripts/test -race=false ./test/clients/workflow -count=1 -v

pages: ## measure the dashboard's pages and the lists of the API with JOBS=5000000 jobs on both stores; takes an hour and 20 GB
	PUNCTUAL_PAGES_JOBS=$(or $(JOBS),5000000) PUNCTUAL_PAGES_TIMES=20 $(GO) test ./test/pages -count=1 -v -timeout 24h

sim: ## simulate nodes, clients and targets for SECONDS=60, or run SEED=n again, with KEEP=ids only
	PUNCTUAL_SIM_SECONDS=$(SECONDS) PUNCTUAL_SIM_SEED=$(SEED) PUNCTUAL_SIM_KEEP=$(KEEP) PUNCTUAL_SIM_FIRST=$(FIRST) \
		PUNCTUAL_SIM_WORKFLOWS=$(WORKFLOWS) $(GO) test ./test/sim -run TestSimulation_KeepsAllPromises -count=1 -v -timeout 24h

soak: ## run both stores under load and faults for MINUTES=60, or SECONDS=n, and look for what grows; DIR gets the plots
	PUNCTUAL_SOAK_SECONDS=$(if $(filter command,$(origin SECONDS)),$(SECONDS),$$(($(MINUTES) * 60))) PUNCTUAL_SOAK_REPORT=$(or $(DIR),$(CURDIR)/soak) \
		$(GO) test ./test/soak -run TestSoak -count=1 -v -timeout 24h

planted-faults: ## show that the simulation and the tests notice defects; FAULTS names some of test/sim/faults
	./scripts/planted-faults $(FAULTS)

lint: ## check formatting, generated files, vet, staticcheck, workflows and manifests
	./scripts/lint

format: ## format the Go code
	gofmt -w $$(git ls-files '*.go')

generate: ## write again what is made from other files
	$(GO) generate ./api ./internal/dashboard

screenshots: ## take the pictures of the dashboard in docs/images
	PUNCTUAL_SCREENSHOTS=$(CURDIR)/docs/images $(GO) test ./test/browser -run TestScreenshots -count=1

recording: ## record the demo in a terminal as docs/images/demo.svg
	$(GO) run ./scripts/recording -out docs/images/demo.svg

bench: build ## measure the service on this machine; ARGS has flags, as in ARGS=--quick
	./bin/punctual bench $(ARGS)

bench-go: ## run the benchmarks of the hot pieces
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

bench-compare: ## compare the benchmarks with those of BASE=rev
	BASE=$(BASE) COUNT=$(COUNT) ./scripts/bench-compare

fuzz: ## run every fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) ./scripts/fuzz

demo: ## show the service at work
	@echo 'building; the first time this takes about three minutes on two cores, and names the packages that it compiles'
	$(GO) run -v ./cmd/punctual demo

release: ## build the tagged commit's release in dist/; ARGS=-snapshot builds any commit
	$(GO) run ./scripts/release $(ARGS)

release-check: ## build the release of HEAD twice, the second time with nothing cached, and compare
	PUNCTUAL_RELEASE_FULL=1 $(GO) test ./scripts/release -run TestRelease -count=1 -v -timeout 60m
