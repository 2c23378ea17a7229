"""
A model in MLflow
=================

A fitted estimator is a scikit-learn model to MLflow: its scikit-learn flavour logs it,
and loads it again. Run with MLflow 3.

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

# MLflow keeps models in the format of skops, which loads the types that are named.
TRUSTED = [
    "pegasos.estimators.classifier.PegasosClassifier",
    "pegasos.kernels.distance.RBFKernel",
]


def main() -> None:
    """Train, log parameters, certificate and model, load it and predict."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{Path(folder) / 'runs.db'}")
        place = Path(folder, "artifacts").as_uri()
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("digits", place))
        with mlflow.start_run():
            model = PegasosClassifier(kernel="rbf", gamma=0.25, C=5)
            model.fit(X_train, y_train)
            mlflow.log_params(model.get_params())
            mlflow.log_metric("accuracy", model.score(X_test, y_test))
            mlflow.log_metric("relative_gap", float(model.relative_gap_.max()))
            logged = mlflow.sklearn.log_model(
                model, name="digits", skops_trusted_types=TRUSTED
            )
        loaded = mlflow.sklearn.load_model(logged.model_uri)
        print(f"accuracy of the loaded model: {loaded.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
