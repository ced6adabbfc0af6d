# Set-up, tests and the demo; needs only Python and pip.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OLDEST_PYTHON ?= python3.10
OLDEST := .venv-oldest
STAMP := $(VENV)/.installed

.PHONY: test test-slow test-oldest fuzz demo docs wheel-test lint unit coverage clean

test: lint unit

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# more types, seeds and settings of what `make test` shows on a few
test-slow: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow

# the lowest versions that pyproject.toml promises, and of the core's tests those that need nothing more
EXTRAS := timm|torchvision|transformers|datasets|onnx|typer|rich|matplotlib|PIL|command|tent.(apps|bench|cli|data|models|train)
test-oldest: $(OLDEST)/.installed
	OMP_NUM_THREADS=1 PYTHONPATH=src:tests $(OLDEST)/bin/python -m pytest -W ignore::FutureWarning \
	  $$(grep -LrE "(import|from) ($(EXTRAS))|importorskip|README|examples" --include="test_*.py" \
	     tests/engine tests/lean tests/methods tests/test_*.py)

$(OLDEST)/.installed: pyproject.toml
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet hypothesis pytest pytest-timeout \
	  $$(sed -n 's/^dependencies = \[\([^]]*\)\].*/\1/p' pyproject.toml | tr -d '",' | sed 's/>=/==/g')
	touch $@

# random graphs, sequences, interrupts and damaged files, of which `make test` runs a few, for about an hour
GRAPHS ?= 8000
SEQUENCES ?= 5000
INTERRUPTS ?= 300
DAMAGES ?= 5000
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 TENT_GRAPHS=$(GRAPHS) TENT_SEQUENCES=$(SEQUENCES) TENT_INTERRUPTS=$(INTERRUPTS) \
	  TENT_DAMAGES=$(DAMAGES) $(BIN)/python -m pytest -n 2 --timeout 0 \
	  tests/lean/test_lean_graphs.py tests/fuzz tests/data/fetch/test_damage.py

coverage: $(STAMP)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

demo: $(STAMP)
	$(BIN)/tent demo

# the site, into build/site; a warning is an error
docs: $(STAMP)
	$(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

# a wheel of a clean clone (of the last commit) runs the demo in a fresh environment with [cli] alone
wheel-test: $(STAMP)
	$(BIN)/python .ci/wheel.py

clean:
	rm -rf $(VENV) $(OLDEST) build/site .coverage* .import_linter_cache .mypy_cache .ruff_cache .pytest_cache
