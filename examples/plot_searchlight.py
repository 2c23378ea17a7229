"""A searchlight: where in a volume can two conditions be told apart, and could that be chance?

Around every voxel of a synthetic brain lies a small sphere. The voxels of a sphere make a kernel matrix of the scans,
and all folds and permutations of the labels are columns over it: thousands of fits a sphere, while the matrix stays in
the processor's cache.

    python examples/searchlight.py
"""

import time

import numpy as np

from pegasos import PegasosClassifier
from pegasos.model_selection import permutation_test_score

SHAPE, N_SCANS, RADIUS, N_PERMUTATIONS = (10, 10, 10), 60, 2, 200
SIGNAL_AT, SIGNAL = (3, 6, 5), 0.9


def synthetic_brain(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scans of shape (n_scans, *SHAPE), noise but for one place, and the condition of each."""
    labels = np.repeat(["face", "house"], N_SCANS // 2)
    scans = rng.normal(size=(N_SCANS, *SHAPE))
    places = np.stack(np.indices(SHAPE), axis=-1) - np.array(SIGNAL_AT)
    near = np.exp(-(places**2).sum(axis=-1) / 3.0)
    return scans + SIGNAL * near * np.where(labels == "face", 1, -1)[:, None, None, None], labels


def spheres() -> list[tuple[tuple[int, ...], np.ndarray]]:
    """The centre of each sphere, and the numbers of its voxels."""
    voxels = np.stack(np.indices(SHAPE), axis=-1).reshape(-1, 3)
    return [
        (tuple(map(int, centre)), np.flatnonzero(((voxels - centre) ** 2).sum(axis=1) <= RADIUS**2))
        for centre in voxels
    ]


def main() -> None:
    """Test every sphere, and name the best."""
    scans, labels = synthetic_brain(np.random.default_rng(0))
    voxels = scans.reshape(N_SCANS, -1)
    model = PegasosClassifier(kernel="precomputed")
    scores, pvalues = np.empty(SHAPE), np.empty(SHAPE)
    began = time.perf_counter()
    for centre, inside in spheres():
        sphere = voxels[:, inside]
        kernel = sphere @ sphere.T / len(inside)
        scores[centre], _, pvalues[centre] = permutation_test_score(
            model, kernel, labels, n_permutations=N_PERMUTATIONS, random_state=0
        )
    seconds = time.perf_counter() - began
    best = tuple(map(int, np.unravel_index(np.argmax(scores), SHAPE)))
    fits = scores.size * (N_PERMUTATIONS + 1) * 5
    print(f"{fits} fits in {seconds:.1f} s, {1e6 * seconds / fits:.1f} µs each")
    print(f"best sphere at {best}, accuracy {scores[best]:.2f}, p = {pvalues[best]:.3g}; the signal is at {SIGNAL_AT}")
    print(f"{np.count_nonzero(pvalues <= 0.01)} of {scores.size} spheres have p ≤ 0.01")


if __name__ == "__main__":
    main()
