"""Support vector machines that end at a certified optimum, many problems side by side; and Pegasos itself."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded when they are asked for
    from pegasos import model_selection as model_selection
    from pegasos.compression.compress import compress
    from pegasos.estimators import PegasosClassifier, PegasosRegressor
    from pegasos.export.handover import to_sklearn
    from pegasos.export.liblinear import load_liblinear, save_liblinear
    from pegasos.export.libsvm import load_libsvm, save_libsvm
    from pegasos.export.onnx_file import to_onnx
    from pegasos.report.versions import show_versions
    from pegasos.search import PegasosSearchCV
    from pegasos.solver.checkpoint import Checkpoint, CheckpointError
    from pegasos.storage import ModelFormatError, load, save
    from pegasos.svm.sklearn_machines import from_sklearn

    __version__: str

__all__ = [
    "Checkpoint", "CheckpointError", "ModelFormatError", "PegasosClassifier", "PegasosRegressor", "PegasosSearchCV",
    "__version__", "compress", "from_sklearn", "load", "load_liblinear", "load_libsvm", "save", "save_liblinear",
    "save_libsvm", "show_versions", "to_onnx", "to_sklearn",
]  # fmt: skip

_HOMES = {
    "Checkpoint": "pegasos.solver.checkpoint",
    "CheckpointError": "pegasos.solver.checkpoint",
    "PegasosClassifier": "pegasos.estimators",
    "PegasosRegressor": "pegasos.estimators",
    "PegasosSearchCV": "pegasos.search",
    "ModelFormatError": "pegasos.storage",
    "compress": "pegasos.compression.compress",
    "from_sklearn": "pegasos.svm.sklearn_machines",
    "load": "pegasos.storage",
    "load_liblinear": "pegasos.export.liblinear",
    "load_libsvm": "pegasos.export.libsvm",
    "save_liblinear": "pegasos.export.liblinear",
    "save_libsvm": "pegasos.export.libsvm",
    "to_onnx": "pegasos.export.onnx_file",
    "to_sklearn": "pegasos.export.handover",
    "save": "pegasos.storage",
    "show_versions": "pegasos.report.versions",
}


if not TYPE_CHECKING:  # which knows every name from above

    def __getattr__(name):
        if name == "__version__":
            return version("pegasos")
        if name == "model_selection":
            return import_module("pegasos.model_selection")
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'pegasos' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOMES])
