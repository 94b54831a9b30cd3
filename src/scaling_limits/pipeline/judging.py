"""The audit of a preset's figures: their files are checked, and their claims are judged from the records."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from scaling_limits.audit.judge import judge
from scaling_limits.audit.lock import unexplained
from scaling_limits.audit.register import Register
from scaling_limits.audit.table import Audit, FigureClaims, collect, problems
from scaling_limits.audit.verdicts import Verdict, verdict_text
from scaling_limits.configuration import Configuration
from scaling_limits.configuration.files import read_yaml
from scaling_limits.pipeline.checksums import is_computed, read_provenance, require_unchanged
from scaling_limits.pipeline.placeholders import grid_titles
from scaling_limits.records import Results

SHOWN = 5
"""Largest number of missing figures that are named."""


def audited(
    configuration: Configuration,
    figures: Iterable[tuple[str, str]],
    root: Path,
    written: Path | None,
    *,
    complete: bool,
    allow_missing: bool,
) -> tuple[Audit, list[str]]:
    """Judge the claims of figures from their records.

    The audit fails if a claim fails that is not registered, a registered claim holds, fewer claims are decided than
    before, a locked claim changed without an amendment, a figure has no records, or `written` disagrees.

    Args:
        configuration: the configuration.
        figures: (paper, figure) of each figure.
        root: the project's folder.
        written: the `audit.json` made from the `verdicts.json` of the same figures, to be compared; None for none.
        complete: whether these are all figures, for which the locked claims hold and, if all are computed, the fraction
            of decided claims.
        allow_missing: whether figures may have no records.

    Returns:
        The verdicts, and a sentence for each problem; without any, the audit passes.

    Raises:
        ChangedError: a file of a computed figure is missing or differs from the one collected.
        ConfigurationError: a figure, the register, the reference or the lock is invalid.
    """
    preset, docs = configuration.main.preset, root / "docs"
    claims = figures_to_audit(configuration, figures, root / "results" / preset)
    register = Register.read(docs / "deviations.yaml", docs / "amendments.yaml")
    audit = judged(preset, claims, register, confirmed=configuration.preset.seeds.confirming)
    not_computed = missing(claims)
    comparable = complete and not not_computed
    reference = read_yaml(root / "tests" / "reference" / "decided.yaml") if comparable else {}
    sentences = problems(audit, cast(Mapping[str, Mapping[str, float]], reference))
    if written is not None:
        sentences += disagreements(audit, written)
    if complete:
        sentences += unexplained(docs / "claims.lock.yaml", register.amendments, root)
    return audit, sentences if allow_missing else not_computed + sentences


def figures_to_audit(
    configuration: Configuration, figures: Iterable[tuple[str, str]], results: Path
) -> list[FigureClaims]:
    """Return the claims of figures, given as (paper, figure), with their folders below `results`.

    Raises:
        ChangedError: a file of a computed figure is missing or differs from the one collected.
    """
    claims = [
        FigureClaims(
            paper,
            name,
            results / paper / name,
            configuration.figure(paper, name).claims,
            grid_titles(configuration, paper, name),
        )
        for paper, name in figures
    ]
    require_unchanged(figure.folder for figure in claims if is_computed(figure.folder))
    return claims


def judged(
    preset: str, figures: Iterable[FigureClaims], register: Register, *, confirmed: bool = False
) -> Audit:
    """Judge the claims of all figures from their records.

    Args:
        preset: the preset at which the figures were computed.
        figures: the figures, as returned by `figures_to_audit`.
        register: registered failures and amendments.
        confirmed: whether the preset's seeds are those of a confirmed run.

    Returns:
        A verdict for each claim, `not computed` if the figure has not been computed.
    """

    def verdicts(figure: FigureClaims) -> list[Verdict]:
        if not is_computed(figure.folder):
            return []
        return _from_records(preset, figure, register)

    return collect(preset, figures, verdicts, confirmed=confirmed)


def _from_records(preset: str, figure: FigureClaims, register: Register) -> list[Verdict]:
    substitutions = read_provenance(figure.folder)["compared"]["substitutions"]
    return judge(
        figure.claims,
        Results.read(figure.folder),
        paper=figure.paper,
        figure=figure.figure,
        preset=preset,
        substituted=bool(substitutions),
        register=register,
        # the power is in the figure's verdicts and is not compared
        with_power=False,
        titles=figure.titles,
    )


def missing(figures: Sequence[FigureClaims]) -> list[str]:
    """Return a sentence about the figures without records, or no sentence if all have records."""
    names = [
        f"{figure.paper}/{figure.figure}" for figure in figures if not is_computed(figure.folder)
    ]
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [
        f"{len(names)} of {len(figures)} figures have no records: {', '.join(names[:SHOWN])}{more}; "
        "compute them, or pass --allow-missing"
    ]


def disagreements(audit: Audit, path: Path) -> list[str]:
    """Compare an audit with the file `path`, which was made from each figure's `verdicts.json`.

    Returns:
        A sentence for each claim on which the file and the records differ, or one about the whole file.
    """
    try:
        written = Audit.model_validate_json(path.read_bytes())
    except ValidationError:
        return [f"{path}: not the JSON that was written; remove it"]
    by_claim = {(v.paper, v.figure, v.claim): v for v in written.verdicts}
    sentences = []
    for verdict in audit.verdicts:
        figure = f"{verdict.paper}/{verdict.figure}"
        then = verdict_text(by_claim.get((verdict.paper, verdict.figure, verdict.claim)))
        if then != verdict_text(verdict):
            sentences.append(
                f"{path}: says '{then}' of {figure} {verdict.claim}, and its records say '{verdict_text(verdict)}'; "
                f"remove the file and results/{audit.preset}/{figure}, and run {figure} again"
            )
    return sentences
