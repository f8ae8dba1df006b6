# make open PROBLEM=problem_1    set up everything that is missing, then open the workbench; without PROBLEM, its list of problems
# make test                      set up everything that is missing, then run the tests
# make test-gpu                  on a machine with GPUs: everything that needs them, with RANKS_PYTHON's torch
#
# PYTHON       interpreter for the virtual environment (3.10 to 3.13)
# TORCH        torch for the ranks, as pip names it; none = keep the torch of RANKS_PYTHON
# RANKS_PYTHON another interpreter for the ranks, one that has torch
# ARGS         more arguments for pkwb or pytest

PYTHON ?= python3
TORCH ?= torch==2.13.0
RANKS_PYTHON ?=
PROBLEM ?=
ARGS ?=
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready-$(subst /,_,$(subst =,_,$(TORCH)))
TORCH_PACKAGE := $(filter-out none,$(TORCH))

ifneq ($(RANKS_PYTHON),)
export PKWB_RANKS_PYTHON := $(RANKS_PYTHON)
endif

.PHONY: help setup open test test-gpu test-builds check fix docs problems-report
.DELETE_ON_ERROR:

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile
	@echo 'make check  formatting, lint, types, layers    make fix  what can be corrected by itself    make docs  made pages    make problems-report  what each check tells apart    make test-builds  candidates with torch'\''s own headers too'

setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' \
	  || { echo 'pkwb needs Python 3.10 to 3.13: give one with PYTHON=python3.12'; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) \
	  || { echo 'The virtual environment could not be made: install the venv module of $(PYTHON) (package python3-venv)'; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' $(TORCH_PACKAGE)
	@rm -f $(VENV)/ready-* && touch $@

open: $(READY)
	@$(BIN)/pkwb open $(if $(PROBLEM),'$(PROBLEM)') $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(ARGS)

test-builds: $(READY)
	$(BIN)/python -m pytest -m slow tests/build $(ARGS)

test-gpu: $(READY)
	$(BIN)/python -m benchmarks.gpu_check --json $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

problems-report: $(READY)
	$(BIN)/python -m tests.problems.report

docs: $(READY)
	$(BIN)/python -m workbench.settings > docs/settings.md
	$(BIN)/python -m workbench.actions > docs/keys.md
	$(BIN)/python docs/screenshot.py
