"""Support vector machines that end at a certified optimum, many problems side by side; and Pegasos itself."""

from importlib import import_module
from importlib.metadata import version

__all__ = [
    "Checkpoint", "CheckpointError", "ModelFormatError", "PegasosClassifier", "PegasosRegressor", "PegasosSearchCV",
    "__version__", "compress", "from_sklearn", "load", "load_liblinear", "load_libsvm", "save", "save_liblinear",
    "save_libsvm", "to_onnx", "to_sklearn",
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
}


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
