#!/usr/bin/env bash
# Run in the project's folder, in the environment made from cpu.yaml. Snakemake does so by itself; it copies cpu.yaml
# elsewhere before conda reads it, so that a path to the lock in that file would lead nowhere.
set -euo pipefail
python -m pip install --require-hashes --requirement envs/requirements.lock
python -m pip install --no-deps --no-build-isolation --editable .
