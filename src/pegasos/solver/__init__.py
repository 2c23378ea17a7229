"""Solvers: from a job to the models of all its columns, with a certificate."""
