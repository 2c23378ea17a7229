"""Looking on at a fit: the progress bar of `verbose`, and scikit-learn's callbacks where the version has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


MOST_PASSES_COUNTED = 10**6
LINE = "[{name}] step {step}: mean objective {objective:.6g}, largest gap {gap:.3g}, {seconds:.1f} s"
BESIDE_BAR = "objective {objective:.4g}, gap {gap:.2g}"  # all in 80 characters


class TaskTree:
    """The fit as scikit-learn's callbacks see it: a task with one subtask a pass."""

    def __init__(self, estimator, X, y, metadata: dict, passes: float, attributes: Callable[[np.ndarray], dict]):
        self.estimator, self.attributes = estimator, attributes
        self.data = dict(estimator=estimator, X=X, y=y, metadata=metadata)
        self.root: Any = None
        self.present: Any = None  # the pass that runs
        self.begun = 0
        if hasattr(estimator, "_init_callback_context"):
            most = int(np.ceil(passes)) if passes <= MOST_PASSES_COUNTED else None
            self.root = estimator._init_callback_context(max_subtasks=most)

    @property
    def watched(self) -> bool:
        """Whether anyone looks on."""
        return self.root is not None and bool(getattr(self.estimator, "_skl_callbacks", []))

    def begin(self) -> None:
        """The fit begins, and its first pass."""
        if self.root is not None:
            self.root.call_on_fit_task_begin(**self.data)
        if self.watched:
            self._begin_pass()

    def after_pass(self, passes: int, model: Callable[[], np.ndarray]) -> bool:
        """A pass has ended; True if someone has seen enough."""
        if self.present is None:
            return False
        stop = self.present.call_on_fit_task_end(
            **self.data, reconstruction_attributes=lambda: self.attributes(model())
        )
        self.present = None
        if not stop:
            self._begin_pass()
        return stop

    def end(self) -> None:
        """The fit has ended, and the estimator is fitted; a pass that was not finished ends with it."""
        if self.present is not None:
            self.present.call_on_fit_task_end(**self.data, reconstruction_attributes={})
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.data, reconstruction_attributes={})

    def _begin_pass(self) -> None:
        most = self.root.max_subtasks
        if most is None or self.begun < most:
            self.begun += 1
            self.present = self.root.subcontext(task_name="pass")
            self.present.call_on_fit_task_begin(**self.data)


_recorded = ContextVar("_recorded", default=False)


@contextmanager
def recording() -> Iterator[None]:
    """Fits within have a record in `history_` after passes 1, 2, 4, 8, ... without showing them to anyone."""
    before = _recorded.set(True)
    try:
        yield
    finally:
        _recorded.reset(before)


@contextmanager
def progress_shown(
    name: str, verbose: int, line: str = LINE
) -> Iterator[tuple[Callable[[dict], None] | None, Callable | None]]:
    """Yield (record, progress), what a `solver.Hooks` calls: a bar on a terminal or in a notebook, else lines."""
    if not verbose:
        yield (lambda record: None) if _recorded.get() else None, None
        return
    from rich.console import Console

    console = Console()
    if not (console.is_terminal or console.is_jupyter):
        yield lambda record: print(line.format(name=name, **record)), None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(16), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[found]}"), console=console) as bar:
        task = bar.add_task(name, total=1.0, found="")
        yield (
            lambda record: bar.update(task, found=BESIDE_BAR.format(**record)),
            lambda done: bar.update(task, completed=done),
        )
        bar.update(task, completed=1.0)
