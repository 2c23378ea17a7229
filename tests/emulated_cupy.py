"""What the library uses of CuPy, without a GPU: arrays that refuse to meet those of NumPy, and memory that ends.

Arrays are NumPy's in a wrapper. As CuPy's they take part in nothing together with arrays of the host, do not turn into
them unasked, and are 0-dimensional where NumPy has scalars. Elementwise kernels are compiled by the C++ compiler.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import weakref
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import emulated_cuda
from gpu import COMPILER

TOTAL = 2**28  # bytes of the card


class OutOfMemoryError(MemoryError):
    """The card, or the pool's limit, has no room for an array."""


class Pool:
    """Counts the bytes of arrays that exist."""

    def __init__(self):
        self.used, self.limit, self.refused = 0, TOTAL, 0
        self.known: set[int] = set()

    def take(self, array: np.ndarray) -> None:
        """Count an array's memory, once for all views of it."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if id(array) in self.known:
            return
        if self.used + array.nbytes > self.limit:
            self.refused += 1
            raise OutOfMemoryError(f"{array.nbytes} bytes, {self.limit - self.used} are left")
        self.used += array.nbytes
        self.known.add(id(array))
        weakref.finalize(array, self._give_back, id(array), array.nbytes)

    def _give_back(self, which: int, n_bytes: int) -> None:
        self.known.discard(which)
        self.used -= n_bytes

    def set_limit(self, size: int) -> None:
        """As CuPy's: 0 is no limit."""
        self.limit = size or TOTAL

    def used_bytes(self) -> int:
        """Bytes of arrays."""
        return self.used

    def free_bytes(self) -> int:
        """Nothing is kept for later."""
        return 0

    def free_all_blocks(self) -> None:
        """There are none."""


POOL = Pool()


class ndarray(NDArrayOperatorsMixin):
    """An array on the card."""

    __module__ = "cupy"
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: np.ndarray):
        POOL.take(values)
        self.values = values

    shape = property(lambda self: self.values.shape)
    strides = property(lambda self: self.values.strides)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    nbytes = property(lambda self: self.values.nbytes)
    itemsize = property(lambda self: self.values.itemsize)
    flags = property(lambda self: self.values.flags)
    T = property(lambda self: ndarray(self.values.T))
    data = property(lambda self: SimpleNamespace(ptr=self.values.ctypes.data))

    device = property(lambda self: nullcontext())

    def get(self, order: str = "C") -> np.ndarray:
        """A copy on the host."""
        return self.values.copy(order=order)

    def set(self, values: np.ndarray) -> None:
        """Copy from the host."""
        assert type(values) is np.ndarray
        assert values.shape == self.shape
        self.values[...] = values

    def __array__(self, *args, **kwargs):
        """Refuse."""
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __matmul__(self, other):
        return _called(PRECISION.product, (self, other), {})

    def __array_ufunc__(self, ufunc, method, *given, **how):
        return _called(getattr(ufunc, method), given, how)

    def __array_function__(self, function, kinds, given, how):
        return _called(function, given, how)

    def __getattr__(self, name):
        if name.startswith("_") or not callable(getattr(np.ndarray, name, None)):
            raise AttributeError(name)
        return lambda *given, **how: _called(getattr(self.values, name), given, how)

    def __getitem__(self, place):
        return _wrapped(self.values[_index(place)])

    def __setitem__(self, place, values):
        self.values[_index(place)] = _unwrapped(values)

    def __len__(self):
        return len(self.values)

    def __bool__(self):
        return bool(self.values)

    def __int__(self):
        return int(self.values)

    def __float__(self):
        return float(self.values)


def _unwrapped(given):
    """Arguments as NumPy takes them; arrays of the host are refused."""
    if isinstance(given, ndarray):
        return given.values
    if isinstance(given, np.ndarray) and given.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(given, tuple | list):
        return type(given)(_unwrapped(each) for each in given)
    return given


def _index(place):
    """Where to look; CuPy takes arrays of the host for that."""
    if isinstance(place, tuple):
        return tuple(_index(each) for each in place)
    return place.values if isinstance(place, ndarray) else place


def _wrapped(found):
    if isinstance(found, tuple):
        return tuple(_wrapped(each) for each in found)
    if isinstance(found, np.ndarray | np.generic):
        return ndarray(np.asarray(found))
    return found


def _called(function, given, how):
    out = how.get("out")
    found = function(*_unwrapped(given), **{name: _unwrapped(value) for name, value in how.items()})
    return (out[0] if isinstance(out, tuple) else out) if out is not None else _wrapped(found)


class ElementwiseKernel:
    """As CuPy's, for types float and double; compiled for each when first called."""

    def __init__(self, inputs: str, output: str, operation: str, name: str):
        self.inputs = [part.split() for part in inputs.split(",")]
        ((self.kind, self.output),) = [part.split() for part in output.split(",")]
        self.operation, self.name = operation, name
        self.loops: dict = {}

    def __call__(self, *given):
        *given, out = given
        shape, dtype = out.shape, out.dtype
        inputs = []
        for (kind, _), value in zip(self.inputs, given, strict=True):
            wanted = dtype if kind == "T" else np.dtype(kind)
            value = _unwrapped(value)
            assert value.dtype == wanted, f"{self.name}: a {value.dtype} where {wanted} is meant"
            inputs.append(np.ascontiguousarray(np.broadcast_to(value, shape)))
        found = np.empty(shape, dtype)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, found)]
        self._loop(dtype)(ctypes.c_int64(found.size), *pointers)
        out.values[...] = found
        return out

    def _loop(self, dtype):
        if dtype not in self.loops:
            self.loops[dtype] = self._compiled({"float32": "float", "float64": "double"}[dtype.name])
        return self.loops[dtype]

    def _compiled(self, number: str):
        arrays = "".join(f", const {kind} *{name}_" for kind, name in self.inputs)
        values = "".join(f"const {kind} {name} = {name}_[i_]; " for kind, name in self.inputs)
        source = f"""
            #include <algorithm>
            #include <cmath>
            #include <cstdint>
            using std::min; using std::max; using std::exp; using std::pow; using std::tanh;
            typedef int32_t int32;
            typedef {number} T;
            extern "C" void {self.name}(int64_t n_{arrays}, {self.kind} *{self.output}_) {{
                for (int64_t i_ = 0; i_ < n_; i_++) {{
                    {values} {self.kind} {self.output};
                    {self.operation};
                    {self.output}_[i_] = {self.output};
                }}
            }}"""
        assert COMPILER is not None
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "loop.so"
            words = [COMPILER, "-O1", "-fPIC", "-shared", "-x", "c++", "-", "-o", str(library)]
            subprocess.run(words, input=source, text=True, check=True)
            return getattr(ctypes.CDLL(str(library)), self.name)


class Tensor:
    """A tensor of torch, on the host or on the card."""

    __module__ = "torch"

    def __init__(self, values: np.ndarray, device: str = "cpu"):
        self.values, self.device = values, SimpleNamespace(type=device, index=0 if device == "cuda" else None)

    def __len__(self):
        return len(self.values)

    shape = property(lambda self: self.values.shape)
    __cuda_array_interface__ = property(lambda self: self.values.__array_interface__)

    def detach(self) -> Tensor:
        """Itself: nothing is differentiated here."""
        return self

    def cuda(self) -> Tensor:
        """A copy on the card."""
        return Tensor(self.values.copy(), "cuda")

    def cpu(self) -> Tensor:
        """A copy on the host."""
        return Tensor(self.values.copy())

    def numpy(self) -> np.ndarray:
        """The array of one on the host."""
        if self.device.type != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        return self.values


def as_tensor(values, device=None) -> Tensor:
    """As torch's."""
    return Tensor(np.asarray(values), "cpu" if device is None else device.type)


class Precision:
    """How products of float32 are computed: two settings of CuPy's, for its own products and those of cuBLAS."""

    TF32 = -1

    def __init__(self):
        self.compute_type, self.math_mode = 0, 0

    def set(self, name: str, value: int) -> None:
        """Change a setting."""
        setattr(self, name, value)

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a @ b, with factors of ten bits where both settings say so."""
        if a.dtype == np.float32 and (self.compute_type, self.math_mode) == (self.TF32, 3):
            a, b = (
                ((np.ascontiguousarray(each).view(np.int32) + 0x1000) & ~0x1FFF).view(np.float32) for each in (a, b)
            )
        return a @ b


PRECISION = Precision()


def gemm(transa: str, transb: str, a: ndarray, b: ndarray, out: ndarray, alpha=1.0, beta=0.0) -> ndarray:
    """As `cupy.cublas.gemm`: out = alpha a b + beta out, for arrays of one type whose numbers lie side by side."""
    assert (transa, transb) == ("N", "N")
    assert a.dtype == b.dtype == out.dtype
    for each in (a, b, out):
        assert each.flags.c_contiguous or each.flags.f_contiguous
    found = alpha * PRECISION.product(a.values, b.values)
    out.values[...] = found + beta * out.values if beta else found
    return out


def modules() -> dict[str, ModuleType]:
    """What ``import cupy``, its submodules, torch and the name of numba-cuda are to find."""
    runtime = SimpleNamespace(
        CUDARuntimeError=RuntimeError,
        getDevice=lambda: 0,
        getDeviceCount=lambda: 1,
        memGetInfo=lambda: (TOTAL - POOL.used, TOTAL),  # a limit of the pool is no affair of the card
    )
    mode = SimpleNamespace(
        getMathMode=lambda handle: PRECISION.math_mode,
        setMathMode=lambda handle, value: PRECISION.set("math_mode", value),
    )
    core = dict(
        get_compute_type=lambda dtype: PRECISION.compute_type,
        set_compute_type=lambda dtype, value: PRECISION.set("compute_type", value),
    )
    driver = dict(
        Device=lambda number: nullcontext(), runtime=runtime, driver=emulated_cuda.DRIVER,
        function=SimpleNamespace(Module=emulated_cuda.Module), device=SimpleNamespace(get_cublas_handle=lambda: 1),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
    )  # fmt: skip
    arrays = dict(
        ndarray=ndarray, ElementwiseKernel=ElementwiseKernel, asarray=_asarray, get_default_memory_pool=lambda: POOL,
        get_default_pinned_memory_pool=lambda: POOL,
        __getattr__=_function, __version__="0",
    )  # fmt: skip
    found = {
        "torch": dict(Tensor=Tensor, as_tensor=as_tensor),
        "numba_cuda": {},
        "cupy": arrays,
        "cupy.cublas": dict(gemm=gemm),
        "cupy.cuda": driver,
        "cupy._core": core,
        "cupy._core._routines_linalg": dict(COMPUTE_TYPE_TF32=Precision.TF32),
        "cupy_backends.cuda.libs": dict(cublas=mode),
        "cupy_backends.cuda": {},
        "cupy_backends": {},
    }
    made = {name: module_of(name, parts) for name, parts in found.items()}
    for name, module in made.items():
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(made[parent], own, module)
    return made


def module_of(name: str, parts: dict) -> ModuleType:
    """A module of these parts, in which submodules may be."""
    found = ModuleType(name)
    found.__spec__ = ModuleSpec(name, None)
    found.__path__ = []  # type: ignore[attr-defined]
    vars(found).update(parts)
    return found


def _asarray(values, dtype=None, **how):
    if isinstance(values, ndarray):
        return values if dtype in (None, values.dtype) else values.astype(dtype)
    if isinstance(values, Tensor):
        assert values.device.type == "cuda"
        return ndarray(values.values)  # the same memory
    return ndarray(np.array(values, dtype, **how))  # a copy: the card has memory of its own


def _function(name: str):
    """A function of NumPy on arrays of the card."""
    found = getattr(np, name)
    return (lambda *given, **how: _called(found, given, how)) if callable(found) and type(found) is not type else found
