"""What a loop knows of a column: its record, the rule that moves it, and the average it reports."""

from enum import IntEnum

import numpy as np


class Rule(IntEnum):
    """How a row changes the model."""

    PEGASOS = 0
    SDCA = 1


class Average(IntEnum):
    """Which iterates the reported model is made of. WINDOW serves `suffix`, and every average under sdca."""

    LAST = 0
    UNIFORM = 1
    WEIGHTED = 2
    WINDOW = 3


COLUMN = np.dtype(
    [
        ("place", np.int64),  # its index among all columns of the problem
        ("labeling", np.int64),
        ("row_set", np.int64),
        ("lam", np.float64),
        ("n_rows", np.float64),
        ("epsilon", np.float64),  # width of the ε-insensitive loss
        ("zero_objective", np.float64),  # objective of the zero model
        ("share", np.float64),  # what one row's pull counts: 1 / batch size
        ("step_offset", np.float64),  # steps by which the step size is ahead: unbounded pulls begin with small steps
        ("radius", np.float64),  # projection keeps ||w|| within it
        ("limit", np.int64),  # steps at which the column is finished
        ("horizon", np.int64),  # steps by which windows of the average are planned
        ("steps", np.int64),
        ("shrink", np.float64),  # product of the projection factors since the last fold
        ("average", np.float64),  # Σ weight * scale of the iterates in the average
        ("average_start", np.int64),  # the step at which the average began
        ("window_start", np.int64),  # a windowed average begins after this step ...
        ("window_end", np.int64),  # ... and begins anew after this one
        ("norm_squared", np.float64),  # ||S||²
        ("dual_linear", np.float64),  # Σ y * pull: what the dual objective counts
        (
            "pass_is_feasible",
            np.bool_,
        ),  # whether a whole pass ends in a feasible dual point: the rows did all the pulling, evenly
        (
            "dual_excess",
            np.float64,
        ),  # ... once it is divided by 1 + extra / steps: a raised lam has raised earlier pulls
        ("best_dual", np.float64),  # highest dual objective met so far, -inf before the first
    ],
    align=True,
)
