"""
Serving a model file
====================

A model file holds numbers and no code, so that a service can load one of unknown
origin. Needs ``pip install fastapi uvicorn``; rows are posted as JSON to ``/predict``.

    MODEL=digits.safetensors uvicorn --app-dir examples serve_fastapi:app
"""

import os

from fastapi import FastAPI, HTTPException

import pegasos

model = pegasos.load(os.environ["MODEL"])
app = FastAPI()


@app.post("/predict")
def predict(rows: list[list[float]]) -> list:
    try:
        return model.predict(rows).tolist()
    except ValueError as error:  # the wrong number of features, say
        raise HTTPException(422, str(error)) from error
