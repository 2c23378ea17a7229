"""The results of a search as figures: cells of its grid by parameter, and heat maps over two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pegasos.plotting.heatmap import HeatmapDisplay, label_text
from pegasos.plotting.style import shortened


class SearchCells:
    """The candidates of a fitted search: the parameters of each, and one number for each.

    Parameters are found by their name or, within pipelines, by its last part: "lam" finds "svm__lam".
    """

    def __init__(self, search: Any, value: str, error: bool):
        check_is_fitted(search, "cv_results_")
        self.results = search.cv_results_
        if value not in self.results:
            held = ", ".join(sorted(name for name in self.results if name.startswith(("mean_", "rank_"))))
            raise ValueError(f"cv_results_ has no {value!r}; it has: {held}.")
        self.params: list[dict] = list(self.results["params"])
        self.names = sorted({name for params in self.params for name in params})
        self.numbers = np.array(self.results[value], float)
        self.error = error
        if error and ((self.numbers < 0) | (self.numbers > 1)).any():
            raise ValueError(
                f"error=True shows 1 - {value}, but {value} has values outside 0 to 1; give error=False to show them."
            )
        if error:
            self.numbers = 1 - self.numbers
        self._best = getattr(search, "best_index_", None)

    def full_name(self, name: str) -> str:
        """The full name of a parameter: "svm__lam" for "lam"."""
        found = [full for full in self.names if full == name] or [
            full for full in self.names if full.endswith(f"__{name}")
        ]
        if len(found) == 1:
            return found[0]
        reason = f"several, {', '.join(found)}" if found else f"only {', '.join(self.names)}"
        raise ValueError(f"cv_results_ has no parameter {name!r} to draw: it has {reason}.")

    def values_of(self, name: str) -> list:
        """The values of a parameter, sorted if they can be."""
        found: list = []
        for params in self.params:
            if name in params and not any(_same(params[name], known) for known in found):
                found.append(params[name])
        try:
            return sorted(found)
        except TypeError:
            return found

    def fixed(self, free: set[str], at: dict | None) -> dict:
        """Values of all parameters but the free ones: those of `at`, and for the rest those of the best candidate.

        That is the best one of the search if it has the free parameters and the values of `at`, else the best that has.
        """
        at = {self.full_name(name): value for name, value in (at or {}).items()}
        for name, value in at.items():
            if name in free:
                raise ValueError(f"at fixes {name!r}, which is an axis of this figure.")
            if not any(_same(value, known) for known in self.values_of(name)):
                held = ", ".join(map(repr, self.values_of(name)))
                raise ValueError(f"at asks for {name}={value!r}, but cv_results_ has only {held}.")
        fitting = [place for place, params in enumerate(self.params) if free <= set(params) and _agrees(params, at)]
        if not fitting:
            raise ValueError(f"No candidate has all of {', '.join(sorted(free | set(at)))} as asked for.")
        best = self.params[self._best if self._best in fitting else self._best_of(fitting)]
        return {name: value for name, value in best.items() if name not in free}

    def numbers_at(
        self, fixed: dict, down: str | None, rows: Sequence, across: str, columns: Sequence
    ) -> list[list[float]]:
        """The number of each candidate along two parameters, or one if `down` is None; nan where there is none.

        Of several grids, only candidates with the very same parameters as those asked for count.
        """
        found = [[float("nan")] * len(columns) for _ in rows]
        names = {*fixed, across} if down is None else {*fixed, across, down}
        for params, number in zip(self.params, self.numbers):
            if set(params) == names and _agrees(params, fixed):
                row = 0 if down is None else _place(params[down], rows)
                column = _place(params[across], columns)
                if row is not None and column is not None:
                    found[row][column] = float(number)
        return found

    def _best_of(self, places: list[int]) -> int:
        sign = -1 if self.error else 1
        return max(places, key=lambda place: -np.inf if np.isnan(self.numbers[place]) else sign * self.numbers[place])


class SearchHeatmapDisplay(HeatmapDisplay):
    """A search as a heat map over two of its parameters; see `from_estimator`.

    Attributes
    ----------
    fixed_ : dict
        The other parameters and the values they are held at.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier, PegasosSearchCV
    >>> from pegasos.plotting import SearchHeatmapDisplay
    >>> search = PegasosSearchCV(PegasosClassifier(kernel="rbf"), {"C": [0.1, 1, 10], "gamma": [0.1, 1]})
    >>> display = SearchHeatmapDisplay.from_estimator(search.fit(*load_iris(return_X_y=True)), x="C", y="gamma")
    >>> display.values.shape
    (2, 3)
    """

    fixed_: dict

    def _title(self) -> str:
        held = ", ".join(f"{short_name(name)} {shortened(label_text(value))}" for name, value in self.fixed_.items())
        return super()._title().replace(" (", f" at {held} (", 1) if held else super()._title()

    @classmethod
    def from_estimator(
        cls,
        search,
        *,
        x="lam",
        y="max_steps",
        value="mean_test_score",
        error=True,
        at=None,
        ax=None,
        value_name=None,
        reference=None,
        fmt=".3f",
        per_column=False,
        scale="linear",
        **kwargs,
    ):
        """Draw the `cv_results_` of a search.

        Parameters
        ----------
        search : fitted PegasosSearchCV or GridSearchCV
        x, y : str
            The parameters along the columns and the rows; "lam" also finds "svm__lam".
        value : str, default="mean_test_score"
            A key of `cv_results_`.
        error : bool, default=True
            Show 1 - value, the lower the better; else the value itself, the higher the better (times: the lower).
        at : dict, default=None
            Values at which other parameters are held; those not named are held at the best candidate's.
        ax : matplotlib Axes, default=None
        value_name : str, default=None
            Name of the numbers.
        reference, fmt, per_column, scale
            As in HeatmapDisplay.
        **kwargs : dict
            Passed to the cells.

        Returns
        -------
        SearchHeatmapDisplay
        """
        cells = SearchCells(search, value, error)
        across, down = cells.full_name(x), cells.full_name(y)
        if across == down:
            raise ValueError(f"x and y are both {across!r}; a heat map needs two parameters.")
        fixed = cells.fixed({across, down}, at)
        columns, rows = cells.values_of(across), cells.values_of(down)
        values = cells.numbers_at(fixed, down, rows, across, columns)
        value_name = value_name or value_label(value, error)
        better = "low" if error or less_is_better(value) else "high"
        display = cls(
            values, rows, columns, short_name(down), short_name(across), value_name, fmt=fmt, better=better,
            per_column=per_column, reference=reference, scale=scale,
        )  # fmt: skip
        display.fixed_ = fixed
        return display.plot(ax=ax, **kwargs)


def value_label(value: str, error: bool) -> str:
    """The name of a key of cv_results_ in a figure: "test score" or "test error" for "mean_test_score"."""
    words = value.removeprefix("mean_").replace("_", " ")
    if not error:
        return words
    return words.removesuffix("score") + "error" if words.endswith("score") else f"1 − {words}"


def short_name(name: str) -> str:
    """The last part of a parameter's name: "lam" of "svm__lam"."""
    return name.rsplit("__", 1)[-1]


def less_is_better(value: str) -> bool:
    """Whether lower values of this key of cv_results_ are better: times, ranks and standard deviations."""
    return value.startswith(("rank_", "std_")) or value.endswith("_time")


def _agrees(params: dict, wanted: dict) -> bool:
    return all(name in params and _same(params[name], value) for name, value in wanted.items())


def _place(value: Any, values: Sequence) -> int | None:
    return next((place for place, known in enumerate(values) if _same(value, known)), None)


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(np.all(one == other))
