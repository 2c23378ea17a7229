"""Model files: what cannot be saved, what is in a file, and files of earlier versions."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC

import pegasos
from model_files import join, split
from pegasos import PegasosClassifier
from pegasos.container import file as container
from pegasos.storage import describe
from textbook import pegasos_classifier, pegasos_regressor

FIXTURES = Path(__file__).parent / "fixtures"


# --- what cannot be saved -----------------------------------------------------------------------------------------


def test_a_model_that_is_not_fitted_cannot_be_saved(tmp_path):
    for model in (pegasos_classifier(), pegasos_regressor(), make_pipeline(StandardScaler(), pegasos_classifier())):
        with pytest.raises(NotFittedError):
            pegasos.save(model, tmp_path / "model")
    with pytest.raises(NotFittedError):
        pegasos_classifier().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_kernel_that_is_a_function_cannot_be_saved(binary, tmp_path):
    model = pegasos_classifier(kernel=lambda X, Z: X @ Z.T).fit(*binary)
    with pytest.raises(ValueError, match="holds no code.*precomputed"):
        model.save(tmp_path / "model")


def test_other_estimators_and_pipelines_cannot_be_saved(binary, tmp_path):
    class Own(PegasosClassifier):
        pass

    longer = make_pipeline(StandardScaler(), MaxAbsScaler(), pegasos_classifier())
    other = make_pipeline(RobustScaler(), pegasos_classifier())
    for model in (SVC(), Own(), longer, other, make_pipeline(StandardScaler(), SVC()), StandardScaler()):
        with pytest.raises(TypeError, match=f"holds a PegasosClassifier.*got {type(model).__name__}"):
            pegasos.save(model.fit(*binary), tmp_path / "model")


def test_a_parameter_that_a_file_cannot_hold_is_named(binary, tmp_path):
    model = pegasos_classifier().fit(*binary).set_params(kernel_params={"f": object()})
    with pytest.raises(ValueError, match="parameter kernel_params holds a value of type object"):
        model.save(tmp_path / "model")


def test_a_model_that_could_not_be_loaded_is_not_saved(binary, tmp_path):
    model = pegasos_classifier().fit(*binary)
    model.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match="cannot be stored.*coef_.*NaN"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_about_is_kept_and_must_be_json(binary, tmp_path):
    model, path = pegasos_classifier().fit(*binary), tmp_path / "model"
    about = {"data": "größe", "features": ["a", "b"], "numbers": {"x": [1, 2.5, None, True]}}
    pegasos.save(model, path, about)
    assert describe(path)["about"] == about
    for wrong in ({"a": np.nan}, {"a": object()}, {"a": (1, 2)}, {1: 2}):
        with pytest.raises(ValueError, match="about must hold only"):
            pegasos.save(model, path, wrong)
    with pytest.raises(TypeError, match="about must be a dict"):
        pegasos.save(model, path, [1])
    deep: list = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="cannot be stored: the description is nested"):
        pegasos.save(model, path, {"deep": deep})
    assert describe(path)["about"] == about


def test_a_failed_save_leaves_the_file_before_it(binary, tmp_path):
    path = tmp_path / "model"
    model = pegasos_classifier().fit(*binary)
    model.save(path)
    before = path.read_bytes()
    model.intercept_[0] = np.inf
    with pytest.raises(ValueError, match="cannot be stored"):
        model.save(path)
    assert path.read_bytes() == before
    model.intercept_[0] = 0.0
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.save(tmp_path / "none" / "model")


# --- the file -----------------------------------------------------------------------------------------------------


def test_the_same_model_gives_the_same_bytes(binary, tmp_path):
    model = pegasos_classifier(random_state=0).fit(*binary)
    model.save(tmp_path / "a")
    pegasos.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_safetensors_library_reads_the_file(multiclass, tmp_path):
    X, y = multiclass
    path = tmp_path / "model.safetensors"
    model = pegasos_classifier(lam=0.1).fit(X, y)
    model.save(path)
    tensors = load_file(path)
    with safe_open(path, "np") as file:
        document = json.loads(file.metadata()["pegasos"])
    np.testing.assert_array_equal(X @ tensors["coef_"].T + tensors["intercept_"], model.decision_function(X))
    assert document["format"] == 2
    assert document["class"] == "PegasosClassifier"


def test_describe_tells_what_is_in_a_file(multiclass, tmp_path):
    X, y = multiclass
    path = tmp_path / "model"
    pegasos.save(make_pipeline(StandardScaler(), pegasos_classifier(kernel="rbf", gamma=0.5)).fit(X, y), path)
    found = describe(path)
    assert found["format"] == 2
    assert set(found["versions"]) == {"pegasos", "numpy", "scikit-learn", "python"}
    assert (found["class"], found["kernel"], found["scaler"]) == ("PegasosClassifier", "rbf", "StandardScaler")
    assert found["parameters"]["gamma"] == 0.5
    assert found["classes"].tolist() == [0, 1, 2, 3]
    assert found["tensors"]["intercept_"] == ((4,), "float64")
    assert found["size"] == os.path.getsize(path)
    assert found["about"] is None


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(binary, tmp_path, monkeypatch):
    X, y = binary
    path, other = tmp_path / "model", tmp_path / "other"
    pegasos_classifier(lam=0.1).fit(X, y).save(path)
    expected = pegasos_classifier(lam=1.0).fit(X, y)
    expected.save(other)
    safe_open = container.safe_open

    def after_replacing(place, *args, **kwargs):
        if other.exists():
            os.replace(other, path)
        return safe_open(place, *args, **kwargs)

    monkeypatch.setattr(container, "safe_open", after_replacing)
    np.testing.assert_array_equal(pegasos.load(path).coef_, expected.coef_)


def test_nothing_unpickles_on_the_way(binary, tmp_path, monkeypatch):
    path = tmp_path / "model"
    pegasos_classifier(kernel="rbf").fit(*binary).save(path)

    def never(*args, **kwargs):
        raise AssertionError("pickle is on the way")

    for place, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (np, "load")):
        monkeypatch.setattr(place, name, never)
    pegasos.load(path).predict(binary[0])
    describe(path)
    sources = (Path(pegasos.__file__).parent / "storage").glob("*.py")
    code = "\n".join(source.read_text() for source in sources).replace("without pickle", "")
    assert not re.search(r"pickle|joblib|np\.load|\beval\b|\bexec\b|allow_pickle|__import__|import_module", code)


def test_loading_and_predicting_does_not_import_numba(binary, tmp_path):
    pegasos_classifier(lam=0.1).fit(*binary).save(tmp_path / "model")
    code = (
        "import sys, numpy, pegasos; pegasos.load(sys.argv[1]).predict(numpy.ones((2, 4))); "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "model"], check=True)


@pytest.mark.parametrize("name", ["linear", "rbf", "regressor", "pipeline"])
def test_files_of_format_1_keep_loading(name):
    path = FIXTURES / f"format-1-{name}.safetensors"
    expected = json.loads((FIXTURES / f"format-1-{name}.json").read_text())
    model, X = pegasos.load(path), np.array(expected["inputs"])
    if "scores" not in expected:
        np.testing.assert_allclose(model.predict(X), expected["predictions"], rtol=1e-9)
    else:
        assert model.predict(X).tolist() == expected["predictions"]
        np.testing.assert_allclose(model.decision_function(X), expected["scores"], rtol=1e-9, atol=1e-12)
    assert describe(path)["about"] == {"made by": "tests/fixtures/make_models.py"}
    assert os.path.getsize(path) < 40_000


def test_names_that_take_too_much_room_are_refused_when_saving(binary, tmp_path):
    model = pegasos_classifier().fit(*binary)
    with pytest.raises(ValueError, match="cannot be stored: the header has .* bytes, more than the 10000000"):
        pegasos.save(model, tmp_path / "model", {"text": "x" * 11_000_000})
    with pytest.raises(ValueError, match="cannot be stored: the description has more than 500000 values"):
        pegasos.save(model, tmp_path / "model", {"numbers": [1] * 600_000})
    assert not list(tmp_path.iterdir())


def test_a_loaded_model_can_be_pickled_and_cloned(binary, tmp_path):
    X, y = binary
    for parameters in ({"lam": 0.1}, {"kernel": "rbf", "warm_start": True}):
        pegasos_classifier(**parameters, random_state=0).fit(X, y).save(tmp_path / "model")
        found = pegasos.load(tmp_path / "model")
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again.decision_function(X), found.decision_function(X))
        assert repr(clone(found)) == repr(found)
        assert repr(found._memory)


def test_labels_that_are_objects_of_numpy_are_stored_as_strings(binary, tmp_path):
    X, y = binary
    model = pegasos_classifier().fit(X, np.array([np.str_("a"), np.str_("b")], object)[y])
    model.save(tmp_path / "model")
    assert pegasos.load(tmp_path / "model").classes_.tolist() == ["a", "b"]
    model.classes_ = np.array([1, None], object)
    with pytest.raises(ValueError, match="Class labels of type object cannot be stored"):
        model.save(tmp_path / "model")


def test_the_field_rate_is_written_as_zeros_and_ignored(binary, tmp_path):
    from pegasos.storage.warm_start import NUMBERS

    X, y = binary
    path = tmp_path / "model"
    model = pegasos_classifier(lam=0.1, random_state=0).partial_fit(X, y, classes=[0, 1])
    model.save(path)
    raw = path.read_bytes()
    header, document, data = split(raw)
    assert document["memory"]["numbers"].index("rate") == list(NUMBERS).index("rate") == 6
    first = header["memory.numbers"]["data_offsets"][0] + 8 * 6
    assert data[first : first + 8] == bytes(8)
    path.write_bytes(join(header, document, data[:first] + np.float64(0.7).tobytes() + data[first + 8 :]))
    found = pegasos.load(path)
    np.testing.assert_array_equal(found.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_the_memory_holds_every_field_of_a_column():
    from pegasos.rules.column import COLUMN
    from pegasos.storage.warm_start import COUNTS, NUMBERS, OF_NO_ROWS

    assert set(COLUMN.names) == {*COUNTS.values(), *NUMBERS.values(), *OF_NO_ROWS} - {None}
