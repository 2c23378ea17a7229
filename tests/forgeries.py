"""Forged model files: parts change, and the checksum is right again. What is behind it has to hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from model_files import DIGITS, FIRST, flipped, join, sealed, split

HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**53, 2**63 - 1, 2**63, 10**30, 0.5, -0.5, 1e308, -1e308, 5e-324, "",
    "nan", "linear", "rbf", "precomputed", "callable", "ovo", "\ud800", "x" * 1000, "__class__", "../../etc", [], {},
    [[]], [0] * 100, [None], {"float": "nan"}, {"float": "inf"}, {"float": "x"}, {"tuple": [1, 2]}, {"tuple": None},
    {"dict": [[[], 1]]}, {"dict": [[1, 1], [1, 2]]}, {"scalar": ["<f8", 1e308]}, {"scalar": ["<i8", 2**64]},
    {"scalar": ["<U99999999", "a"]}, {"scalar": ["|O", "a"]}, {"scalar": ["<f8", {"float": "nan"}]}, {"bytes": "€"},
    {"scalar": ["<M8[s]", 5]}, {"scalar": ["<i8", 1]}, {"scalar": ["|b1", True]}, {"scalar": ["<f2", 1e9]},
    "<U99999999", "|S99999999", "<M8[999999999Y]", "<f8", ">f8", "<i8", "|b1", "|O", "O", "V8", "i4,i4", "left out",
]  # fmt: skip
TEXTS = [
    lambda: "[" * 100_000,
    lambda: "[" * 100_000 + "]" * 100_000,
    lambda: '{"a":' * 5000 + "1" + "}" * 5000,
    lambda: "[" + "[]," * 2_000_000 + "[]]",
    lambda: "[" + ",".join(['""'] * 1_500_000) + "]",
    lambda: "9" * 1_000_000,
    lambda: '{"format":' + "9" * 5000 + "}",
    lambda: '{"format":1e999}',
    lambda: '{"format":NaN}',
    lambda: '{"format":1,"format":1}',
    lambda: '{"format":2,"later":[1]}',
    lambda: '{"format":0}',
    lambda: '{"format":true}',
    lambda: '{"format":1.0}',
    lambda: "null",
    lambda: "",
    lambda: '"' + '\\"' * 500_000,
    lambda: "\\" * 500_001,
    lambda: '{"format":1}{"format":1}',
    lambda: "\ufeff{}",
]


def tensor_bits(raw: bytes, rng) -> bytes:
    """A bit within the tensors."""
    header, document, data = split(raw)
    return join(header, document, flipped(data, rng.integers(8 * len(data))))


def tensor_values(raw: bytes, rng) -> bytes:
    """A value of a tensor becomes an extreme one."""
    header, document, data = split(raw)
    entry = header[_tensor(header, rng)]
    dtype = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}.get(entry["dtype"], "|u1")
    first, last = entry["data_offsets"]
    values = np.frombuffer(data[first:last], dtype).copy()
    if not values.size:
        return join(header, document, data)
    extremes: list = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, np.finfo("f4").max, 1e-40]
    if values.dtype.kind != "f":
        limits = np.iinfo(values.dtype)
        extremes = [limits.min, limits.max, 0, 1, 2, limits.max // 2]
    values[rng.integers(values.size)] = extremes[rng.integers(len(extremes))]
    return join(header, document, data[:first] + values.tobytes() + data[last:])


def swapped_tensors(raw: bytes, rng) -> bytes:
    """Two tensors have each other's name."""
    header, document, data = split(raw)
    a, b = _tensor(header, rng), _tensor(header, rng)
    header[a], header[b] = header[b], header[a]
    return join(header, document, data)


def removed_tensor(raw: bytes, rng) -> bytes:
    """A tensor is missing, and the others move up."""
    header, document, data = split(raw)
    first, last = header.pop(_tensor(header, rng))["data_offsets"]
    for name in _names(header):
        begin, end = header[name]["data_offsets"]
        if begin >= last and end > first:
            header[name]["data_offsets"] = [begin - (last - first), end - (last - first)]
    return join(header, document, data[:first] + data[last:])


def renamed_tensor(raw: bytes, rng) -> bytes:
    """A tensor has another name."""
    header, document, data = split(raw)
    old = _tensor(header, rng)
    names = [
        "",
        "x",
        "coef_",
        "classes_",
        "violations_",
        "n_support_",
        "scaler.mean_",
        "support_vectors_.data",
        "é" * 99,
    ]
    header[names[rng.integers(len(names))]] = header.pop(old)
    return join(header, document, data)


def duplicated_tensor(raw: bytes, rng) -> bytes:
    """A tensor comes twice, by another name or by a key that JSON repeats."""
    header, document, data = split(raw)
    name = _tensor(header, rng)
    first, last = header[name]["data_offsets"]
    copy = header[name] | {"data_offsets": [len(data), len(data) + last - first]}
    file = join(header | {"copy": copy}, document, data + data[first:last])
    if rng.random() < 0.5:
        return file
    length = int.from_bytes(file[:8], "little")
    head = file[8 : 8 + length].replace(b'"copy":', json.dumps(name).encode() + b":")
    return sealed(len(head).to_bytes(8, "little") + head + file[8 + length :])


def other_dtype(raw: bytes, rng) -> bytes:
    """A tensor claims another type; half of the time of the same size."""
    header, document, data = split(raw)
    entry = header[_tensor(header, rng)]
    alike = {"F64": ["I64", "U64"], "I64": ["F64", "U64"], "F32": ["I32", "U32"], "I32": ["F32", "U32"]}
    types = ["F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E4M3", "C64", "", None, 7]
    if rng.random() < 0.5:
        types = alike.get(entry["dtype"], types)
    entry["dtype"] = types[rng.integers(len(types))]
    return join(header, document, data)


def other_shape(raw: bytes, rng) -> bytes:
    """A tensor claims another shape, often one of as many values."""
    header, document, data = split(raw)
    entry = header[_tensor(header, rng)]
    shape = entry["shape"]
    size = int(np.prod(shape))
    shapes = [shape[::-1], [size], [1, size], [size, 1], [size, 0], [], [1] * 40, [-1, -size], [shape], None, [None]]
    shapes += [[size + 1], [True, size], [float(size)], [str(size)], [*shape, 1]]
    entry["shape"] = shapes[rng.integers(len(shapes))]
    return join(header, document, data)


def huge_shape(raw: bytes, rng) -> bytes:
    """A tensor claims to be huge, or empty in a huge way, and where it lies."""
    header, document, data = split(raw)
    entry = header[_tensor(header, rng)]
    huge = [2**31, 2**40, 2**48, 2**62, 2**63 - 1, 2**64, 10**30, 2**61 + 1]
    wide = huge[rng.integers(len(huge))]
    shapes = [[wide], [wide, wide], [0, wide], [wide, 0], [2**32, 2**32], [1, wide]]
    entry["shape"] = shapes[rng.integers(len(shapes))]
    if rng.random() < 0.5:
        begin = entry["data_offsets"][0]
        places = [
            [begin, begin],
            [0, 0],
            [0, 8 * wide],
            [begin, begin + 8 * wide],
            [wide, wide],
            [len(data), len(data)],
        ]
        entry["data_offsets"] = places[rng.integers(len(places))]
    return join(header, document, data)


def other_place(raw: bytes, rng) -> bytes:
    """A tensor claims to lie somewhere else."""
    header, document, data = split(raw)
    entry = header[_tensor(header, rng)]
    first, last = entry["data_offsets"]
    move = int(rng.integers(-16, 17))
    places = [[first + move, last + move], [last, first], [first], [], None, [first, last, last], [str(first), last]]
    places += [
        [0, last - first],
        [-8, last - first - 8],
        [first + 0.0, last + 0.0],
        [len(data), len(data) + last - first],
    ]
    entry["data_offsets"] = places[rng.integers(len(places))]
    return join(header, document, data)


def hostile_value(raw: bytes, rng) -> bytes:
    """A value somewhere in the document becomes a strange one."""
    header, document, data = split(raw)
    holder, key = _place(document, rng)
    holder[key] = HOSTILE[rng.integers(len(HOSTILE))]
    return join(header, document, data)


def edited_number(raw: bytes, rng) -> bytes:
    """A number, a string or a list of the document changes a little."""
    header, document, data = split(raw)
    for _ in range(20):
        holder, key = _place(document, rng)
        value = holder[key]
        if type(value) in (int, float):
            holder[key] = value + int(rng.integers(-2, 3)) if rng.random() < 0.7 else value * 1e6
        elif isinstance(value, str) and value:
            holder[key] = value[: rng.integers(len(value))] + chr(int(rng.integers(32, 600)))
        elif isinstance(value, list) and value:
            holder[key] = value[::-1] if rng.random() < 0.5 else value + value[:1]
        else:
            continue
        break
    return join(header, document, data)


def other_key(raw: bytes, rng) -> bytes:
    """A key of the document is missing, new, or has another name."""
    header, document, data = split(raw)
    holder, key = _place(document, rng)
    if isinstance(holder, list):
        holder.pop(key)
    else:
        value = holder.pop(key)
        if rng.random() < 0.5:
            holder[str(key) + "_"] = value
    if rng.random() < 0.2:
        document["__reduce__"] = HOSTILE[rng.integers(len(HOSTILE))]
    return join(header, document, data)


def hostile_text(raw: bytes, rng) -> bytes:
    """The document is a text that is hard to parse."""
    header, _, data = split(raw)
    return join(header, TEXTS[rng.integers(len(TEXTS))](), data)


def hostile_header(raw: bytes, rng) -> bytes:
    """The header goes on with a text that is hard to parse."""
    text = TEXTS[rng.integers(len(TEXTS))]().encode("utf-8", "replace")
    start = raw[8 : FIRST + DIGITS]
    ending = [b'"},"x":', b'","pegasos":', b'"}}', b""][rng.integers(4)]
    head = start + ending + text
    return sealed(len(head).to_bytes(8, "little") + head)


def document_bits(raw: bytes, rng) -> bytes:
    """A bit within the header."""
    length = int.from_bytes(raw[:8], "little")
    return sealed(
        raw[: FIRST + DIGITS]
        + flipped(raw[FIRST + DIGITS : 8 + length], rng.integers(8 * (length - 100)))
        + raw[8 + length :]
    )


def other_features(raw: bytes, rng) -> bytes:
    """The number of features changes wherever the document names it."""
    header, document, data = split(raw)
    wide = [1, 2, 4, 10**6, 2**31, 2**48, 2**48 + 1, 2**62][rng.integers(8)]
    document["n_features_in"] = wide
    if document["pipeline"] is not None and rng.random() < 0.7:
        document["pipeline"]["n_features_in"] = wide
    if "support_vectors_" in header and rng.random() < 0.5:
        header["support_vectors_"]["shape"][1] = wide
    return join(header, document, data)


FORGERIES: dict[str, Callable] = {
    one.__name__: one
    for one in (
        tensor_bits, tensor_values, swapped_tensors, removed_tensor, renamed_tensor, duplicated_tensor, other_dtype,
        other_shape, huge_shape, other_place, hostile_value, edited_number, other_key, hostile_text, hostile_header,
        document_bits, other_features,
    )
}  # fmt: skip


def transplanted(first: bytes, second: bytes) -> bytes:
    """The document of one file with the tensors of another."""
    header, _, data = split(second)
    return join(header, split(first)[1], data)


def _names(header: dict) -> list[str]:
    return [name for name in header if name != "__metadata__"]


def _tensor(header: dict, rng) -> str:
    names = _names(header)
    return names[rng.integers(len(names))]


def _place(document: Any, rng) -> tuple[Any, Any]:
    """A random place in nested dicts and lists: its holder and its key."""
    places = []

    def visit(holder):
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            places.append((holder, key))
            if isinstance(value, dict | list):
                visit(value)

    visit(document)
    return places[rng.integers(len(places))]
