"""Do the tests notice faults? One line of a copy of the source is made wrong at a time.

    python tests/mutation_check.py [--only NAME] [--jobs 2]

Ends with 1 if fewer than `ENOUGH` of `FAULTS` are noticed. A fault that is not noticed calls for a test, not for
another fault. Where a room's tests take minutes, a fault names those that are about its line.
"""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scaling_limits"
ENOUGH = 40
TIMEOUT = 900
"""Seconds of one run of the tests; what does not end by then notices nothing."""


@dataclass(frozen=True)
class Fault:
    """`right`, which stands once in `file` of the package, becomes `wrong`, which is a fault because of `why`.

    `tests` are what pytest is given: the files, or tests of them, that should notice.
    """

    name: str
    file: str
    right: str
    wrong: str
    why: str
    tests: tuple[str, ...]


_INFERENCE = "tests/algorithms/test_activity_inference.py"
_OPTIONS = "tests/algorithms/test_inference_options.py"
_STAGES = "tests/algorithms/test_predictive_coding.py::test_stages_give_what_plain_inference_gives"
_TRAINING = "tests/training/test_training.py"
_FEEDBACK_TRAINING = "tests/training/test_feedback_training.py"
_TABLE = "tests/parameterisations/test_table.py"
_BLOCKS = "tests/networks/test_blocks.py"
_DMFT = "tests/limits/test_linear_dmft.py"
_RECURSION = "tests/limits/test_depth_recursion.py"
_LIMIT_CELLS = "tests/limits/test_limit_cells.py"

FAULTS = (
    # algorithms, networks, training
    Fault(
        name="stage-reach",
        file="algorithms/predictive_coding/stages.py",
        right="result = [(end, end) for end in ends]",
        wrong="result = [(end, max(end - 1, 1)) for end in ends]",
        why="a stage leaves out the layer that its last step reaches",
        tests=(_STAGES,),
    ),
    Fault(
        name="energy-weight-of-next-layer",
        file="algorithms/predictive_coding/layers.py",
        right="if segment.first <= lower][-1]",
        wrong="if segment.first <= lower + 1][-1]",
        why="gamma_{l+1} for gamma_l at the lowest layer of a stage",
        tests=(_STAGES,),
    ),
    Fault(
        name="sequential-uses-old-activity",
        file="algorithms/predictive_coding/descent.py",
        right="error = weight * (new - change)",
        wrong="error = weight * (old - change)",
        why="the layer below sees this layer's activity before its step instead of after it",
        tests=(
            f"{_INFERENCE}::test_inference_is_what_plain_loops_give",
            f"{_INFERENCE}::test_single_shot_sequential_inference",
        ),
    ),
    Fault(
        name="tolerance-of-a-part",
        file="algorithms/predictive_coding/descent.py",
        right="return state, done + 1, optax.tree.norm(gradients)",
        wrong="return state, done + 1, optax.tree.norm(gradients[-1])",
        why="the norm of the topmost layers' gradient alone",
        tests=(f"{_OPTIONS}::test_inference_ends_with_the_first_step_below_the_tolerance",),
    ),
    Fault(
        name="decay-in-stages",
        file="algorithms/predictive_coding/stages.py",
        right='options.activity_initialisation == "forward" and options.activity_decay is None',
        wrong='options.activity_initialisation == "forward"',
        why="layers that the output error has not reached do not decay",
        tests=(f"{_OPTIONS}::test_the_first_step_follows_the_gradient_of_the_energy",),
    ),
    Fault(
        name="weights-learn-from-forward-pass",
        file="algorithms/predictive_coding/computation.py",
        right="gradients = weight_gradients(problem, inferred.inputs, inferred.errors)",
        wrong="gradients = weight_gradients(problem, problem.inputs(forward), inferred.errors)",
        why="activities before inference instead of after it",
        tests=(_STAGES,),
    ),
    Fault(
        name="feedback-noise-once",
        file="algorithms/target_propagation/reconstruction.py",
        right='own = jax.random.fold_in(own, problem.numbers["step"])',
        wrong="own = jax.random.fold_in(own, 0)",
        why="feedback weights learn from the same noise at every step",
        tests=(
            "tests/algorithms/test_target_propagation.py::test_noise_differs_between_steps_seeds_and_layers",
        ),
    ),
    Fault(
        name="damping-over-units",
        file="algorithms/gauss_newton_target/computation.py",
        right="rho = damping * (values**2).sum(axis=-1, keepdims=True) / out",
        wrong="rho = damping * (values**2).sum(axis=-1, keepdims=True) / units",
        why="the mean eigenvalue of the wrong one of two Gram matrices",
        tests=("tests/algorithms/test_gauss_newton_target.py::test_least_squares_errors",),
    ),
    Fault(
        name="mean-over-samples",
        file="networks/nodes.py",
        right="y = y - y.mean(axis=-1, keepdims=True)",
        wrong="y = y - y.mean(axis=0, keepdims=True)",
        why="mean subtraction over samples instead of units",
        tests=("tests/networks/test_mlp.py::test_forward_is_the_written_out_recursion",),
    ),
    Fault(
        name="blocks-without-an-end",
        file="networks/settings.py",
        right='"blocks": self.depth + 2,',
        wrong='"blocks": self.depth + 1,',
        why="a residual block fewer than depth says",
        tests=("tests/networks/test_mlp.py::test_what_depth_counts",),
    ),
    Fault(
        name="loss-over-outputs",
        file="losses/outputs.py",
        right="/ (outputs.shape[0] * tokens)",
        wrong="/ outputs.size",
        why="a mean over outputs as well, so a smaller learning rate",
        tests=("tests/test_losses.py",),
    ),
    Fault(
        name="attends-to-what-comes",
        file="networks/transformer/computation.py",
        right="jnp.tril(jnp.ones((self.tokens, self.tokens), bool))",
        wrong="jnp.ones((self.tokens, self.tokens), bool)",
        why="a token sees those after it, which it should predict",
        tests=("tests/networks/test_transformer.py",),
    ),
    Fault(
        name="energy-of-a-sequence-is-a-mean",
        file="algorithms/problem.py",
        right="return summed_loss(self.options.loss, output, y, self.tokens)",
        wrong="return summed_loss(self.options.loss, output, y, self.tokens) / self.tokens",
        why="errors of the hidden nodes, which are sums, weigh too much at the equilibrium",
        tests=("tests/networks/test_transformer.py",),
    ),
    Fault(
        name="corners-are-left-uphill",
        file="algorithms/predictive_coding/kinks.py",
        right="jnp.where(left > 0, -1.0, 0.0)",
        wrong="jnp.where(left < 0, -1.0, 0.0)",
        why="activities at a corner move to where the energy rises, or stay where it falls",
        tests=("tests/algorithms/test_equilibrium.py",),
    ),
    Fault(
        name="epsilon-unscaled",
        file="optimisers/adam.py",
        right='eps=numbers["epsilon"] * factors["epsilon"]',
        wrong='eps=numbers["epsilon"]',
        why="Adam's epsilon does not follow the width",
        tests=(f"{_TRAINING}::test_the_loop_is_plain_training_with_a_rate_per_role",),
    ),
    Fault(
        name="decay-beside-the-direction",
        file="optimisers/groups.py",
        right="optax.chain(*decayed, build(numbers, factors), times)",
        wrong="optax.chain(build(numbers, factors), *decayed, times)",
        why="Adam's decay of feedback weights beside the direction, not in the gradient",
        tests=(f"{_FEEDBACK_TRAINING}::test_the_loop_is_plain_training_of_both",),
    ),
    Fault(
        name="measured-on-an-earlier-batch",
        file="training/loop.py",
        right="training.order[step]),",
        wrong="training.order[jnp.maximum(step - 1, 0)]),",
        why="measurements see the batch of the update before",
        tests=(f"{_TRAINING}::test_the_loop_is_plain_training_with_a_rate_per_role",),
    ),
    Fault(
        name="changes-since-now",
        file="training/loop.py",
        right="initial=initial.forward,",
        wrong="initial=state.weights.forward,",
        why="measurements compare the present weights with themselves, not with those drawn",
        tests=(f"{_TRAINING}::test_the_loop_is_plain_training_with_a_rate_per_role",),
    ),
    # data
    Fault(
        name="test-set-by-itself",
        file="datasets/loading.py",
        right="x_test=_normalise(x_test, shift, scale),",
        wrong="x_test=_normalise(x_test, *_normalisation(spec, x_test, samples.maximum)),",
        why="the test set normalised by its own statistics, not by those of training",
        tests=("tests/datasets/test_dataset_loading.py",),
    ),
    Fault(
        name="shuffled-once",
        file="datasets/order.py",
        right="[generator.permutation(num_samples)[: per_epoch * batch_size] for _ in range(epochs)]",
        wrong="[generator.permutation(num_samples)[: per_epoch * batch_size]] * epochs",
        why="every epoch in the order of the first",
        tests=(
            "tests/training/test_cell_numbers.py::test_data_order_is_of_whole_epochs",
            "tests/training/test_cell_numbers.py::test_data_order_is_that_of_older_results",
        ),
    ),
    # configuration
    Fault(
        name="extended-grid-wins",
        file="configuration/grids.py",
        right='merge(below.without("grids") if "grids" in own else below, own)',
        wrong='merge(own, below.without("grids") if "grids" in own else below)',
        why="what a grid extends stands over what it says itself",
        tests=(
            "tests/configuration/test_inheritance.py::test_a_grid_says_more_than_what_it_extends",
        ),
    ),
    Fault(
        name="dtypes-share-a-job",
        file="costs/packing.py",
        right="if kind != dtype or cost > room:",
        wrong="if cost > room:",
        why="a process has one precision, so cells of the other are computed in it",
        tests=(
            "tests/pipeline/test_jobs.py::test_packing_keeps_every_cell_once_and_one_dtype_a_job",
        ),
    ),
    # parameterisations
    Fault(
        name="depth-rate-sign",
        file="parameterisations/rows.py",
        right="learning_rate=Power(depth=Exponent(depth_exponent=1.0, depth_lr_exponent=-1.0)),",
        wrong="learning_rate=Power(depth=Exponent(depth_exponent=1.0, depth_lr_exponent=1.0)),",
        why="L^(alpha + gamma) for L^(alpha - gamma) in Depth-muP's SGD",
        tests=(_TABLE,),
    ),
    Fault(
        name="rate-on-the-wrong-role",
        file="parameterisations/rows.py",
        right="output=RolePowers(init_std=_MUP_OUTPUT_INIT, multiplier=_MUP_OUTPUT, epsilon=_MUP_EPSILON),",
        wrong="output=RolePowers(init_std=_MUP_OUTPUT_INIT, multiplier=_MUP_OUTPUT, epsilon=_MUP_EPSILON, "
        "learning_rate=Power(width=-1.0)),",
        why="muP's hidden Adam rate also on the output, which has 1/width in its multiplier",
        tests=(_TABLE,),
    ),
    Fault(
        name="epsilon-exponent",
        file="parameterisations/rows.py",
        right="epsilon=Power(width=-1.5, depth=Exponent(depth_exponent=-1.0), output_scale=-1.0),",
        wrong="epsilon=Power(width=-1.0, depth=Exponent(depth_exponent=-1.0), output_scale=-1.0),",
        why="the hidden epsilon of mean_field with the exponent of the other roles",
        tests=(_TABLE,),
    ),
    Fault(
        name="width-for-fan-in",
        file="parameterisations/table.py",
        right='fan_ins = {"input": input_dim,',
        wrong='fan_ins = {"input": width,',
        why="the width in place of the input layer's fan-in",
        tests=(_TABLE,),
    ),
    Fault(
        name="pivot-ignored",
        file="parameterisations/table.py",
        right='"depth": depth / (pivot_depth or base_depth),',
        wrong='"depth": depth / base_depth,',
        why="a control's wrong power of depth acts at the pivot as well",
        tests=(_TABLE,),
    ),
    Fault(
        name="layer-changes-ignored",
        file="parameterisations/table.py",
        right="for key in dict.fromkeys((role, name)):",
        wrong="for key in (role,):",
        why="changes of a single layer's exponents without effect",
        tests=(_BLOCKS,),
    ),
    Fault(
        name="layer-norm-left-out",
        file="networks/nodes.py",
        right="y = layer_normalised(x) if self.layer_norm else x",
        wrong="y = x",
        why="branches of an mlp without layer norm",
        tests=(_BLOCKS,),
    ),
    Fault(
        name="mask-looks-ahead",
        file="networks/transformer/computation.py",
        right="jnp.tril(jnp.ones((self.tokens, self.tokens), bool))",
        wrong="jnp.tril(jnp.ones((self.tokens, self.tokens), bool), 1)",
        why="each token attends to the next one as well",
        tests=("tests/networks/test_transformer.py::test_no_output_depends_on_later_tokens",),
    ),
    Fault(
        name="linearised-at-present-weights",
        file="measurements/linearisation.py",
        right="(first,), (moved,))",
        wrong="(now,), (moved,))",
        why="the derivative at the present instead of the initial weights",
        tests=("tests/measurements/test_linearisation.py",),
    ),
    # limits
    Fault(
        name="multiplier-of-layer-below",
        file="limits/linear_dmft.py",
        right="c, carried = self.multipliers[i], self.skips[i]",
        wrong="c, carried = self.multipliers[i - 1], self.skips[i]",
        why="the wrong layer's multiplier in the backward fields",
        tests=(
            f"{_DMFT}::test_reference_values",
            f"{_DMFT}::test_fixed_point_over_all_times",
            f"{_DMFT}::test_lazy_limit",
        ),
    ),
    Fault(
        name="update-acts-at-once",
        file="limits/depth_recursion.py",
        right="past, upto = slice(now.start), slice(now.stop)",
        wrong="past, upto = slice(now.stop), slice(now.stop)",
        why="the wrong time index: a step's backward pass has the update that it makes",
        tests=(
            f"{_RECURSION}::test_first_step",
            f"{_RECURSION}::test_features_after_one_step",
            f"{_RECURSION}::test_reference_outputs",
        ),
    ),
    Fault(
        name="no-curvature",
        file="limits/depth_recursion.py",
        right="coefficients += curvatures * turned",
        wrong="coefficients += 0 * curvatures * turned",
        why="a term of the backward pass that Def. E.1 of depth-mup drops",
        tests=("tests/limits/test_smooth_depth_recursion.py::test_reference_numbers",),
    ),
    Fault(
        name="transposed-paths",
        file="limits/linear_equilibrium.py",
        right="paths = paths @ matrices[index - 1].T",
        wrong="paths = paths @ matrices[index - 1]",
        why="a transposed matrix in the rescaling's gradient",
        tests=("tests/limits/test_linear_equilibrium.py",),
    ),
    Fault(
        name="rate-of-unit-weights",
        file="limits/linear_cells.py",
        right="numbers.learning_rate / numbers.init_std**2,",
        wrong="numbers.learning_rate / numbers.init_std,",
        why="the learning rate of weights of unit variance, with half its exponent",
        tests=(
            f"{_LIMIT_CELLS}::test_recursion_cancels_width_and_gauge",
            f"{_LIMIT_CELLS}::test_dmft_of_a_cell",
        ),
    ),
    # measurements, and what is made of their records
    Fault(
        name="energy-weights-inverted",
        file="measurements/rescaling.py",
        right='expected * scaling["output"]["energy_weight"] / hidden["energy_weight"]',
        wrong='expected * hidden["energy_weight"] / scaling["output"]["energy_weight"]',
        why="gamma_l / gamma_L for gamma_L / gamma_l in the expected rescaling",
        tests=(
            "tests/measurements/test_network_measurements.py::test_the_expected_excess_is_the_mean",
        ),
    ),
    Fault(
        name="layers-from-zero",
        file="pipeline/jobs.py",
        right="np.asarray(labels)[indices[place]]",
        wrong="indices[place]",
        why="records say the position of a layer, step or block instead of its number",
        tests=("tests/pipeline/test_jobs.py::test_records_are_tidy_sorted_and_byte_identical",),
    ),
    Fault(
        name="first-for-last",
        file="records.py",
        right='values[0] if quantity.reduce == "first" else values[-1]',
        wrong='values[-1] if quantity.reduce == "first" else values[0]',
        why="figures and claims take the other end of training",
        tests=("tests/test_records.py",),
    ),
    Fault(
        name="padded-average",
        file="records.py",
        right='mode="valid"',
        wrong='mode="same"',
        why="the moving average has zeros at its ends, so the last value is too small",
        tests=("tests/test_records.py",),
    ),
    Fault(
        name="diverged-seeds-left-out",
        file="plots/tables.py",
        right="rows.assign(value=values.where(np.isfinite(values), np.inf)), by)",
        wrong="rows.assign(value=values), by)",
        why="a mean passes over seeds whose loss is not a number",
        tests=("tests/plots/test_tables.py",),
    ),
    # store and keys
    Fault(
        name="checksum-not-compared",
        file="store.py",
        right="if expected != found:",
        wrong="if len(expected) != len(found):",
        why="a damaged cell is read as if it were whole",
        tests=("tests/test_store.py",),
    ),
    Fault(
        name="written-in-place",
        file="files.py",
        right="os.replace(temporary, path)",
        wrong="path.write_bytes(temporary.read_bytes())",
        why="a killed process leaves half a file under its final name",
        tests=("tests/test_store.py",),
    ),
    Fault(
        name="digest-without-measurements",
        file="source.py",
        right='frozenset({"Settings", "refuse", "work", "memory", "metrics"})',
        wrong='frozenset({"Settings", "refuse", "work", "memory", "metrics", "measure"})',
        why="an edit of what is measured leaves its cells' keys",
        tests=("tests/test_source_digest.py::test_closures_hold_what_is_used_and_no_more",),
    ),
    Fault(
        name="key-without-the-algorithm",
        file="pipeline/keys.py",
        right="algorithms.module(cell.algorithm),",
        wrong='"scaling_limits.algorithms",',
        why="an edit of the algorithm leaves its cells' keys",
        tests=("tests/test_source_digest.py",),
    ),
    # the audit
    Fault(
        name="spread-not-moderated",
        file="claims/spread.py",
        right="(PRIOR_SEEDS * prior + degrees * own) / (PRIOR_SEEDS + degrees)",
        wrong="own + 0.0 * prior",
        why="two or three seeds alone say how far a point scatters",
        tests=("tests/audit/test_spread.py",),
    ),
    Fault(
        name="half-intervals",
        file="claims/points.py",
        right="TAIL = 0.025",
        wrong="TAIL = 0.25",
        why="intervals hold half of the draws",
        tests=("tests/audit/test_points.py", "tests/audit/test_spread.py"),
    ),
    Fault(
        name="quarter-octave-dropped",
        file="claims/optimum_stays.py",
        right="if not unclear and not told_apart:",
        wrong="if not unclear and told_apart is False:",
        why="an interval that reaches across the quarter octave a doubling counts as within",
        tests=("tests/audit/test_optimum_claims.py",),
    ),
    Fault(
        name="errors-not-paired",
        file="claims/agrees_with.py",
        right='paired = set(values.rows["seed"]) <= set(limit.rows["seed"])',
        wrong="paired = False",
        why="a network is compared with limits of other data than its own",
        tests=("tests/audit/test_limit_claims.py",),
    ),
    Fault(
        name="undecided-control",
        file="audit/judge.py",
        right="if control.holds is not False:",
        wrong="if control.holds is True:",
        why="a control whose interval reaches across counts as one that fails",
        tests=("tests/audit/test_judge.py",),
    ),
)


class FaultError(Exception):
    """A fault that cannot be seeded, or tests that say nothing about it."""


def seeded(fault: Fault, text: str) -> str:
    """The text of the fault's file with the fault in it.

    Raises:
        FaultError: `right` does not stand there once.
    """
    if (count := text.count(fault.right)) != 1:
        raise FaultError(
            f"fault {fault.name}: {fault.file} has {fault.right!r} {count} times, not once; "
            f"seed it where it belongs now, in {Path(__file__).name}"
        )
    return text.replace(fault.right, fault.wrong)


def source(fault: Fault) -> str:
    """The text of the fault's file in the checkout."""
    return (ROOT / "src" / PACKAGE / fault.file).read_text(encoding="utf-8")


def run(fault: Fault | None, tests: Sequence[str], scratch: Path) -> str | None:
    """Run tests on a copy of the source with a fault, or without: the first that fails, None if all pass.

    `scratch` keeps compiled programs from run to run: most of them do not contain the fault.

    Raises:
        FaultError: the copy is not what is imported, or the tests ended otherwise.
    """
    folder = Path(tempfile.mkdtemp(dir=scratch))
    shutil.copytree(
        ROOT / "src" / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__")
    )
    if fault is not None:
        (folder / PACKAGE / fault.file).write_text(seeded(fault, source(fault)), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_COMPILATION_CACHE_DIR": str(scratch / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )

    imported = python("-c", f"import {PACKAGE}; print({PACKAGE}.__file__)").stdout.strip()
    if Path(imported) != folder / PACKAGE / "__init__.py":
        raise FaultError(f"the tests would import {imported}, not the copy in {folder}")
    options = ["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    done = python("-m", "pytest", *options, *tests)
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed:
        return failed[1]
    if done.returncode == 0:
        return None
    raise FaultError(f"pytest {' '.join(tests)} ended with {done.returncode}:\n{done.stdout}")


def check(faults: Sequence[Fault], jobs: int, scratch: Path) -> int:
    """Print, fault by fault, who notices it; how many are noticed.

    Raises:
        FaultError: a fault cannot be seeded, or the tests fail without one.
        TimeoutExpired: the tests do not end without one.
    """
    for fault in faults:
        seeded(fault, source(fault))
    tests = list(dict.fromkeys(name for fault in faults for name in fault.tests))
    if failed := run(None, tests, scratch):
        raise FaultError(f"{failed} fails without a fault, so it would notice nothing")

    def notice(fault: Fault) -> str | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return run(fault, fault.tests, scratch)
        return None

    noticed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for fault, test in zip(faults, pool.map(notice, faults), strict=True):
            noticed += test is not None
            print(f"{fault.name:32} {test or f'NOT NOTICED: {fault.why}'}", flush=True)
    return noticed


def main() -> None:
    """The command line."""
    names = [fault.name for fault in FAULTS]
    parser = argparse.ArgumentParser(description="Seed faults; see which ones the tests notice.")
    parser.add_argument("--only", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time (default 2)")
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if options.only in (None, fault.name)]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            noticed = check(faults, options.jobs, Path(scratch))
        except (FaultError, subprocess.TimeoutExpired) as error:
            sys.exit(str(error))
    print(f"{noticed} of {len(faults)} noticed, {time.monotonic() - start:.0f} s")
    sys.exit(noticed < min(ENOUGH, len(faults)))


if __name__ == "__main__":
    main()
