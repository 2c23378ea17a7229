"""Which columns of a table are features, and which one is the label."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass

from pegasos.io.dataset import DataError, listing
from pegasos.io.options import ReadOptions


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


def choose_columns(file: str, names: list[str] | None, n_columns: int, options: ReadOptions) -> Columns:
    """The features and the label among the columns of a table; the label is the last one unless `options` have one."""
    if names is not None:
        _check_distinct(file, names)
        if options.feature_names is not None:
            return _by_name(file, names, options)
    if options.width is not None:
        return _by_count(file, names, n_columns, options)
    if n_columns == 1:
        raise DataError(f"{file} has one column; a table needs at least one feature and a label.")
    wanted = options.label_column
    label = n_columns - 1 if wanted is None else _place(file, names, n_columns, wanted)
    return _without_index(file, _all_but(label, n_columns, names))


def _without_index(file: str, columns: Columns) -> Columns:
    """The columns without a first one that has no name: pandas writes the numbers of the rows there."""
    if not columns.names or columns.names[0] or columns.label == 0 or len(columns.features) < 2:
        return columns
    warnings.warn(f"{file}: the first column has no name; taken as an index and left out.", UserWarning, stacklevel=2)
    return Columns(columns.features[1:], columns.label, columns.names)


def _by_name(file: str, names: list[str], options: ReadOptions) -> Columns:
    """The features of a model by their names, whatever their order."""
    wanted = list(options.feature_names or [])
    places = {name: column for column, name in enumerate(names)}
    missing = [name for name in wanted if name not in places]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(f"{file} has no column {missing[0]!r}{more}, which is a feature of the model.")
    features = [places[name] for name in wanted]
    others = [column for column in range(len(names)) if names[column] not in set(wanted)]
    wanted_label = options.label_column
    label = others[0] if len(others) == 1 and wanted_label is None else None
    if wanted_label is not None:
        label = _find(names, len(names), wanted_label)
        label = label if label in others else None
        if label is None and options.label is not None:
            raise DataError(f"{file} has no column {options.label!r} besides the features of the model.")
    left_out = [names[column] for column in others if column != label]
    if left_out:
        word = "columns {} are" if len(left_out) > 1 else "column {} is"
        sentence = (
            f"{file}: the {word.format(listing(left_out))} neither a feature of the model nor the label; left out."
        )
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return Columns(features, label, names)


def _by_count(file: str, names: list[str] | None, n_columns: int, options: ReadOptions) -> Columns:
    """The columns of a table without the names of the features: as many as the model has, with a label or without."""
    width, wanted = options.width or 0, options.label_column
    named = isinstance(wanted, str) and names is not None and wanted in names
    if n_columns == width and not named and options.label is None:
        return Columns(list(range(n_columns)), None, names)
    if n_columns == width + 1:
        label = n_columns - 1
        if wanted is not None and (options.label is not None or _find(names, n_columns, wanted) is not None):
            label = _place(file, names, n_columns, wanted)
        return _all_but(label, n_columns, names)
    if n_columns == width:
        raise DataError(f"{file} has {width - 1} columns besides {wanted!r}, but the model has {width} features.")
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
