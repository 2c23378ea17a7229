"""Reading ahead, and the windows that rows meet the solver in."""

import threading
from contextlib import closing
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from pegasos.backends.threads import alone, blas_threads
from pegasos.io import open_source
from pegasos.io.source import InMemorySource
from pegasos.streaming.prefetch import read_ahead
from pegasos.streaming.prepare import Split
from pegasos.streaming.windows import chunks, chunks_per_window, pass_order, windows
from streams import libsvm

N_ROWS = 200


def numbered(n_rows=N_ROWS, rows_each=8, csr=False):
    """A source whose labels are the numbers of its rows."""
    X = np.arange(3.0 * n_rows).reshape(n_rows, 3) + 1
    X = sparse.csr_matrix(X) if csr else X
    return InMemorySource("rows", X, np.arange(n_rows), chunk=rows_each * 3 * 8)


def readers():
    """Threads of ours that are alive."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("pegasos")]


# --- reading ahead ------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_tasks_whatever_the_threads_do(monkeypatch):
    monkeypatch.setattr("pegasos.streaming.prefetch.blas_threads", lambda: 4)
    first = threading.Event()

    def task(number):
        if number == 0:
            first.wait(10)
        elif number == 3:
            first.set()  # a later task ends before the first
        return number

    assert list(read_ahead((lambda number=number: task(number) for number in range(50)), depth=8)) == list(range(50))
    assert not readers()


def test_no_more_is_read_than_there_is_room_for():
    drawn = []

    def tasks():
        for number in range(100):
            drawn.append(number)
            yield lambda number=number: number

    with closing(read_ahead(tasks(), depth=3)) as read:
        for number in range(20):
            assert next(read) == number
            assert len(drawn) <= number + 1 + 3
    assert not readers()
    assert len(drawn) < 30


@pytest.mark.parametrize("where", ["task", "drawing"])
def test_an_error_is_raised_in_its_place_and_ends_the_threads(where):
    def fail():
        raise ValueError("line 5")

    def tasks():
        for number in range(100):
            if number == 5 and where == "drawing":
                fail()
            yield fail if number == 5 else lambda number=number: number

    read = read_ahead(tasks(), depth=4)
    assert [next(read) for _ in range(5)] == list(range(5))
    with pytest.raises(ValueError, match="line 5"):
        next(read)
    assert not readers()


def test_whoever_stops_early_stops_the_threads_and_the_file():
    closed = []

    def tasks():
        try:
            for number in count():
                yield lambda number=number: number
        finally:
            closed.append(True)

    with closing(read_ahead(tasks(), depth=4)) as read:
        next(read)
        assert readers()
    assert closed
    assert not readers()
    read = read_ahead(tasks(), depth=4)
    next(read)
    del read  # forgotten without a word
    assert not readers()


def test_an_interruption_of_the_reader_ends_the_threads():
    def work():
        with closing(read_ahead((lambda: 1 for _ in count()), depth=4)) as read:
            for _ in read:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not readers()


def test_a_thread_that_reads_ahead_shares_out_nothing(monkeypatch):
    monkeypatch.setattr("pegasos.backends.threads._controller", lambda: pytest.fail("asked for the threads of BLAS"))
    with alone():
        assert blas_threads() == 1
        with alone():
            pass
        assert blas_threads() == 1


# --- windows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("n_chunks", [1, 3, 100])
def test_each_row_is_met_once_a_pass_with_its_own_label(n_chunks, csr):
    source = numbered(csr=csr)
    for number in range(3):
        order = pass_order(source, 7, number, "shuffle")
        found = list(windows(source, n_chunks, order))
        rows = np.concatenate([window.y for window in found])
        np.testing.assert_array_equal(np.sort(rows), np.arange(N_ROWS))
        for window in found:
            X = window.X.toarray() if csr else window.X
            np.testing.assert_array_equal(X, source.X[window.y].toarray() if csr else source.X[window.y])
            assert len(window.y) <= 8 * n_chunks
        assert [window.number for window in found] == list(range(len(found)))
        assert sum(window.share for window in found) == pytest.approx(1)


def test_each_pass_has_an_order_of_its_own_and_each_seed():
    source = numbered()
    orders = [pass_order(source, seed, number, "shuffle") for seed in (0, 1) for number in range(4)]
    assert len({tuple(order) for order in orders}) == len(orders)
    assert all(sorted(order) == list(range(source.n_places)) for order in orders)
    assert pass_order(source, 0, 1, "shuffle") == orders[1]
    assert pass_order(source, 0, 1, "cyclic") is None


def test_windows_mix_chunks_from_all_over_the_file():
    source = numbered()
    (first, *_) = windows(source, 5, pass_order(source, 0, 0, "shuffle"))
    assert np.ptp(first.y) > 40  # five chunks in a row would hold 40


def test_windows_of_a_pass_that_is_taken_up_are_the_ones_that_were_left():
    source = numbered()
    order = pass_order(source, 3, 2, "shuffle")
    whole = list(windows(source, 4, order))
    rest = list(windows(source, 4, order, skip=2))
    assert [window.number for window in rest] == [window.number for window in whole[2:]]
    for before, after in zip(whole[2:], rest, strict=True):
        np.testing.assert_array_equal(before.y, after.y)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(threads, monkeypatch, write):
    X = np.random.default_rng(0).normal(size=(150, 4))
    path = write(libsvm(X, np.arange(150)), "rows.svm")
    source = open_source(path, chunk=300, n_features=4, first_index=1)
    order = pass_order(source, 0, 0, "shuffle")
    monkeypatch.setattr("pegasos.streaming.prefetch.blas_threads", lambda: threads)
    found = np.concatenate([window.y for window in windows(source, 3, order)])
    expected = [source.tasks([place]) for place in order]
    np.testing.assert_array_equal(found, np.concatenate([next(tasks)().y for tasks in expected]))


def test_packed_files_keep_their_order(write):
    import gzip

    path = write(gzip.compress(libsvm(np.ones((50, 2)), np.arange(50)).encode()), "rows.gz")
    source = open_source(path, chunk=100, n_features=2, first_index=1)
    order = pass_order(source, 0, 0, "shuffle")
    assert order is None
    found = list(windows(source, 2, order))
    np.testing.assert_array_equal(np.concatenate([window.y for window in found]), np.arange(50))
    assert sum(window.share for window in found) <= 1 + 1e-9


def test_windows_without_rows_are_left_out_and_keep_their_numbers():
    source = numbered()
    few = lambda chunk: chunk.select(chunk.y < 20)
    found = list(windows(source, 2, prepare=few))
    assert [(window.number, len(window.y)) for window in found] == [(0, 16), (1, 4)]


def test_a_window_has_as_many_chunks_as_fit_into_memory_and_at_least_one():
    assert chunks_per_window(2.0**21) == 16
    assert chunks_per_window(2.0**40) == 1
    assert chunks_per_window(0.0) >= 1


# --- rows held out --------------------------------------------------------------------------------


def test_rows_are_held_out_at_random_and_the_same_in_every_order():
    source, split = numbered(1000), Split(0.3, seed=4)
    order = pass_order(source, 0, 0, "shuffle")
    held = [
        np.concatenate([window.y for window in windows(source, 3, places, prepare=split.test)])
        for places in (None, order)
    ]
    np.testing.assert_array_equal(held[0], np.sort(held[1]))
    assert 200 < len(held[0]) < 400
    with closing(chunks(source, split.train)) as read:
        kept = np.concatenate([chunk.y for chunk in read])
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, held[0]])), np.arange(1000))
    with closing(chunks(source, Split(0.3, seed=5).test)) as read:
        other = np.concatenate([chunk.y for chunk in read])
    assert set(other) != set(held[0])
