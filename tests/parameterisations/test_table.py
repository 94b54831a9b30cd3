import pytest
from pydantic import ValidationError

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.table import (
    TABLE,
    Exponents,
    Factors,
    Row,
    find_row,
    resolve,
)

N, L, D, ALPHA, GAMMA = 64, 9, 20, 0.5, 2.0
OUTPUT = Factors(output_scale=GAMMA)
RESIDUAL = {"skip": True, "exponents": Exponents(depth_exponent=ALPHA)}


def numbers(scheme, optimiser="sgd", **changes):
    options = {
        "width": N,
        "depth": L,
        "input_dim": D,
        "base_width": 1,
        "base_depth": 1,
        "skip": False,
        "factors": Factors(),
        "exponents": Exponents(),
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
    resolved = numbers(scheme, optimiser, skip=True)
    assert resolved.init_distribution == distribution
    assert quantity(resolved, "init_std") == pytest.approx(
        [factor * D**-0.5, factor * N**-0.5, factor * N**-0.5]
    )
    for name in ("multiplier", "branch", "learning_rate", "epsilon", "energy_weight"):
        assert quantity(resolved, name) == [1, 1, 1]


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_mean_field(optimiser):
    """pcn-limits 1.5, 1.6, 1.11 in the notes: premultipliers, SGD rate gamma_0^2 N, Adam's hidden rate."""
    residual = numbers("mean_field", optimiser, factors=OUTPUT, **RESIDUAL)
    plain = numbers("mean_field", optimiser, factors=OUTPUT)
    for resolved, branch in ((residual, L**-0.5), (plain, 1)):
        assert quantity(resolved, "init_std") == [1, 1, 1]
        assert quantity(resolved, "branch") == pytest.approx([1, branch, 1])
        assert quantity(resolved, "multiplier") == pytest.approx(
            [D**-0.5, N**-0.5, 1 / (GAMMA * N)]
        )
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
    """mupc Table 1: the hidden premultiplier 1/sqrt(N L) has its depth in the branch."""
    resolved = numbers("mupc", "adam", skip=True)
    assert quantity(resolved, "init_std") == [1, 1, 1]
    assert quantity(resolved, "multiplier") == pytest.approx([D**-0.5, N**-0.5, 1 / N])
    assert quantity(resolved, "branch") == pytest.approx([1, L**-0.5, 1])
    assert quantity(resolved, "learning_rate") == [1, 1, 1]
    with pytest.raises(ConfigurationError, match="update rule of mupc"):
        numbers("mupc", "sgd")


def test_ntk():
    """pcn-limits 2.2 in the notes: premultipliers, N(0, 1), rate gamma_0^2."""
    resolved = numbers("ntk", factors=OUTPUT)
    assert quantity(resolved, "init_std") == [1, 1, 1]
    assert quantity(resolved, "multiplier") == pytest.approx(
        [D**-0.5, N**-0.5, 1 / (GAMMA * N**0.5)]
    )
    assert quantity(resolved, "learning_rate") == pytest.approx([GAMMA**2] * 3)


@pytest.mark.parametrize("weighted", [0.0, -0.5, -1.0])
def test_predictive_coding(weighted):
    """pc-tp (5), (12), (S.21), (S.174) at four times the base width."""
    options = {
        "base_width": N / 4,
        "exponents": Exponents(energy_weight_exponent=weighted),
        "factors": Factors(energy_weight=3.0, output_energy_weight=0.1),
    }
    sgd, adam = (numbers("pc_mup", rule, **options) for rule in ("sgd", "adam"))
    ntk = numbers("pc_ntk", **options)
    for resolved, output in ((sgd, 4**-0.5), (adam, 4**-0.5), (ntk, 1)):
        assert quantity(resolved, "multiplier") == [1, 1, 1]
        assert quantity(resolved, "init_std") == pytest.approx([D**-0.5, N**-0.5, output * N**-0.5])
        assert quantity(resolved, "energy_weight") == pytest.approx([3, 3, 0.1 * 4**-weighted])
    rates = {"sgd": (1 + weighted, weighted, -1), "ntk": (weighted, weighted - 1, -1)}
    for resolved, name in ((sgd, "sgd"), (ntk, "ntk")):
        expected = [4**power for power in rates[name]]
        assert quantity(resolved, "learning_rate") == pytest.approx(expected)
    assert quantity(adam, "learning_rate") == pytest.approx([1, 0.25, 0.25])


def test_predictive_coding_lies_between_muP_and_gauss_newton():  # noqa: N802
    """pc-tp Table 1: its rates are muP's at 0 and those of Gauss-Newton targets at -1."""

    def rates(scheme, weighted=None):
        exponents = Exponents(energy_weight_exponent=weighted)
        return quantity(numbers(scheme, exponents=exponents), "learning_rate")

    assert rates("pc_mup", 0.0) == pytest.approx([N, 1, 1 / N])
    assert rates("pc_mup", -1.0) == rates("gnt_mup") == rates("tp_mup") == [1, 1 / N, 1 / N]
    assert quantity(numbers("gnt_mup"), "init_std") == pytest.approx([D**-0.5, N**-0.5, 1 / N])
    assert quantity(numbers("tp_mup"), "init_std") == pytest.approx([D**-0.5, N**-0.5, N**-0.5])


def test_feedback_weights():
    """pc-tp (S.168), (S.173) at b_L = 1/2 and four times the base width; SP is constant in rates and of fan_in."""
    options = {"base_width": N / 4, "feedback_dim": 10}
    mup, sp = (numbers(scheme, **options) for scheme in ("tp_mup", "sp_uniform"))
    expected = {"feedback_hidden": (N**-0.5 / 2, 1), "feedback_output": (10**-0.5, 4)}
    for role, (std, rate) in expected.items():
        assert mup.scaling[role].init_std == pytest.approx(std)
        assert mup.scaling[role].learning_rate == pytest.approx(rate)
    for role, fan_in in (("feedback_hidden", N), ("feedback_output", 10)):
        assert sp.scaling[role] == numbers("sp_uniform", input_dim=fan_in).scaling["input"]
    changed = numbers(
        "tp_mup",
        **options,
        exponent_changes={"feedback_output": {"learning_rate": {"width": -1.0}}},
    )
    assert changed.scaling["feedback_output"].learning_rate == 1
    assert set(numbers("tp_mup").scaling) == {"input", "hidden", "output"}


def test_powers_of_width_of_feedback_weights():
    """The output's size is none."""
    row = find_row("tp_mup", "sgd")
    for role, std, rate in (("feedback_hidden", -1.0, 0.0), ("feedback_output", 0.0, 1.0)):
        for quantity, power in (("init_std", std), ("learning_rate", rate)):
            assert row.exponent(role, quantity, "width", skip=False).constant == power


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 0.5), (0.5, 0.0), (0.0, 0.0), (1.0, 0.0)])
def test_depth_mup(alpha, gamma, optimiser):
    """depth-mup 2.3 in the notes, at base depth 3 and twice the base width."""
    exponents = Exponents(depth_exponent=alpha, depth_lr_exponent=gamma)
    resolved = numbers(
        "depth_mup",
        optimiser,
        skip=True,
        base_width=N / 2,
        base_depth=3,
        exponents=exponents,
        factors=Factors(branch_multiplier=5.0),
    )
    assert quantity(resolved, "init_std") == pytest.approx([D**-0.5, N**-0.5, 1 / N])
    assert quantity(resolved, "multiplier") == [1, 1, 1]
    assert quantity(resolved, "branch") == pytest.approx([1, 5 * 3**-alpha, 1])
    if optimiser == "sgd":
        assert quantity(resolved, "learning_rate") == pytest.approx([2, 3 ** (alpha - gamma), 0.5])
    else:
        assert quantity(resolved, "learning_rate") == pytest.approx([1, 0.5 * 3**-gamma, 0.5])
        assert quantity(resolved, "epsilon") == pytest.approx([0.5, 0.5 * 3**-alpha, 1])


def test_without_skips_the_depth_powers_of_branches_are_zero():
    """So nobody has to give their exponents."""
    resolved = numbers("depth_mup", "adam")
    assert resolved == numbers("depth_mup", "adam", depth=1)
    assert numbers("mean_field", "adam") == numbers("mean_field", "adam", depth=1)


def test_factors():
    """Each multiplies what it says, whatever the row's own powers."""
    plain, scaled = (
        numbers("mean_field", factors=factors, **RESIDUAL)
        for factors in (Factors(), Factors(2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0))
    )
    expected = {
        "init_std": [34, 2, 26],
        "multiplier": [1, 1, 1 / 3],
        "branch": [1, 5, 1],
        "learning_rate": [9, 9, 9],
        "energy_weight": [7, 7, 11],
    }
    for name, factors in expected.items():
        pairs = zip(quantity(scaled, name), quantity(plain, name), strict=True)
        assert [new / old for new, old in pairs] == pytest.approx(factors)


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


def test_exponent_changes_count_from_the_pivot():
    """Changed powers are of size over pivot, the row's own still of size over base."""
    bases = {"base_width": 16, "base_depth": 3}
    pivots = {"pivot_width": N / 2, "pivot_depth": L / 4}
    changes = {"hidden": {"learning_rate": {"width": 0.5, "depth": -1.0}, "branch": {"depth": 0.5}}}
    plain = numbers("mup", **bases)
    assert numbers("mup", **bases, exponent_changes=changes, pivot_width=N, pivot_depth=L) == plain
    changed = numbers("mup", **bases, exponent_changes=changes, **pivots)
    assert quantity(changed, "learning_rate") == pytest.approx([4, 2**0.5 / 4, 4])
    assert quantity(changed, "branch") == pytest.approx([1, 2, 1])
    assert quantity(changed, "init_std") == quantity(plain, "init_std")


def test_rows_of_a_configuration():
    row = Row.model_validate(
        {
            "scheme": "mine",
            "update_rule": "sgd",
            "input": {},
            "hidden": {"init_std": {"scale": 2.0, "fan_in": -0.5}},
            "output": {
                "learning_rate": {"width": 0.25},
                "epsilon": {"depth": {"constant": 1, "depth_exponent": -2}},
            },
            "source": "an experiment",
        }
    )
    resolved = numbers("mine", rows=[*TABLE, row], **RESIDUAL)
    assert quantity(resolved, "init_std") == [1, 0.25, 1]
    assert quantity(resolved, "learning_rate") == pytest.approx([1, 1, N**0.25])
    assert quantity(resolved, "epsilon") == pytest.approx([1, 1, L ** (1 - 2 * ALPHA)])
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
        (
            lambda: numbers("mup", factors=OUTPUT),
            r"output_scale: parameterisation \w+ does not use it",
        ),
        (
            lambda: numbers("mup", exponents=Exponents(0.5)),
            r"depth_exponent: parameterisation \w+ does not use it",
        ),
        (
            lambda: numbers("mean_field", exponents=Exponents(0.5, 0.5)),
            r"depth_lr_exponent: parameterisation \w+ does not use it",
        ),
        (
            lambda: numbers("sp_uniform", exponents=Exponents(energy_weight_exponent=0.0)),
            r"energy_weight_exponent: parameterisation \w+ does not use it",
        ),
        (
            lambda: numbers("mean_field", skip=True),
            "depth_exponent: required by parameterisation mean_field",
        ),
        (
            lambda: numbers("depth_mup", skip=True, exponents=Exponents(0.5)),
            "depth_lr_exponent: required by parameterisation depth_mup",
        ),
        (lambda: numbers("pc_mup"), "energy_weight_exponent: required by parameterisation pc_mup"),
        (
            lambda: numbers("gnt_mup", feedback_dim=3),
            "gnt_mup defines no feedback weights for sgd; use sp_gaussian or sp_uniform or tp_mup",
        ),
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
