"""What every public estimator owes to scikit-learn's tools: HTML, names of features, tags, routing, being fitted."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.validation import check_is_fitted

import pegasos
import pegasos.model_selection
import pegasos.svm
from pegasos.utils import doc_link

CLASSIFIER = pegasos.PegasosClassifier(random_state=0)
ESTIMATORS = {
    "pegasos.PegasosClassifier": CLASSIFIER,
    "pegasos.PegasosRegressor": pegasos.PegasosRegressor(random_state=0),
    "pegasos.PegasosSearchCV": pegasos.PegasosSearchCV(CLASSIFIER, {"C": [0.1, 1.0]}, cv=2),
    "pegasos.model_selection.GridSearchCV": pegasos.model_selection.GridSearchCV(CLASSIFIER, {"C": [0.1, 1.0]}, cv=2),
    "pegasos.model_selection.RandomizedSearchCV": pegasos.model_selection.RandomizedSearchCV(
        CLASSIFIER, {"C": [0.1, 1.0]}, n_iter=2, cv=2
    ),
} | {f"pegasos.svm.{name}": getattr(pegasos.svm, name)() for name in pegasos.svm.__all__}
if find_spec("dask"):
    import pegasos.distributed as distributed

    ESTIMATORS |= {
        "pegasos.distributed.PegasosClassifier": distributed.PegasosClassifier(random_state=0),
        "pegasos.distributed.PegasosRegressor": distributed.PegasosRegressor(random_state=0),
        "pegasos.distributed.PegasosSearchCV": distributed.PegasosSearchCV(CLASSIFIER, {"C": [0.1, 1.0]}, cv=2),
    }
SEARCHES = [name for name in ESTIMATORS if name.endswith("SearchCV")]
COLUMNS = ["width", "height", "depth", "weight"]

every = pytest.mark.parametrize("name", ESTIMATORS)
every_search = pytest.mark.parametrize("name", SEARCHES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(name, X, y, **how):
    estimator = clone(ESTIMATORS[name])
    return estimator.fit(X, **how) if is_outlier_detector(estimator) else estimator.fit(X, y, **how)


@pytest.fixture
def frame(binary):
    """Rows whose columns have names, and two classes, which are numbers for a regression, too."""
    pandas = pytest.importorskip("pandas", reason="frames are of pandas")
    X, y = binary
    return pandas.DataFrame(X, columns=COLUMNS), y


@every
def test_its_html_names_it_and_links_nowhere_without_an_address(name, monkeypatch):
    monkeypatch.setattr(doc_link, "documentation", lambda: "")
    shown = estimator_html_repr(ESTIMATORS[name])
    assert name.rpartition(".")[2] in shown
    assert "Documentation for" not in shown
    assert "sklearn.svm" not in shown


@every
def test_its_html_links_to_its_page_where_the_documentation_has_an_address(name, monkeypatch):
    monkeypatch.setattr(doc_link, "documentation", lambda: "https://docs.example/stable")
    shown = estimator_html_repr(ESTIMATORS[name])
    assert f'href="https://docs.example/stable/api/generated/{name}.html"' in shown


def test_the_address_is_the_one_in_the_metadata_of_the_package(monkeypatch):
    from email.message import Message

    said = Message()
    said["Project-URL"] = "Source, https://code.example/pegasos"
    monkeypatch.setattr(doc_link, "metadata", lambda name: said)
    doc_link.documentation.cache_clear()
    assert doc_link.documentation() == ""
    said["Project-URL"] = "Documentation, https://docs.example/stable"
    doc_link.documentation.cache_clear()
    assert doc_link.documentation() == "https://docs.example/stable"
    doc_link.documentation.cache_clear()


@every
def test_it_says_whether_it_is_fitted(name, binary):
    with pytest.raises(NotFittedError):
        check_is_fitted(ESTIMATORS[name])
    model = fitted(name, *binary)
    check_is_fitted(model)
    if "distributed" not in name:
        assert "fitted" in estimator_html_repr(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(model))


@every
def test_it_keeps_and_checks_names_of_features(name, frame, binary):
    X, y = frame
    model = fitted(name, X, y)
    assert model.feature_names_in_.tolist() == COLUMNS
    assert model.n_features_in_ == 4
    expected = np.asarray(model.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[COLUMNS[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(np.asarray(model.predict(X.to_numpy())), expected)
    assert not hasattr(fitted(name, *binary), "feature_names_in_")


@every
def test_frames_of_a_transformer_come_to_it_as_they_are(name, frame):
    """Estimators have no `set_output` of their own, for they transform nothing: what stands before them has."""
    if "distributed" in name:
        pytest.skip("rows on workers come from no pipeline")
    X, y = frame
    pipeline = make_pipeline(StandardScaler(), clone(ESTIMATORS[name])).set_output(transform="pandas")
    assert pipeline.fit(X, y)[-1].feature_names_in_.tolist() == COLUMNS
    assert not hasattr(ESTIMATORS[name], "transform")
    assert len(pipeline.predict(X)) == len(X)


@every
def test_its_tags_say_what_it_is(name):
    estimator, tags = ESTIMATORS[name], get_tags(ESTIMATORS[name])
    kinds = {"classifier": is_classifier, "regressor": is_regressor, "outlier_detector": is_outlier_detector}
    assert [kind for kind, found in kinds.items() if found(estimator)] == [tags.estimator_type]
    numbers = name.endswith(("SVR", "Regressor"))
    assert tags.estimator_type == (
        "outlier_detector" if "OneClass" in name else "regressor" if numbers else "classifier"
    )
    assert (tags.classifier_tags is not None) == is_classifier(estimator)
    assert (tags.regressor_tags is not None) == is_regressor(estimator)
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    if name not in SEARCHES:  # those of scikit-learn say nothing of the targets either
        assert tags.target_tags.required == (not is_outlier_detector(estimator))
    assert tags.requires_fit
    assert not tags.non_deterministic


@every_search
def test_a_search_has_the_tags_of_its_estimator(name):
    search = clone(ESTIMATORS[name]).set_params(estimator=pegasos.PegasosRegressor(kernel="precomputed"))
    assert is_regressor(search)
    assert get_tags(search).input_tags.pairwise


@every
def test_weights_can_be_asked_for_by_metadata_routing(name, binary):
    X, y = binary
    weights = np.where(np.arange(len(y)) % 3 == 0, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = clone(ESTIMATORS[name])
        if name in SEARCHES:
            estimator.set_params(estimator=clone(CLASSIFIER).set_fit_request(sample_weight=True))
            estimator.estimator.set_score_request(sample_weight=False)
            assert estimator.get_metadata_routing().consumes("fit", ["sample_weight"]) == {"sample_weight"}
        else:
            assert estimator.set_fit_request(sample_weight=True) is estimator
            assert estimator.get_metadata_routing().consumes("fit", ["sample_weight"]) == {"sample_weight"}
            estimator = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)
        routed = estimator.fit(X, y, sample_weight=weights)
        with_none = clone(estimator).fit(X, y)
    scores = [
        np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))
        for model in (routed, with_none)
    ]
    assert not np.allclose(*scores), "the weights come to the fit"
