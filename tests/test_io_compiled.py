"""Compiled reading gives what plain Python gives, number by number and file by file; small files do without it."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pegasos import io
from pegasos.io import DataError
from pegasos.io.text import compiled_parser
from pegasos.io.text.numbers import GOOD, HARD, NO_NUMBER, parse_number


def parsed(token):
    data = np.frombuffer(token.encode(), np.uint8)
    return parse_number(data, 0, data.size)


DIGITS = st.text("0123456789", min_size=1, max_size=30)
DECIMALS = st.builds(
    lambda sign, whole, fraction, power: f"{sign}{whole}.{fraction}e{power}",
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    DIGITS,
    st.integers(-345, 310),
)
HALF_WAY = st.builds(lambda m, e: repr(m) + "." + "5".ljust(e, "0"), st.integers(2**52, 2**53), st.integers(1, 3))


@settings(max_examples=600, deadline=None)
@given(st.one_of(DECIMALS, HALF_WAY, st.floats(allow_nan=False, allow_infinity=False).map(repr), DIGITS))
@example("0.1")
@example("9007199254740993")
@example("9007199254740992.5")
@example("6359260386592119.5")
@example("2.2250738585072011e-308")
@example("1.7976931348623157e308")
@example("8.5e-1")
@example("-0.0")
@example("0." + "0" * 40 + "1")
@example("1" + "0" * 40)
@example("1e-1000000000000")
@example("5e-324")
@example("1.")
@example(".5")
def test_a_number_is_what_float_says(token):
    value, behind, state = parsed(token)
    assert state in (GOOD, HARD)
    assert behind == len(token)
    if state == GOOD:
        expected = float(token)
        assert value == expected
        assert np.signbit(value) == np.signbit(expected)


@pytest.mark.parametrize(
    ("whole", "fraction", "exponent"),
    [
        ("1" + "0" * 1_000_010, "", -1_000_010),
        ("1" + "0" * 1_000_010, "", -1_000_012),
        ("0", "0" * 1_000_020 + "25", 1_000_021),
        ("7" + "0" * 999_999, "", -1_000_000),
        ("1", "", 10**30),
        ("0", "0", 10**30),
        ("1", "", -(10**30)),
    ],
)
def test_digits_without_end_and_their_exponent_are_what_float_says(whole, fraction, exponent):
    token = f"{whole}.{fraction}e{exponent}"
    value, end, state = parsed(token)
    assert end == len(token)
    assert state == HARD or value == float(token)


def test_ordinary_numbers_are_not_hard():
    rng = np.random.default_rng(0)
    for value in rng.standard_normal(2000):
        for token in (repr(float(value)), f"{value:.6g}", f"{value:.18e}", f"{value:.25f}"):
            assert parsed(token)[2] == GOOD, token


@pytest.mark.parametrize("token", ["", "-", ".", "e5", "1e", "1e+", "x", "+-1", "nan", "inf"])
def test_what_is_no_number_is_none(token):
    assert parsed(token)[2] == NO_NUMBER


@pytest.fixture(params=[1, 40, compiled_parser.BLOCK], ids=["a line a piece", "small pieces", "one piece"])
def both(request, tmp_path, monkeypatch):
    """A function that reads content in both ways, and gives both outcomes."""
    monkeypatch.setattr(compiled_parser, "BLOCK", request.param)
    monkeypatch.setattr(compiled_parser, "in_parallel", lambda work, n, operations: [work(k, k + 1) for k in range(n)])

    def outcome(path, small, wish):
        monkeypatch.setattr("pegasos.io.text.lines.SMALL", small)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return io.read(path, **wish)
        except DataError as error:
            return str(error)

    def both(content, **wish):
        path = tmp_path / "x.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return outcome(path, 1 << 40, wish), outcome(path, 0, wish)

    return both


def agree(plain, compiled):
    if isinstance(plain, str):
        assert plain == compiled
        return
    assert not isinstance(compiled, str), compiled
    assert plain.fingerprint == compiled.fingerprint
    assert plain.X.dtype == compiled.X.dtype
    assert plain.feature_names == compiled.feature_names


@pytest.mark.parametrize(
    "content",
    [
        "1,2,3\n4,5,6",
        "a,b,c\n1,2,x\n4,5,y\n\n# no\n7,8,x\n",
        'a,b,c\r\n"1", 2 ,"x ""y"""\r\n4,"5.5"," z, 1 "\r\n',
        "1 2\t3\n\n  4  5  6  \n",
        "1\t2\t3\n4\t \t6\n",
        "1;2;007\n4;5;6\n",
        "1,2,1e999\n4,5,6\n",
        "1,1e999,0\n4,5,6\n",
        "1,2,3\n4,5\n",
        "1,2\n1e999,5,6\n",
        "1,1e999\n4,5,6\n",
        "1,2,3\n4,5,6,7\n",
        "1,2,3\n4,,6\n",
        "1,2,3\n4,nan,6\n",
        "1,2,3\n4,5,\n",
        '1,2,"a\n4,5,6\n',
        '1,2,a"b\n4,5,"c"d\n',
        '1 2 "a b"\n4 5 c\n',
        '1 2 "a"b\n4 5 c\n',
        "1,2,x\n4,5\x0c,y\n",
        "1,2,r\xf6t\n4,5,y\n".encode("latin-1"),
        "1.5 2.5 1\n\t3.5 4.5 1\r\n",
        "1.0000000000000000000000000001,9007199254740993.00000000000000000000001,1\n2,2.4703282292062327e-324,2\n",
        "1,2,12345678901234567890123\n4,5,6\n",
        "1,2,9007199254740993\n4,5,6\n",
        "1 1:2 3:4\n-1 2:5 # x\n\n# 1:1\n1 qid:5 1:.5",
        "1:2 3:4\n2:5\n",
        "a 1:2 3:4\nb 2:5\n",
        "01 1:2 3:4\n02 2:5\n",
        "1 3:2 1:4\n-1 2:5\n",
        "1 3:2 3:4\n-1 2:5\n",
        "1 1:2\n-1 2:5x\n",
        "1 1:2\n-1 2: 5\n",
        "1 1:2\n-1 2:5,3:4\n",
        "1 1:2\n3:1\n",
        "1\n2\n3 1:1\n3 1:1 2:2",
        "1 1:4.9406564584124654e-324 2:1e-400\n2 1:179769313486231570814527423731704356798070567525844996e255\n",
        "1 1:2\r\n-1 2:5\r\n\r\n",
        "1 1:2\n\x0c\n-1 2:5\n\x0b#\n \x85\n",
        "1,2,3\n\x0c\n4,5,6\n\u3000",
        "\x0c",
        "1 1:2\n-1 4294967297:5\n",
        "1 1:2#c\n-1#d\n",
    ],
)
@pytest.mark.parametrize("wish", [{}, {"n_features": 2}], ids=["train", "predict"])
def test_both_ways_agree_on_files_good_and_bad(both, content, wish):
    agree(*both(content, **wish))


def test_both_ways_agree_on_columns_found_by_name(both):
    content = "id,b,class,a\nq7,1,x,2\nq8,3,y,4\n"
    agree(*both(content, feature_names=["a", "b"], label="class"))
    agree(*both(content, feature_names=["a", "class"]))


FIELD = st.one_of(
    st.sampled_from(
        ["1", "-2.5", "1e-3", "+7", "x", "", "nan", '"3"', '"a b"', " 4 ", "007", "1e999", "#", "5:6", "1_0"]
    ),
    st.floats(allow_nan=False).map(repr),
)


@settings(max_examples=100, deadline=None)
@given(
    table=st.lists(st.lists(FIELD, min_size=2, max_size=4), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t", " ", ", "]),
    ending=st.sampled_from(["\n", "\r\n", "\n\n"]),
    piece=st.sampled_from([1, 30]),
)
def test_both_ways_agree_on_any_table(tmp_path_factory, table, delimiter, ending, piece):
    content = ending.join(delimiter.join(row) for row in table)
    _compare(tmp_path_factory.mktemp("both") / "x", content, piece)


TOKEN = st.one_of(
    st.builds(lambda i, v: f"{i}:{v!r}", st.integers(0, 6), st.floats(allow_nan=False, width=32)),
    st.sampled_from(["1:2", "2:3", "qid:4", "3:x", "5:", "y", "# end", "7:1e-400", "1:+.5"]),
)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["1", "-1", "a", "0.5", "1,2", "01", ""]), st.lists(TOKEN, max_size=4)), max_size=6
    ),
    piece=st.sampled_from([1, 30]),
)
def test_both_ways_agree_on_any_lines_of_pairs(tmp_path_factory, rows, piece):
    content = "1 1:1\n" + "\n".join(f"{label} {' '.join(tokens)}" for label, tokens in rows)
    _compare(tmp_path_factory.mktemp("both") / "x", content, piece)


def _compare(path, content, piece):
    path.write_text(content, newline="")
    outcomes = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(compiled_parser, "BLOCK", piece)
        for small in (1 << 40, 0):
            patch.setattr("pegasos.io.text.lines.SMALL", small)
            try:
                outcomes.append(io.read(path))
            except DataError as error:
                outcomes.append(str(error))
    agree(*outcomes)


def test_many_hard_numbers_in_one_piece_are_all_read(both):
    tokens = [f"{k}e-320" for k in range(1, 301)]
    plain, compiled = both("".join(f"1.5,{token},1\n" for token in tokens))
    agree(plain, compiled)
    assert compiled.X[:, 1].tolist() == [float(token) for token in tokens]


def test_a_large_file_is_read_over_threads(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 120)).round(6)
    path = tmp_path / "large.csv"
    np.savetxt(path, np.column_stack([X, np.arange(4000) % 7]), delimiter=",", fmt="%.10g")
    assert path.stat().st_size > compiled_parser.BLOCK
    data = io.read(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, np.arange(4000) % 7)


def test_the_line_of_a_slip_in_a_large_file_is_named(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("1.5,2.5,3.5,1\n" * 40000 + "1.5,oops,3.5,1\n" + "1.5,2.5,3.5,1\n" * 10)
    with pytest.raises(DataError, match=r"column 1 holds 'oops' \(line 40001\)"):
        io.read(path)


def test_small_files_do_not_load_numba(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n")
    (tmp_path / "a.svm").write_text("1 1:2\n-1 2:3\n")
    program = (
        "import sys; from pegasos import io; io.read(sys.argv[1]); io.read(sys.argv[2]); "
        "print([name for name in ('numba', 'pyarrow', 'h5py', 'sklearn', 'pandas') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.csv"), str(tmp_path / "a.svm")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
