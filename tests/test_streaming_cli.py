"""`pegasos train` on files that are read in pieces."""

import bz2
import json

import numpy as np
import pytest

import pegasos
from cli_runner import check_error, cli, quick, tree, write_table
from conftest import classes_problem
from pegasos.cli import streaming
from streams import csv, libsvm


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of several kinds with the same rows, and test files."""
    place = tmp_path_factory.mktemp("streams")
    X, y = classes_problem(3, n_rows=300)
    X = 5 * X + 2
    (place / "rows.csv").write_text(csv(X[:200], y[:200], ["a", "b", "c", "d", "kind"]))
    (place / "test.csv").write_text(csv(X[200:, [1, 0, 2, 3]], y[200:], ["b", "a", "c", "d", "kind"]))
    (place / "rows.svm").write_text(libsvm(X[:200], y[:200]))
    (place / "test.svm").write_text(libsvm(np.c_[X[200:], np.ones(100)], y[200:]))
    (place / "rows.svm.bz2").write_bytes(bz2.compress((place / "rows.svm").read_bytes()))
    np.savez(place / "rows.npz", X_train=X[:200], y_train=y[:200], X_test=X[200:], y_test=y[200:])
    np.savez_compressed(place / "small.npz", X=X, y=y)
    write_table(place / "words.csv", ["oak", "elm", "1"], names=["x", "y", "z", "tree"], rows=90)
    (place / "numbers.csv").write_text(csv(X[:200], X[:200] @ [1.0, 2.0, 0.0, -1.0]))
    (place / "unlabelled.csv").write_text("a,b,c,d\n" + "1,2,3,4\n" * 9)
    return place


def results(*words, cwd):
    """The results of a command, as JSON."""
    done = quick("train", *words, "--json", cwd=cwd).fine()
    return done.json["results"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.svm", "rows.svm.bz2", "rows.npz"])
def test_a_streamed_fit_in_the_order_of_the_file_says_what_one_in_memory_says(name, folder):
    words = (name, "--lam", "0.01", "--max-iter", "3", "--sampling", "cyclic")
    streamed, memory = (results(*words, "--stream", how, cwd=folder) for how in ("yes", "no"))
    assert streamed.pop("streamed").endswith("MB")
    assert streamed.pop("passes") == 3
    assert streamed.pop("MB/s in these") > 0
    assert set(streamed) == set(memory)
    for found in (streamed, memory):
        found.pop("seconds")
    for name, value in memory.items():
        assert streamed[name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value)


def test_the_model_is_saved_with_what_predicting_needs_to_know_of_files(folder, tmp_path):
    path = tmp_path / "model.safetensors"
    done = quick("train", folder / "rows.csv", "--stream", "yes", "--label", "kind", "-o", path, cwd=tmp_path).fine()
    assert "PegasosClassifier on rows.csv" in done.out
    assert "streamed" in done.out
    assert "model: " in done.err
    assert pegasos.load(path)[0].n_features_in_ == 4
    labels = quick("predict", path, folder / "test.csv", cwd=tmp_path).fine()
    assert len(labels.lines) == 100
    assert "accuracy" in labels.err
    about = json.loads(quick("info", path, "--json", cwd=tmp_path).fine().out)["results"]
    assert about["about usual_label"] == "kind"
    assert about["about feature_names"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_a_test_file_is_read_in_pieces_by_the_names_of_its_columns(kind, folder):
    words = (f"rows.{kind}", "--lam", "0.01", "--max-iter", "3", "--sampling", "cyclic", "--test", f"test.{kind}")
    streamed, memory = (results(*words, "--stream", how, cwd=folder) for how in ("yes", "no"))
    assert streamed["test rows"] == memory["test rows"] == 100
    assert streamed["test accuracy"] == pytest.approx(memory["test accuracy"])
    said = quick("train", *words, "--stream", "yes", cwd=folder).fine().err
    assert ("1 feature beyond the 4 of the model" in said) == (kind == "svm")


def test_a_share_of_the_rows_is_held_out(folder):
    found = results("rows.csv", "--stream", "yes", "--test", "0.3", "--lam", "0.01", cwd=folder)
    assert found["training rows"] + found["test rows"] == 200
    assert 30 < found["test rows"] < 90
    assert 0 <= found["test accuracy"] <= 1
    again = results("rows.csv", "--stream", "yes", "--test", "0.3", "--lam", "0.01", cwd=folder)
    assert again["test accuracy"] == found["test accuracy"]
    other = results("rows.csv", "--stream", "yes", "--test", "0.3", "--lam", "0.01", "--seed", "1", cwd=folder)
    assert other["test rows"] != found["test rows"] or other["test accuracy"] != found["test accuracy"]


def test_words_and_regression(folder):
    found = results("words.csv", "--stream", "yes", "--test", "words.csv", "--lam", "0.01", cwd=folder)
    assert found["classes"] == 3
    assert found["test accuracy"] == found["training accuracy"] >= 0.9
    numbers = ("numbers.csv", "--regression", "--lam", "1e-3", "--epsilon", "0.1", "--sampling", "cyclic")
    streamed, memory = (results(*numbers, "--stream", how, cwd=folder) for how in ("yes", "no"))
    assert streamed["training R²"] == pytest.approx(memory["training R²"], abs=1e-6)


def test_a_report_has_what_needs_no_rows(folder, tmp_path):
    words = ("--stream", "yes", "--lam", "0.1", "--tol", "0.2", "--report", tmp_path / "out.html")
    quick("train", folder / "rows.csv", *words, cwd=tmp_path).fine()
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "rows.csv" in page
    assert "200" in page
    assert "Confusion" not in page


def test_landmarks_on_a_stream(folder):
    found = results(
        "rows.csv", "--stream", "yes", "--kernel", "rbf", "--n-landmarks", "30", "--lam", "1e-3", cwd=folder
    )
    assert found["training accuracy"] > 0.5


def test_a_checkpoint_is_gone_when_the_fit_is_done(folder, tmp_path):
    words = (folder / "rows.csv", "--stream", "yes", "--lam", "0.01", "--checkpoint", "part", "--every", "1e-9")
    quick("train", *words, "-o", "a.safetensors", cwd=tmp_path).fine()
    assert sorted(tree(tmp_path)) == ["a.safetensors"]
    quick("train", *words, "--max-time", "1e-9", cwd=tmp_path)
    quick("train", *words, "--resume", "-o", "b.safetensors", cwd=tmp_path).fine()
    first, second = (pegasos.load(tmp_path / name)[-1] for name in ("a.safetensors", "b.safetensors"))
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_the_program_itself_streams_and_stays_silent_in_a_pipe(folder):
    done = cli("train", "rows.svm", "--stream", "yes", "--max-iter", "2", "--tol", "none", cwd=folder).fine()
    assert done.err.splitlines() == ["The model is not saved; -o FILE saves it."]
    assert done.lines[0] == "PegasosClassifier on rows.svm"


def test_at_a_terminal_progress_is_shown_and_ctrl_c_keeps_the_model_reached(folder, tmp_path):
    terminal = pytest.importorskip("test_cli_terminal", reason="there are no pseudo-terminals here")
    words = ["train", folder / "rows.svm", "--stream", "yes", "--max-iter", "1e8", "-o", "model.safetensors"]
    result = terminal.at_terminal(*words, cwd=tmp_path, interrupt_at="%")
    assert result.status == 0, result.out
    assert "\x1b[" in result.out
    assert "Interrupted after" in result.out
    assert "without a certificate" in result.out
    assert pegasos.load(tmp_path / "model.safetensors")[-1].n_iter_ > 0


@pytest.mark.parametrize(
    "words, said",
    [
        (["rows.csv", "--stream", "perhaps"], ["--stream 'perhaps' is not known; choose from auto, yes, no"]),
        (["digits", "--stream", "yes"], ["digits", "known data set"]),
        (["nothing.csv", "--stream", "yes"], ["nothing.csv"]),
        (["./nothing.csv", "--stream", "yes"], ["nothing.csv does not exist"]),
        (["rows.csv", "--stream", "yes", "--solver", "sdca"], ["solver='sdca' needs all rows at once"]),
        (["rows.csv", "--stream", "yes", "--kernel", "rbf"], ["kernel='rbf' needs all rows at once"]),
        (["rows.csv", "--stream", "yes", "--batch-size", "all"], ["batch_size='all' needs all rows at once"]),
        (["small.npz", "--stream", "yes"], ["small.npz is compressed", "np.savez"]),
        (["numbers.csv", "--stream", "yes"], ["numbers.csv has labels such as", "use --regression"]),
        (["words.csv", "--stream", "yes", "--regression"], ["words.csv has labels such as", "are no numbers"]),
        (["rows.csv", "--stream", "yes", "--label", "size"], ["rows.csv has no column 'size'"]),
        (["rows.csv", "--stream", "yes", "--test", "unlabelled.csv"], ["unlabelled.csv has no labels to test with"]),
        (["rows.csv", "--stream", "yes", "--test", "0.001"], ["--test 0.001 leaves no rows to test with"]),
        (["rows.csv", "--stream", "yes", "--test", "words.csv"], ["words.csv"]),
    ],
)
def test_what_cannot_be_streamed_is_one_sentence(words, said, folder):
    before = tree(folder)
    check_error(quick("train", *words, cwd=folder), *said)
    assert tree(folder) == before


# --- which files are streamed -------------------------------------------------------------------


@pytest.fixture
def large(monkeypatch):
    """Files of 1000 bytes are large."""
    monkeypatch.setattr(streaming, "LARGE", 1000)


@pytest.mark.parametrize("name", ["rows.csv", "rows.svm", "rows.svm.bz2", "rows.npz"])
def test_large_files_are_streamed_where_the_parameters_allow_it(name, folder, large):
    linear, kernel = pegasos.PegasosClassifier(), pegasos.PegasosClassifier(kernel="rbf")
    path = str(folder / name)
    assert streaming.source_for("auto", path, {}, linear).name == name
    assert streaming.source_for("auto", path, {}, kernel) is None
    assert streaming.source_for("auto", path, {}, pegasos.PegasosClassifier(solver="sdca")) is None
    assert streaming.source_for("no", path, {}, linear) is None


def test_small_files_known_sets_and_what_cannot_be_read_in_pieces_are_read_into_memory(folder, monkeypatch):
    linear = pegasos.PegasosClassifier()
    assert streaming.source_for("auto", str(folder / "rows.csv"), {}, linear) is None
    assert streaming.source_for("auto", "digits", {}, linear) is None
    assert streaming.source_for("auto", str(folder / "nothing"), {}, linear) is None
    assert streaming.source_for("auto", str(folder), {}, linear) is None
    monkeypatch.setattr(streaming, "LARGE", 1000)
    assert streaming.source_for("auto", str(folder / "small.npz"), {}, linear) is None


def test_little_memory_makes_files_large(folder, monkeypatch):
    path = str(folder / "rows.csv")
    size = (folder / "rows.csv").stat().st_size
    monkeypatch.setattr(streaming, "available_memory", lambda: 3.9 * size)
    assert streaming.source_for("auto", path, {}, pegasos.PegasosClassifier()) is not None
    monkeypatch.setattr(streaming, "available_memory", lambda: 4.1 * size)
    assert streaming.source_for("auto", path, {}, pegasos.PegasosClassifier()) is None


def test_memory_is_a_number_of_bytes():
    assert streaming.available_memory() > 1e6
