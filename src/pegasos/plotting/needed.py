"""What has to be installed before anything is drawn."""

from __future__ import annotations

from importlib import import_module

MISSING = "reports need matplotlib and jinja2: pip install 'pegasos[report]'"


class MissingExtra(ImportError):
    """A package that only figures and reports need is not installed."""


def require(*modules: str) -> None:
    """Raise MissingExtra unless all of these modules can be imported."""
    for name in modules:
        try:
            import_module(name)
        except ImportError as error:
            raise MissingExtra(MISSING) from error
