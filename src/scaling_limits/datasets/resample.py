"""Resampling of images to another resolution, in NumPy and double precision."""

import numpy as np
from numpy.typing import NDArray


def bilinear_weights(num_in: int, num_out: int) -> NDArray[np.float64]:
    """Return the matrix [num_out, num_in] that resamples one axis by triangular kernels.

    A kernel is centred on each output pixel. Pixels are areas, so centres lie at half-integers. If the axis shrinks,
    the triangle is scaled to the size of an output pixel, so that every input pixel contributes. Rows sum to one; equal
    sizes give the identity.
    """
    scale = num_in / num_out
    centres = (np.arange(num_out) + 0.5) * scale - 0.5
    distances = np.abs(np.arange(num_in)[None, :] - centres[:, None])
    weights = np.maximum(0.0, 1.0 - distances / max(scale, 1.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def resample(images: NDArray[np.generic], height: int, width: int) -> NDArray[np.float64]:
    """Resample images [n, H, W, C] to [n, height, width, C], each independently of the others."""
    result = np.asarray(images, dtype=np.float64)
    if result.shape[1] != height:
        weights = bilinear_weights(result.shape[1], height)
        count, _, columns, channels = result.shape
        rows = weights @ result.reshape(count, -1, columns * channels)
        result = rows.reshape(count, height, columns, channels)
    if result.shape[2] != width:
        result = bilinear_weights(result.shape[2], width) @ result
    return result
