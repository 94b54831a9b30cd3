# The commands of the README. Everything runs inside .venv, which is built from envs/requirements.lock.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
export PATH := $(CURDIR)/$(RUN):$(PATH)
export UV_PYTHON_DOWNLOADS := never

.PHONY: setup lock figures audit report test lint format schemas clean

setup: $(VENV)/.installed

# uv installs the pinned set in seconds; pip alone would take a minute.
$(VENV)/.installed: envs/requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(RUN)/uv pip sync --quiet --require-hashes envs/requirements.lock
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(RUN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@
