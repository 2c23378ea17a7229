"""`Checkpoint`: the file in which a long fit keeps what it needs to go on after a failure."""

from __future__ import annotations

import os
from dataclasses import dataclass

EVERY = 60.0


class CheckpointError(ValueError):
    """A file that is no checkpoint, a damaged one, or one of another fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import CheckpointError, PegasosClassifier
    >>> with open("fit.checkpoint", "w") as file:
    ...     _ = file.write("something else")
    >>> try:
    ...     PegasosClassifier(checkpoint="fit.checkpoint").fit(*load_iris(return_X_y=True))
    ... except CheckpointError as error:
    ...     print("refused")
    refused
    """


@dataclass(frozen=True)
class Checkpoint:
    """A file in which a fit keeps its state, to go on from if it is interrupted or killed.

    The fit that goes on ends in the same model, bit for bit, as one that was never interrupted. The file is written
    whole or not at all, belongs to one fit (data, parameters, version), and is removed when that fit is done. After
    Ctrl-C or `max_time` it stays; time counts over all runs.

    Parameters
    ----------
    path : str or path-like
    every : float, default=60.0
        Seconds between two writes; more where writing would take more than a tenth of the time.
    resume : bool, default=True
        Whether to go on from the file if it exists; False makes it an error, so that nothing is overwritten.
    keep : bool, default=False
        Whether the file stays when the fit is done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import Checkpoint, PegasosClassifier
    >>> checkpoint = Checkpoint("iris.checkpoint", every=10.0)
    >>> model = PegasosClassifier(kernel="rbf", checkpoint=checkpoint).fit(*load_iris(return_X_y=True))
    >>> bool(model.converged_.all())  # and the file is gone
    True
    """

    path: str | os.PathLike
    every: float = EVERY
    resume: bool = True
    keep: bool = False

    def __post_init__(self):
        if not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"The path of a checkpoint must be a path, got {self.path!r}.")
        if not (isinstance(self.every, int | float) and 0 < self.every < float("inf")):
            raise ValueError(f"every must be a number of seconds above 0, got {self.every!r}.")

    @classmethod
    def of(cls, given: str | os.PathLike | Checkpoint | None) -> Checkpoint | None:
        """The checkpoint that the parameter `checkpoint` of an estimator asks for: a path stands for the defaults."""
        if given is None or isinstance(given, Checkpoint):
            return given
        return cls(given)
