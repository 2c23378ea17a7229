"""Displays of many fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasos import PegasosClassifier
from pegasos.plotting import IntervalsDisplay, NullDistributionDisplay, ReliabilityDisplay

RNG = np.random.default_rng(0)


def test_null_distribution():
    display = NullDistributionDisplay(RNG.normal(0.5, 0.05, 200), 0.8, 1 / 201, score_name="accuracy").plot()
    assert sum(bar.get_height() for bar in display.bars_) == 200
    assert "p = 0.00498" in display.ax_.get_legend().get_texts()[0].get_text()
    assert NullDistributionDisplay([0.5], 0.5, 1.0).plot().figure_ is not None
    with pytest.raises(ValueError, match="nothing to draw"):
        NullDistributionDisplay([], 0.5, 1.0)


def test_intervals():
    names = [f"feature {number}" for number in range(60)]
    estimates = RNG.normal(size=60)
    display = IntervalsDisplay(names, estimates, estimates - 1, estimates + 1, most=10).plot()
    assert len(display.ax_.get_yticklabels()) == 10
    with pytest.raises(ValueError, match="low"):
        IntervalsDisplay(names, estimates, estimates[:5], estimates)


def test_reliability():
    said = RNG.random(4000)
    display = ReliabilityDisplay.from_predictions(RNG.random(4000) < said, said)
    assert_allclose(display.said, display.found, atol=0.08)
    assert display.counts.sum() == 4000
    X = RNG.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    model = PegasosClassifier(probability="sigmoid").fit(X, y)
    assert ReliabilityDisplay.from_estimator(model, X, y, n_bins=5).counts.sum() == 120
