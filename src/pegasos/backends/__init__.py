"""Backends: the loops that touch every number. The algorithm itself is in `pegasos.rules` and `pegasos.solver`."""
