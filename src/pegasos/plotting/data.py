"""Figures of the data: sample images, and an embedding in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pegasos.plotting import checks
from pegasos.plotting.heatmap import label_text
from pegasos.plotting.hover import hint
from pegasos.plotting.style import SIZE, Display, marker, series, shortened


class SampleImagesDisplay(Display):
    """A grid of images with their labels below.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width) or (n_images, height, width, 3)
    labels : list
    per_row : int, default=10
        Images side by side.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos.plotting import SampleImagesDisplay
    >>> display = SampleImagesDisplay.from_data(*load_digits(return_X_y=True), (8, 8), per_class=1)
    >>> len(display.images)
    10
    """

    def __init__(self, images, labels, *, per_row=10):
        self.images = np.asarray(images, float)
        if self.images.ndim not in (3, 4) or (self.images.ndim == 4 and self.images.shape[3] != 3):
            raise ValueError(f"images has shape {self.images.shape}, not (n, height, width) or (n, height, width, 3).")
        checks.same_length("labels", labels, "images", self.images)
        if not len(self.images):
            raise ValueError("images is empty: there is nothing to draw.")
        self.labels = [label_text(label) for label in labels]
        self.per_row = min(per_row, len(self.labels))

    @classmethod
    def from_data(cls, X, y, image_shape, *, per_class=1, ax=None, **kwargs):
        """Draw the first rows of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        image_shape : tuple
            (height, width) or (height, width, 3); as many numbers as there are features.
        per_class : int, default=1
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        SampleImagesDisplay
        """
        y = np.asarray(y)
        checks.same_length("y", y, "X", range(X.shape[0]))
        if X.shape[1] != np.prod(image_shape):
            raise ValueError(f"image_shape {tuple(image_shape)} does not hold the {X.shape[1]} features of X.")
        classes = np.unique(y)
        # One row of each class in turn: each line of the grid has all classes that have as many rows.
        chosen = [np.flatnonzero(y == label)[:per_class] for label in classes]
        order = [rows[turn] for turn in range(per_class) for rows in chosen if turn < len(rows)]
        rows = X[order].toarray() if sparse.issparse(X) else np.asarray(X)[order]
        images = rows.reshape(-1, *image_shape)
        return cls(images, y[order].tolist(), per_row=min(len(classes), 12)).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to `imshow`."""
        lines = -(-len(self.images) // self.per_row)
        height, width = self.images.shape[1:3]
        # All images share one axes, with the labels between them: faster and smaller than axes for each.
        gap, side = 0.12 * width, 0.45 * height
        across, down = self.per_row * (width + gap), lines * (height + side)
        size = (SIZE[0], max(0.6, SIZE[0] * down / across))
        with self._drawing(ax, size) as ax:
            options = {"cmap": "gray_r", "interpolation": "none", **self._range(), **kwargs}
            for place, (image, label) in enumerate(zip(self.images, self.labels)):
                left, top = (place % self.per_row) * (width + gap), (place // self.per_row) * (height + side)
                extent = (left, left + width, top + height, top)
                ax.imshow(image, extent=extent, **options)
                self._frame(ax, extent, label)
            ax.set_xlim(-gap / 2, across - gap / 2)
            ax.set_ylim(down, -gap / 2)
            ax.set_aspect("equal")
            ax.axis("off")
        return self

    def _range(self) -> dict[str, float]:
        """The same range of greys for all images."""
        return {} if self.images.ndim == 4 else {"vmin": self.images.min(), "vmax": self.images.max()}

    def _frame(self, ax: Any, extent: tuple[float, ...], label: str) -> None:
        from matplotlib.patches import Rectangle

        left, right, bottom, top = extent
        frame = Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor="#808080", linewidth=0.5)
        ax.add_patch(frame)
        ax.text((left + right) / 2, bottom + 0.04 * (bottom - top), label, ha="center", va="top", fontsize=8)


class EmbeddingDisplay(Display):
    """Rows as points of the plane, coloured by class, the name of each class at the median of its points.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
    y : array-like of shape (n_samples,)

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from pegasos.plotting import EmbeddingDisplay
    >>> display = EmbeddingDisplay([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["a", "b", "b"]).plot()
    >>> display.figure_ is not None
    True
    """

    def __init__(self, points, y):
        self.points = np.asarray(points, float)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise ValueError(f"points has shape {self.points.shape}, not (n_samples, 2).")
        self.y = np.asarray(y)
        checks.same_length("y", self.y, "points", self.points)

    @classmethod
    def from_data(cls, X, y, *, max_rows=2000, random_state=0, ax=None, **kwargs):
        """Draw the t-SNE embedding of some rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        max_rows : int, default=2000
            Of more rows, so many are drawn at random.
        random_state : int, default=0
            Seed of the choice of rows and of t-SNE.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        EmbeddingDisplay
        """
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits

        y = np.asarray(y)
        checks.same_length("y", y, "X", range(X.shape[0]))
        if X.shape[0] < 4:
            raise ValueError(f"An embedding needs at least 4 rows, but X has {X.shape[0]}.")
        rows = np.arange(X.shape[0])
        if len(rows) > max_rows:
            rows = np.sort(np.random.default_rng(random_state).choice(len(rows), max_rows, replace=False))
        chosen = X[rows]
        perplexity = min(30.0, (len(rows) - 1) / 3)
        start = "random" if sparse.issparse(chosen) else "pca"  # PCA would have to fill the matrix
        # One thread: sums in another order would move the points, and on a busy machine threads wait for each other.
        with threadpool_limits(1):
            points = TSNE(random_state=random_state, perplexity=perplexity, init=start).fit_transform(chosen)
        return cls(points, y[rows]).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, size=3.0, **kwargs):
        """Draw points about so many points wide; keyword arguments are passed to the patch of each class."""
        with self._drawing(ax, (SIZE[0], SIZE[0] * 0.8)) as ax:
            classes = np.unique(self.y)
            radius = 0.5 * size / 72 * np.ptp(self.points, axis=0).max(initial=0) / (0.8 * SIZE[0])
            handles = [self._class(ax, number, label, radius or 1.0, kwargs) for number, label in enumerate(classes)]
            if len(classes) <= 20:
                self._name(ax, classes)
                ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2)
            ax.autoscale_view()
            ax.set_aspect("equal")
            ax.set_xticks([])
            ax.set_yticks([])
            for spine in ax.spines.values():
                spine.set_visible(False)
        return self

    def _class(self, ax: Any, number: int, label: Any, radius: float, kwargs: dict) -> Any:
        """Draw the points of a class as one path, since thousands would slow a page down; its legend entry."""
        from matplotlib.lines import Line2D
        from matplotlib.markers import MarkerStyle
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        style = MarkerStyle(marker(number))
        outline = np.asarray(style.get_path().transformed(style.get_transform()).to_polygons(closed_only=True)[0])
        if marker(number) == "o":  # round enough with eight corners
            angles = np.arange(9) * np.pi / 4
            outline = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)])
        own = self.points[self.y == label]
        corners = own[:, None, :] + 2 * radius * outline[None, :, :]
        codes = np.full(corners.shape[:2], Path.LINETO)
        codes[:, 0], codes[:, -1] = Path.MOVETO, Path.CLOSEPOLY
        shape = Path(corners.reshape(-1, 2), codes.ravel())
        ax.add_patch(PathPatch(shape, **{"facecolor": series(number), "linewidth": 0, "alpha": 0.85, **kwargs}))
        colour = kwargs.get("facecolor", series(number))
        return Line2D(
            [], [], color=colour, marker=marker(number), linestyle="none", label=shortened(label_text(label), 20)
        )

    def _name(self, ax: Any, classes: np.ndarray) -> None:
        """Write the name of each class at the median of its points."""
        for label in classes:
            own = self.points[self.y == label]
            box = {"boxstyle": "round,pad=0.2", "facecolor": "#fefefe", "edgecolor": "none", "alpha": 0.85}
            middle = np.median(own, axis=0)
            text = ax.text(
                *middle,
                shortened(label_text(label), 20),
                ha="center",
                va="center",
                fontsize=8,
                color="#111111",
                bbox=box,
            )
            hint(text, f"{label_text(label)}: {len(own)} rows")
