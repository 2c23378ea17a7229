"""How a file is to be read: the label column, and the features of the model that its rows are for."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.io.dataset import DataError


@dataclass(frozen=True)
class ReadOptions:
    """The label column to read, and the features of the model that the rows are for, if they are to be predicted."""

    label: str | int | None = None  # the column that was asked for
    usual_label: str | int | None = None  # that of the training file, which this one may lack
    n_features: int | None = None
    feature_names: list[str] | None = None
    first_index: int | None = None

    @property
    def label_column(self) -> str | int | None:
        """The label column to look for."""
        return self.usual_label if self.label is None else self.label

    @property
    def width(self) -> int | None:
        """Features that the rows must have, or None if any number is right."""
        if self.n_features is None and self.feature_names is not None:
            return len(self.feature_names)
        return self.n_features

    def check_no_label_choice(self, name: str, instead: str) -> None:
        """Raise DataError if a label column is asked for in a file `name` whose format has none to choose."""
        if self.label is not None:
            raise DataError(f"{name}: a label column ({self.label!r}) can be chosen in tables only; {instead}.")

    def check_width(self, name: str, n_columns: int) -> None:
        """Raise DataError if the rows of a file `name`, without its labels, do not have the features of the model."""
        if self.width is not None and n_columns != self.width:
            raise DataError(f"{name} has {n_columns} columns, but the model has {self.width} features.")
