"""Sources: the chunks of a file are the rows that `pegasos.io.read` finds in it, however it is cut."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from scipy import sparse

from pegasos import io
from pegasos.estimators.totals import ClassTotals, TargetTotals
from pegasos.io import DataError, NotInPieces, open_source
from pegasos.io.text import pieces
from streams import all_rows, complaint, csv, libsvm, opened

RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((60, 5)) < 0.6, RNG.normal(size=(60, 5)), 0.0)
LABELS = RNG.integers(0, 3, 60)
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def same_as_read(path, *, least_chunks=3, chunk=60, **wishes):
    """Assert that the chunks are the rows of the whole file; the source."""
    whole = io.read(path, **wishes)
    source, found = opened(path, chunk=chunk, regression=whole.y.dtype.kind == "f", **wishes)
    X, y, n_chunks = all_rows(source)
    assert n_chunks >= least_chunks
    assert X.dtype == whole.X.dtype
    assert sparse.issparse(X) == sparse.issparse(whole.X) == found.sparse
    if found.sparse:
        assert X.has_canonical_format
        assert abs(X - whole.X).max() == 0
    else:
        np.testing.assert_array_equal(X, whole.X)
    np.testing.assert_array_equal(y, whole.y)
    assert (y.dtype.kind == "U") == (whole.y.dtype.kind == "U")
    assert (found.n_rows, found.n_features) == whole.X.shape
    assert (source.feature_names, source.label_name) == (whole.feature_names, whole.label_name)
    assert source.first_index == whole.first_index
    assert source.format == whole.format
    assert open_source(path, chunk=chunk, **wishes).read().fingerprint == whole.fingerprint
    if isinstance(found.totals, ClassTotals):
        classes, counts = np.unique(whole.y, return_counts=True)
        np.testing.assert_array_equal(found.totals.labels, classes)
        np.testing.assert_array_equal(found.totals.counts, counts)
        assert found.totals.labels.dtype == classes.dtype
    return source


# --- text ------------------------------------------------------------------------------------------------------------

LIBSVM = libsvm(DENSE, LABELS)
TABLE = csv(DENSE, LABELS, ["a", "b", "c", "d", "e", "kind"])
AWKWARD = {
    "LIBSVM": LIBSVM,
    "LIBSVM from 0": libsvm(DENSE, LABELS, first=0),
    "no newline at the end": LIBSVM.rstrip("\n"),
    "carriage returns": LIBSVM.replace("\n", "\r\n"),
    "old Macs": LIBSVM.replace("\n", "\r"),
    "byte order mark": "\ufeff" + LIBSVM,
    "comments and blank lines": "# head\n\n" + LIBSVM.replace("\n2 ", "\n\n# two\n   \n2 ") + "\n\n# end",
    "comments behind rows": LIBSVM.replace("\n1", " # one\n1"),
    "queries": LIBSVM.replace("\n1 ", "\n1 qid:7 "),
    "unsorted": "1 3:1 2:5\n" * 40 + "0 9:1 1:2\n" * 40,
    "words": libsvm(DENSE, np.array(["rain", "sun", "wind"])[LABELS]),
    "labels with signs": LIBSVM.replace("\n2 ", "\n+2 ").replace("\n0 ", "\n-1 "),
    "CSV": csv(DENSE, LABELS),
    "CSV with a header": TABLE,
    "CSV with carriage returns": TABLE.replace("\n", "\r\n"),
    "CSV with a byte order mark": "\ufeff" + TABLE,
    "CSV with comments": "# head\n" + TABLE.replace("\n", "\n\n# more\n", 8),
    "CSV of words": TABLE.replace(",0\n", ",low\n").replace(",1\n", ",high\n").replace(",2\n", ",\"very, high\"\n"),
    "CSV in quotes": "\n".join(",".join(f'"{field}"' for field in line.split(",")) for line in TABLE.splitlines()),
    "semicolons": TABLE.replace(",", ";"),
    "tabs": TABLE.replace(",", "\t"),
    "blanks": csv(DENSE, LABELS).replace(",", "  "),
    "codes": TABLE.replace(",0\n", ",007\n"),
}  # fmt: skip


@pytest.mark.parametrize("chunk", [1, 37, 300])
@pytest.mark.parametrize("kind", AWKWARD)
def test_chunks_of_text_are_the_rows_of_the_whole_file(kind, chunk, write):
    same_as_read(write(AWKWARD[kind], "rows.txt"), chunk=chunk, least_chunks=2)


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("kind", ["LIBSVM", "CSV with a header", "no newline at the end", "comments and blank lines"])
def test_packed_text_is_unpacked_piece_by_piece(kind, packing, write):
    source = same_as_read(write(PACKERS[packing](AWKWARD[kind].encode()), f"rows.{packing}"))
    assert source.n_places is None


def test_large_chunks_go_through_the_compiled_reader(write):
    path = write(LIBSVM * 200, "rows.svm")
    source = same_as_read(path, chunk=300_000, least_chunks=2)
    assert source.n_places is not None
    same_as_read(write(csv(DENSE, LABELS) * 100), chunk=300_000, least_chunks=2)


def test_a_line_longer_than_a_chunk_is_one_chunk(write):
    long = " ".join(f"{j}:1" for j in range(1, 500))
    path = write(f"1 1:1\n0 {long}\n1 2:1\n0 7:1", "rows.svm")
    source = same_as_read(path, chunk=10, least_chunks=2)
    assert source.n_features == 499


def test_a_line_longer_than_any_data_is_refused(write, monkeypatch):
    monkeypatch.setattr(pieces, "LONGEST_LINE", 1 << 18)
    path = write("1 1:1\n" * 3 + "0 1:" + "1" * (1 << 20), "rows.svm")
    assert "line 4 is longer than" in complaint(path, chunk=20)
    packed = write(gzip.compress(path.read_bytes()), "rows.gz")
    assert "line 4 is longer than" in complaint(packed, chunk=20)


def test_many_comments_before_the_first_row(write):
    path = write("# nothing\n" * 150_000 + LIBSVM, "rows.svm")
    same_as_read(path, chunk=400)


def test_columns_are_chosen_as_in_memory(write):
    path = write(TABLE)
    source = same_as_read(path, label="b")
    assert source.label_name == "b"
    same_as_read(path, label=0)
    test = open_source(path, n_features=5, feature_names=["e", "d", "c", "b", "a"], usual_label="kind", chunk=50)
    np.testing.assert_array_equal(all_rows(test)[0], DENSE[:, ::-1])


def test_where_features_count_from_is_not_guessed_chunk_by_chunk(write):
    path = write(LIBSVM, "rows.svm")
    with pytest.raises(NotInPieces, match="count from 0 or from 1"):
        open_source(path, n_features=5)
    source = open_source(path, n_features=5, first_index=1, chunk=60)
    np.testing.assert_array_equal(all_rows(source)[0].toarray(), DENSE)


def test_labels_that_turn_out_to_be_words_are_words_from_the_beginning(write):
    path = write("1.0 1:1\n" * 30 + "1 1:2\n" * 30 + "one 1:3\n", "rows.svm")
    source, found = opened(path, chunk=50)
    assert found.totals.labels.tolist() == ["1", "1.0", "one"]
    assert found.totals.counts.tolist() == [30, 30, 1]
    assert source.text_labels


def test_whole_numbers_and_others_are_numbers(write):
    path = write("1 1:1\n" * 20 + "2.5 1:1\n", "rows.svm")
    assert "labels such as 2.5, which are no classes; use --regression" in complaint(path)
    _, found = opened(path, regression=True)
    assert isinstance(found.totals, TargetTotals)
    assert found.totals.mean == pytest.approx((20 + 2.5) / 21)


# --- errors ----------------------------------------------------------------------------------------------------------

FAULTS = {
    "a missing value": "0 1:nan",
    "no entry": "0 1:1 tea",
    "two labels": "0,1 1:1",
    "a huge index": "0 99999999999:1",
    "an infinite value": "0 1:1e999",
    "no label": "1:5 2:7",
    "a feature twice": "0 2:1 2:2",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_errors_in_a_chunk_name_the_line_of_the_file(fault, packed, write):
    text = "# head\n" + "1 1:1 2:2\n" * 25 + FAULTS[fault] + "\n" + "0 1:1\n" * 9
    path = write(text, "rows.svm")
    with pytest.raises(DataError) as caught:
        io.read(path)
    said = str(caught.value)
    assert "line 27" in said
    if packed:
        path = write(gzip.compress(text.encode()), "rows.svm")
    assert complaint(path) == said


TABLE_FAULTS = {
    "text": "1,tea,3,0",
    "short": "1,2,0",
    "missing": "1,,3,0",
    "no label": "1,2,3,",
    "open quote": '"1,2,3,0',
}


@pytest.mark.parametrize("fault", TABLE_FAULTS)
def test_errors_in_tables_name_the_line_of_the_file(fault, write):
    path = write("a,b,c,y\n" + "1,2,3,1\n\n" * 20 + TABLE_FAULTS[fault] + "\n" + "3,4,5,0\n" * 8)
    with pytest.raises(DataError) as caught:
        io.read(path)
    remedy = "; read in pieces, it has to end in its line (--stream no reads the file whole)"
    assert complaint(path, chunk=30).replace(remedy, "") == str(caught.value)
    assert "line 42" in str(caught.value)


@pytest.mark.parametrize("size", [10, 1 << 20])
def test_the_first_error_of_the_file_is_the_one_that_is_told(size, write):
    path = write("1 1:1\n" * 30 + "0 1:x\n" + "1 1:1\n" * 30 + "0 1:y\n", "rows.svm")
    assert "line 31" in complaint(path, chunk=size)


def test_the_compiled_reader_names_the_line_of_the_file_too(write):
    path = write("1 1:1 2:2\n" * 100_000 + "0 1:x\n" + "0 1:1\n" * 50_000, "rows.svm")
    assert "line 100001" in complaint(path, chunk=300_000)


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "is empty: it holds no rows"),
        (b"# only\n\n", "is empty: it holds no rows"),
        (b"a,b,c\n", "holds only a header"),
        (b"1\n0\n", "one column"),
        (b"1:1 2:2\n2:2\n" * 3, "no labels to learn from"),
        (b"\x00\x01\x02\x03 binary", "is no data file"),
        (b"1 1:1e200\n" * 9, "too large to compute with"),
        (b"1\n0\n1\n" + b"1 \n" * 9, "one column"),
        (gzip.compress(b"1 1:1\n" * 9)[:-9], "is cut off"),
        (gzip.compress(b"\x89HDF\r\n\x1a\n"), "is a hdf5 file packed with gzip"),
    ],
    ids=range(10),
)
def test_files_without_rows_are_refused_with_a_sentence(content, said, write):
    assert said in complaint(write(content, "rows.dat"), chunk=20)


def test_places_that_are_no_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_source(tmp_path / "nothing.svm")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        open_source(tmp_path)


def test_a_file_that_grows_or_shrinks_meanwhile_is_an_error(write):
    for change in (lambda text: text + "1 1:1\n", lambda text: text[: len(text) // 2], lambda text: text[::-1]):
        path = write(LIBSVM, "rows.svm")
        source = open_source(path, chunk=100)
        path.write_text(change(LIBSVM))
        path.touch()
        with pytest.raises(DataError, match=r"rows\.svm (changed while it was being read|ends too early)"):
            all_rows(source)
    path.unlink()
    with pytest.raises((DataError, FileNotFoundError)):
        all_rows(source)


# --- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, ">f4"])
def test_dense_arrays_of_an_npz_file(dtype, tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=(100 * np.abs(DENSE)).astype(dtype), y=LABELS, other=np.arange(3), odd=np.array([None]))
    same_as_read(path, chunk=256)


def test_images_and_labels_of_text_and_one_column(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.arange(60 * 12.0).reshape(60, 3, 4), y=np.array(["cat", "dog"])[LABELS % 2][:, None])
    same_as_read(path, chunk=500)


def test_csr_parts_of_an_npz_file(tmp_path):
    path = tmp_path / "rows.npz"
    X = sparse.csr_matrix(DENSE.astype(np.float32))
    np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=LABELS)
    same_as_read(path, chunk=200)


def test_csr_parts_out_of_order_and_twice(tmp_path):
    path = tmp_path / "rows.npz"
    parts = dict(data=[1.0, 2.0, 3.0, 4.0], indices=[2, 0, 1, 1], indptr=[0, 2, 4], shape=[2, 3], y=[0, 1])
    np.savez(path, **parts)
    same_as_read(path, chunk=8, least_chunks=2)
    np.testing.assert_array_equal(io.read(path).X.toarray(), [[2, 0, 1], [0, 7, 0]])


def test_labels_in_one_row_are_read_whole_only(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=DENSE, y=LABELS[None])
    np.testing.assert_array_equal(io.read(path).y, LABELS)
    with pytest.raises(NotInPieces, match="side by side in one row"):
        open_source(path)


def test_the_test_part_of_a_file_is_a_source_of_its_own(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X_train=DENSE[:40], y_train=LABELS[:40], X_test=DENSE[40:], y_test=LABELS[40:])
    source = same_as_read(path, chunk=256)
    X, y, _ = all_rows(source.test_part())
    np.testing.assert_array_equal(X, DENSE[40:])
    np.testing.assert_array_equal(y, LABELS[40:])


@pytest.mark.parametrize(
    "arrays, said",
    [
        (dict(X=np.full((9, 2), np.nan), y=np.arange(9)), r"column 0 of X has a missing value \(row 1\)"),
        (dict(X=np.ones((9, 2)), y=np.arange(8)), "y has 8 labels for 9 rows"),
        (dict(X=np.ones((9, 2)), y=np.full(9, np.inf)), "in row 1 of y, the label is inf"),
        (dict(X=np.ones(9), y=np.arange(9)), "rows and columns are needed"),
        (dict(X=np.array([["a", "b"]] * 9), y=np.arange(9)), "is no number"),
        (dict(X=np.ones((9, 2))), "no labels to learn from"),
        (dict(Z=np.ones((9, 2))), "holds the arrays Z; needed are"),
        (dict(data=np.ones(4), indices=np.arange(4), indptr=np.array([0, 2, 5]), shape=np.array([2, 9]), y=[0, 1]),
         "indptr does not divide"),
        (dict(data=np.ones(4), indices=np.arange(4), indptr=np.array([0, 2, 4]), shape=np.array([2, 3]), y=[0, 1]),
         "indices must be from 0 to 2"),
        (dict(data=np.ones((2, 2)), indices=np.arange(4), indptr=np.array([0, 4]), shape=np.array([1, 9]), y=[0]),
         "one dimension"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(arrays, said, tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=said):
        opened(path, chunk=16)


def test_rows_are_named_by_their_number_in_the_file(tmp_path):
    path = tmp_path / "rows.npz"
    X = np.ones((50, 2))
    X[33, 1] = np.inf
    np.savez(path, X=X, y=np.arange(50) % 2)
    with pytest.raises(DataError) as caught:
        io.read(path)
    assert "row 34" in complaint(path, chunk=64)
    assert complaint(path, chunk=64) == str(caught.value)


def test_arrays_that_cannot_be_read_in_pieces_say_what_to_do(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, X=DENSE, y=LABELS)
    with pytest.raises(NotInPieces, match=r"rows\.npz is compressed.*np\.savez instead of np\.savez_compressed"):
        open_source(path)
    np.savez(path, X=np.asfortranarray(DENSE), y=LABELS)
    with pytest.raises(NotInPieces, match="column by column"):
        open_source(path)
    path.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(DataError, match="is damaged"):
        open_source(path)


def test_hdf5_in_slices(tmp_path):
    h5py = pytest.importorskip("h5py", reason="reading HDF5 needs h5py")
    path = tmp_path / "rows.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=DENSE, chunks=(7, 5), compression="gzip")
        file.create_dataset("y", data=LABELS)
    same_as_read(path, chunk=256)
    with h5py.File(path, "w") as file:
        for part, rows in (("train", slice(0, 40)), ("test", slice(40, 60))):
            file.create_dataset(f"{part}/data", data=DENSE[rows])
            file.create_dataset(f"{part}/target", data=LABELS[rows])
    source = same_as_read(path, chunk=256)
    np.testing.assert_array_equal(all_rows(source.test_part())[1], LABELS[40:])


def test_idx_files_are_not_read_in_pieces(write):
    path = write(b"\x00\x00\x08\x03" + bytes(20), "train-images-idx3-ubyte")
    with pytest.raises(NotInPieces, match="IDX"):
        open_source(path)


# --- Parquet ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def table():
    pa = pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    names = list("abcde")
    return pa.table({name: DENSE[:, place] for place, name in enumerate(names)} | {"kind": LABELS})


@pytest.mark.parametrize("row_group", [7, 25, 1000])
def test_parquet_by_row_groups(row_group, table, tmp_path):
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, row_group_size=row_group)
    source = same_as_read(path, chunk=480)
    assert source.n_places == -(-60 // row_group)
    same_as_read(path, chunk=480, label="a")


def test_parquet_of_pandas_words_and_narrow_numbers(tmp_path):
    pd = pytest.importorskip("pandas", reason="the frame is made by pandas")
    frame = pd.DataFrame(DENSE.astype(np.float32), columns=list("abcde"), index=[f"row {i}" for i in range(60)])
    frame["kind"] = pd.Categorical(np.array(["no", "yes", "maybe"])[LABELS])
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path, row_group_size=20)
    same_as_read(path, chunk=300)


def test_faults_of_parquet_name_the_row_of_the_file(table, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    column = DENSE[:, 2].tolist()
    column[44] = None
    parquet.write_table(table.set_column(2, "c", pa.array(column)), path, row_group_size=20)
    with pytest.raises(DataError) as caught:
        io.read(path)
    assert "row 45" in str(caught.value)
    assert complaint(path, chunk=240) == str(caught.value)
    path.write_bytes(path.read_bytes()[:-40] + b"PAR1")
    with pytest.raises(DataError, match="is damaged: Parquet cannot read it"):
        open_source(path)


# --- real files ------------------------------------------------------------------------------------------------------


def test_a9a_as_it_comes(data_folder):
    path = data_folder / "a9a.bz2"
    if not path.exists():
        pytest.skip("PEGASOS_DATA holds no a9a.bz2")
    same_as_read(path, chunk=1 << 19)


def test_covtype_and_rcv1_in_memory_and_in_pieces(data_folder, tmp_path):
    path = data_folder / "rcv1_ccat_subset.npz"
    if not path.exists():
        pytest.skip("PEGASOS_DATA holds no rcv1_ccat_subset.npz")
    with np.load(path) as parts:
        np.savez(tmp_path / "rcv1.npz", **{name: parts[name] for name in parts.files})
    same_as_read(tmp_path / "rcv1.npz", chunk=1 << 20)
