# Needs only make and Python 3.11 or later. Everything is installed into .venv.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: demo lab test heavy docs published wheelhouse screenshots editor clean

demo: .venv/installed
	$(BIN)/lhkit demo --out demo

lab: .venv/installed
	$(BIN)/lhkit lab

test: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not heavy" -n 2 --dist worksteal

# The editor of the workbench: CodeMirror bundled into lhkit/workbench/static/editor.js, which is tracked; needs npm.
editor:
	cd tools/editor && npm ci --ignore-scripts --no-audit --no-fund && npm run build

# Long measurements, run by hand: kills of the worker, memory over a thousand compiles.
heavy: .venv/installed-test
	$(BIN)/python -m pytest -m heavy -s --timeout 3600

# This project's site, into build/site: warnings are errors, nothing is asked of any address. EXECUTE= leaves the
# notebooks as they are, without outputs: seconds instead of minutes.
EXECUTE ?= --execute
docs: .venv/installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs build/site
	$(BIN)/lhkit publish --out build/site/notebooks --title "Lessons of lhkit" $(EXECUTE)

# The lessons with their pictures, for readers on a code host: docs/lessons. Only what changed is run; ALL=--all runs all.
published: .venv/installed-test
	$(BIN)/python docs/published.py $(ALL)

# The pictures of the workbench in the README, and the walk; needs Chromium.
screenshots: .venv/installed-test
	$(BIN)/python docs/screenshots.py

.venv/installed: pyproject.toml constraints.txt install.py
	$(PYTHON) install.py
.venv/installed-test .venv/installed-docs: .venv/installed-%: pyproject.toml constraints.txt install.py
	$(PYTHON) install.py --$*

# Wheels of everything for a room without a network: docs/workshop.md.
wheelhouse: .venv/installed
	$(BIN)/python -m pip wheel --quiet -c constraints.txt -w wheelhouse .

clean:
	rm -rf .venv demo .mypy_cache .ruff_cache .pytest_cache
