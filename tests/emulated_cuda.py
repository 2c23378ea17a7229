"""What the library uses of `numba.cuda` and of CUDA's driver, without a GPU: a thread is a greenlet.

Kernels get their arguments as the driver gets them: an address for each, to be read by the types they were compiled
for. Between two barriers the threads of a block run one after another in a random order, and memory of a block or a
thread is full of nonsense before it is written, so that what depends on luck on a GPU comes out wrong here. Threads
that wait at different barriers, or at one that others never come to, are an error.
"""

from __future__ import annotations

import ctypes
import random
import sys
from functools import partial
from itertools import product
from types import ModuleType, SimpleNamespace

import numpy as np
from greenlet import getcurrent, greenlet
from numba import types
from numba.np.numpy_support import as_dtype

LANES = 32  # threads of a warp
BAR = "barrier"


class Thread(greenlet):
    """A thread of a block; `switch` runs it to its next barrier, and returns what it waits for there."""

    def __init__(self, kernel, given, place, block):
        super().__init__(lambda _: kernel(*given))
        self.place, self.block = place, block

    @property
    def number(self) -> int:
        """Its place in the block; warps are neighbours."""
        x, y, z = self.place
        width, height, _ = self.block.threads
        return x + width * (y + height * z)


class Block:
    """A block of threads and the memory they share."""

    def __init__(self, place, threads):
        self.place, self.threads = place, threads
        self.shared: dict = {}

    def run(self, kernel, given, order: random.Random) -> None:
        """Run all threads to their ends."""
        threads = [Thread(kernel, given, (x, y, z), self) for z, y, x in product(*map(range, self.threads[::-1]))]
        waiting: dict = {}
        ready: dict = dict.fromkeys(threads)
        while ready:
            for thread in order.sample(list(ready), len(ready)):
                wanted = thread.switch(ready[thread])
                if not thread.dead:
                    waiting[thread] = wanted
            ready = _released(waiting, threads)
            for thread in ready:
                del waiting[thread]
        if waiting:
            where = {f"{what} in line {site[1]}" for what, site, _ in waiting.values()}
            raise RuntimeError(f"{len(waiting)} of {len(threads)} threads wait for ever: {', '.join(sorted(where))}")


def _released(waiting: dict, threads: list[Thread]) -> dict:
    """Threads that can go on, and what they are told: whole warps at one exchange, or the block at one barrier."""
    found: dict = {}
    for first in range(0, len(threads), LANES):
        warp = threads[first : first + LANES]
        wanted = [waiting.get(thread) for thread in warp]
        if None in wanted or len(warp) < LANES or len({each[:2] for each in wanted}) > 1 or wanted[0][0] == BAR:
            continue
        found |= zip(warp, EXCHANGES[wanted[0][0]]([each[2] for each in wanted]), strict=True)
    wanted = list(waiting.values())
    if len(wanted) == len(threads) and wanted[0][0] == BAR and len({each[:2] for each in wanted}) == 1:
        return dict.fromkeys(threads)
    return found


def _ballot(said: list) -> list[int]:
    bits = sum(1 << lane for lane, yes in enumerate(said) if yes)
    return [bits - (bits >> 31 << 32)] * LANES  # a signed number of 32 bits


EXCHANGES = {
    "ballot": _ballot,
    "shfl": lambda asked: [asked[lane % LANES][0] for _, lane in asked],
    "shfl up": lambda asked: [asked[i - by][0] if i >= by else own for i, (own, by) in enumerate(asked)],
    "shfl down": lambda asked: [asked[i + by][0] if i + by < LANES else own for i, (own, by) in enumerate(asked)],
}


def _wait(what: str, payload=None):
    """Wait where the caller of the caller stands; returns what is told."""
    frame = sys._getframe(2)
    return getcurrent().parent.switch((what, (frame.f_code, frame.f_lineno), payload))


def _exchange(what: str):
    def exchanged(mask, *payload):
        assert mask == 2**LANES - 1
        return _wait(what, payload if len(payload) > 1 else payload[0])

    return exchanged


class _Dimensions:
    """x, y and z of something of the current thread."""

    def __init__(self, of):
        self.of = of

    x = property(lambda self: self.of(getcurrent())[0])
    y = property(lambda self: self.of(getcurrent())[1])
    z = property(lambda self: self.of(getcurrent())[2])


def _nonsense(shape, dtype) -> np.ndarray:
    found = np.empty(shape, _readable(as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)))
    found.reshape(-1).view(np.uint8)[:] = 0xFB  # large negative numbers, whatever the type
    return found


def _readable(dtype: np.dtype) -> np.dtype:
    """Records have fields that interpreted code reads as attributes."""
    return np.dtype((np.record, dtype)) if dtype.names else dtype


def _shared(shape, dtype) -> np.ndarray:
    frame = sys._getframe(1)
    place = frame.f_code, frame.f_lasti
    kept = getcurrent().block.shared
    if place not in kept:
        kept[place] = _nonsense(shape, dtype)
    return kept[place]


def _add(array, place, value):
    before = array[place]
    array[place] = before + value
    return before


def _grid(n_dimensions: int):
    thread = getcurrent()
    places = zip(thread.block.place, thread.block.threads, thread.place, strict=True)
    found = [block * threads + own for block, threads, own in places]
    return found[0] if n_dimensions == 1 else tuple(found[:n_dimensions])


def _bits(number: int) -> int:
    """A whole number of 32 or 64 bits as one without a sign."""
    number = int(number)
    return number if number >= 0 else number + (2**32 if number >= -(2**31) else 2**64)


def _first_bit(number: int) -> int:
    bits = _bits(number)
    return (bits & -bits).bit_length()


class Kernel:
    """A function to be compiled."""

    def __init__(self, function):
        self.function = function

    def compile(self, signature: tuple) -> SimpleNamespace:
        """Keep the function with the types of its arguments; its machine code is a number to find it by."""
        number = len(_compiled)
        _compiled.append((self.function, signature))
        library = SimpleNamespace(get_cubin=lambda: str(number).encode())
        return SimpleNamespace(_codelibrary=library, entry_name=self.function.__name__)


_compiled: list[tuple] = []


def jit(*, device: bool = False, cache: bool = False, max_registers: int | None = None):
    """As `numba.cuda.jit`; a function of the device is called as it is, and is no plain function."""
    return partial if device else Kernel


def module() -> ModuleType:
    """What `from numba import cuda` is to find."""
    cuda = ModuleType("numba.cuda")
    cuda.__path__ = []  # type: ignore[attr-defined]
    vars(cuda).update(
        jit=jit, grid=_grid, syncthreads=lambda: _wait(BAR), popc=lambda number: _bits(number).bit_count(),
        ffs=_first_bit, ballot_sync=_exchange("ballot"), shfl_sync=_exchange("shfl"),
        shfl_up_sync=_exchange("shfl up"), shfl_down_sync=_exchange("shfl down"),
        shared=SimpleNamespace(array=_shared), local=SimpleNamespace(array=_nonsense), atomic=SimpleNamespace(add=_add),
        threadIdx=_Dimensions(lambda thread: thread.place), blockIdx=_Dimensions(lambda thread: thread.block.place),
        blockDim=_Dimensions(lambda thread: thread.block.threads),
    )  # fmt: skip
    return cuda


# --- the driver -----------------------------------------------------------------------------------


class Module:
    """Loaded machine code."""

    def load(self, code: bytes) -> None:
        """Keep which function it is."""
        self.number = int(code)

    def get_function(self, name: str) -> SimpleNamespace:
        """The function, by an address that is not null."""
        assert _compiled[self.number][0].__name__ == name
        return SimpleNamespace(ptr=self.number + 1)


def launch_kernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra) -> None:
    """Run a kernel; arguments are read from the addresses that `params` points to."""
    kernel, signature = _compiled[function - 1]
    assert bx * by * bz <= 1024
    assert max(gy, gz) <= 65535
    assert min(gx, gy, gz, bx, by, bz) > 0
    assert shared == stream == extra == 0
    given = _arguments(params, signature)
    order = random.Random(0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for place in product(range(gx), range(gy), range(gz)):
            Block(place, (bx, by, bz)).run(kernel, given, order)


class DriverError(Exception):
    """What a driver raises."""


DRIVER = SimpleNamespace(launchKernel=launch_kernel, CUDADriverError=DriverError)


def _arguments(params: int, signature: tuple) -> list:
    position = 0

    def number() -> int:
        nonlocal position
        place = ctypes.c_int64.from_address(params + 8 * position).value
        position += 1
        return ctypes.c_int64.from_address(place).value

    return [_array(number, each) if isinstance(each, types.Array) else number() for each in signature]


def _array(number, kind: types.Array) -> np.ndarray:
    """The array of which Numba passes ``meminfo, parent, size, itemsize, pointer, shape, strides``."""
    meminfo, parent, size, itemsize, pointer = (number() for _ in range(5))
    shape, strides = [number() for _ in range(kind.ndim)], [number() for _ in range(kind.ndim)]
    dtype = _readable(as_dtype(kind.dtype))
    assert (meminfo, parent, size, itemsize) == (0, 0, np.prod(shape), dtype.itemsize)
    if size == 0:
        return np.empty(shape, dtype)
    extent = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) + itemsize
    array = np.ndarray(shape, dtype, (ctypes.c_char * extent).from_address(pointer), strides=strides)
    assert {"C": array.flags.c_contiguous, "F": array.flags.f_contiguous, "A": True}[kind.layout]
    return array
