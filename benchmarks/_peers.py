"""The peers: their classes, or why they are missing. The extra `bench` installs them."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks._race import reason_of

HOMES = {  # name in tables: package, module, class
    "SVC": ("scikit-learn", "sklearn.svm", "SVC"),
    "LinearSVC": ("scikit-learn", "sklearn.svm", "LinearSVC"),
    "SGDClassifier": ("scikit-learn", "sklearn.linear_model", "SGDClassifier"),
    "Nystroem + LinearSVC": ("scikit-learn", "sklearn.kernel_approximation", "Nystroem"),
    "intelex SVC": ("scikit-learn-intelex", "sklearnex.svm", "SVC"),
    "snapml SVM": ("snapml", "snapml", "SupportVectorMachine"),
    "skglm LinearSVC": ("skglm", "skglm", "LinearSVC"),
    "torchkm SVC": ("torchkm", "torchkm.estimators", "TorchKMSVC"),
}


@dataclass(frozen=True)
class Peer:
    """The class of a peer, or why it is missing."""

    name: str
    make: Callable[..., Any]
    missing: str | None = None


def find(name: str) -> Peer:
    """The class of a peer, if its package is installed and can be imported."""
    package, module, kind = HOMES[name]
    if installed(package) is None:
        return Peer(name, _nothing, f"{package} is not installed")
    try:
        return Peer(name, getattr(import_module(module), kind))
    except Exception as error:  # a wheel may lack a library of the system, or not fit this scikit-learn
        return Peer(name, _nothing, f"{package} cannot be imported ({reason_of(error)})")


def installed(package: str) -> str | None:
    """The version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Versions of our package, its dependencies, and the installed peers."""
    packages = ["pegasos", "numpy", "numba", *(package for package, _, _ in HOMES.values())]
    found = {package: installed(package) for package in packages}
    return {package: number for package, number in found.items() if number is not None}


def _nothing(**settings: Any) -> Any:
    raise RuntimeError("a missing peer was called")
