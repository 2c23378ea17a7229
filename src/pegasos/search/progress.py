"""Progress of a search: cells done and the best score so far, and scikit-learn's callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def cells_shown(
    n_cells: int, verbose: int, name: str = "PegasosSearchCV"
) -> Iterator[Callable[[int, float | None], object]]:
    """Yield what `Results` calls after each cell: a bar on a terminal or in a notebook, else a line now and then."""
    if not verbose:
        yield lambda done, best: None
        return
    from rich.console import Console

    console = Console()
    if not (console.is_terminal or console.is_jupyter):
        yield _lines(n_cells, name)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), TextColumn("cells"))
    with Progress(*columns, TimeElapsedColumn(), TextColumn("{task.fields[best]}"), console=console) as bar:
        task = bar.add_task(name, total=n_cells, best="")
        yield lambda done, best: bar.update(task, completed=done, best=_best(best))


def _lines(n_cells: int, name: str) -> Callable[[int, float | None], None]:
    began = last = time.perf_counter()

    def on_cell(done: int, best: float | None) -> None:
        nonlocal last
        now = time.perf_counter()
        if done == n_cells or now - last > SECONDS_BETWEEN_LINES:
            last = now
            print(f"[{name}] {done} of {n_cells} cells, {_best(best) or 'no score yet'}, {now - began:.1f} s")

    return on_cell


def _best(best: float | None) -> str:
    return "" if best is None else f"best {best:.4f}"


class SearchTasks:
    """The search as scikit-learn's callbacks see it, where the version has them: all cells, then the refit."""

    def __init__(self, search, X, y, params: dict):
        weights = params.get("sample_weight")
        self.data = dict(estimator=search, X=X, y=y, metadata=None if weights is None else {"sample_weight": weights})
        self.root: Any = None
        if hasattr(search, "_init_callback_context"):
            self.root = search._init_callback_context(max_subtasks=1 + bool(search.refit))
            self.root.call_on_fit_task_begin(**self.data)

    @contextmanager
    def search(self) -> Iterator[None]:
        """All cells, one task: they are trained together."""
        task = None if self.root is None else self.root.subcontext(task_name="search", max_subtasks=0)
        if task is not None:
            task.call_on_fit_task_begin(**self.data)
        yield
        if task is not None:
            task.call_on_fit_task_end(**self.data)

    @contextmanager
    def refit(self, best) -> Iterator[None]:
        """The fit of the best on all rows, which has tasks of its own."""
        if self.root is None:
            yield
            return
        task = self.root.subcontext(task_name="refit-with-best-params")
        with task.propagate_callback_context(best):
            task.call_on_fit_task_begin(**self.data)
            yield
        task.call_on_fit_task_end(**self.data)

    def end(self) -> None:
        """The search has ended."""
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.data)
