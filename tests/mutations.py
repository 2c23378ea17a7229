"""Changed model files, for the tests and for script/fuzz.

A mutation takes the bytes of a model file and a random generator. Damage is left as it is, and the checksum has to
notice it. A forgery is sealed with a new checksum: the file is rejected, or it is a model that predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from forgeries import FORGERIES, transplanted
from model_files import flipped, judged, sealed


def bit_flip(raw: bytes, rng) -> bytes:
    """One bit."""
    return flipped(raw, rng.integers(8 * len(raw)))


def byte_run(raw: bytes, rng) -> bytes:
    """A run of random or of equal bytes."""
    length = int(rng.integers(1, 64))
    first = int(rng.integers(len(raw)))
    run = rng.bytes(length) if rng.random() < 0.5 else bytes([int(rng.integers(256))]) * length
    return raw[:first] + run[: len(raw) - first] + raw[first + length :]


def truncation(raw: bytes, rng) -> bytes:
    """The end is missing."""
    return raw[: rng.integers(len(raw))]


def extension(raw: bytes, rng) -> bytes:
    """Something follows."""
    return raw + rng.bytes(int(rng.integers(1, 100)))


def moved_bytes(raw: bytes, rng) -> bytes:
    """Bytes are taken out or put in."""
    first, length = int(rng.integers(len(raw))), int(rng.integers(1, 20))
    return raw[:first] + raw[first + length :] if rng.random() < 0.5 else raw[:first] + rng.bytes(length) + raw[first:]


def other_length(raw: bytes, rng) -> bytes:
    """The first eight bytes, which hold the length of the header."""
    length = int.from_bytes(raw[:8], "little")
    wrong = [0, 1, length - 1, length + 8, len(raw), 2**40, 2**63, 2**64 - 1, int(rng.integers(2**32))]
    return int(rng.choice(np.array(wrong, np.uint64))).to_bytes(8, "little") + raw[8:]


DAMAGE: dict[str, Callable] = {
    one.__name__: one for one in (bit_flip, byte_run, truncation, extension, moved_bytes, other_length)
}


def kinds() -> dict[str, Callable]:
    """All mutations by name; damage also with a checksum that hides it, and changed twice."""
    hidden = {f"{name}, sealed": _then_sealed(mutate) for name, mutate in DAMAGE.items()}
    return DAMAGE | hidden | FORGERIES


def _then_sealed(mutate: Callable) -> Callable:
    return lambda raw, rng: sealed(mutate(raw, rng))


def judged_case(number: int, seed: int, files: list[bytes], path: Path) -> tuple[str, str]:
    """The kind of one mutation and what became of it; the same for the same number and seed."""
    rng = np.random.default_rng([seed, number])
    names = [*kinds(), "transplanted"]
    name = names[number % len(names)]
    original = files[rng.integers(len(files))]
    if name == "transplanted":
        return name, judged(transplanted(original, files[rng.integers(len(files))]), path, original, True)
    raw = kinds()[name](original, rng)
    return name, judged(raw, path, original, name not in DAMAGE)
