"""Backends: the few verbs that touch every number. They hold no algorithm; that is `pegasos.step` and `pegasos.solver`."""
