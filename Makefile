# Every chore in one line; `make help` lists them.
PYTHON ?= python

.PHONY: help
help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

.PHONY: dev
dev:  ## install for development: editable, with the tools for tests and lint
	$(PYTHON) -m pip install -e ".[test,lint]"

.PHONY: build
build:  ## rebuild the compiled parts in place, after a change to csrc or a .pyx
	$(PYTHON) setup.py -q build_ext --inplace

.PHONY: test
test:  ## the fast tests
	$(PYTHON) -m pytest

.PHONY: test-slow
test-slow:  ## the theorems by simulation at full size
	$(PYTHON) -m pytest -m slow

.PHONY: test-c
test-c:  ## the C library: tests, sanitizers, symbols, install, consumers
	csrc/tests/run.sh

.PHONY: lint
lint:  ## ruff, mypy, cython-lint, and no sentence turned around
	ruff check . && ruff format --check . && mypy && cython-lint fastbin/_core && $(PYTHON) tests/prose.py

.PHONY: bench
bench:  ## the benchmarks, short form
	$(PYTHON) -m pytest bench

.PHONY: figures
figures:  ## the pictures of docs and the results of bench/papers, anew
	$(PYTHON) bench/remake.py

.PHONY: gate
gate:  ## fail on a regression in speed
	$(PYTHON) -m pytest bench --gate

.PHONY: mutants
mutants:  ## which of 150 random changes of the code make a test fail; hours
	$(PYTHON) -m pip install -q pytest-cov
	$(PYTHON) tests/mutants.py reach build/mutants
	$(PYTHON) tests/mutants.py draw build/mutants
	$(PYTHON) tests/mutants.py run build/mutants

.PHONY: site
site:  ## the documentation as a site, in build/site; warnings are errors
	$(PYTHON) -m pip install -q "sphinx>=8" myst-parser numpydoc pydata-sphinx-theme
	$(PYTHON) -m sphinx -W --keep-going -b html -q docs build/site

.PHONY: wheels
wheels:  ## wheels for Linux of all Pythons that are here, built twice, installed and tested; in dist/
	bash .ci/wheels dist

.PHONY: ci
ci:  ## what CI runs
	bash .ci/run

.PHONY: thorough
thorough:  ## what takes longer: fuzzing, other processors and C libraries, failing calls, simulations
	bash .ci/thorough
