"""One coordinate step of Crammer-Singer: it ends, and at the maximum, where margins and scores tie up to rounding."""

import numpy as np
import pytest

from naive_crammer_singer import _maximise_dual
from pegasos.losses import CrammerSinger


class Watched(np.ndarray):
    """Scores that can be asked for their number only so often: a loop that does not end is an error, not a hang."""

    asked = 0

    @property
    def size(self):
        self.asked += 1
        if self.asked > 1000:
            raise AssertionError("the coordinate step does not end")
        return len(self)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 3, 4, 10])
def test_a_margin_of_exactly_one_ends_the_step_where_it_began(n_classes, seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        q, s = round(float(rng.uniform(0.01, 2)), 2), float(rng.choice([0.3, 1.0, 2.5]))
        f = np.round(rng.normal(size=n_classes), 1)
        f[1] = f[0] - 1
        f[2:] = np.minimum(f[2:], f[1])
        new = np.zeros(n_classes)
        CrammerSinger.coordinates(f.view(Watched), 0, q, s, np.zeros(n_classes), new)
        own = np.eye(n_classes)[0]
        np.testing.assert_allclose(new, _maximise_dual(own - f, s * own, q), atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 3, 4, 10])
def test_a_second_step_on_the_same_row_changes_nothing(n_classes, seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        q, s, label = float(10 ** rng.uniform(-6, 3)), float(rng.uniform(0.1, 4)), int(rng.integers(n_classes))
        f, old, new = rng.normal(size=n_classes), np.zeros(n_classes), np.zeros(n_classes)
        CrammerSinger.coordinates(f.view(Watched), label, q, s, old, new)
        own = np.eye(n_classes)[label]
        np.testing.assert_allclose(new, _maximise_dual(own - f, s * own, q), atol=1e-9)
        again = np.zeros(n_classes)
        CrammerSinger.coordinates((f + q * new).view(Watched), label, q, s, new, again)
        np.testing.assert_allclose(again, new, atol=1e-9)
