"""The search on USPS with the sharper widths of a source document; SVC takes many minutes for it."""

from benchmarks import tuning
from benchmarks._options import Options

TITLE = "PegasosSearchCV beside GridSearchCV, sharp kernels"
BY_DEFAULT = False


def run(options: Options) -> dict:
    """The rows of the search."""
    return {"rows": tuning.usps_part(options, gammas=(2.0, 2 / 3, 0.25)), "settings": {"rbf": tuning.RBF}}
