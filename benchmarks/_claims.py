"""The claims: which modules there are, in the order in which they run."""

from importlib import import_module
from types import ModuleType

NAMES = (
    "latency",
    "everyday",
    "busy",
    "prediction",
    "many",
    "engine",
    "kernel_usps",
    "kernel_mnist",
    "kernel_large",
    "pairs",
    "news20",
    "rcv1",
    "covtype",
    "landmarks",
    "growth",
    "tuning",
    "tuning_sharp",
    "gpu",
    "reading",
    "streaming",
    "distributed",
    "anytime",
)


def module_of(name: str) -> ModuleType:
    """The module of a claim."""
    return import_module(f"benchmarks.{name}")


def by_default() -> list[str]:
    """The claims of a run that names none."""
    return [name for name in NAMES if module_of(name).BY_DEFAULT]
