"""Claims and records in, verdicts out."""

from collections.abc import Mapping, Sequence

from scaling_limits.audit.power import doubt
from scaling_limits.audit.registered import Key
from scaling_limits.audit.select import measured_on, select
from scaling_limits.audit.verdicts import Outcome, Verdict, finite
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import Measurement, UndecidedError, prose, setting
from scaling_limits.claims.points import require_column
from scaling_limits.records import Results


def judge(
    claims: Sequence[ClaimBase],
    results: Results,
    *,
    paper: str,
    figure: str,
    preset: str,
    substituted: bool,
    registered: Mapping[Key, str],
) -> list[Verdict]:
    """Judge the claims of a figure.

    Args:
        claims: the claims.
        results: the figure's cells and records.
        paper: the slug of the paper.
        figure: the id of the figure.
        preset: the preset that the cells were computed at.
        substituted: whether another dataset replaces the paper's.
        registered: the text of each registered failure by (paper, figure, claim, preset).

    Returns:
        One verdict for each claim, in order.

    Raises:
        ConfigurationError: a claim names a column that the cells do not have, or does not tell its
            cells apart.
    """
    verdicts = []
    for claim in claims:
        outcome, measured, detail = _judge(claim, results, substituted=substituted)
        interval = measured.interval if measured else None
        if interval is not None and None in (finite(interval[0]), finite(interval[1])):
            interval = None
        verdicts.append(
            Verdict(
                paper=paper,
                figure=figure,
                claim=claim.id,
                statement=claim.statement,
                verdict=outcome,
                value=finite(measured.value) if measured else None,
                interval=interval,
                threshold=measured.threshold if measured else "",
                source=claim.source,
                detail=detail,
                registered=registered.get((paper, figure, claim.id, preset)),
            )
        )
    return verdicts


def _judge(
    claim: ClaimBase, results: Results, *, substituted: bool
) -> tuple[Outcome, Measurement | None, str]:
    """The outcome of a claim, its measurement, if there is one, and the detail of its verdict."""
    if substituted and claim.names_dataset:
        return "untested", None, "the claim names a dataset, and another one stands in for it"
    try:
        _require_sizes(claim, select(claim, results, claim.grids))
        measured = _measure(claim, results, claim.grids)
    except UndecidedError as reason:
        return "untested", None, str(reason)
    if measured.holds is None:
        return "untested", measured, f"{measured.detail}; the interval reaches across"
    if not measured.holds:
        return "fails", measured, measured.detail
    controls = []
    for grid in claim.control:
        try:
            control = _measure(claim, results, (grid,))
        except UndecidedError as reason:
            detail = f"{measured.detail}; but the control '{grid}' decides nothing: {reason}"
            return "untested", measured, detail
        if control.holds is not False:
            verb = "does not violate it" if control.holds else "may not violate it"
            detail = f"{measured.detail}; but the control '{grid}' {verb}: {control.detail}"
            return "untested", measured, detail
        controls.append(f"; in the control '{grid}', {control.detail}")
    doubted = doubt(claim, results)
    if doubted is not None:
        return "untested", measured, f"{measured.detail}; but {doubted}"
    return "holds", measured, measured.detail + "".join(controls)


def _measure(claim: ClaimBase, results: Results, grids: Sequence[str]) -> Measurement:
    """Measure the claim on some grids, compared with those that it names for that."""
    return claim.measure(*measured_on(claim, results, grids))


def _require_sizes(claim: ClaimBase, results: Results) -> None:
    for column, needed in claim.decided_at.items():
        require_column(claim, "decided_at", column, results.cells)
        reached = results.cells[column].max()
        if not reached >= needed:
            raise UndecidedError(
                f"the {prose(column)} reaches {setting(reached)}; "
                f"the claim is decided from {setting(needed)} on"
            )
