# The commands of the README. Everything runs inside .venv, which is built from envs/requirements.lock; only `make docs`
# has an environment of its own, .venv-docs.
PYTHON ?= python3
VENV := .venv
DOCS := .venv-docs
UV := uv==0.13.8
RUN := $(VENV)/bin
export PATH := $(CURDIR)/$(RUN):$(PATH)
export UV_PYTHON_DOWNLOADS := never

# Snakemake calls the interpreter without quotes, so no rule would run
ifneq ($(words $(CURDIR)),1)
$(error the path $(CURDIR) contains a space, which Snakemake does not support; move the project to a path without spaces)
endif

.PHONY: setup lock figures audit gallery docs test wheel benchmarks lint format clean

# make ignores unknown variables, so reject them
VARIABLES := PYTHON PRESET CONFIG ARGS LOG FIGURE
GIVEN := $(foreach name,$(filter-out -%,$(.VARIABLES)),$(if $(findstring command line,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(VARIABLES),$(GIVEN))
ifneq ($(UNKNOWN),)
$(error unknown variable $(UNKNOWN); valid are $(VARIABLES))
endif

setup: $(VENV)/.installed

# with another interpreter, .venv is rebuilt
ifeq ($(origin PYTHON),command line)
  MADE_WITH := $(shell sed -n 's/^executable = //p' $(VENV)/pyvenv.cfg 2>/dev/null)
  ifneq ($(MADE_WITH),$(shell $(PYTHON) -c 'import os, sys; print(os.path.realpath(sys.executable))'))
    CLEAR := --clear
    .PHONY: $(VENV)/.installed
  endif
endif

# uv installs the pinned set in seconds; pip alone would take a minute. Compile bytecode once here: if Python may not
# write it (PYTHONDONTWRITEBYTECODE), each of a run's hundreds of processes would compile for seconds.
$(VENV)/.installed: envs/requirements.lock pyproject.toml
	$(PYTHON) -m venv $(CLEAR) $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(RUN)/uv pip sync --quiet --compile-bytecode --require-hashes envs/requirements.lock
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(RUN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

PRESET ?= smoke
# more configuration, one key: CONFIG="data={path: ../data}"
CONFIG ?=
# more arguments for Snakemake, as in ARGS="--configfile more.yaml --cores 8"
ARGS ?=
COMMAND := $(RUN)/scaling-limits
# in single quotes, so that the shell reads nothing in it
CHANGED = $(if $(CONFIG),--set '$(subst ','\'',$(CONFIG))')
AT = --preset $(PRESET) $(CHANGED)
FURTHER = $(if $(ARGS),-- $(ARGS))

LOCK := $(RUN)/uv pip compile --quiet --generate-hashes --universal --fork-strategy fewest --python-version 3.11 \
  --no-header --no-emit-index-url --no-emit-find-links --no-annotate

# the other files are resolved after the first, which fixes the versions that they share
lock:
	$(LOCK) envs/requirements.in -o envs/requirements.lock
	$(LOCK) --constraints envs/requirements.lock envs/requirements-cuda.in -o envs/requirements-cuda.lock
	$(LOCK) --constraints envs/requirements.lock envs/requirements-slurm.in -o envs/requirements-slurm.lock
	$(LOCK) --constraints envs/requirements.lock envs/requirements-docs.in -o envs/requirements-docs.lock
	$(LOCK) --constraints envs/requirements.lock envs/requirements-mutation.in -o envs/requirements-mutation.lock

# all figures at a preset (default smoke; PRESET=laptop), then their paths; LOG=1 shows Snakemake's log
figures: setup
	@$(COMMAND) run $(AT) $(if $(filter 1,$(LOG)),--verbose) $(FURTHER)

# audit of all figures, of a paper (FIGURE=mupc) or of one figure
audit: setup
	$(COMMAND) audit $(FIGURE) $(AT) $(FURTHER)

# the figures and verdicts that the README shows: make gallery PRESET=laptop CONFIG="data={path: DIR}"
gallery: figures
	$(RUN)/python -m scaling_limits.audit.gallery results/$(PRESET) docs/gallery README.md
	cp results/$(PRESET)/audit.md docs/results.md

# build the documentation site, results/site/index.html, in its own environment, .venv-docs; a dead link is an error
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --config-file docs/site/mkdocs.yml

$(DOCS)/.installed: envs/requirements-docs.lock
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check $(UV)
	VIRTUAL_ENV="$(CURDIR)/$(DOCS)" $(DOCS)/bin/uv pip sync --quiet --compile-bytecode --require-hashes envs/requirements-docs.lock
	touch $@

test: setup
	$(RUN)/pytest -n 2 --dist loadgroup

# the wheel with the newest libraries that it admits, in a separate environment
wheel: setup
	$(RUN)/python tests/check_wheel.py

# measure the speed of this machine and write it to docs/performance.md
benchmarks: setup
	$(RUN)/python benchmarks/inference_step.py
	$(RUN)/python benchmarks/sweep.py
	$(RUN)/python benchmarks/preconditioners.py
	$(RUN)/python benchmarks/activity_hessian.py
	$(RUN)/python benchmarks/equilibrium.py
	$(RUN)/python benchmarks/transformer.py
	$(RUN)/python benchmarks/compiling.py
	$(RUN)/python benchmarks/paper_shards.py

lint: setup
	$(RUN)/snakemake --lint
	$(RUN)/snakefmt --check --diff Snakefile workflow
	$(RUN)/ruff check
	$(RUN)/ruff format --check
	$(RUN)/mypy
	$(RUN)/codespell *.md benchmarks config docs profiles src workflow

# format the source, and write the page of all settings and the schema with which editors complete an experiment's file
format: setup
	$(RUN)/snakefmt Snakefile workflow
	$(RUN)/ruff check --fix
	$(RUN)/ruff format
	$(RUN)/python -m scaling_limits.configuration.schema

# remove everything but the stored cells, which may have taken weeks; `scaling-limits store prune` removes stale ones
clean:
	rm -rf .venv .venv-docs .snakemake logs
	if [ -d results ]; then find results -mindepth 1 -maxdepth 1 ! -name cells -exec rm -rf {} +; fi
