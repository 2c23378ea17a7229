"""How a file is to be read: its label column, what else is known of it, and the features of a model for its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pegasos.io.dataset import DataError

Column = str | int  # by its name, or by its number, counted from 0; negative ones from the end


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read. The options of `pegasos.io.read` and `pegasos.datasets.load` are these, by name.

    Attributes
    ----------
    label : str or int, default=None
        The label column of a table: a name of its header, or a number counted from 0 (negative ones from the end);
        None: the last one.
    drop : sequence of str or int, default=()
        Columns of a table that are left out, named as `label` is.
    header : bool, default=None
        Whether the first line of a table in text names the columns; None: as its fields look.
    decimal : {".", ","}, default=None
        How decimals are written in a table in text; None: as its fields look.
    n_features : int, default=None
        For rows to predict: the number of features of the model. Labels may then be missing.
    feature_names : list of str, default=None
        For rows to predict: the features of the model, which are found by name in a file with a header.
    first_index : {0, 1}, default=None
        Where the features of LIBSVM text count from in the training file; None: from 1 unless a 0 occurs.
    usual_label, usual_drop
        The label column of the training file and those that it left out, which this file may have, too.
    """

    label: Column | None = None
    drop: Sequence[Column] = ()
    header: bool | None = None
    decimal: str | None = None
    n_features: int | None = None
    feature_names: list[str] | None = None
    first_index: int | None = None
    usual_label: Column | None = None
    usual_drop: Sequence[Column] = ()

    def __post_init__(self):
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal is a point or a comma, got {self.decimal!r}.")

    @property
    def label_column(self) -> Column | None:
        """The label column to look for."""
        return self.usual_label if self.label is None else self.label

    @property
    def width(self) -> int | None:
        """Features that the rows must have, or None if any number is right."""
        if self.n_features is None and self.feature_names is not None:
            return len(self.feature_names)
        return self.n_features

    def check_no_table(self, name: str, instead: str) -> None:
        """Raise DataError if something is asked for that only tables have; `instead` says where the labels are."""
        if self.label is not None:
            raise DataError(f"{name}: a label column ({self.label!r}) can be chosen in tables only; {instead}.")
        if self.drop:
            raise DataError(f"{name}: columns can be left out of tables only (--drop).")
        self.check_no_text(name)

    def check_no_text(self, name: str) -> None:
        """Raise DataError if something is asked for that only tables in text have."""
        for option in ("header", "decimal"):
            if getattr(self, option) is not None:
                raise DataError(f"{name} is no table in text, and only such tables have use for --{option}.")

    def check_width(self, name: str, n_columns: int) -> None:
        """Raise DataError if the rows of a file `name`, without its labels, do not have the features of the model."""
        if self.width is not None and n_columns != self.width:
            raise DataError(f"{name} has {n_columns} columns, but the model has {self.width} features.")
