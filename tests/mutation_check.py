"""Mutation testing with cosmic-ray: which mutants of a module do the tests of the module detect?

    .venv-mutation/bin/python tests/mutation_check.py MODULE [--count 40] [--seed 0]

cosmic-ray has an environment of its own (`envs/requirements-mutation.lock`). It mutates a copy of the source, one place
at a time; the tests run in `.venv`. Of all mutants a random sample is tested. The script prints the mutants that
survive, and ends with 1 if fewer than `ENOUGH` of the sample are detected. A surviving mutant that changes behaviour
calls for a test.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import toml
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkerOutcome, WorkResult

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "algorithms": (["algorithms"], ["tests/algorithms", "tests/training"]),
    "optimisers": (["optimisers"], ["tests/optimisers"]),
    "audit": (["audit", "claims"], ["tests/audit"]),
}
"""Folders that are mutated, and tests that run, by name."""
ENOUGH = 0.75
"""Share of a sample to be detected; the rest leaves room for mutants that behave as the original."""
TIMEOUT = 900
"""Seconds of one run of the tests; a mutant that takes longer counts as detected."""
_IGNORED = re.compile("core/(ReplaceBinaryOperator_BitOr|RemoveDecorator|Variable)")
"""Operators whose mutants fail at import (unions in annotations, dataclasses) or are not Python."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Test a random sample of the mutants of a module.")
    choices = ", ".join(ROOMS)
    parser.add_argument("room", choices=ROOMS, metavar="MODULE", help=f"one of {choices}")
    parser.add_argument("--count", type=int, default=40, help="size of the sample (default 40)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default 0)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        detected = check(options.room, options.count, options.seed, Path(scratch))
    sys.exit(detected < ENOUGH)


def check(room: str, count: int, seed: int, scratch: Path) -> float:
    """Test a sample of mutants, print those that survive, and return the share that the tests detect.

    Args:
        room: a key of `ROOMS`.
        count: size of the sample.
        seed: seed of the sample.
        scratch: an empty folder, for the copy of the source, the session, and compiled programs.
    """
    folders, tests = ROOMS[room]
    package = scratch / "scaling_limits"
    shutil.copytree(
        ROOT / "src" / package.name, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    options = "-x -q -n 0 --tb=no -p no:cacheprovider"
    python = ROOT / ".venv" / "bin" / "python"
    settings = {
        "module-path": [str(package / folder) for folder in folders],
        "timeout": TIMEOUT,
        "excluded-modules": [],
        "test-command": f"{python} -m pytest {options} {' '.join(tests)}",
        "distributor": {"name": "local"},
    }
    configuration, session = scratch / "cosmic-ray.toml", scratch / "session.sqlite"
    configuration.write_text(toml.dumps({"cosmic-ray": settings}), encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        # most programs do not contain the mutant
        "JAX_COMPILATION_CACHE_DIR": str(scratch / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def cosmic_ray(*arguments: str | Path) -> None:
        command = [Path(sys.executable).with_name("cosmic-ray"), *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)

    cosmic_ray("baseline", configuration)  # fails if a test fails without a mutant
    cosmic_ray("init", configuration, session)
    with use_db(session, WorkDB.Mode.open) as work:
        chosen = _sample(work, count, seed)
    cosmic_ray("exec", configuration, session)
    with use_db(session, WorkDB.Mode.open) as work:
        survived = [
            (chosen[job], result)
            for job, result in work.results
            if job in chosen and not result.is_killed
        ]
    for mutant, result in survived:
        print(f"\nsurvived: {mutant.module_path.relative_to(package)}:{mutant.start_pos[0]}")
        print(result.diff)
    print(f"{room}: {len(chosen) - len(survived)} of {len(chosen)} mutants detected")
    return 1 - len(survived) / len(chosen)


def _sample(work: WorkDB, count: int, seed: int) -> dict[str, MutationSpec]:
    """Return a random sample of a session's mutants by job, and mark all other mutants as skipped."""
    mutants = {item.job_id: item.mutations[0] for item in work.work_items}
    # jobs have random names
    order = sorted(mutants, key=lambda job: _identity(mutants[job]))
    candidates = [job for job in order if not _IGNORED.match(mutants[job].operator_name)]
    chosen = set(random.Random(seed).sample(candidates, min(count, len(candidates))))
    for job in mutants.keys() - chosen:
        work.set_result(job, WorkResult(WorkerOutcome.SKIPPED))
    return {job: mutants[job] for job in order if job in chosen}


def _identity(mutant: MutationSpec) -> tuple[str, str, int]:
    return str(mutant.module_path), mutant.operator_name, mutant.occurrence


if __name__ == "__main__":
    main()
