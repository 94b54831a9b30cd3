"""Every process that computes sets the options that decide bits, in any environment."""

import os
import subprocess
import sys

import pytest

from scaling_limits import runtime

SHOW = """
import os
from scaling_limits import runtime
runtime.configure(dtype={dtype!r})
import jax
from jax import numpy as jnp
print(jax.config.jax_default_matmul_precision, jnp.ones(1).dtype, jax.default_backend())
print(*sorted({{os.environ[name] for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}}))
print("deterministic_ops=true" in os.environ["XLA_FLAGS"])
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_have_full_precision_in_the_dtype_asked_for(dtype: str) -> None:
    """A GPU would take fewer bits for products of float32."""
    shown = subprocess.run(
        [sys.executable, "-c", SHOW.format(dtype=dtype)], capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines() == [f"highest {dtype} cpu", "1", "True"]


DECIDING = {
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_RANDOM_SEED_OFFSET": "1",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_DISABLE_JIT": "1",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_ENABLE_X64": "1",
    "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    "XLA_FLAGS": "--xla_backend_optimization_level=0",
    "OMP_NUM_THREADS": "2",
    "NVIDIA_TF32_OVERRIDE": "1",
}
TRAIN = """
import scaling_limits
print(scaling_limits.train(dict(
    dataset="digits", num_train=64, num_test=16, depth_kind="hidden_layers", depth=2, width=8, activation="tanh",
    parameterisation="mup", optimiser="sgd", algorithm="backpropagation", learning_rate=0.1, num_steps=3, batch_size=16,
)).value.tolist())
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name not in DECIDING}
    return subprocess.run(
        [sys.executable, "-c", script],
        env=plain | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", DECIDING)
def test_a_variable_that_decides_numbers_is_replaced_or_removed(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, DECIDING[name])
    for other in runtime._ENVIRONMENT | runtime._UNCHECKED:
        monkeypatch.setenv(other, os.environ.get(other, ""))
    runtime.isolate()
    assert os.environ.get(name) == runtime._ENVIRONMENT.get(name)
    named = capsys.readouterr().err
    assert (name in named) == (name not in runtime._ENVIRONMENT or name == "XLA_FLAGS")


def test_flags_that_decide_no_number_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in runtime._ENVIRONMENT | runtime._UNCHECKED:
        monkeypatch.setenv(other, os.environ.get(other, ""))
    dump, deciding = "--xla_dump_to=DIR", "--xla_gpu_autotune_level=4"
    monkeypatch.setenv("XLA_FLAGS", f"{dump} {deciding}")
    runtime.isolate()
    assert os.environ["XLA_FLAGS"] == f"{runtime._ENVIRONMENT['XLA_FLAGS']} {dump}"
    assert f"{deciding} of XLA_FLAGS" in capsys.readouterr().err
    runtime.isolate()
    assert os.environ["XLA_FLAGS"].split().count(dump) == 1
    assert capsys.readouterr().err == ""


def test_variables_that_decide_no_number_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = ("JAX_COMPILATION_CACHE_DIR", "JAX_LOG_COMPILES", "XLA_PYTHON_CLIENT_MEM_FRACTION")
    for name in (*harmless, *(runtime._ENVIRONMENT | runtime._UNCHECKED)):
        monkeypatch.setenv(name, "0.5")
    monkeypatch.setenv("XLA_FLAGS", "")
    runtime.isolate()
    assert [os.environ[name] for name in harmless] == ["0.5"] * len(harmless)


def test_numbers_are_the_same_in_any_environment() -> None:
    plain, changed = run(TRAIN), run(TRAIN, **DECIDING)
    assert changed.returncode == 0, changed.stderr
    assert changed.stdout == plain.stdout
    assert len(plain.stdout.split(",")) == 3


def test_jax_that_was_set_up_otherwise_is_refused() -> None:
    """A notebook may import JAX before: its options and the variables that XLA has read are compared."""
    script = """
from scaling_limits import runtime
from scaling_limits.errors import ConfigurationError
runtime.configure()
import jax, os
runtime.configure(dtype="float64")
def refused():
    try:
        runtime.configure()
    except ConfigurationError as error:
        print(str(error).split("instead")[0])
for name, value, ours in (
    ("jax_default_prng_impl", "rbg", "threefry2x32"),
    ("jax_threefry_partitionable", False, True),
    ("jax_random_seed_offset", 1, 0),
    ("jax_disable_most_optimizations", True, False),
    ("jax_disable_jit", True, False),
    ("jax_default_matmul_precision", None, "highest"),
):
    jax.config.update(name, value)
    refused()
    jax.config.update(name, ours)
del os.environ["XLA_FLAGS"]
refused()
"""
    done = run(script)
    assert done.returncode == 0, done.stderr
    assert [line.removeprefix("JAX was imported with ") for line in done.stdout.splitlines()] == [
        "jax_default_prng_impl = 'rbg' ",
        "jax_threefry_partitionable = False ",
        "jax_random_seed_offset = 1 ",
        "jax_disable_most_optimizations = True ",
        "jax_disable_jit = True ",
        "jax_default_matmul_precision = None ",
        "XLA_FLAGS = None ",
    ]
