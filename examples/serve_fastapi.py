"""
Serving a model file
====================

A model file holds numbers and no code, so that a service can load one of unknown
origin. Needs ``pip install fastapi uvicorn``; rows are posted as JSON to ``/predict``.

    MODEL=digits.safetensors uvicorn --app-dir examples serve_fastapi:app
"""

import os

import numpy as np
from fastapi import FastAPI

import pegasos

model = pegasos.load(os.environ["MODEL"])
app = FastAPI()


@app.post("/predict")
def predict(rows: list[list[float]]) -> list:
    return model.predict(
        np.array(rows, model.coef_.dtype if hasattr(model, "coef_") else float)
    ).tolist()
