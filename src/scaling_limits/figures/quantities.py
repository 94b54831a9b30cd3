"""Quantities: how figures and claims reduce the records of a metric.

This module is separate from `records`, so that reading a configuration does not import pandas.
"""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.strict import Strict

Axis = Literal["layer", "index", "inference_step", "step"]


class Quantity(Strict):
    """One number per cell, derived from a metric's records; figures and claims share this definition.

    If records have a `layer` or `index`, either one is selected (-1: a cell's last, -2: the one before), or `per` keeps
    this axis as a column, with one number for each value. `per` may also keep the `inference_step`, which otherwise is
    the selected or the last one, and the training `step`, which is then not reduced. It names one axis or several.
    `reduce` defines the reduction over training steps: `min`, `max`, `last`, `first`, or `at` (the records of `step`).
    `relative_to` names another metric: every record is divided by that metric's record of the same cell, at the same
    step, and at the same layer, index and inference step if that metric has them.
    `window` first averages this many consecutive recorded steps (1: no average), or all steps if there are fewer.
    `during` instead gives the mean over a part of training, between two fractions of its length: [0.25, 0.5]. With
    `growth`, every record is first divided by the earliest recorded one. `complement` gives `1 - value` (for 1 -
    cosine).
    With `below`, the quantity is the first recorded training step at which the value is below this number, or infinity
    if there is none.
    `chance` is the value of a network that has learned nothing. A size at which no hyperparameter gives a smaller value
    does not train, so it has no optimum.
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
    relative_to: str | None = None
    growth: bool = False
    complement: bool = False
    below: float | None = None
    chance: float | None = None
    label: str | None = None

    @property
    def kept_axes(self) -> tuple[Axis, ...]:
        """The axes of the records that become columns instead of being reduced."""
        return (self.per,) if isinstance(self.per, str) else self.per

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics whose records the quantity uses."""
        return (self.metric,) if self.relative_to is None else (self.metric, self.relative_to)

    def learned(self, best: float) -> bool:
        """Return whether the best value of a size is better than chance; always without `chance`."""
        return self.chance is None or best < self.chance

    @model_validator(mode="after")
    def _steps_are_kept_or_reduced(self) -> "Quantity":
        if "step" in self.kept_axes and {"reduce", "step", "window"} & self.model_fields_set:
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
            if clash or "step" in self.kept_axes:
                raise ValueError(
                    "`during` is a mean over steps: no `per: step`, `reduce`, `step`, `window` or `below`"
                )
        if (self.reduce == "at") != (self.step is not None):
            raise ValueError("`reduce: at` takes the records of a `step`: give both, or neither")
        taken = {"reduce", "step", "window", "complement"} & self.model_fields_set
        if self.below is not None and (taken or "step" in self.kept_axes):
            raise ValueError(
                "`below` gives a training step: no `per: step`, `reduce`, `step`, `window` or `complement`"
            )
        return self
