"""What a loader did to the features of a data set, so that the rows of other files can be treated alike."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class Scaling:
    """Features had `shift` added and were divided by `divisor`, which took them to [0, 1]; or rows got length 1."""

    shift: float = 0.0
    divisor: float = 1.0
    unit_rows: bool = False

    def apply(self, X):
        """The rows scaled."""
        if self.unit_rows:
            from sklearn.preprocessing import normalize

            return normalize(X)
        return (X + X.dtype.type(self.shift) if self.shift else X) / X.dtype.type(self.divisor)

    def is_done(self, X) -> bool:
        """Whether the rows look scaled already."""
        values = X.data if hasattr(X, "indptr") else X
        return not self.unit_rows and bool(values.size == 0 or (values.min() >= 0 and values.max() <= 1))

    def sentence(self) -> str:
        """What is done to the rows."""
        if self.unit_rows:
            return "its rows are scaled to length 1"
        shifted = f"have {self.shift:g} added and " if self.shift else ""
        return f"its features {shifted}are divided by {self.divisor:g}"

    def as_json(self) -> dict[str, Any]:
        """As it is kept in a model file."""
        return asdict(self)


def scaling_from(document) -> Scaling | None:
    """The Scaling that a model file keeps; None where it keeps none, or no proper one."""
    if not isinstance(document, dict):
        return None
    shift: Any = document.get("shift")
    divisor: Any = document.get("divisor")
    unit_rows = document.get("unit_rows")
    if not (_is_number(shift) and _is_number(divisor) and divisor and type(unit_rows) is bool):
        return None
    return Scaling(shift, divisor, unit_rows)


def _is_number(value) -> bool:
    return type(value) in (int, float) and isfinite(value)
