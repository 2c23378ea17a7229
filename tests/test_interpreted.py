"""Loops that run as plain Python (NUMBA_DISABLE_JIT), as `pegasos classify` has them where nothing is compiled yet."""

import json
import os
import subprocess
import sys

import numpy as np

from textbook import pegasos_classifier

SCRIPT = """
import json, sys
import numpy as np
from pegasos import PegasosClassifier
with np.load("data.npz") as data:
    X, y = data["X"], data["y"]
for number, parameters in enumerate(json.load(sys.stdin)):
    model = PegasosClassifier(**parameters).fit(X, y)
    np.savez(f"found{number}.npz", scores=model.decision_function(X), t=model.t_)
"""
PARAMETERS = [
    {"lam": 0.01, "max_iter": 3, "solver": "pegasos"},
    {"lam": 0.01, "max_iter": 3, "solver": "dcd"},
    {"lam": 0.01, "max_iter": 2, "solver": "sdca", "average": False},
    {"lam": 0.01, "max_iter": 2, "kernel": "rbf", "gamma": 0.5, "solver": "pegasos"},
]


def test_interpreted_loops_give_the_model_of_compiled_ones(tmp_path, multiclass):
    X, y = multiclass
    np.savez(tmp_path / "data.npz", X=X, y=y)
    cases = [{**parameters, "random_state": 0} for parameters in PARAMETERS]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", SCRIPT]
    subprocess.run(command, env=environment, check=True, cwd=tmp_path, input=json.dumps(cases), text=True)
    for number, parameters in enumerate(cases):
        with np.load(tmp_path / f"found{number}.npz") as found:
            model = pegasos_classifier(**parameters).fit(X, y)
            np.testing.assert_array_equal(found["t"], model.t_)
            np.testing.assert_allclose(found["scores"], model.decision_function(X), rtol=1e-9, atol=1e-9)
