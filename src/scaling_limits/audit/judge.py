"""Judging: verdicts from claims and records."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scaling_limits.audit.power import recorded_power
from scaling_limits.audit.register import Register
from scaling_limits.audit.select import measured_on, select
from scaling_limits.audit.verdicts import Control, Verdict, finite
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import (
    DivergedError,
    Measurement,
    UndecidedError,
    prose,
    setting,
)
from scaling_limits.claims.points import require_column
from scaling_limits.outcomes import Outcome, Reason
from scaling_limits.records import Results


def judge(
    claims: Sequence[ClaimBase],
    results: Results,
    *,
    paper: str,
    figure: str,
    preset: str,
    substituted: bool,
    register: Register,
    with_power: bool = True,
    titles: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """Judge the claims of a figure.

    Args:
        claims: the claims.
        results: the figure's cells and records.
        paper: the slug of the paper.
        figure: the id of the figure.
        preset: the preset at which the cells were computed.
        substituted: whether another dataset replaces the paper's.
        register: registered failures and amendments.
        with_power: whether to simulate the power of claims that hold, which takes longer than judging them.
        titles: titles of grids, by which controls are named on the picture; grids without one have their own name.

    Returns:
        One verdict for each claim, in order.

    Raises:
        ConfigurationError: a claim names a column that the cells do not have, or its columns do not distinguish its
            cells.
    """
    outcomes = {
        claim.id: _judge(claim, results, titles or {}, substituted=substituted)
        for claim in claims
        if not claim.all_of
    }
    verdicts = []
    for claim in claims:
        key = (paper, figure, claim.id, preset)
        failure, amendment = register.failures.get(key), register.amendments.get(key)
        judged = _together(claim.all_of, outcomes) if claim.all_of else outcomes[claim.id]
        measured = judged.measured
        verdicts.append(
            Verdict(
                paper=paper,
                figure=figure,
                claim=claim.id,
                statement=claim.statement,
                verdict=judged.outcome,
                reason=judged.reason,
                value=finite(measured.value) if measured else None,
                interval=_ends(measured) if measured else None,
                place=measured.place if measured else "",
                control=judged.control,
                threshold=measured.threshold if measured else "",
                source=claim.source,
                detail=judged.detail,
                power=recorded_power(claim, results)
                if with_power and judged.outcome == "holds" and not claim.all_of
                else None,
                registered=failure.whole_text if failure else None,
                clause=failure.whole_clause if failure else None,
                amended=amendment.text if amendment else None,
                changed=amendment.changed if amendment else (),
                kinds=amendment.kinds if amendment else (),
                grids_tried=amendment.grids_tried if amendment else 1,
            )
        )
    return verdicts


class _Judged(NamedTuple):
    """The outcome of a claim and its measurement if it was measured.

    If it is inconclusive, also the reason, and the control if this is the reason.
    """

    outcome: Outcome
    detail: str
    measured: Measurement | None = None
    reason: Reason | None = None
    control: Control | None = None


def _judge(
    claim: ClaimBase, results: Results, titles: Mapping[str, str], *, substituted: bool
) -> _Judged:
    if substituted and claim.names_dataset:
        return _on_substitute(claim, results)
    try:
        _require_sizes(claim, select(claim, results, claim.grids))
        measured = _measure(claim, results, claim.grids)
    except DivergedError as error:
        return _Judged("diverged", str(error))
    except UndecidedError as error:
        return _Judged("inconclusive", str(error), reason=error.reason)
    if measured.holds is None:
        detail = f"{measured.detail}; the interval contains a threshold"
        return _Judged("inconclusive", detail, measured, "interval")
    if not measured.holds:
        return _Judged("fails", measured.detail, measured)
    controls = []
    for grid in claim.control:
        name = _named(grid, titles)
        try:
            control = _measure(claim, results, (grid,))
        except UndecidedError as error:
            detail = f"{measured.detail}; but the control '{grid}' decides nothing: {error}"
            return _Judged("inconclusive", detail, measured, "control", Control(name=name))
        if control.holds is not False:
            verb = "does not violate it" if control.holds else "may not violate it"
            detail = f"{measured.detail}; but the control '{grid}' {verb}: {control.detail}"
            found = finite(control.value), _ends(control)
            open_control = Control(
                name=name, holds=control.holds, value=found[0], interval=found[1]
            )
            return _Judged("inconclusive", detail, measured, "control", open_control)
        controls.append(f"; in the control '{grid}', {control.detail}")
    return _Judged("holds", measured.detail + "".join(controls), measured)


def _together(parts: Sequence[str], outcomes: Mapping[str, _Judged]) -> _Judged:
    """Return the outcome of a conjunction of claims: one that fails decides, and next one that is open."""
    judged = {part: outcomes[part] for part in parts}
    failing = [part for part in parts if judged[part].outcome == "fails"]
    open_parts = [part for part in parts if judged[part].outcome != "holds"]
    deciding = judged[next(iter(failing or open_parts or parts))]
    if deciding.outcome == "inconclusive":
        # why a part is open is why the conjunction is
        return _Judged(deciding.outcome, deciding.detail, reason=deciding.reason)
    return _Judged(
        deciding.outcome, "; ".join(f"{part}: {each.outcome}" for part, each in judged.items())
    )


def _on_substitute(claim: ClaimBase, results: Results) -> _Judged:
    """Measure a claim on a substitute for its dataset, which does not decide it."""
    detail = "the claim names a dataset, and a substitute was used"
    try:
        measured = _measure(claim, results, claim.grids)
    except UndecidedError:
        return _Judged("data not available", detail)
    return _Judged("data not available", f"{detail}: {measured.detail}", measured)


def _ends(measured: Measurement) -> tuple[float | None, float | None] | None:
    """Return the ends of a measured interval, None for infinite ones."""
    ends = measured.interval
    return None if ends is None else (finite(ends[0]), finite(ends[1]))


def _named(grid: str, titles: Mapping[str, str]) -> str:
    """Return the title of a control, or its name as prose if it has none, without the word `control`."""
    return (titles.get(grid) or prose(grid)).removeprefix("control").removeprefix(":").strip()


def _measure(claim: ClaimBase, results: Results, grids: Sequence[str]) -> Measurement:
    """Measure the claim on some grids, with the grids that it names for comparison."""
    return claim.measure(*measured_on(claim, results, grids))


def _require_sizes(claim: ClaimBase, results: Results) -> None:
    for column, needed in claim.decided_at.items():
        require_column(claim, "decided_at", column, results.cells)
        reached = results.cells[column].max()
        if not reached >= needed:
            raise UndecidedError(
                f"the {prose(column)} is at most {setting(reached)}; the claim is decided from {setting(needed)} on",
                "sizes",
            )
