"""Figures of a fitted model and of data, for reports."""

import numpy as np

from pegasos.cli.model import rows_for, svm_of
from pegasos.report.page import Figure

TSNE_ROWS = 1000


def model_figures(model, data) -> list[Figure]:
    """Convergence and gap; for classifiers also the confusion matrix and the margins, on test rows if there are any."""
    from pegasos.plotting import ConfusionDisplay, MarginsDisplay, ReliabilityDisplay

    found = convergence_figures(model, data)
    if hasattr(svm_of(model), "classes_"):
        X, y, part = shown_rows(model, data)
        confusion = lambda: ConfusionDisplay.from_estimator(model, X, y).figure_
        margins = lambda: MarginsDisplay.from_estimator(model, X, y).figure_
        if hasattr(svm_of(model), "calibration_"):
            reliability = lambda: ReliabilityDisplay.from_estimator(model, X, y).figure_
            found.append(Figure("reliability", "Reliability of the probabilities", reliability, part))
        found += [Figure("confusion", "Confusion matrix", confusion, part), Figure("margins", "Margins", margins, part)]
    return found


def convergence_figures(model, data=None) -> list[Figure]:
    """Objective and gap against steps, if there are several records; the bound of theory only with `data`."""
    from pegasos.plotting import ConvergenceDisplay

    svm = svm_of(model)
    if len(svm.history_) < 2:
        return []
    curve = lambda: ConvergenceDisplay.from_estimator(model).figure_
    caption = "The objective (mean over the problems), and below it as much as the certified gap (largest)."
    found = [Figure("convergence", "Convergence", curve, caption)]
    if not np.isnan(svm.dual_gap_).all():
        bound = None if data is None else bound_of(model, data)
        gap = lambda: ConvergenceDisplay.from_estimator(model, show="gap", bound=bound).figure_
        caption = "" if bound is None else "The bound is 2R²(1 + log T)/(λT), which averages obey in expectation."
        found.append(Figure("gap", "Certified gap", gap, caption))
    return found


def shown_rows(model, data):
    """Rows and labels for figures, and their name: test rows of known classes, or training rows without test rows."""
    if data.X_test is None:
        return data.X, data.y, "Training rows."
    known = np.isin(data.y_test, svm_of(model).classes_)
    if known.all():
        return rows_for(data.X_test, model), data.y_test, "Test rows."
    part = f"Test rows, without {np.sum(~known)} of classes that were not in the training rows."
    return rows_for(data.X_test[known], model), data.y_test[known], part


def bound_of(model, data):
    """The theoretical bound on the gap after T steps, or None where there is none.

    It holds for Pegasos with the hinge loss, where all problems have the same λ.
    """
    from pegasos.estimators.solving import is_textbook
    from pegasos.estimators.targets import recipe_of
    from pegasos.kernels import squared_norms

    svm = svm_of(model)
    if not is_textbook(svm) or svm.loss != "hinge" or svm.multi_class == "ovo" or svm.class_weight is not None:
        return None
    X = model[0].transform(data.X) if hasattr(model, "steps") else data.X
    largest = float(np.max(recipe_of(svm).fitted_kernel.diagonal(X, squared_norms(X)))) + recipe_of(svm).bias ** 2
    lam = svm.lam if svm.lam is not None else 1.0 / (svm.C * X.shape[0])
    return lambda T: 2 * largest * (1 + np.log(T)) / (lam * np.asarray(T))


def data_figures(data) -> list[Figure]:
    """Class counts, t-SNE and sample images, each where the data allow it."""
    from pegasos.plotting import ClassCountsDisplay, EmbeddingDisplay, SampleImagesDisplay

    found = []
    classes = np.unique(data.y)
    if data.y.dtype.kind != "f" and len(classes) <= 50:
        found.append(Figure("classes", "Rows of each class", lambda: ClassCountsDisplay.from_labels(data.y).figure_))
        if data.X.shape[0] >= 50 and data.n_features > 2:
            rows = min(TSNE_ROWS, data.X.shape[0])
            plane = lambda: EmbeddingDisplay.from_data(data.X, data.y, max_rows=TSNE_ROWS).figure_
            found.append(Figure("t-sne", "t-SNE", plane, f"{rows} rows."))
        if data.image_shape is not None:
            images = lambda: SampleImagesDisplay.from_data(data.X, data.y, data.image_shape).figure_
            found.append(Figure("samples", "Sample of the data", images))
    return found
