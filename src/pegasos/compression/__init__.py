"""Kernel models of fewer support vectors that predict almost the same."""
