"""scikit-learn's own tests of its support vector machines, with the classes of `pegasos.svm` in their place."""

import importlib.util
from pathlib import Path
from types import ModuleType

import sklearn.svm
import sklearn.svm.tests

import pegasos.svm

FOLDER = Path(sklearn.svm.tests.__file__).parent


def _replaced() -> ModuleType:
    """`sklearn.svm` with our classes."""
    module = ModuleType("sklearn.svm")
    vars(module).update({name: value for name, value in vars(sklearn.svm).items() if not name.startswith("__")})
    for name in pegasos.svm.__all__:
        setattr(module, name, getattr(pegasos.svm, name))
    return module


def tests_of(file: str) -> dict:
    """The tests of one of scikit-learn's files by their names.

    Decorators and imports look for the classes while the file is loaded, the tests themselves in its `svm` later.
    """
    ours = _replaced()
    before = {name: getattr(sklearn.svm, name) for name in pegasos.svm.__all__}
    spec = importlib.util.spec_from_file_location(f"sklearn_svm_{file}", FOLDER / f"{file}.py")
    module = importlib.util.module_from_spec(spec)
    for name in before:
        setattr(sklearn.svm, name, getattr(ours, name))
    try:
        spec.loader.exec_module(module)
    finally:
        for name, value in before.items():
            setattr(sklearn.svm, name, value)
    module.svm = ours
    return {name: value for name, value in vars(module).items() if name.startswith("test_") and callable(value)}
