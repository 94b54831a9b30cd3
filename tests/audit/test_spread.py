"""Spread over seeds, and the means that it leaves plausible."""

import numpy as np
import pytest
from claim_examples import assumed
from scipy.stats import t

from scaling_limits.claims import spread
from scaling_limits.claims.intervals import interval_of
from scaling_limits.claims.spread import Scale, spreads_of

LOG = Scale(logarithmic=True, top=None)
LINEAR = Scale(logarithmic=False, top=None)
COSINE = Scale(logarithmic=True, top=1.0)
OWN = 0.1 * np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, -1.0]])
"""Logarithms [P, S] that scatter at two points, in opposite ways, so that their median is 0."""
SEEDS = 0.4 * np.array([-1.0, 0.0, 1.0])


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.fixture
def _many_draws(monkeypatch):
    monkeypatch.setattr(spread, "DRAWS", 100_000)


class TestScale:
    @pytest.mark.parametrize(
        ("values", "top", "expected"),
        [
            ([0.1, 2.0], None, LOG),
            ([0.1, np.inf], None, LOG),
            ([-0.1, 2.0], None, LINEAR),
            ([0.0, 2.0], None, LINEAR),
            ([np.inf, np.inf], None, LINEAR),
            ([-0.1, 1.0], 1.0, COSINE),
        ],
    )
    def test_positive_values_and_those_with_a_top_have_logarithms(self, values, top, expected):
        assert Scale.of([np.array([values])], top) == expected

    @pytest.mark.parametrize("scale", [LOG, LINEAR, COSINE], ids=["log", "linear", "cosine"])
    def test_back_is_the_inverse_and_infinite_values_stay(self, scale):
        values = np.array([1e-9, 0.5, 1 - 1e-9, np.inf, -np.inf])
        assert scale.back(scale.to(values))[:3] == pytest.approx(values[:3], rel=1e-6)
        assert scale.to(values)[3:].tolist() == [np.inf, -np.inf]

    def test_cosines_scatter_in_what_they_lack_to_one(self):
        steps = COSINE.to(np.array([0.0, 0.9, 0.99, 0.999]))
        assert steps == pytest.approx(np.log(10) * np.arange(4))
        assert np.isfinite(COSINE.to(np.array([1.0, 1.0 + 1e-15]))).all()


class TestVariances:
    def test_own_variances_are_moderated_by_their_median(self):
        """Two degrees of freedom: the median of a variance is log 2 of it; 3/2 for the median's part."""
        (found,) = spreads_of([np.exp(OWN)], LOG, exact=False, competing=False)
        measured = 0.1**2 * 3 / 2
        prior = measured / np.log(2)
        scattering, still = (3 * prior + 2 * measured) / 5, 3 * prior / 5
        assert found.independent == pytest.approx([scattering, still, scattering])
        assert found.shared == pytest.approx(0.0)
        assert found.degrees == 5

    def test_of_competing_points_those_near_the_best_moderate(self):
        """The first three scatter; the others, further above the best than half as much again, do not count."""
        rows = np.vstack([np.exp(OWN), 1.6 * np.ones((4, 3))])
        (found,) = spreads_of([rows], LOG, exact=False, competing=True)
        # the scattering rows' own, of seven points in all, and the still one between them
        scattering = 0.1**2 * 7 / 6
        prior = 2 / 3 * scattering
        assert found.independent[[0, 2]] == pytest.approx((3 * prior + 2 * scattering) / 5)
        assert found.independent[3:] == pytest.approx(3 * prior / 5)

    @pytest.mark.parametrize("best", [-2.0, 2.0])
    def test_near_the_best_is_half_its_size_away_where_values_have_no_logarithm(self, best):
        at = np.array([best, best + 0.9, best + 1.1, 3 * abs(best)])
        scatter = np.array([[1.0], [-1.0], [5.0], [-5.0]]) * np.array([-1.0, 0.0, 1.0])
        (found,) = spreads_of([at[:, None] + 0.01 * scatter], LINEAR, exact=False, competing=True)
        # the four points' own variances are 4/3 of what scatters about their median
        assert found.independent[:2] == pytest.approx(0.01**2 * 4 / 3)

    def test_what_all_points_share_is_told_apart(self):
        (alone,) = spreads_of([np.exp(OWN)], LOG, exact=False, competing=False)
        (found,) = spreads_of([np.exp(OWN + SEEDS)], LOG, exact=False, competing=False)
        assert found.independent == pytest.approx(alone.independent)
        assert found.shared == pytest.approx(0.4**2)

    def test_groups_moderate_each_other(self):
        """Each has own variances of one size; all are drawn to the mean over groups."""
        quiet, loud = (np.exp(size * OWN[[0, 2]]) for size in (1, 3))
        # of two points the median takes half
        measured = np.array([1, 9]) * 0.1**2 * 2
        prior = measured.mean() / np.log(2)
        found = spreads_of([quiet, loud], LOG, exact=False, competing=False)
        for group, own in zip(found, measured, strict=True):
            assert group.independent == pytest.approx((3 * prior + 2 * own) / 5)

    def test_a_shared_variance_is_moderated_over_groups(self):
        quiet, loud = (np.exp(size * SEEDS + np.zeros((3, 1))) for size in (1, 3))
        found = spreads_of([quiet, loud], LOG, exact=False, competing=False)
        prior = 0.4**2 * 5
        assert [group.shared for group in found] == pytest.approx(
            [(3 * prior + 2 * 0.4**2 * square) / 5 for square in (1, 9)]
        )

    @pytest.mark.parametrize("num_points", [2, 3, 4, 5, 9])
    def test_own_variances_are_found_at_any_number_of_points(self, generator, num_points):
        shape = (200, num_points, 5)
        luck = generator.standard_normal((200, 1, 5))
        values = np.exp(0.1 * generator.standard_normal(shape) + luck)
        found = [
            spreads_of([v], LOG, exact=False, competing=False)[0].independent.mean() for v in values
        ]
        assert np.mean(found) == pytest.approx(0.1**2, rel=0.2)

    @pytest.mark.parametrize(("scale", "unit"), [(LOG, 1.0), (COSINE, 1.0), (LINEAR, 0.5)])
    def test_of_one_seed_it_is_assumed(self, scale, unit):
        (found,) = spreads_of(
            [np.array([[0.1], [0.5], [np.inf]])], scale, exact=False, competing=False
        )
        assert found.independent == pytest.approx((0.1 * unit) ** 2)
        assert found.shared == pytest.approx((0.1 * unit) ** 2)
        assert found.degrees == 2

    def test_a_group_of_one_seed_has_the_spread_of_the_others(self):
        other, found = spreads_of(
            [np.exp(OWN + SEEDS), np.ones((2, 1))], LOG, exact=False, competing=False
        )
        prior = 0.1**2 * 3 / 2 / np.log(2)
        assert found.independent == pytest.approx(prior)
        assert found.shared == pytest.approx(other.shared)
        assert found.degrees == 3

    def test_one_seed_beside_others_that_diverged_is_assumed(self):
        _, found = spreads_of(
            [np.full((2, 3), np.inf), np.ones((2, 1))], LOG, exact=False, competing=False
        )
        assert found.independent == pytest.approx(0.1**2)

    def test_a_diverged_point_does_not_spoil_the_others(self):
        values = np.vstack([np.exp(OWN), [1.0, np.inf, 2.0]])
        (found,) = spreads_of([values], LOG, exact=False, competing=False)
        (alone,) = spreads_of([np.exp(OWN)], LOG, exact=False, competing=False)
        assert found.independent[:3] == pytest.approx(alone.independent)
        assert np.isfinite(found.independent).all()

    def test_exact_values_have_none(self):
        (found,) = spreads_of([np.exp(OWN)], LOG, exact=True, competing=False)
        assert (found.independent.tolist(), found.shared) == ([0.0, 0.0, 0.0], 0.0)


class TestDraws:
    @pytest.mark.parametrize("scale", [LOG, LINEAR, COSINE], ids=["log", "linear", "cosine"])
    @pytest.mark.usefixtures("_many_draws")
    def test_one_point_has_a_t_interval_on_its_scale(self, generator, scale):
        """Its own degrees and those of the prior: 2 + 3."""
        values = np.array([[0.8, 0.85, 0.9]])
        (found,) = spreads_of([values], scale, exact=False, competing=False)
        centre = scale.to(values.mean(keepdims=True))[0, 0]
        half = t.ppf(0.975, 5) * scale.to(values).std(ddof=1) / np.sqrt(3)
        ends = scale.back(np.array([centre - half, centre + half]))
        interval = interval_of(found.draws(values.mean(axis=1), 3, generator)[0])
        assert interval == pytest.approx(tuple(ends), abs=0.01 * (ends[1] - ends[0]))

    @pytest.mark.usefixtures("_many_draws")
    def test_one_seed_is_trusted_like_three(self, generator):
        (found,) = spreads_of([np.ones((2, 1))], LOG, exact=False, competing=False)
        drawn = np.log(found.draws(np.ones(2), 1, generator))
        single, difference = (interval_of(v)[1] for v in (drawn[0], drawn[1] - drawn[0]))
        assert single == pytest.approx(assumed(1, 1), rel=0.05)
        assert difference == pytest.approx(assumed(1, -1), rel=0.05)

    def test_no_cosine_is_drawn_above_one(self, generator):
        values = np.array([[0.2, 0.99, 0.999], [1.0, 1.0, 1.0]])
        (found,) = spreads_of([values], COSINE, exact=False, competing=False)
        drawn = found.draws(values.mean(axis=1), 3, generator)
        assert drawn.max() <= 1.0
        assert drawn[0].min() < 0.2

    @pytest.mark.parametrize("scale", [LOG, LINEAR, COSINE], ids=["log", "linear", "cosine"])
    @pytest.mark.parametrize("infinite", [np.inf, -np.inf])
    def test_what_diverged_stays_so(self, generator, scale, infinite):
        values = np.array([[0.5, 0.6], [infinite, 0.5]])
        (found,) = spreads_of([values], scale, exact=False, competing=False)
        drawn = found.draws(values.mean(axis=1), 2, generator)
        assert (drawn[1] == infinite).all()
        assert np.isfinite(drawn[0]).all()
