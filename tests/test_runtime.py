"""What decides bits is set in every process that computes."""

import subprocess
import sys

import pytest

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
