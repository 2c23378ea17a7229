"""scikit-learn's callback API, where the installed version has it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from textbook import pegasos_classifier, pegasos_regressor

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=200) > 0).astype(int)


class Recorder:
    """Notes every call; ends the fit after so many passes."""

    def __init__(self, stop_after=None):
        self.stop_after, self.begun, self.scores, self.names = stop_after, 0, [], []

    def setup(self, estimator, context):
        self.names.append(f"setup {context.task_name} {context.max_subtasks}")

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.parent is None:
            self.names.append("end")
            return False
        self.scores.append(fitted_estimator.score(X, y))
        return len(self.scores) == self.stop_after

    def teardown(self, estimator, context):
        self.names.append("teardown")


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca"), dict(batch_size="all")], ids=str)
def test_each_pass_is_a_task_with_a_model_that_predicts(params):
    recorder = Recorder()
    model = pegasos_classifier(max_iter=5, random_state=0, **params).set_callbacks(recorder).fit(X, Y)
    assert recorder.names == ["setup fit 5", "end", "teardown"]
    assert recorder.begun == 6
    assert len(recorder.scores) == 5
    assert recorder.scores[-1] == model.score(X, Y)


def test_a_callback_ends_the_fit_early():
    model = pegasos_classifier(max_iter=50, random_state=0, lam=0.01).set_callbacks(Recorder(stop_after=3)).fit(X, Y)
    assert model.n_iter_ == 3 * 200
    np.testing.assert_array_equal(model.coef_, pegasos_classifier(max_iter=3, random_state=0, lam=0.01).fit(X, Y).coef_)
    assert np.isfinite(model.dual_gap_).all()


def test_regressor_too():
    recorder = Recorder()
    model = pegasos_regressor(lam=0.01, max_iter=4, random_state=0).set_callbacks(recorder).fit(X, X[:, 0])
    assert recorder.scores[-1] == pytest.approx(model.score(X, X[:, 0]))


def test_max_iter_in_the_middle_of_a_pass():
    recorder = Recorder()
    pegasos_classifier(max_steps=500, random_state=0).set_callbacks(recorder).fit(X, Y)
    assert recorder.names[0] == "setup fit 3"
    assert len(recorder.scores) == 3


def test_progress_bar_of_scikit_learn(capsys):
    pytest.importorskip("rich", reason="the bar is drawn by rich")
    pegasos_classifier(max_iter=3).set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert "PegasosClassifier" in capsys.readouterr().out


def test_callbacks_survive_clone_and_search():
    recorder = Recorder()
    model = pegasos_classifier(max_iter=2).set_callbacks(recorder)
    GridSearchCV(clone(model), {"lam": [0.1, 0.01]}, cv=2).fit(X, Y)
    assert recorder.names.count("teardown") == 5
    assert len(recorder.scores) >= 10


def test_the_model_is_the_same_with_and_without_callbacks():
    watched = pegasos_classifier(random_state=0).set_callbacks(Recorder()).fit(X, Y)
    np.testing.assert_array_equal(watched.coef_, pegasos_classifier(random_state=0).fit(X, Y).coef_)
