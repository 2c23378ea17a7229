"""Wrong input to the command line: one sentence on stderr, status 2, and nothing written."""

from __future__ import annotations

import bz2
import os
import resource
import signal

import pytest

from cli_runner import check_error, cli, quick, tree, write_table
from pegasos.estimators import devices

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="these commands run in forks")

BAD_DATA = {
    "missing.csv": "neither a file nor a known data set",
    "sub/missing.csv": "sub/missing.csv does not exist",
    "folder": "is a folder",
    "junk.bin": "is no data file",
    "empty.txt": "is empty",
    "header.csv": "only a header",
    "ragged.csv": "line 3 has 4 fields",
    "nan.csv": "missing value (line 2)",
    "inf.csv": "must be finite",
    "categories.csv": "encode categories as numbers",
    "cut.bz2": "is cut off",
    "digist": "did you mean 'digits'?",
    "cs303": "PEGASOS_DATA is not set",
    "-": "neither a file nor a known data set",
    "one.csv": "at least 2 classes",
    "single.csv": "at least 2 classes",
    "numbers.csv": "use --regression",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of files, most of them wrong, and a model."""
    place = tmp_path_factory.mktemp("bad")
    (place / "folder").mkdir()
    write_table(place / "good.csv", ["yes", "no"], names=["a", "b", "c", "y"])
    write_table(place / "one.csv", ["u"])
    write_table(place / "single.csv", ["u"], rows=1)
    write_table(place / "numbers.csv", ["1.5", "2.5"])
    texts = {
        "empty.txt": "", "header.csv": "a,b,y\n", "ragged.csv": "1.5,2,a\n1.5,2,b\n1.5,2,3,b\n",
        "nan.csv": "1.5,2,a\nnan,2,b\n", "inf.csv": "1.5,2,a\n1e999,2,b\n",
        "categories.csv": "x,y,z\nred,1,a\nblue,2,b\nred,3,a\n", "narrow.csv": "1.5,2.5\n1.5,3.5\n",
    }  # fmt: skip
    for name, text in texts.items():
        (place / name).write_text(text)
    (place / "junk.bin").write_bytes(bytes(range(256)) * 20)
    (place / "cut.bz2").write_bytes(bz2.compress(b"1.5,2,a\n1.5,3,b\n" * 200)[:60])
    quick("train", "good.csv", "-o", "model.safetensors", "--max-steps", 50, cwd=place).fine()
    whole = (place / "model.safetensors").read_bytes()
    (place / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (place / "flipped.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    return place


@pytest.fixture
def unchanged(folder):
    """Assert afterwards that no file of the folder has changed, come or gone."""
    before = tree(folder)
    yield folder
    assert tree(folder) == before


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_are_named_in_one_sentence(unchanged, name):
    result = quick("train", name, "-o", "new.safetensors", "--report", "new.html", cwd=unchanged)
    check_error(result, BAD_DATA[name])
    assert result.out == ""


BAD_WORDS = {
    "unknown option": (["train", "good.csv", "--lamb", "1"], "No such option"),
    "unknown command": (["trian", "good.csv"], "No such command"),
    "no data": (["train"], "Missing argument"),
    "too many words": (["train", "good.csv", "good.csv"], "unexpected extra argument"),
    "no GPU": (["train", "good.csv", "--device", "cuda"], "device='cuda' cannot be used here: "),
    "no GPU to tune on": (["tune", "good.csv", "--device", "cuda", "--lam", "1,2"], "cannot be used here: "),
    "unknown device": (["train", "good.csv", "--device", "gpu"], "choose from auto, cpu, cuda"),
    "no number": (["train", "good.csv", "--lam", "small"], "--lam 'small' is no number"),
    "no whole number": (["train", "good.csv", "--max-steps", "1.5"], "no whole number"),
    "empty value": (["train", "good.csv", "--lam", ""], "empty value"),
    "several values": (["train", "good.csv", "--lam", "1,2"], "`pegasos tune` tries several"),
    "lam and C": (["train", "good.csv", "--lam", "1", "--C", "1"], "Give --lam or --C, not both"),
    "negative lam": (["train", "good.csv", "--lam", "-1"], "lam"),
    "lam nan": (["train", "good.csv", "--lam", "nan"], "lam"),
    "tiny lam": (["train", "good.csv", "--lam", "1e-300"], "lam must be between"),
    "unknown kernel": (["train", "good.csv", "--kernel", "cubic"], "choose from linear"),
    "unknown scale": (["train", "good.csv", "--scale", "log"], "choose from auto"),
    "neither yes nor no": (["train", "good.csv", "--project", "maybe"], "neither yes nor no"),
    "negative seed": (["train", "good.csv", "--seed", "-1"], "--seed"),
    "large batch": (["train", "good.csv", "--batch-size", "1e9"], "more than the 40 rows"),
    "regression with text": (["train", "good.csv", "--regression"], "--regression needs numbers"),
    "epsilon without regression": (["train", "good.csv", "--epsilon", "1"], "--epsilon needs --regression"),
    "ovo with regression": (["train", "numbers.csv", "--regression", "--multi-class", "ovo"], "does not go with"),
    "share above one": (["train", "good.csv", "--test", "1.5"], "between 0 and 1"),
    "share nan": (["train", "good.csv", "--test", "nan"], "between 0 and 1"),
    "share too small": (["train", "good.csv", "--test", "0.001"], "cannot be held out"),
    "test file missing": (["train", "good.csv", "--test", "sub/x.csv"], "does not exist"),
    "test file of other width": (["train", "one.csv", "--test", "narrow.csv"], "has 2 columns"),
    "unknown label column": (["train", "good.csv", "--label", "z"], "has no column 'z'"),
    "label column too far": (["train", "good.csv", "--label", "9"], "there is no column 9"),
    "label column of a known set": (["train", "digits", "--label", "9"], "labels of a known data set are its own"),
    "output in no folder": (["train", "good.csv", "-o", "no/m.safetensors"], "does not exist"),
    "output is a folder": (["train", "good.csv", "-o", "folder"], "is a folder"),
    "report in no folder": (["train", "good.csv", "--report", "no/r.html"], "does not exist"),
    "report is a folder": (["train", "good.csv", "--report", "folder"], "is a folder"),
    "no model": (["predict", "no.safetensors", "good.csv"], "There is no model file no.safetensors"),
    "a folder as model": (["predict", "folder", "good.csv"], "is a folder"),
    "junk as model": (["predict", "junk.bin", "good.csv"], "junk.bin is no model file"),
    "cut model": (["predict", "cut.safetensors", "good.csv"], "cut.safetensors is no model file"),
    "damaged model": (["predict", "flipped.safetensors", "good.csv"], "flipped.safetensors is no model file"),
    "info of a damaged model": (["info", "flipped.safetensors"], "flipped.safetensors is no model file"),
    "predict on other width": (["predict", "model.safetensors", "narrow.csv"], "2 columns, but the model has 3"),
    "predict on other names": (["predict", "model.safetensors", "header.csv"], "header"),
    "predict into no folder": (["predict", "model.safetensors", "good.csv", "-o", "no/l.txt"], "does not exist"),
    "info of nothing": (["info", "sub/nothing.csv"], "does not exist"),
    "no seconds": (["classify", "good.csv", "good.csv"], "Missing option '-t'"),
    "zero seconds": (["classify", "good.csv", "good.csv", "-t", "0"], "positive and finite"),
    "nan seconds": (["classify", "good.csv", "good.csv", "-t", "nan"], "positive and finite"),
    "classify nothing": (["classify", "good.csv", "empty.txt", "-t", "30"], "is empty"),
    "nothing to tune": (["tune", "good.csv", "--lam", "1"], "nothing to tune"),
    "range with a zero": (["tune", "good.csv", "--lam", "0:1:3"], "FROM:TO:COUNT"),
    "one fold": (["tune", "good.csv", "--cv", "1"], "--cv"),
    "too many folds": (["tune", "good.csv", "--cv", "100"], "100"),
    "zero limit": (["tune", "good.csv", "--time-limit", "0"], "must be positive"),
    "compare with C zero": (["compare", "good.csv", "--C", "0"], "positive and finite"),
    "compare with gamma x": (["compare", "good.csv", "--gamma", "x"], "is no number"),
    "compare one class": (["compare", "one.csv"], "at least 2 classes"),
    "no study": (["study"], "Give a study or --all"),
    "a study and all": (["study", "paper", "--all"], "not both"),
    "unknown study": (["study", "papers"], "choose from"),
    "study into a file": (["study", "paper", "--quick", "--out", "good.csv"], "good.csv"),
    "study with a report in no folder": (["study", "paper", "--quick", "--report", "no/r.html"], "does not exist"),
}


if devices.missing() is None:
    BAD_WORDS = {case: words for case, words in BAD_WORDS.items() if not case.startswith("no GPU")}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_wrong_use_is_named_in_one_sentence(unchanged, case):
    words, sentence = BAD_WORDS[case]
    result = quick(*words, cwd=unchanged)
    check_error(result, sentence)
    assert result.out == ""


@pytest.mark.parametrize(
    "words",
    [["train", "junk.bin", "-o", "new.safetensors"], ["predict", "cut.safetensors", "good.csv"], ["train", "--lamb"]],
    ids=lambda words: words[0] + " " + words[1],
)
def test_the_installed_program_says_the_same(unchanged, words):
    check_error(cli(*words, cwd=unchanged))


def _small_disk():
    """Let files grow to 1000 bytes only, as a full disk would."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize(
    "words",
    [
        ["train", "digits", "--max-steps", "10", "-o", "model.safetensors"],
        ["train", "good.csv", "--max-steps", "10", "--report", "old.html"],
        ["predict", "digits.safetensors", "digits", "-o", "labels.txt"],
    ],
    ids=["model", "report", "labels"],
)
def test_a_full_disk_leaves_the_file_before_and_no_part_of_a_new_one(tmp_path, words):
    write_table(tmp_path / "good.csv", ["yes", "no"])
    if words[0] == "predict":
        quick("train", "digits", "--max-steps", 50, "-o", "digits.safetensors", cwd=tmp_path).fine()
    (tmp_path / words[-1]).write_text("as before")
    before = tree(tmp_path)
    result = cli(*words, cwd=tmp_path, preexec_fn=_small_disk)
    assert result.status == 2
    said = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert "Traceback" not in result.err
    assert tree(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path):
    write_table(tmp_path / "good.csv", ["yes", "no"])
    (tmp_path / "locked").mkdir(mode=0o500)
    for option in ("-o", "--report"):
        result = quick("train", "good.csv", option, "locked/new", cwd=tmp_path)
        check_error(result, "permission denied")
    assert not list((tmp_path / "locked").iterdir())


@pytest.mark.parametrize("letter", ["m", "\N{EURO SIGN}"])
def test_the_longest_name_of_a_file_will_do(tmp_path, letter):
    name = letter * ((255 - 4) // len(letter.encode())) + ".txt"
    write_table(tmp_path / "good.csv", ["yes", "no"])
    quick("train", "good.csv", "-o", name, "--max-steps", 50, "--checkpoint", f"c{name[1:]}", cwd=tmp_path).fine()
    quick("predict", name, "good.csv", "-o", f"p{name[1:]}", cwd=tmp_path).fine()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["good.csv", name, f"p{name[1:]}"])


@pytest.mark.parametrize("option", ["-o", "--report", "--checkpoint"])
def test_a_name_that_the_system_does_not_take_is_an_error_before_training(tmp_path, option):
    write_table(tmp_path / "good.csv", ["yes", "no"])
    began = tree(tmp_path)
    result = quick("train", "good.csv", option, 256 * "m", "--max-steps", 10**12, "--max-iter", 10**9, cwd=tmp_path)
    check_error(result, "too long")
    assert tree(tmp_path) == began


def test_an_output_that_nobody_can_take_is_an_error(tmp_path):
    """What is printed to a full device is lost, and the status says so."""
    write_table(tmp_path / "good.csv", ["yes", "no"])
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        result = cli("info", "good.csv", cwd=tmp_path, stdout=full)
    check_error(result, "No space left")
