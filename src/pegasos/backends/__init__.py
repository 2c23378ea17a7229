"""Backends: the few verbs that touch every number. The algorithm is in `pegasos.step` and `pegasos.solver`."""
