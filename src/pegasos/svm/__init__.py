"""scikit-learn's support vector machines, by name, parameters and attributes, on the solvers of this package.

``from pegasos.svm import SVC`` is the whole migration. The classes add certificates (`dual_gap_`, `relative_gap_`,
`converged_`), `max_time`, `n_jobs`, progress (`verbose`) and model files (`save`, `pegasos.load`).
"""

from pegasos.svm.linear import LinearSVC, LinearSVR
from pegasos.svm.one_class import OneClassSVM
from pegasos.svm.svc import SVC, NuSVC
from pegasos.svm.svr import SVR, NuSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]
