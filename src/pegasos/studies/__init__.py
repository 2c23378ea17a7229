"""The experiments of the source documents, one module each: published results beside ours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegasos.report.page import Page
    from pegasos.studies.base import Context

STUDIES = {
    "usps-kernels": "Seven kernels on USPS: λ, T and five folds (heat maps, runtimes, naive against fast)",
    "usps-gaussian": "A Gaussian kernel on USPS: λ and T, training and test error, right kernel and wrong one",
    "fashion-pairs": "Fashion-MNIST by 45 pairs of classes, one-vs-one, linear",
    "pegasos-vs-smo": "Pegasos beside SMO on two small sets, and labels within a time budget",
    "convergence": "How fast the objective falls: averages, projection, batches, orders, and the bounds",
    "paper": "The tables of the Pegasos paper: USPS, MNIST, Adult, covtype",
}


def run(name: str, context: Context) -> Page:
    """Run the study of this name; the page that reports it."""
    return import_module(f"pegasos.studies.{name.replace('-', '_')}").run(context)
