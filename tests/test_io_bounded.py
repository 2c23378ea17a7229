"""What reading a file may touch and take: that file alone, and the memory there is. All else is refused before."""

from __future__ import annotations

import bz2
import gzip
import os
import threading
import time
import zipfile
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest

from cli_runner import check_error, quick
from pegasos import io
from pegasos.io import DataError
from read_back import complaint, same

X = np.array([[1.0, 2.5], [-3.0, 0.25], [0.0, 7.0]])
Y = np.array([1, 2, 1])
GB = 1e9


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with so many bytes of memory; a function that says how many."""

    def there_are(n_bytes):
        monkeypatch.setattr("pegasos.io.dataset.available_memory", lambda: n_bytes)

    return there_are


# --- HDF5 -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hdf5(tmp_path):
    """A function that opens a new HDF5 file to write; its attribute `path` is where."""
    h5py = pytest.importorskip("h5py", reason="these tests write HDF5")
    path = tmp_path / "x.h5"
    return SimpleNamespace(path=path, write=lambda: h5py.File(path, "w"), h5py=h5py)


@pytest.fixture
def secret(tmp_path):
    """A file of the user that is none of a data file's business."""
    path = tmp_path / "secret"
    path.write_bytes(bytes(range(64)))
    return path


def read_both_ways(path):
    """The sentence with which a file is refused, whether it is read whole or in pieces."""
    sentence = complaint(path)
    with pytest.raises(DataError) as caught:
        io.open_source(path)
    assert str(caught.value) == sentence
    return sentence


@pytest.mark.parametrize("part", ["X", "y"])
def test_numbers_in_other_files_are_refused(hdf5, secret, part):
    """External storage: the bytes of any file would become features, and support vectors of a model."""
    with hdf5.write() as file:
        for name, array in {"X": X, "y": Y}.items():
            if name == part:
                file.create_dataset(name, array.shape, "u1", external=[(str(secret), 0, array.size)])
            else:
                file[name] = array
    assert f"the array {part} has its numbers in other files (external storage)" in read_both_ways(hdf5.path)


def test_virtual_data_sets_are_refused(hdf5, tmp_path):
    with hdf5.h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = X
    layout = hdf5.h5py.VirtualLayout(X.shape, X.dtype)
    layout[:] = hdf5.h5py.VirtualSource(tmp_path / "other.h5", "X", X.shape)
    with hdf5.write() as file:
        file.create_virtual_dataset("X", layout)
        file["y"] = Y
    assert "the array X takes its numbers from other files (a virtual data set)" in read_both_ways(hdf5.path)


@pytest.mark.parametrize("kind", ["soft", "external"])
@pytest.mark.parametrize("names", [("X", "y"), ("train/data", "train/target")])
def test_links_are_refused(hdf5, tmp_path, kind, names):
    with hdf5.h5py.File(tmp_path / "other.h5", "w") as file:
        file["there"] = X
    link = {"soft": hdf5.h5py.SoftLink("/there"), "external": hdf5.h5py.ExternalLink("other.h5", "/there")}[kind]
    with hdf5.write() as file:
        file["there"] = X
        file[names[0]] = link
        file[names[1]] = Y
    assert f"the array {names[0]} is a link, which is not followed" in read_both_ways(hdf5.path)


@pytest.mark.parametrize("kind", ["soft", "external"])
def test_links_to_groups_are_not_followed(hdf5, tmp_path, kind):
    with hdf5.h5py.File(tmp_path / "other.h5", "w") as file:
        file["there/data"], file["there/target"] = X, Y
    link = {"soft": hdf5.h5py.SoftLink("/there"), "external": hdf5.h5py.ExternalLink("other.h5", "/there")}[kind]
    with hdf5.write() as file:
        file["there/data"], file["there/target"] = X, Y
        file["train"] = link
    assert "needed are X and y" in read_both_ways(hdf5.path)


def test_filters_that_are_not_those_of_hdf5_are_refused(hdf5):
    """One that is not installed may be written, too, if rows may do without it."""
    with hdf5.write() as file:
        settings = hdf5.h5py.h5p.create(hdf5.h5py.h5p.DATASET_CREATE)
        settings.set_chunk((3, 2))
        settings.set_filter(32015, hdf5.h5py.h5z.FLAG_OPTIONAL, (3,))
        space = hdf5.h5py.h5s.create_simple(X.shape)
        hdf5.h5py.h5d.create(file.id, b"X", hdf5.h5py.h5t.NATIVE_DOUBLE, space, settings)
        file["y"] = Y
    assert "the array X is packed by a filter that is not one of HDF5's own (number 32015)" in read_both_ways(hdf5.path)


@pytest.mark.parametrize(
    "packing",
    [dict(compression="gzip", shuffle=True, fletcher32=True), dict(compression="lzf"), dict(scaleoffset=0, dtype="i4")],
    ids=str,
)
def test_filters_of_hdf5_are_read(hdf5, packing):
    with hdf5.write() as file:
        file.create_dataset("X", data=np.round(X), **packing)
        file["y"] = Y
    same(io.read(hdf5.path), np.round(X), Y, "hdf5")


@pytest.mark.parametrize("kind", ["reference", "numbers of any count", "empty"])
def test_arrays_of_other_things_are_refused(hdf5, kind):
    h5py = hdf5.h5py
    with hdf5.write() as file:
        file["X"] = X
        if kind == "empty":
            file["y"] = h5py.Empty("f8")
        else:
            dtype = h5py.ref_dtype if kind == "reference" else h5py.vlen_dtype("i4")
            file.create_dataset("y", (3,), dtype)
    read_both_ways(hdf5.path)


@pytest.mark.parametrize("part", ["X", "y"])
def test_an_empty_array_is_refused_in_pieces_too(hdf5, part):
    with hdf5.write() as file:
        file["X"], file["y"] = X, Y
        del file[part]
        file[part] = hdf5.h5py.Empty("f8")
    assert f"the array {part} is empty" in read_both_ways(hdf5.path)
    check_error(quick("train", hdf5.path, "--stream", "yes", cwd=hdf5.path.parent), f"the array {part} is empty")


@pytest.mark.parametrize("chunks", [None, (1000, 100)])
def test_an_array_that_was_never_written_is_not_made(hdf5, chunks):
    """1.7 kB that claim to be 8 GB: the numbers are those that HDF5 fills gaps with."""
    with hdf5.write() as file:
        file.create_dataset("X", (10**7, 100), "f8", chunks=chunks)
        file.create_dataset("y", (10**7,), "i1", chunks=chunks and chunks[:1])
    assert os.path.getsize(hdf5.path) < 10_000
    assert "of shape (10000000, 100) would take 8 GB of memory, and the file has" in read_both_ways(hdf5.path)


# --- rows × columns before memory is taken ----------------------------------------------------------------------------


def packed_zeros(path, shape):
    """An npz file of zeros, a thousandth of the size of its rows."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(shape[0]):
            member.write(bytes(8 * shape[1]))
    return path


def test_npz_rows_beyond_memory_are_refused_before_they_are_unpacked(tmp_path, little_memory):
    path = packed_zeros(tmp_path / "x.npz", (100, 10**5))
    assert io.read(path).X.shape == (100, 10**5)
    little_memory(79e6)
    assert "100 rows of 100000 features would take 80 MB of memory, and 79 MB are available" in complaint(path)


def test_hdf5_rows_beyond_memory_are_refused(hdf5, little_memory):
    with hdf5.write() as file:
        file.create_dataset("X", data=np.zeros((100, 10**5)), chunks=(1, 10**5), compression="gzip")
    little_memory(79e6)
    assert "would take 80 MB of memory" in complaint(hdf5.path)


def test_a_chunk_of_hdf5_beyond_memory_is_refused(hdf5, little_memory):
    """To read one row is to unpack the whole chunk that it lies in."""
    with hdf5.write() as file:
        file.create_dataset("X", (10, 10**6), "f8", data=np.zeros((10, 10**6)), chunks=(10, 10**6), compression="gzip")
        file["y"] = np.arange(10)
    little_memory(79e6)
    assert "a chunk of the array X would take 80 MB" in read_both_ways(hdf5.path)


def test_parquet_rows_beyond_memory_are_refused(tmp_path, little_memory):
    pa = pytest.importorskip("pyarrow", reason="this test writes Parquet")
    from pyarrow import parquet

    values = np.zeros(10**7)
    parquet.write_table(pa.table({"a": values, "y": values}), tmp_path / "x.parquet")
    little_memory(159e6)
    assert "10000000 rows of 2 columns would take 160 MB" in complaint(tmp_path / "x.parquet")


def test_images_beyond_memory_are_refused(tmp_path, little_memory):
    content = bytes([0, 0, 8, 3]) + np.array([1000, 200, 200], ">u4").tobytes() + bytes(40_000_000)
    (tmp_path / "x").write_bytes(content)
    little_memory(150e6)
    assert "1000 images of 40000 numbers would take 160 MB" in complaint(tmp_path / "x")


def test_text_beyond_memory_is_refused_before_it_is_read(tmp_path, little_memory):
    path = tmp_path / "x.csv"
    with open(path, "wb") as file:
        file.write(b"1,2,3\n" * 1000)
        file.truncate(10**9)
    little_memory(GB)
    assert "text of 1 GB and its rows would take 2 GB of memory, and 1 GB are available" in complaint(path)


@pytest.mark.parametrize("kind", ["zeros", "text"])
def test_packed_text_is_unpacked_as_far_as_there_is_memory(tmp_path, little_memory, kind):
    """100 MB in 100 kB, or in 100 bytes; a thousand times as much would be as easy."""
    path = tmp_path / "x"
    path.write_bytes(bz2.compress(bytes(10**8)) if kind == "zeros" else gzip.compress(b"1,2,3\n" * 17_000_000, 1))
    little_memory(70e6)
    sentence = complaint(path)
    assert ("is no data file" if kind == "zeros" else "of memory, and 70 MB are available") in sentence


def test_a_file_of_nothing_but_holes_is_told_by_its_beginning(tmp_path):
    path = tmp_path / "zeros"
    with open(path, "wb") as file:
        file.truncate(4 * 10**12)
    began = time.process_time()
    assert "is no data file" in complaint(path)
    with pytest.raises(DataError, match="is no data file"):
        io.open_source(path)  # which looks for the end of the first line
    check_error(quick("train", path, cwd=tmp_path, timeout=20), "is no data file")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("before", [b"", b"1,2,a\n3,4,b\n"])
def test_one_endless_line_is_refused_before_its_fields_are_words(tmp_path, little_memory, before):
    path = tmp_path / "line.csv"
    path.write_bytes(before + b"1," * 3_000_000)
    little_memory(100e6)
    assert "a line of 6 MB would take 240 MB of memory" in complaint(path)


def test_the_memory_of_this_machine_is_known():
    from pegasos.utils.memory import available_memory

    assert 1e7 < available_memory() < 1e15


def test_a_limit_of_the_container_counts(tmp_path, monkeypatch):
    from pegasos.utils import memory

    for name, content in {"max": "5000000", "current": "3000000", "stat": "anon 1\ninactive_file 500000\n"}.items():
        (tmp_path / f"memory.{name}").write_text(content)
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available_memory() == 2_500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_memory() > 1e7


# --- devices and pipes ------------------------------------------------------------------------------------------------

DEVICES = [place for place in ("/dev/zero", "/dev/urandom", "/dev/null") if os.path.exists(place)]


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("read", [io.read, io.open_source])
def test_devices_are_refused(place, read):
    with pytest.raises(DataError, match=f"{place} is a device or a socket"):
        read(place)


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("command", ["train", "predict", "classify"])
def test_no_command_reads_devices(tmp_path, place, command):
    (tmp_path / "rows.csv").write_text("1,2,a\n2,1,b\n" * 20)
    (tmp_path / "rows.safetensors").write_bytes(b"")
    given = {
        "train": [[place]],
        "predict": [["rows.safetensors", place], [place, "rows.csv"]],
        "classify": [[place, "rows.csv", "-t", 30], ["rows.csv", place, "-t", 30]],
    }[command]
    if command == "predict":
        quick("train", "rows.csv", "-o", "rows.safetensors", cwd=tmp_path).fine()
    for words in given:
        check_error(quick(command, *words, cwd=tmp_path), place)


def written_to(path, blocks):
    """Let a thread write to a pipe until nobody reads any more."""
    os.mkfifo(path)

    def write():
        try:
            with open(path, "wb", buffering=0) as file:
                for block in blocks:
                    file.write(block)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_are_read_once(tmp_path):
    thread = written_to(tmp_path / "pipe", [b"1,2,a\n-3,4,b\n" * 5] * 3)
    data = io.read(tmp_path / "pipe")
    thread.join()
    assert data.X.shape == (30, 2)
    with pytest.raises(io.NotInPieces, match="is a pipe"):
        io.open_source(tmp_path / "pipe")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_an_endless_pipe_is_read_as_far_as_there_is_memory(tmp_path, little_memory):
    little_memory(90e6)
    thread = written_to(tmp_path / "pipe", iter(lambda: b"1,2,a\n-3,4,b\n" * 10**5, None))
    assert "of memory, and 90 MB are available" in complaint(tmp_path / "pipe")
    thread.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_formats_that_are_read_here_and_there_come_from_no_pipe(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=Y)
    thread = written_to(tmp_path / "pipe", [(tmp_path / "x.npz").read_bytes()])
    assert "is a pipe, and zip is not read from its beginning to its end" in complaint(tmp_path / "pipe")
    thread.join()
