"""Which columns of a table are features, and which one is the label."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass

from pegasos.io.base import DataError, Wish, listing


@dataclass(frozen=True)
class Columns:
    """Columns of a table: `features` in the order of X, and the label column if there is one."""

    features: list[int]
    label: int | None
    names: list[str] | None

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features in the order of X."""
        return None if self.names is None else [self.names[column] for column in self.features]

    @property
    def label_name(self) -> str | None:
        """The name of the label column."""
        return None if self.names is None or self.label is None else self.names[self.label]

    def called(self, column: int) -> str:
        """A column in a sentence: by name, or by number as `label` takes it."""
        name = self.names[column] if self.names else ""
        return f"column {name!r}" if name else f"column {column}"


def choose(file: str, names: list[str] | None, n_columns: int, wish: Wish) -> Columns:
    """Choose the columns of a table that is read as `wish` asks; without one, the last column is the label."""
    if names is not None:
        _check_distinct(file, names)
        if wish.feature_names is not None:
            return _by_name(file, names, wish)
    if wish.width is not None:
        return _by_count(file, names, n_columns, wish)
    if n_columns == 1:
        raise DataError(f"{file} has one column; a table needs at least one feature and a label.")
    label = n_columns - 1 if wish.label is None else _place(file, names, n_columns, wish.label)
    return _without_index(file, _all_but(label, n_columns, names))


def _without_index(file: str, columns: Columns) -> Columns:
    """pandas writes its index as a first column without a name: numbers of rows, and no feature."""
    if not columns.names or columns.names[0] or columns.label == 0 or len(columns.features) < 2:
        return columns
    warnings.warn(f"{file}: the first column has no name; taken as an index and left out.", UserWarning, stacklevel=2)
    return Columns(columns.features[1:], columns.label, columns.names)


def _by_name(file: str, names: list[str], wish: Wish) -> Columns:
    """The features of a model by their names, whatever their order."""
    wanted = list(wish.feature_names or [])
    places = {name: column for column, name in enumerate(names)}
    missing = [name for name in wanted if name not in places]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(f"{file} has no column {missing[0]!r}{more}, which is a feature of the model.")
    features = [places[name] for name in wanted]
    others = [column for column in range(len(names)) if names[column] not in set(wanted)]
    label = others[0] if len(others) == 1 and wish.label is None else None
    if wish.label is not None:
        label = _find(names, len(names), wish.label)
        label = label if label in others else None
        if label is None and wish.firm:
            raise DataError(f"{file} has no column {wish.label!r} besides the features of the model.")
    left_out = [names[column] for column in others if column != label]
    if left_out:
        word = "columns {} are" if len(left_out) > 1 else "column {} is"
        sentence = (
            f"{file}: the {word.format(listing(left_out))} neither a feature of the model nor the label; left out."
        )
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return Columns(features, label, names)


def _by_count(file: str, names: list[str] | None, n_columns: int, wish: Wish) -> Columns:
    """As many features as a model has, with a label or without."""
    width = wish.width or 0
    named = isinstance(wish.label, str) and names is not None and wish.label in names
    if n_columns == width and not named and not (wish.firm and wish.label is not None):
        return Columns(list(range(n_columns)), None, names)
    if n_columns == width + 1:
        label = n_columns - 1
        if wish.label is not None and (wish.firm or _find(names, n_columns, wish.label) is not None):
            label = _place(file, names, n_columns, wish.label)
        return _all_but(label, n_columns, names)
    if n_columns == width:
        raise DataError(f"{file} has {width - 1} columns besides {wish.label!r}, but the model has {width} features.")
    raise DataError(
        f"{file} has {n_columns} {'column' if n_columns == 1 else 'columns'}, but the model has {width} "
        f"{'feature' if width == 1 else 'features'} ({width + 1} with a label)."
    )


def _all_but(label: int, n_columns: int, names: list[str] | None) -> Columns:
    return Columns([column for column in range(n_columns) if column != label], label, names)


def _find(names: list[str] | None, n_columns: int, label: str | int) -> int | None:
    """The column that `label` means, or None."""
    if isinstance(label, str):
        if names is not None and label in names:
            return names.index(label)
        try:
            label = int(label)
        except ValueError:
            return None
    return label % n_columns if -n_columns <= label < n_columns else None


def _place(file: str, names: list[str] | None, n_columns: int, label: str | int) -> int:
    """The column that `label` means, or a DataError that says which there are."""
    column = _find(names, n_columns, label)
    if column is not None:
        return column
    if not isinstance(label, str) or label.lstrip("+-").isdecimal():
        raise DataError(f"{file} has {n_columns} columns, numbered 0 to {n_columns - 1}; there is no column {label}.")
    if names is None:
        raise DataError(f"{file} has no header, so no column is called {label!r}; give the number of the label column.")
    close = difflib.get_close_matches(label, names, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise DataError(
        f"{file} has no column {label!r}; {hint}The columns are {listing(names)}.".replace("; The", "; the")
    )


def _check_distinct(file: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen and name:
            raise DataError(f"{file}: two columns are called {name!r}; give each its own name.")
        seen.add(name)
