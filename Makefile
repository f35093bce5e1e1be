# make serve: install and run the product, with a living demo (DEMO= without).   make test: install and pass the tests.
PYTHON ?= python3
PORT ?= 8000
DEMO ?= case-study-prfaas-pd
UV := .tools/bin/uv
BIN := .venv/bin

.PHONY: setup serve test test-parts test-browser test-stack test-databases compiled bench lint lock

setup: .venv/.installed

.venv/.installed: requirements.lock .python-version | $(UV)
	$(UV) venv --quiet --allow-existing .venv
	$(UV) pip sync --quiet --python $(BIN)/python requirements.lock
	touch $@

$(UV):
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

serve: setup
	exec $(BIN)/python manage.py serve --port $(PORT) $(if $(DEMO),--demo $(DEMO))

# Three at a time, the longest first: the running product waits for browsers and clocks while the rest computes.
test: setup
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint compiled
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target test-browser test-parts test-stack test-databases

test-parts: setup
	$(BIN)/python -m pytest --ignore=tests/browser --ignore=tests/stack

test-browser: setup
	$(BIN)/python -m pytest tests/browser

test-stack: setup
	$(BIN)/python -m pytest tests/stack --ignore=tests/stack/test_both_databases.py

test-databases: setup
	$(BIN)/python -m pytest tests/stack/test_both_databases.py

# The simulator's machine code is kept: otherwise each of the suites would compile it, all at the same time.
compiled: setup
	$(BIN)/python manage.py simulate case-study-prfaas-pd --requests 1000 --load 0.5 --replications 1 > /dev/null

bench: setup
	$(BIN)/python -m tests.benchmarks

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run

# The lock is an export, so that it names no registry.
lock: | $(UV)
	$(UV) lock
	$(UV) export --quiet --all-groups --no-annotate --no-header -o requirements.lock
