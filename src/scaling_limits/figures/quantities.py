"""Quantities: what figures and claims say of a metric.

Apart from `records`, as reading a configuration needs no pandas.
"""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.strict import Strict

Axis = Literal["layer", "index", "inference_step", "step"]


class Quantity(Strict):
    """One number per cell, derived from a metric's records; figures and claims share this definition.

    If records have a `layer` or `index`, either one is chosen (-1: a cell's last, -2: the one before), or `per`
    keeps that axis as a further column, with one number for each. So it does for the `inference_step`,
    of which otherwise one is chosen, or the last one counts, and for the training `step`, which is then not reduced.
    It names one axis or several.

    `reduce` says how the training steps are reduced: `min`, `max`, `last`, `first`, or `at` (the records of `step`).
    `window` averages that many consecutive recorded steps first (1: none), or all where there are fewer.
    `during` gives the mean over a part of training instead, between two fractions of its length: [0.25, 0.5].
    With `growth` every record counts relative to the first that there is of the training steps, before all that.
    `complement` gives `1 - value` (for 1 - cosine).
    With `below` it is the first recorded training step at which the value is smaller than that, in place of a value:
    infinite if it never is.
    """

    metric: str
    layer: int | None = None
    index: int | None = None
    inference_step: int | None = None
    per: Axis | tuple[Axis, ...] = ()
    reduce: Literal["min", "max", "last", "first", "at"] = "last"
    step: int | None = None
    window: int = Field(default=1, ge=1)
    during: tuple[float, float] | None = None
    growth: bool = False
    complement: bool = False
    below: float | None = None
    label: str | None = None

    @property
    def kept(self) -> tuple[Axis, ...]:
        """The axes that are kept."""
        return (self.per,) if isinstance(self.per, str) else self.per

    @model_validator(mode="after")
    def _steps_are_kept_or_reduced(self) -> "Quantity":
        if "step" in self.kept and {"reduce", "step", "window"} & self.model_fields_set:
            raise ValueError(
                "with `per: step` there is nothing to reduce: no `reduce`, `step` or `window`"
            )
        if self.reduce == "at" and self.window > 1:
            raise ValueError("`reduce: at` takes the records of one step: no `window`")
        if self.during is not None:
            start, end = self.during
            if not 0 <= start < end <= 1:
                raise ValueError("`during` gives two rising fractions of training, from 0 to 1")
            clash = {"reduce", "step", "window", "below"} & self.model_fields_set
            if clash or "step" in self.kept:
                raise ValueError(
                    "`during` is a mean over steps: no `per: step`, `reduce`, `step`, `window` or `below`"
                )
        if (self.reduce == "at") != (self.step is not None):
            raise ValueError("`reduce: at` takes the records of a `step`: give both, or neither")
        taken = {"reduce", "step", "window", "complement"} & self.model_fields_set
        if self.below is not None and (taken or "step" in self.kept):
            raise ValueError(
                "`below` gives a training step: no `per: step`, `reduce`, `step`, `window` or `complement`"
            )
        return self
