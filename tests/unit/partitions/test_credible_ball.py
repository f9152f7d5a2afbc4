"""The credible ball: its radius and bounds against their definitions, and what it covers."""

import numpy as np
import pytest

from bayesmrf.errors import DataError, OptionError
from bayesmrf.partitions import canonical, credible_ball, point_partition, variation_of_information
from tests.unit.partitions.test_partitions import noisy_draws


def by_definition(draws, center, level):
    """Radius and bounds, each a set, from the words of Wade and Ghahramani (2018)."""
    away = {tuple(canonical(d).tolist()): variation_of_information(d, center) for d in draws}
    number = [away[tuple(canonical(d).tolist())] for d in draws]
    radius = min(e for e in number if sum(a <= e + 1e-10 for a in number) >= level * len(number) - 1e-9)
    ball = {c for c in away if away[c] <= radius + 1e-10}
    size = {c: len(set(c)) for c in ball}

    def farthest(among):
        return {c for c in among if all(away[c] >= away[o] - 1e-10 for o in among)}

    upper = farthest({c for c in ball if size[c] == min(size.values())})
    lower = farthest({c for c in ball if size[c] == max(size.values())})
    return radius, farthest(ball), upper, lower


def as_sets(ball):
    return [{tuple(c) for c in bound.tolist()} for bound in (ball.horizontal, ball.upper, ball.lower)]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 1.0])
def test_radius_and_bounds_are_those_of_the_definition(level, rng):
    differ = 0
    for _ in range(25):
        n_items = int(rng.integers(2, 8))
        draws = noisy_draws(rng, n_items, 3, int(rng.integers(1, 60)), 0.5)[1]
        center = rng.integers(3, size=n_items)
        ball = credible_ball(draws, center, level)
        radius, *bounds = by_definition(draws, center, level)
        assert ball.radius == pytest.approx(radius, abs=1e-9)
        assert as_sets(ball) == bounds
        assert all(len(set(map(tuple, b.tolist()))) == len(b) for b in ball[3:])
        differ += as_sets(credible_ball(draws, center, level / 2)) != bounds
    assert differ > 0  # the control: another level gives other bounds


def test_the_ball_is_the_smallest_that_holds_the_share(rng):
    draws = noisy_draws(rng, 60, 5, 400, 0.3)[1].reshape(4, 100, 60)
    ball = credible_ball(draws)
    assert ball.center.tolist() == point_partition(draws).tolist()
    away = np.array([variation_of_information(d, ball.center) for d in draws.reshape(400, 60)])
    assert (away <= ball.radius + 1e-9).mean() == ball.share >= 0.95
    assert (away < ball.radius - 1e-9).mean() < 0.95
    for bound in (ball.horizontal, ball.upper, ball.lower):
        assert all(variation_of_information(b, ball.center) <= ball.radius + 1e-9 for b in bound)


def test_new_draws_lie_in_the_ball_as_often_as_it_says(rng):
    """Share inside: sd about sqrt(2 * 0.95 * 0.05 / 2000) = 0.007; five of them. A ball of 80 % fails the check."""
    truth = rng.integers(4, size=40)
    first, second = (np.where(rng.random((2000, 40)) < 0.3, rng.integers(4, size=(2000, 40)), truth) for _ in range(2))

    def covered(level):
        ball = credible_ball(first, truth, level)
        return np.mean([variation_of_information(d, truth) <= ball.radius + 1e-9 for d in second])

    assert abs(covered(0.95) - 0.95) < 0.035
    assert not abs(covered(0.8) - 0.95) < 0.035


def test_certain_draws_have_a_ball_without_extent():
    ball = credible_ball([[3, 3, 1]] * 7)
    assert (ball.radius, ball.share) == (0, 1)
    assert all(b.tolist() == [[0, 0, 1]] for b in (ball.horizontal, ball.upper, ball.lower))


def test_credible_ball_refuses():
    with pytest.raises(OptionError, match=r"level must be .*, got 95"):
        credible_ball([[0, 1]], level=95)
    with pytest.raises(OptionError, match=r"level must be .*, got 0"):
        credible_ball([[0, 1]], level=0)
    with pytest.raises(DataError, match=r"center must be .* got an array of shape \(1, 2\)"):
        credible_ball([[0, 1]], [[0, 1]])
    with pytest.raises(DataError, match="the same items, got 3 and 2"):
        credible_ball([[0, 1]], [0, 1, 1])
