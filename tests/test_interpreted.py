"""Loops that run as plain Python (NUMBA_DISABLE_JIT), as `pegasos classify` has them where nothing is compiled yet."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pegasos import PegasosClassifier

SCRIPT = """
import sys
import numpy as np
from pegasos import PegasosClassifier
with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]
model = PegasosClassifier(**eval(sys.argv[3])).fit(X, y)
np.savez(sys.argv[2], scores=model.decision_function(X), t=model.t_)
"""


@pytest.mark.parametrize(
    "parameters",
    [
        {"lam": 0.01, "max_passes": 3},
        {"lam": 0.01, "max_passes": 2, "solver": "sdca", "average": False},
        {"lam": 0.01, "max_passes": 2, "kernel": "rbf", "gamma": 0.5},
    ],
)
def test_interpreted_loops_give_the_model_of_compiled_ones(tmp_path, multiclass, parameters):
    X, y = multiclass
    np.savez(tmp_path / "data.npz", X=X, y=y)
    parameters = {**parameters, "random_state": 0}
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", SCRIPT, tmp_path / "data.npz", tmp_path / "found.npz", repr(parameters)]
    subprocess.run(command, env=environment, check=True, cwd=tmp_path)
    with np.load(tmp_path / "found.npz") as found:
        model = PegasosClassifier(**parameters).fit(X, y)
        np.testing.assert_array_equal(found["t"], model.t_)
        np.testing.assert_allclose(found["scores"], model.decision_function(X), rtol=1e-9, atol=1e-9)
