"""Which columns of a table are features, which one is the label, and which are left out."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from pegasos.io.dataset import DataError, listing
from pegasos.io.options import Column, ReadOptions

COUNTS, NAMES = "counts", "names"


@dataclass(frozen=True)
class Columns:
    """Columns of a table: `features` in the order of X, and the label column if there is one."""

    features: list[int]
    label: int | None
    names: list[str] | None
    dropped: tuple[int, ...] = ()  # left out on purpose: asked for, or an index

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features in the order of X."""
        return None if self.names is None else [self.names[column] for column in self.features]

    @property
    def label_name(self) -> str | None:
        """The name of the label column."""
        return None if self.names is None or self.label is None else self.names[self.label]

    @property
    def left_out(self) -> list[Column]:
        """The columns that were left out on purpose, by name where there are names."""
        return [column if self.names is None else self.names[column] for column in self.dropped]

    def called(self, column: int) -> str:
        """A column in a sentence: by name, or by number as `label` takes it."""
        name = self.names[column] if self.names else ""
        return f"column {name!r}" if name else f"column {column}"


def choose_columns(
    file: str, names: list[str] | None, n_columns: int, options: ReadOptions, first: str | None = None
) -> Columns:
    """The features and the label among the columns of a table; the label is the last one unless `options` have one.

    `first` says what the first column does to the rows, COUNTS or NAMES: without a name it is an index, no feature.
    """
    if names is not None:
        _check_distinct(file, names)
        if options.feature_names is not None:
            return _by_name(file, names, options)
    if options.width is not None:
        return _by_count(file, names, n_columns, options, first)
    if n_columns == 1:
        raise DataError(
            f"{file} has one column; a table needs at least one feature and a label, with one of , ; | a tab or blanks "
            "between them."
        )
    dropped = _places(file, names, n_columns, options.drop)
    wanted = options.label_column
    label = _last(n_columns, dropped) if wanted is None else _place(file, names, n_columns, wanted)
    if label in dropped:
        raise DataError(f"{file}: column {wanted!r} is the label, and cannot be dropped.")
    if not dropped and label != 0 and n_columns > 2 and _has_index(file, names, first):
        dropped = (0,)
    columns = _all_but(label, n_columns, names, dropped)
    if not columns.features:
        raise DataError(f"{file}: no column is left as a feature besides the label and those dropped.")
    return columns


def _has_index(file: str, names: list[str] | None, first: str | None) -> bool:
    """Whether the first column is an index, with a warning; or could be one, and is said to."""
    if names and names[0]:
        if first == COUNTS:
            _warn(f"{file}: column {names[0]!r} counts the rows, but is taken as a feature; --drop leaves it out.")
        return False
    if names or first is not None:
        what = "has no name" if names else f"{first} the rows"
        _warn(f"{file}: the first column {what}; taken as an index and left out.")
    return bool(names) or first is not None


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=2)


def _by_name(file: str, names: list[str], options: ReadOptions) -> Columns:
    """The features of a model by their names, whatever their order."""
    wanted = list(options.feature_names or [])
    places = {name: column for column, name in enumerate(names)}
    missing = [name for name in wanted if name not in places]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(f"{file} has no column {missing[0]!r}{more}, which is a feature of the model.")
    features = [places[name] for name in wanted]
    dropped = set(_places(file, names, len(names), options.drop)) - set(features)
    usual = {name for name in options.usual_drop if isinstance(name, str)}
    dropped |= {column for column, name in enumerate(names) if name in usual or (column == 0 and not name)}
    others = [column for column in range(len(names)) if names[column] not in set(wanted) and column not in dropped]
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
        _warn(f"{file}: the {word.format(listing(left_out))} neither a feature of the model nor the label; left out.")
    return Columns(features, label, names, tuple(sorted(dropped)))


def _by_count(file: str, names: list[str] | None, n_columns: int, options: ReadOptions, first: str | None) -> Columns:
    """The columns of a table without the names of the features: as many as the model has, with a label or without."""
    width, wanted = options.width or 0, options.label_column
    dropped = _dropped_here(file, names, n_columns, options, first)
    n_left = n_columns - len(dropped)
    named = isinstance(wanted, str) and names is not None and wanted in names
    if n_left == width and not named and options.label is None:
        return _all_but(None, n_columns, names, dropped)
    if n_left == width + 1:
        label = _last(n_columns, dropped)
        there = wanted is not None and _find(names, n_columns, wanted) not in (None, *dropped)
        if wanted is not None and (there or options.label is not None):
            label = _place(file, names, n_columns, wanted)
        return _all_but(label, n_columns, names, dropped)
    shown = f"{n_left} {'column' if n_left == 1 else 'columns'}"
    if n_left == width:
        raise DataError(f"{file} has {width - 1} columns besides {wanted!r}, but the model has {width} features.")
    raise DataError(
        f"{file} has {shown}, but the model has {width} {'feature' if width == 1 else 'features'} ({width + 1} with a "
        f"label){'; --drop leaves columns out' if n_left > width else ''}."
    )


def _dropped_here(
    file: str, names: list[str] | None, n_columns: int, options: ReadOptions, first: str | None
) -> tuple[int, ...]:
    """The columns to leave out of rows to predict: as asked for, or an index, or those that the training file had."""
    more = n_columns - (options.width or 0)
    if options.drop:
        return _places(file, names, n_columns, options.drop)
    labelled_first = options.label is not None and _find(names, n_columns, options.label) == 0
    if more <= 0 or labelled_first:
        return ()
    if names and not names[0]:
        return (0,)
    usual = [column for column in options.usual_drop if isinstance(column, int) and column < n_columns]
    if first == NAMES or (first == COUNTS and (more == 2 or 0 in usual)):
        return (0,)
    if more == len(usual) + 1:
        return tuple(usual)
    if more == 1 and (usual or first == COUNTS) and options.label is None:
        raise DataError(
            f"{file} has {n_columns} columns, one more than the model has features: --drop {usual[0] if usual else 0} "
            f"says that this is no feature, or --label {n_columns - 1} that the last one is the label."
        )
    return ()


def _all_but(label: int | None, n_columns: int, names: list[str] | None, dropped: tuple[int, ...] = ()) -> Columns:
    features = [column for column in range(n_columns) if column != label and column not in dropped]
    return Columns(features, label, names, dropped)


def _last(n_columns: int, dropped: tuple[int, ...]) -> int:
    return max((column for column in range(n_columns) if column not in dropped), default=-1)


def _find(names: list[str] | None, n_columns: int, label: Column) -> int | None:
    """The column that `label` means, or None."""
    if isinstance(label, str):
        if names is not None and label in names:
            return names.index(label)
        try:
            label = int(label)
        except ValueError:
            return None
    return label % n_columns if -n_columns <= label < n_columns else None


def _place(file: str, names: list[str] | None, n_columns: int, label: Column) -> int:
    """The column that `label` means, or a DataError that says which there are."""
    column = _find(names, n_columns, label)
    if column is not None:
        return column
    if not isinstance(label, str) or label.lstrip("+-").isdecimal():
        raise DataError(f"{file} has {n_columns} columns, numbered 0 to {n_columns - 1}; there is no column {label}.")
    if names is None:
        raise DataError(
            f"{file} has no header, so no column is called {label!r}; give its number, or --header yes if the first "
            "line names the columns."
        )
    close = difflib.get_close_matches(label, names, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise DataError(
        f"{file} has no column {label!r}; {hint}The columns are {listing(names)}.".replace("; The", "; the")
    )


def _places(file: str, names: list[str] | None, n_columns: int, columns: Iterable[Column]) -> tuple[int, ...]:
    """The columns that are meant, in their order."""
    return tuple(sorted({_place(file, names, n_columns, column) for column in columns}))


def _check_distinct(file: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen and name:
            raise DataError(f"{file}: two columns are called {name!r}; give each its own name.")
        seen.add(name)
