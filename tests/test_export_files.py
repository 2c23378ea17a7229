"""LIBSVM's and LIBLINEAR's model files, beside their own programs."""

import os
import shutil
import subprocess

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
import pegasos.svm
from pegasos import ModelFormatError, PegasosClassifier, PegasosRegressor, datasets
from tests.cli_runner import quick

needs_libsvm = pytest.mark.skipif(not shutil.which("svm-predict"), reason="libsvm-tools is not installed")
needs_liblinear = pytest.mark.skipif(not shutil.which("liblinear-predict"), reason="liblinear-tools is not installed")

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
T = load_diabetes(return_X_y=True)[1][:150] / 100
DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS = DIGITS / 16
FITTED_ELSEWHERE = {
    "SVC": sklearn.svm.SVC(),
    "SVC poly": sklearn.svm.SVC(kernel="poly", coef0=0.5, degree=2),
    "SVC linear": sklearn.svm.SVC(kernel="linear"),
    "SVC precomputed": sklearn.svm.SVC(kernel="precomputed"),
    "NuSVC": sklearn.svm.NuSVC(kernel="sigmoid", gamma=0.05),
    "SVR": sklearn.svm.SVR(),
    "NuSVR": sklearn.svm.NuSVR(kernel="linear"),
    "OneClassSVM": sklearn.svm.OneClassSVM(nu=0.2),
}


def program(folder, name, *options, rows, labels, model):
    """What a program of LIBSVM or LIBLINEAR predicts."""
    data, out = folder / "rows.txt", folder / "predicted.txt"
    if options == ("precomputed",):  # a row is its number and its kernel values
        options, rows = (), np.c_[np.arange(1, len(rows) + 1), rows]
        lines = [f"{label} " + " ".join(f"{i}:{v:.17g}" for i, v in enumerate(row)) for label, row in zip(labels, rows)]
        data.write_text("\n".join(lines) + "\n")
    else:
        dump_svmlight_file(rows, labels, str(data), zero_based=False)
    subprocess.run([name, *options, str(data), str(model), str(out)], check=True, capture_output=True)
    return np.loadtxt(out)


def trained(folder, name, *options, rows, labels):
    """A model file that a program wrote."""
    data, model = folder / "training.txt", folder / "theirs.model"
    dump_svmlight_file(rows, labels, str(data), zero_based=False)
    subprocess.run([name, *options, str(data), str(model)], check=True, capture_output=True)
    return model


def agree(theirs, ours, regression=False):
    if regression:  # svm-predict writes six digits or so
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(theirs, ours)


# --- ours, read by LIBSVM and LIBLINEAR ---------------------------------------------------------------------------


@needs_libsvm
@pytest.mark.parametrize("name", FITTED_ELSEWHERE)
@pytest.mark.parametrize("sparse", [False, True])
def test_svm_predict_reads_machines(tmp_path, name, sparse):
    machine = clone(FITTED_ELSEWHERE[name])
    pre = machine.kernel == "precomputed"
    if pre and sparse:
        pytest.skip("there are no sparse kernel matrices")
    rows = X @ X.T if pre else csr_array(X) if sparse else X
    model = pegasos.from_sklearn(machine.fit(rows, T if "SVR" in name else y))
    pegasos.save_libsvm(model, tmp_path / "ours.model")
    options = ("precomputed",) if pre else ()
    theirs = program(tmp_path, "svm-predict", *options, rows=rows, labels=y, model=tmp_path / "ours.model")
    agree(theirs, model.predict(rows), "SVR" in name)
    again = pegasos.load_libsvm(tmp_path / "ours.model", n_features=150 if pre else None, sparse=sparse)
    assert type(again) is type(model)
    np.testing.assert_allclose(again.predict(rows), model.predict(rows), atol=1e-12)
    pegasos.save_libsvm(again, tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == (tmp_path / "ours.model").read_bytes()


OURS = {
    f"{kernel} {scheme}": PegasosClassifier(kernel=kernel, multi_class=scheme, gamma=0.2, tol=0.1, random_state=0)
    for kernel, scheme in [
        ("linear", "ovr"), ("linear", "ovo"), ("linear", "crammer_singer"), ("rbf", "ovr"), ("rbf", "ovo"),
        ("rbf", "crammer_singer"), ("poly", "ovr"),
    ]
}  # fmt: skip


def without_ties(model, rows):
    """Whether votes decide, as LIBSVM has nothing else."""
    if getattr(model, "multi_class", "") != "ovo" or len(model.classes_) == 2:
        return np.ones(len(rows), bool)
    scores = np.sort(np.round(model.decision_function(rows)), axis=1)
    return scores[:, -1] > scores[:, -2]


@needs_libsvm
@pytest.mark.parametrize("name", OURS)
def test_svm_predict_reads_our_classifiers(tmp_path, name):
    path = tmp_path / "ours.model"
    for rows, labels in ((X, y), (X[y > 0], y[y > 0] == 2)):
        model = clone(OURS[name]).fit(rows, labels)
        pegasos.save_libsvm(model, path)
        kept = without_ties(model, X)
        assert kept.mean() > 0.9
        theirs = program(tmp_path, "svm-predict", rows=X, labels=y, model=path)
        agree(theirs[kept], model.predict(X)[kept])
        agree(pegasos.load_libsvm(path).predict(X), theirs)


@needs_libsvm
def test_svm_predict_reads_landmarks_and_regression(tmp_path):
    path = tmp_path / "ours.model"
    for scheme in ("ovr", "ovo"):
        model = PegasosClassifier(kernel="rbf", gamma=0.5, n_landmarks=20, multi_class=scheme, random_state=0).fit(X, y)
        pegasos.save_libsvm(model, path)
        kept = without_ties(model, X)
        agree(program(tmp_path, "svm-predict", rows=X, labels=y, model=path)[kept], model.predict(X)[kept])
    for kernel in ("linear", "rbf"):
        model = PegasosRegressor(kernel=kernel, gamma=0.5, C=0.1, tol=0.1, random_state=0).fit(X, T)
        pegasos.save_libsvm(model, path)
        agree(program(tmp_path, "svm-predict", rows=X, labels=y, model=path), model.predict(X), True)


@needs_liblinear
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss", "crammer_singer"])
@pytest.mark.parametrize("intercept", [True, False])
def test_liblinear_predict_reads_ours(tmp_path, loss, intercept):
    path, scheme = tmp_path / "ours.model", {"multi_class": "crammer_singer"} if loss == "crammer_singer" else {}
    scheme |= {} if scheme else {"loss": loss}
    for rows, labels in ((X, y), (X[y > 0], y[y > 0] == 2)):
        model = PegasosClassifier(**scheme, fit_intercept=intercept, tol=0.1, random_state=0).fit(rows, labels)
        pegasos.save_liblinear(model, path)
        theirs = program(tmp_path, "liblinear-predict", rows=X, labels=y, model=path)
        agree(theirs, model.predict(X))
        agree(pegasos.load_liblinear(path).predict(X), theirs)
        if loss == "log_loss":
            again = pegasos.load_liblinear(path)
            np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)


@needs_libsvm
@needs_liblinear
@pytest.mark.parametrize("name", ["digits", "usps", "a9a", "diabetes"])
def test_real_rows(tmp_path, name):
    if name in ("usps", "a9a") and not os.environ.get("PEGASOS_DATA"):
        pytest.skip("needs PEGASOS_DATA")
    rows, labels = DIGITS, LABELS
    if name == "diabetes":
        rows, labels = load_diabetes(return_X_y=True)
        rows, labels = rows / rows.std(), (labels - labels.mean()) / labels.std()
    elif name != "digits":
        data = datasets.load("adult" if name == "a9a" else name)
        rows, labels = data.X[:600].astype(np.float64), data.y[:600].astype(int)
        rows = rows / np.abs(rows).max()
    half, regression, path = rows.shape[0] // 2, name == "diabetes", tmp_path / "ours.model"
    kinds = (PegasosRegressor, pegasos.svm.SVR) if regression else (PegasosClassifier, pegasos.svm.SVC)
    linear = pegasos.svm.LinearSVR if regression else pegasos.svm.LinearSVC
    for model, save, name in (
        (kinds[0](kernel="rbf", tol=0.1), pegasos.save_libsvm, "svm-predict"),
        (kinds[1](C=5), pegasos.save_libsvm, "svm-predict"),
        (kinds[0](tol=0.1), pegasos.save_liblinear, "liblinear-predict"),
        (linear(), pegasos.save_liblinear, "liblinear-predict"),
    ):
        save(model.fit(rows[:half], labels[:half]), path)
        theirs = program(tmp_path, name, rows=rows, labels=labels, model=path)
        agree(theirs, model.predict(rows), regression)


@needs_liblinear
def test_liblinear_predict_reads_regression(tmp_path):
    model = pegasos.from_sklearn(sklearn.svm.LinearSVR(C=0.1).fit(X, T))
    pegasos.save_liblinear(model, tmp_path / "ours.model")
    agree(program(tmp_path, "liblinear-predict", rows=X, labels=y, model=tmp_path / "ours.model"), model.predict(X), 1)


# --- theirs, read by us -------------------------------------------------------------------------------------------


@needs_libsvm
@pytest.mark.parametrize("kernel", range(4))
@pytest.mark.parametrize("kind", range(5))
def test_models_of_svm_train(tmp_path, kind, kernel):
    shuffled = np.random.default_rng(0).permutation(len(X))  # labels of files are in the order of the rows
    targets = T if kind > 2 else y + 1
    options = ("-s", str(kind), "-t", str(kernel), "-g", "0.1", "-r", "0.5", "-q")
    path = trained(tmp_path, "svm-train", *options, rows=X[shuffled], labels=targets[shuffled])
    model = pegasos.load_libsvm(path)
    agree(program(tmp_path, "svm-predict", rows=X, labels=y, model=path), model.predict(X), kind > 2)
    model.save(tmp_path / "kept.safetensors")
    np.testing.assert_array_equal(pegasos.load(tmp_path / "kept.safetensors").predict(X), model.predict(X))


@needs_libsvm
def test_digits_of_svm_train(tmp_path):
    options = ("-g", "0.02", "-c", "0.01", "-q")  # weak, so that votes are often equal
    path = trained(tmp_path, "svm-train", *options, rows=DIGITS[:600], labels=LABELS[:600])
    model = pegasos.load_libsvm(path, n_features=64)
    agree(program(tmp_path, "svm-predict", rows=DIGITS, labels=LABELS, model=path), model.predict(DIGITS))


@needs_libsvm
@pytest.mark.parametrize("first", [0, 1])
def test_probabilities_of_svm_train(tmp_path, first):
    rows, labels = X[y > 0], np.where(y[y > 0] == 1 + first, 4, -3)
    path = trained(tmp_path, "svm-train", "-b", "1", "-q", rows=rows, labels=labels)
    data, out = tmp_path / "rows.txt", tmp_path / "predicted.txt"
    dump_svmlight_file(rows, labels, str(data), zero_based=False)
    subprocess.run(["svm-predict", "-b", "1", str(data), str(path), str(out)], check=True, capture_output=True)
    head, *lines = out.read_text().splitlines()
    order = np.array(head.split()[1:], int)
    theirs = np.array([line.split()[1:] for line in lines], float)
    model = pegasos.load_libsvm(path)
    np.testing.assert_array_equal(model.classes_, [-3, 4])
    np.testing.assert_allclose(model.predict_proba(rows)[:, np.searchsorted([-3, 4], order)], theirs, atol=5e-3)
    # ours are coupled to 0.005 / k, as scikit-learn's


@needs_liblinear
@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13])
@pytest.mark.parametrize("bias", ["-1", "2.5"])
def test_models_of_liblinear_train(tmp_path, kind, bias):
    shuffled = np.random.default_rng(0).permutation(len(X))
    for labels in (y + 1, np.where(y == 1, 7, -2)):
        targets = T if kind > 10 else labels
        options = ("-s", str(kind), "-B", bias, "-q")
        path = trained(tmp_path, "liblinear-train", *options, rows=X[shuffled], labels=targets[shuffled])
        model = pegasos.load_liblinear(path)
        agree(program(tmp_path, "liblinear-predict", rows=X, labels=y, model=path), model.predict(X), kind > 10)
        model.save(tmp_path / "kept.safetensors")
        np.testing.assert_array_equal(pegasos.load(tmp_path / "kept.safetensors").predict(X), model.predict(X))


# --- what a file cannot hold, and the program ---------------------------------------------------------------------


def test_what_no_file_holds(tmp_path):
    path = tmp_path / "x.model"
    names = sklearn.svm.SVC().fit(X, np.array(list("abc"))[y])
    with pytest.raises(ValueError, match="labels that are integers"):
        pegasos.save_libsvm(pegasos.from_sklearn(names), path)
    with pytest.raises(ValueError, match="support vectors. LIBSVM's format"):
        pegasos.save_liblinear(pegasos.from_sklearn(names), path)
    with pytest.raises(ValueError, match="no kernel 'laplacian'"):
        pegasos.save_libsvm(PegasosClassifier(kernel="laplacian", tol=0.5).fit(X, y), path)
    with pytest.raises(ValueError, match="one target; this model has 2"):
        pegasos.save_libsvm(PegasosRegressor(tol=0.5).fit(X, np.c_[T, T]), path)
    with pytest.raises(TypeError, match="export its last step"):
        pegasos.save_libsvm(make_pipeline(StandardScaler(), PegasosClassifier(tol=0.5)).fit(X, y), path)
    assert not path.exists()


def test_the_command(tmp_path):
    model = pegasos.from_sklearn(sklearn.svm.LinearSVC().fit(X, y))
    model.save(tmp_path / "model.safetensors")
    for format, load in (("libsvm", pegasos.load_libsvm), ("liblinear", pegasos.load_liblinear)):
        done = quick(
            "export", str(tmp_path / "model.safetensors"), str(tmp_path / "out.model"), "--format", format, cwd=tmp_path
        )
        assert done.status == 0, done.err
        np.testing.assert_array_equal(load(tmp_path / "out.model").predict(X), model.predict(X))
    done = quick("export", str(tmp_path / "model.safetensors"), str(tmp_path / "out.model"), cwd=tmp_path)
    assert done.status == 2
    assert "give --format" in done.err
    pegasos.save(make_pipeline(StandardScaler(), PegasosClassifier(tol=0.5)).fit(X, y), tmp_path / "pipe.safetensors")
    done = quick("export", "pipe.safetensors", "out.model", "--format", "libsvm", cwd=tmp_path)
    assert done.status == 2
    assert "export its last step" in done.err
    assert "fault" not in done.err


# --- files of unknown origin --------------------------------------------------------------------------------------

HEAD = b"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.1\nlabel 1 -1\nnr_sv 1 1\nSV\n"
BODY = b"1 1:0.5 3:1\n-1 2:1\n"
LINEAR = b"solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\nw\n1 \n2 \n3 \n"
BAD = {
    "empty": b"",
    "no end": HEAD[:-3],
    "few": HEAD + b"1 1:0.5\n",
    "many": HEAD + BODY + BODY,
    "huge count": (HEAD + BODY).replace(b"total_sv 2", b"total_sv 2147483647").replace(b"_sv 1 1", b"_sv 1 2147483646"),
    "classes": (HEAD + BODY).replace(b"nr_class 2", b"nr_class 20000"),
    "more classes": (HEAD + BODY).replace(b"nr_class 2", b"nr_class 99999999999999999999"),
    "nan": HEAD + b"nan 1:0.5\n-1 2:1\n",
    "infinite": HEAD + b"1e999 1:0.5\n-1 2:1\n",
    "underscores": HEAD + b"1_0 1:0.5\n-1 2:1\n",
    "order": HEAD + b"1 3:0.5 1:1\n-1 2:1\n",
    "index": HEAD + b"1 99999999999:0.5\n-1 2:1\n",
    "zero": HEAD + b"1 0:0.5\n-1 2:1\n",
    "no value": HEAD + b"1 1\n-1 2:1\n",
    "gamma": (HEAD + BODY).replace(b"gamma 0.5", b"gamma -1"),
    "twice": b"gamma 1\n" + HEAD + BODY,
    "labels": (HEAD + BODY).replace(b"label 1 -1", b"label 1 1"),
    "kernel": (HEAD + BODY).replace(b"rbf", b"magic"),
    "bytes": bytes(range(256)) * 4,
    "line": b"svm_type " + b"c" * 2**26,
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    path = tmp_path / "bad.model"
    path.write_bytes(BAD[name])
    for load in (pegasos.load_libsvm, pegasos.load_liblinear):
        with pytest.raises(ModelFormatError, match="bad.model is no LIB"):
            load(path)


def test_a_missing_file_and_too_few_features(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model file"):
        pegasos.load_libsvm(tmp_path / "none.model")
    (tmp_path / "good.model").write_bytes(HEAD + BODY)
    with pytest.raises(ValueError, match="n_features=2: the file has a support vector with the index 3"):
        pegasos.load_libsvm(tmp_path / "good.model", n_features=2)
    (tmp_path / "wide.model").write_bytes(HEAD + b"1 2147483647:1\n-1 2:1\n")
    assert pegasos.load_libsvm(tmp_path / "wide.model").n_features_in_ == 2**31 - 1  # sparse, in little memory


def mutated(text, rng):
    """A file with a few changes: bytes, words, lines."""
    for _ in range(rng.integers(1, 4)):
        how, lines = rng.integers(5), text.split(b"\n")
        place = rng.integers(len(lines))
        if not text:
            return text
        if how == 0:
            at = rng.integers(len(text))
            text = text[:at] + bytes([rng.integers(256)]) + text[at + 1 :]
            continue
        words = lines[place].split(b" ")
        if how == 1:
            words[rng.integers(len(words))] = rng.choice(
                [b"-1", b"0", b"1e308", b"nan", b"99999999999", b"1:1", b"", b"-0", b"2147483648:1e-320", b"3.5"]
            )
            lines[place] = b" ".join(words)
        elif how == 2:
            del lines[place]
        elif how == 3:
            lines.insert(place, lines[rng.integers(len(lines))])
        else:
            lines = lines[: place + 1]
        text = b"\n".join(lines)
    return text


SEEDS = [
    (pegasos.load_libsvm, HEAD + BODY),
    (pegasos.load_liblinear, LINEAR),
    (pegasos.load_libsvm, HEAD.replace(b"nr_sv", b"probA -1\nprobB 0.5\nnr_sv") + BODY),
    (pegasos.load_liblinear, LINEAR.replace(b"L2R_LR", b"MCSVM_CS").replace(b"1 \n2 \n3 ", b"1 2 \n2 0 \n3 -1 ")),
    (pegasos.load_libsvm, b"svm_type nu_svc\nkernel_type polynomial\ndegree 3\ngamma 1\ncoef0 0\nnr_class 3\n"
     b"total_sv 3\nrho 0 1 2\nlabel 5 0 -7\nnr_sv 1 1 1\nSV\n1 0.5 1:1\n-1 2 2:3\n0.5 1 1:-1 2:4e-3\n"),
    (pegasos.load_liblinear, b"solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 2\nbias -1\nrho 0.5\nw\n1 \n2 \n"),
    (pegasos.load_libsvm, b"svm_type one_class\nkernel_type sigmoid\ngamma 1\ncoef0 0\nnr_class 2\ntotal_sv 2\n"
     b"rho 0.5\nSV\n1 1:1\n0.5 1:2 2:1\n"),
    (pegasos.load_liblinear, b"solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 1\nbias 1\nw\n0.5 \n2 \n"),
    (pegasos.load_libsvm, b"svm_type epsilon_svr\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0.5\nSV\n"
     b"1 0:1\n-1 0:3\n"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_files_to_be_mutated_are_good(tmp_path, number):
    load, text = SEEDS[number]
    (tmp_path / "good.model").write_bytes(text)
    load(tmp_path / "good.model")


def refused_or_predict(tmp_path, start, count):
    """Load so many mutated files; what is loaded predicts and is saved."""
    for number in range(count):
        rng = np.random.default_rng([start, number])
        load, text = SEEDS[number % len(SEEDS)]
        path = tmp_path / "mutated.model"
        path.write_bytes(mutated(text, rng))
        try:
            model = load(path)
        except ModelFormatError:
            continue
        if model.n_features_in_ < 1000:
            with np.errstate(all="ignore"):
                assert model.predict(np.zeros((2, model.n_features_in_))).shape == (2,)
            model.save(tmp_path / "kept.safetensors")
            pegasos.load(tmp_path / "kept.safetensors")


@pytest.mark.parametrize("start", range(3, 33))
def test_thousands_of_mutated_files(tmp_path, start):
    refused_or_predict(tmp_path, start, 200)


@pytest.mark.parametrize("start", range(3))
def test_mutated_files_are_refused_or_predict(tmp_path, start):
    refused_or_predict(tmp_path, start, 100)
