"""Claims are locked with their confirmed verdicts, and any change afterwards needs an amendment."""

from pathlib import Path

import pytest

from scaling_limits.audit.lock import (
    REMOVED,
    Lock,
    claim_digest,
    locked,
    read_lock,
    unexplained,
    write_lock,
)
from scaling_limits.audit.register import Amendment
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.configuration import Configuration, load
from scaling_limits.errors import ConfigurationError
from toys import PAPER, merged, write_project

KEY = ("toy", "fig1", "stays", "small")
NAME = "toy/fig1/stays"
CLAIM = {
    "statement": "It stays.",
    "source": "Fig 1",
    "bound": {
        "grids": "main",
        "quantity": "loss",
        "at_most": 1,
        "by": ["width", "learning_rate"],
    },
}
CONFIRMING = {"seeds": {"first": 1000}}


def project(folder: Path, preset: object = CONFIRMING, **changes: object) -> Path:
    """The toy figure with a bounded loss; `changes` are those of the claim."""
    figures = {"fig1": {"claims": {"stays": merged(CLAIM, changes)}}}
    paper = merged(PAPER, {"transfer": {"figures": figures}})
    return write_project(folder, preset=preset, paper=paper)


def verdict(outcome: str = "holds") -> Verdict:
    paper, figure, claim, _ = KEY
    texts = {"statement": "It stays.", "source": "Fig 1", "detail": "it is 0.5"}
    return Verdict(paper=paper, figure=figure, claim=claim, verdict=outcome, **texts)


def configured(root: Path) -> Configuration:
    return load(root, {"preset": "small"})


def digest(root: Path) -> str:
    configuration = configured(root)
    (claim,) = configuration.figure("toy", "fig1").claims
    return claim_digest(configuration, KEY, claim)


def locked_at(folder: Path) -> Path:
    """Lock the claim of the toy project; return the lock file."""
    lock, added = locked(Lock(claims={}), configured(project(folder)), {KEY: verdict()})
    assert added == [NAME]
    path = folder / "claims.lock.yaml"
    write_lock(path, lock)
    assert read_lock(path) == lock
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"bound": {"at_most": 0.9}},
        {"bound": {"by": ["width"], "over": ["learning_rate"]}},
        {"bound": {"quantity": {"metric": "train_loss", "reduce": "first"}}},
        {"bound": {"decided_at": {"width": 8}}},
    ],
    ids=str,
)
def test_a_changed_rule_needs_an_amendment(tmp_path: Path, change: dict) -> None:
    path = locked_at(tmp_path)
    assert unexplained(path, {}, tmp_path) == []
    root = project(tmp_path, **change)
    (sentence,) = unexplained(path, {}, root)
    now = digest(root)
    assert sentence == (
        f"docs/claims.lock.yaml: {NAME} was changed at the preset small after its verdict was recorded (holds): "
        f"explain it in docs/amendments.yaml, with digest: {now}"
    )
    assert unexplained(path, {KEY: amended(now)}, root) == []
    assert len(unexplained(path, {KEY: amended("0" * 16)}, root)) == 1


def amended(digest: str) -> Amendment:
    paper, figure, claim, preset = KEY
    fields = {
        "kinds": ("rule",),
        "changed": ("the bound",),
        "before": "holds",
        "why": "It was too wide.",
    }
    return Amendment(
        paper=paper, figure=figure, claim=claim, presets=(preset,), digest=digest, **fields
    )


@pytest.mark.parametrize(
    "preset",
    [
        {"seeds": {"first": 2000}},
        {**CONFIRMING, "caps": {"seeds": 1}},
        {**CONFIRMING, "caps": {"num_steps": 1}},
        {**CONFIRMING, "caps": {"width": 8}},
    ],
    ids=str,
)
def test_changed_cells_need_an_amendment(tmp_path: Path, preset: dict) -> None:
    path = locked_at(tmp_path)
    assert len(unexplained(path, {}, project(tmp_path, preset))) == 1


def test_texts_may_change_and_the_lock_keeps_the_old_one(tmp_path: Path) -> None:
    path = locked_at(tmp_path)
    root = project(tmp_path, statement="It does not move.", source="Figure 1")
    assert unexplained(path, {}, root) == []
    lock, added = locked(read_lock(path), configured(root), {KEY: verdict("fails")})
    assert added == []
    assert lock.claims["small"][NAME].statement == "It stays."
    assert lock.claims["small"][NAME].verdict == "holds"


def test_a_claim_that_is_gone_needs_an_amendment(tmp_path: Path) -> None:
    path = locked_at(tmp_path)
    write_project(tmp_path, preset=CONFIRMING)
    (sentence,) = unexplained(path, {}, tmp_path)
    assert f"{NAME} was removed" in sentence
    assert unexplained(path, {KEY: amended(REMOVED)}, tmp_path) == []


@pytest.mark.parametrize("outcome", ["not computed", "data not available"])
def test_without_a_verdict_nothing_is_locked(tmp_path: Path, outcome: str) -> None:
    configuration = configured(project(tmp_path))
    for verdicts in ({}, {KEY: verdict(outcome)}):
        lock, added = locked(Lock(claims={}), configuration, verdicts)
        assert (lock.claims, added) == ({"small": {}}, [])


def test_exploratory_verdicts_are_not_locked(tmp_path: Path) -> None:
    configuration = configured(project(tmp_path, {}))
    with pytest.raises(ConfigurationError, match=r"seeds.first is 0: only confirmed verdicts"):
        locked(Lock(claims={}), configuration, {KEY: verdict()})


def test_an_invalid_lock_is_named(tmp_path: Path) -> None:
    path = tmp_path / "claims.lock.yaml"
    path.write_text("claims: {laptop: {a/b/c: {digest: x}}}\n")
    with pytest.raises(ConfigurationError, match=r"claims.lock.yaml: claims.laptop.a/b/c"):
        read_lock(path)


def test_how_a_machine_computes_does_not_matter(tmp_path: Path) -> None:
    root = project(tmp_path)
    before = digest(root)
    main = {"preset": "small", "resources": {"cells_per_batch": 4, "device": "gpu"}}
    configuration = load(root, main)
    (claim,) = configuration.figure("toy", "fig1").claims
    assert claim_digest(configuration, KEY, claim) == before
