"""Figures of fits, searches and data, in the manner of scikit-learn's displays; matplotlib is imported when drawing."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegasos.plotting.bars import BarsDisplay, ClassCountsDisplay
    from pegasos.plotting.checks import MissingExtra
    from pegasos.plotting.confusion import ConfusionDisplay
    from pegasos.plotting.curves import ConvergenceDisplay, Curve, RuntimesDisplay
    from pegasos.plotting.data import EmbeddingDisplay, SampleImagesDisplay
    from pegasos.plotting.heatmap import HeatmapDisplay
    from pegasos.plotting.margins import MarginsDisplay
    from pegasos.plotting.paths import Panel, PathsDisplay
    from pegasos.plotting.resampling import IntervalsDisplay, NullDistributionDisplay, ReliabilityDisplay
    from pegasos.plotting.search import SearchHeatmapDisplay

__all__ = [
    "BarsDisplay",
    "ClassCountsDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "Curve",
    "EmbeddingDisplay",
    "HeatmapDisplay",
    "IntervalsDisplay",
    "MarginsDisplay",
    "MissingExtra",
    "NullDistributionDisplay",
    "Panel",
    "PathsDisplay",
    "ReliabilityDisplay",
    "RuntimesDisplay",
    "SampleImagesDisplay",
    "SearchHeatmapDisplay",
]

_MODULES = {
    "BarsDisplay": "bars",
    "ClassCountsDisplay": "bars",
    "ConfusionDisplay": "confusion",
    "ConvergenceDisplay": "curves",
    "Curve": "curves",
    "EmbeddingDisplay": "data",
    "HeatmapDisplay": "heatmap",
    "IntervalsDisplay": "resampling",
    "MarginsDisplay": "margins",
    "MissingExtra": "checks",
    "NullDistributionDisplay": "resampling",
    "Panel": "paths",
    "PathsDisplay": "paths",
    "ReliabilityDisplay": "resampling",
    "RuntimesDisplay": "curves",
    "SampleImagesDisplay": "data",
    "SearchHeatmapDisplay": "search",
}


def __getattr__(name):
    # Imported on first use: checking whether figures can be drawn need not wait for scikit-learn.
    if name in _MODULES:
        return getattr(import_module(f"pegasos.plotting.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'pegasos.plotting' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_MODULES])
