"""Losses: what a row contributes to the objective, its pull on the model, and its dual variable."""

from pegasos.losses.scalar import LINEAR_DUALS, Loss

__all__ = ["LINEAR_DUALS", "Loss"]
