"""
A model elsewhere: ONNX
=======================

A fitted pipeline becomes one file that onnxruntime and many other programs run, without
Python or this library.
"""

# %%
# Train and export
# ----------------
# ``pip install 'pegasos[onnx]' onnxruntime``. The steps before the classifier are
# converted by skl2onnx.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
from pegasos import PegasosClassifier

data = load_wine()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target_names[data.target], random_state=0
)
model = make_pipeline(
    StandardScaler(), PegasosClassifier(kernel="rbf", gamma=0.05, C=5)
)
model.fit(X_train, y_train)
folder = tempfile.TemporaryDirectory()
files = {}
for dtype in (np.float64, np.float32):
    files[dtype] = Path(folder.name) / f"wine-{dtype.__name__}.onnx"
    pegasos.to_onnx(model, files[dtype], dtype=dtype)
    print(f"{files[dtype].name}: {files[dtype].stat().st_size / 1000:.0f} kB")

# %%
# Run
# ---
# One input, the rows; labels and scores come out.


def run(dtype):
    """The outputs by name for all rows that were not trained on."""
    session = onnxruntime.InferenceSession(
        files[dtype], providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X_test.astype(dtype)}), strict=True))


outputs = {dtype: run(dtype) for dtype in files}
print(outputs[np.float64]["label"][:5], model.predict(X_test)[:5])
for dtype, found in outputs.items():
    print(
        f"{dtype.__name__}: same labels "
        f"{np.array_equal(found['label'], model.predict(X_test))}"
    )
folder.cleanup()

# %%
# How exact is it?
# ----------------
# Up to rounding of the type it computes in.

scores = model.decision_function(X_test)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for dtype, found in outputs.items():
    away = np.abs(found["scores"] - scores).ravel()
    ax.hist(
        np.log10(np.maximum(away, 1e-17)),
        bins=25,
        alpha=0.7,
        label=f"{dtype.__name__}: at most {away.max():.0e}",
    )
ax.set(
    xlabel="log₁₀ of the difference from decision_function (−17: none)",
    ylabel="scores",
    title="The scores of onnxruntime",
)
ax.legend()
plt.show()
