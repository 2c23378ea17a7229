"""`pegasos warmup`: compile the loops of common fits, so that later ones need not."""

from typing import Any

from pegasos.cli import options
from pegasos.cli.options import with_examples

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("linear", {}),
    ("linear, descent", {"solver": "dcd"}),
    ("linear, log loss", {"loss": "log_loss"}),
    ("linear, pegasos", {"solver": "pegasos"}),
    ("rbf", {"kernel": "rbf", "gamma": 0.5}),
    ("rbf, pegasos", {"kernel": "rbf", "gamma": 0.5, "solver": "pegasos"}),
]


@with_examples("pegasos warmup", "NUMBA_CACHE_DIR=/srv/numba pegasos warmup")
def warmup(json: options.Json = False) -> None:
    """Compile the loops of common fits and keep them on disk, so that no later first fit has to wait for it."""
    from pegasos.cli import output as out
    from pegasos.report.page import Page

    results = compiled()
    out.show(Page("warmup", "Compiled loops", "", [out.results_table(results)]), json, results)


def compiled() -> dict[str, Any]:
    """Seconds of the first fit of each kind, and where its loops are kept."""
    import time
    from itertools import product
    from pathlib import Path

    import numpy as np
    from scipy.sparse import csr_matrix

    from pegasos import PegasosClassifier
    from pegasos.backends.cpu.loops import kept_loops

    X = np.random.default_rng(0).normal(size=(400, 5))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    seconds = {}
    for (name, parameters), dtype, sparse in product(MODELS, (np.float64, np.float32), (False, True)):
        if sparse and "kernel" in parameters:
            continue
        rows = csr_matrix(X.astype(dtype)) if sparse else X.astype(dtype)
        began = time.perf_counter()
        PegasosClassifier(lam=0.01, random_state=0, **parameters).fit(rows, y)
        seconds[f"{name}, {'CSR' if sparse else 'dense'} {np.dtype(dtype).name}"] = time.perf_counter() - began
    files = kept_loops()
    kept = {"loops kept": len(files), "folders": sorted({str(Path(file).parent) for file in files})}
    return {f"{name}, s": round(spent, 2) for name, spent in seconds.items()} | kept
