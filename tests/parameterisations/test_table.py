import pytest
from pydantic import ValidationError

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.table import TABLE, Row, find_row, resolve

N, L, D, ALPHA, GAMMA = 64, 9, 20, 0.5, 2.0


def numbers(scheme, optimiser="sgd", **changes):
    options = {
        "width": N,
        "num_weight_layers": L,
        "input_dim": D,
        "output_dim": 10,
        "base_width": 1,
        "base_depth": 1,
        "output_scale": 1.0,
        "depth_exponent": None,
        "exponent_changes": {},
    }
    return resolve(scheme, optimiser, **(options | changes))


def quantity(resolved, name):
    return [getattr(resolved.scaling[role], name) for role in ("input", "hidden", "output")]


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize(
    ("scheme", "factor", "distribution"),
    [("sp_gaussian", 1.0, "normal"), ("sp_uniform", 3**-0.5, "uniform")],
)
def test_standard(scheme, factor, distribution, optimiser):
    resolved = numbers(scheme, optimiser)
    assert resolved.init_distribution == distribution
    assert quantity(resolved, "init_std") == pytest.approx(
        [factor * D**-0.5, factor * N**-0.5, factor * N**-0.5]
    )
    for name in ("multiplier", "learning_rate", "epsilon"):
        assert quantity(resolved, name) == [1, 1, 1]


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_mean_field(optimiser):
    """pcn-limits 1.5, 1.6, 1.11 in the notes: premultipliers, SGD rate gamma_0^2 N, Adam's hidden rate."""
    residual = numbers("mean_field", optimiser, output_scale=GAMMA, depth_exponent=ALPHA)
    plain = numbers("mean_field", optimiser, output_scale=GAMMA)
    ends = [D**-0.5, 1 / (GAMMA * N)]
    for resolved, hidden in ((residual, (N * L) ** -0.5), (plain, N**-0.5)):
        assert quantity(resolved, "init_std") == [1, 1, 1]
        assert quantity(resolved, "multiplier") == pytest.approx([ends[0], hidden, ends[1]])
    if optimiser == "sgd":
        for resolved in (residual, plain):
            assert quantity(resolved, "learning_rate") == pytest.approx([GAMMA**2 * N] * 3)
    else:
        assert quantity(residual, "learning_rate") == pytest.approx(
            [1, N**-0.5 * L ** (ALPHA - 1), 1]
        )
        assert quantity(plain, "learning_rate") == pytest.approx([1, N**-0.5, 1])
        assert quantity(residual, "epsilon") == pytest.approx(
            [1 / (GAMMA * N), N**-1.5 * L**-ALPHA / GAMMA, 1 / (GAMMA * N)]
        )


def test_mupc():
    """mupc Table 1."""
    resolved = numbers("mupc", "adam")
    assert quantity(resolved, "init_std") == [1, 1, 1]
    assert quantity(resolved, "multiplier") == pytest.approx([D**-0.5, (N * L) ** -0.5, 1 / N])
    assert quantity(resolved, "learning_rate") == [1, 1, 1]
    with pytest.raises(ConfigurationError, match="update rule of mupc"):
        numbers("mupc", "sgd")


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_mup_is_the_standard_scheme_at_the_base_width(optimiser):
    assert numbers("mup", optimiser, base_width=N) == numbers("sp_gaussian", optimiser)


def test_mup_away_from_the_base_width():
    """Tensor Programs V Table 8 at four times the base width."""
    sgd = numbers("mup", "sgd", base_width=N / 4)
    adam = numbers("mup", "adam", base_width=N / 4)
    for resolved in (sgd, adam):
        assert quantity(resolved, "init_std") == pytest.approx([D**-0.5, N**-0.5, (N / 4) ** -0.5])
        assert quantity(resolved, "multiplier") == pytest.approx([1, 1, 0.25])
    assert quantity(sgd, "learning_rate") == pytest.approx([4, 1, 4])
    assert quantity(adam, "learning_rate") == pytest.approx([1, 0.25, 1])
    assert quantity(adam, "epsilon") == pytest.approx([0.25] * 3)


def test_exponent_changes_multiply():
    changes = {"hidden": {"learning_rate": {"width": 0.5, "depth": -1.0}}}
    resolved = numbers("mup", base_width=16, base_depth=3, exponent_changes=changes)
    assert quantity(resolved, "learning_rate") == pytest.approx([4, 2 / 3, 4])
    again = numbers("mup", base_width=N, base_depth=L, exponent_changes=changes)
    assert again == numbers("mup", base_width=N, base_depth=L)


def test_rows_of_a_configuration():
    row = Row.model_validate(
        {
            "scheme": "mine",
            "update_rule": "sgd",
            "input": {},
            "hidden": {"init_std": {"scale": 2.0, "fan_in": -0.5}},
            "output": {"learning_rate": {"width": 0.25}},
            "source": "an experiment",
        }
    )
    resolved = numbers("mine", rows=[*TABLE, row])
    assert quantity(resolved, "init_std") == [1, 0.25, 1]
    assert quantity(resolved, "learning_rate") == pytest.approx([1, 1, N**0.25])
    with pytest.raises(ValidationError, match="widht"):
        Row.model_validate(row.model_dump() | {"input": {"init_std": {"widht": 1}}})


def test_rows_are_unique_and_name_their_source():
    names = [(row.scheme, row.update_rule) for row in TABLE]
    assert len(set(names)) == len(names)
    assert all(row.source for row in TABLE)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: numbers("sp"), "sp_gaussian .* or sp_uniform"),
        (lambda: numbers("mupcc"), "did you mean 'mupc'"),
        (lambda: find_row("mup", "adamw"), "did you mean 'adam'"),
        (lambda: numbers("mup", output_scale=2.0), "has no output_scale"),
        (lambda: numbers("mup", depth_exponent=0.5), "has no depth_exponent"),
        (lambda: numbers("mup", exponent_changes={"hiden": {}}), "did you mean 'hidden'"),
        (
            lambda: numbers("mup", exponent_changes={"hidden": {"learning_rates": {}}}),
            "did you mean 'learning_rate'",
        ),
        (
            lambda: numbers("mup", exponent_changes={"hidden": {"init_std": {"widths": 1.0}}}),
            "did you mean 'width'",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ConfigurationError, match=message):
        call()
