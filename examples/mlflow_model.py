"""
A model in MLflow
=================

A fitted estimator is a scikit-learn model to MLflow: its scikit-learn flavour logs it,
and loads it again.

    python examples/mlflow_model.py
"""

import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier

try:
    import mlflow
    import mlflow.sklearn
except ImportError:
    sys.exit("This example needs MLflow, which is not installed: pip install mlflow.")


def main() -> None:
    """Train, log the parameters, the certificate and the model, load it and predict."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{Path(folder) / 'runs.db'}")
        mlflow.set_experiment(
            experiment_id=mlflow.create_experiment(
                "digits", Path(folder, "artifacts").as_uri()
            )
        )
        with mlflow.start_run():
            model = PegasosClassifier(kernel="rbf", gamma=0.25, C=5).fit(
                X_train, y_train
            )
            mlflow.log_params(
                {
                    name: value
                    for name, value in model.get_params().items()
                    if value is not None
                }
            )
            mlflow.log_metric("accuracy", model.score(X_test, y_test))
            mlflow.log_metric("relative_gap", float(model.relative_gap_.max()))
            logged = mlflow.sklearn.log_model(
                model, name="digits", serialization_format="cloudpickle"
            )
        loaded = mlflow.sklearn.load_model(logged.model_uri)
        print(f"accuracy of the loaded model: {loaded.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
