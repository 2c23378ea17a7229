"""Every backend has what rows and solvers ask of one, with the same parameters."""

import inspect

import pytest

from gpu import card, needs_any
from pegasos.backends import cpu
from pegasos.backends.api import Backend

__all__ = ["card"]
FUNCTIONS = [name for name, each in vars(Backend).items() if inspect.isfunction(each) and not name.startswith("_")]


def assert_complies(backend):
    """All attributes and functions are there, and take what they are given."""
    for name in Backend.__annotations__:
        assert hasattr(backend, name), name
    for name in FUNCTIONS:
        declared = list(inspect.signature(getattr(Backend, name)).parameters)[1:]
        assert len(inspect.signature(getattr(backend, name)).parameters) == len(declared), name


def test_the_cpu_is_a_backend():
    assert len(FUNCTIONS) > 15
    assert_complies(cpu)


@needs_any
@pytest.mark.usefixtures("card")
def test_a_gpu_is_a_backend():
    from pegasos.backends import cuda

    assert_complies(cuda)
