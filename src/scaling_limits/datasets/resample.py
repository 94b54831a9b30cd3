"""Images at another resolution, in numpy and double precision."""

import numpy as np
from numpy.typing import NDArray


def bilinear_weights(num_in: int, num_out: int) -> NDArray[np.float64]:
    """Matrix [num_out, num_in] that resamples one axis: a triangle around each output pixel's
    centre.

    Pixels are areas, so centres lie at half-integers. The triangle is as wide as an output pixel
    when the axis shrinks, so that every input pixel counts. Rows sum to one; equal sizes give the
    identity.
    """
    scale = num_in / num_out
    centres = (np.arange(num_out) + 0.5) * scale - 0.5
    distances = np.abs(np.arange(num_in)[None, :] - centres[:, None])
    weights = np.maximum(0.0, 1.0 - distances / max(scale, 1.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def resample(images: NDArray[np.generic], height: int, width: int) -> NDArray[np.float64]:
    """Images [n, H, W, C] as [n, height, width, C]; each result depends on its own image only."""
    result = np.asarray(images, dtype=np.float64)
    if result.shape[1] != height:
        weights = bilinear_weights(result.shape[1], height)
        count, _, columns, channels = result.shape
        rows = weights @ result.reshape(count, -1, columns * channels)
        result = rows.reshape(count, height, columns, channels)
    if result.shape[2] != width:
        result = bilinear_weights(result.shape[2], width) @ result
    return result
