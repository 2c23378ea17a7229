"""Damaged and forged model files: each is rejected in a sentence, or is a model that predicts."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import pegasos
from conftest import classes_problem
from forgeries import TEXTS, transplanted
from model_files import flipped, join, judged, originals, peak, reset_peak, sealed, split
from mutations import judged_case
from pegasos import ModelFormatError
from pegasos.storage import describe
from textbook import pegasos_classifier


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of small model files of every kind."""
    return originals(tmp_path_factory.mktemp("originals"))


@pytest.fixture(scope="module")
def linear(files):
    """The bytes of a linear classifier's file."""
    return files[0]


def refused(raw, path, sentence):
    """Both readers refuse the file, or only `load` does, with this in the sentence."""
    path.write_bytes(raw)
    with pytest.raises(ModelFormatError, match=sentence) as caught:
        pegasos.load(path)
    assert str(caught.value).startswith(f"{path} is no model file that can be loaded: ")
    assert isinstance(caught.value.__cause__, ModelFormatError)


@pytest.mark.parametrize("part", range(10))
def test_mutated_files_are_rejected_or_predict(part, files, tmp_path):
    for number in range(60 * part, 60 * part + 60):
        judged_case(number, 7, files, tmp_path / "model")


def test_every_single_bit_is_covered_by_the_checksum(linear, tmp_path):
    for bit in np.random.default_rng(0).permutation(8 * len(linear))[:500]:
        assert judged(flipped(linear, bit), tmp_path / "model", linear, False) == "rejected"


def test_every_truncation_is_noticed(linear, tmp_path):
    for length in range(0, len(linear), 17):
        refused(linear[:length], tmp_path / "model", "is no model file")


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_texts_that_are_hard_to_parse_are_refused(number, linear, tmp_path):
    header, _, data = split(linear)
    raw = join(header, TEXTS[number](), data)
    assert judged(raw, tmp_path / "model", linear, True) == "rejected"


def test_the_largest_header_of_empty_lists_takes_little_memory(linear, tmp_path):
    text = b'"}' + b',"x":[' + b"[]," * 3_200_000 + b"[]]}"
    head = linear[8:100] + text
    raw = sealed(len(head).to_bytes(8, "little") + head)
    assert 9_000_000 < len(head) < 10_000_000
    assert judged(raw, tmp_path / "model", linear, True) == "rejected"


def test_documents_and_tensors_of_different_files_do_not_mix(files, tmp_path):
    for first in range(len(files)):
        for second in range(len(files)):
            raw = transplanted(files[first], files[second])
            outcome = judged(raw, tmp_path / "model", files[first], True)
            assert (outcome == "valid") >= (first == second)


def test_an_untouched_file_is_valid(files, tmp_path):
    for raw in files:
        assert judged(raw, tmp_path / "model", raw, False) == "valid"
        assert sealed(raw) == raw


# --- sentences ----------------------------------------------------------------------------------------------------


def test_a_missing_file_a_folder_and_an_empty_file_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"There is no model file {re.escape(str(tmp_path))}.*none"):
        pegasos.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a model file"):
        pegasos.load(tmp_path)
    refused(b"", tmp_path / "empty", "it is empty")
    with pytest.raises(ModelFormatError, match="it is empty"):
        describe(tmp_path / "empty")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFormatError, match="no regular file"):
        pegasos.load(tmp_path / "pipe")


@pytest.mark.parametrize(
    "content", [b"x", b"\x80\x04\x95pickle", b"PK\x03\x04" + b"\0" * 200, b"\xff" * 1000, b"\0" * 999]
)
def test_files_of_another_kind_are_refused(content, tmp_path):
    refused(content, tmp_path / "other", "it does not begin as one does")


def test_a_safetensors_file_of_someone_else_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"coef_": np.ones((1, 3))}, tmp_path / "other", {"format": "pt" * 60})
    with pytest.raises(ModelFormatError, match="it does not begin as one does"):
        pegasos.load(tmp_path / "other")


def test_a_newer_format_says_to_update(linear, tmp_path):
    header, document, data = split(linear)
    header["coef_"]["dtype"] = "BF16"  # whatever else is new there
    raw = join(header, document | {"format": 3, "news": 1}, data)
    refused(raw, tmp_path / "model", "of format 3, and this version knows formats up to 2; update pegasos")
    with pytest.raises(ModelFormatError, match="update pegasos"):
        describe(tmp_path / "model")


def test_a_wrong_checksum_is_called_damage(linear, tmp_path):
    refused(flipped(linear, 8 * len(linear) - 3), tmp_path / "model", "the checksum is wrong, so the file is damaged")


CHANGES = {
    "it lacks": (lambda h, d: d.pop("kernel"), "the description lacks 'kernel'"),
    "unknown field": (lambda h, d: d.update(x=1), "the description has an unknown field 'x'"),
    "unknown parameter": (lambda h, d: d["parameters"].update(x=1), "PegasosClassifier has no parameter 'x'"),
    "wrong parameter": (lambda h, d: d["parameters"].update(lam=-1.0), "a parameter is not valid: The 'lam' parameter"),
    "checkpoint": (lambda h, d: d["parameters"].update(checkpoint="x"), "the parameter checkpoint is set"),
    "another class": (lambda h, d: d.update({"class": "os.system"}), "'class' in the description is 'os.system'"),
    "callable kernel": (lambda h, d: d["kernel"].update(name="callable"), "'name' in the kernel is 'callable'"),
    "degree": (lambda h, d: d["kernel"].update(degree=2**40), "degree is no integer within range"),
    "gamma": (lambda h, d: d["kernel"].update(gamma=-1.0), "gamma is negative"),
    "one class": (lambda h, d: d["classes"].update(labels=["a"]), "fewer than two classes"),
    "same classes": (lambda h, d: d["classes"].update(labels=["a", "a"]), "not sorted and different"),
    "three classes": (lambda h, d: d["classes"].update(labels=["a", "b", "c"]), "'scheme'.* is 'binary'"),
    "long labels": (lambda h, d: d["classes"].update(labels=["a", "bcdefg"]), "labels are not of type <U3"),
    "wide labels": (lambda h, d: d["classes"].update(dtype="<U99999999"), "class labels are too wide"),
    "features": (lambda h, d: d.update(n_features_in=4), "'coef_' has the shape \\(1, 3\\), not \\(1, 4\\)"),
    "names": (lambda h, d: d.update(feature_names_in=["a"]), "names of the features are not one string for each"),
    "missing tensor": (lambda h, d: h.update(x=h.pop("coef_")), "the tensor 'coef_' is missing"),
    "type": (lambda h, d: h["coef_"].update(dtype="I64"), "the tensor 'coef_' is of type int64"),
    "shape": (lambda h, d: h["coef_"].update(shape=[4, 1]), "another number of bytes than its shape says"),
    "huge": (lambda h, d: h["coef_"].update(shape=[2**62, 2**62]), "no proper shape or place"),
    "overlap": (lambda h, d: h["coef_"].update(data_offsets=[8, 32]), "its tensors overlap or leave gaps"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_wrong_is_said(name, linear, tmp_path):
    change, sentence = CHANGES[name]
    header, document, data = split(linear)
    change(header, document)
    refused(join(header, document, data), tmp_path / "model", sentence)


@pytest.mark.parametrize(
    "part, value, sentence",
    [
        ("indices", 99, "indices out of range"),
        ("indices", -1, "holds negative numbers"),
        ("indptr", 10**6, "indices out of range"),
        ("data", np.nan, "holds NaN or infinity"),
    ],
)
def test_sparse_support_vectors_are_checked(part, value, sentence, files, tmp_path):
    header, document, data = split(files[2])
    entry = header[f"support_vectors_.{part}"]
    first, last = entry["data_offsets"]
    values = np.frombuffer(data[first:last], {"F64": "<f8", "I32": "<i4"}[entry["dtype"]]).copy()
    values[1] = value
    raw = join(header, document, data[:first] + values.tobytes() + data[last:])
    refused(raw, tmp_path / "model", sentence)


def test_a_file_that_claims_many_features_takes_no_memory_for_them(files, tmp_path):
    header, document, data = split(files[2])
    document["n_features_in"] = 2**40
    path = tmp_path / "model"
    assert judged(join(header, document, data), path, files[2], True) == "valid"
    with pytest.raises(ValueError, match="expecting 1099511627776 features"):
        pegasos.load(path).predict(np.ones((2, 3)))


def test_a_large_model_is_read_without_a_second_copy(tmp_path):
    model = pegasos_classifier().fit(*classes_problem(2))
    n_features = 4_000_000
    model.coef_, model.n_features_in_ = np.ones((1, n_features)), n_features
    model.save(tmp_path / "model")
    before = reset_peak()
    pegasos.load(tmp_path / "model")
    assert peak() - before < 1.5 * 8 * n_features
