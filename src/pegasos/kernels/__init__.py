"""Kernels: similarities of rows, computed in blocks, and Nyström features."""

from pegasos.kernels.base import *  # noqa: F403
