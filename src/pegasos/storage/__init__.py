"""Model files: fitted models in one safetensors file, without pickle. The layout is in docs/model-format.md."""

from pegasos.storage.api import ModelFormatError, describe, load, save

__all__ = ["ModelFormatError", "describe", "load", "save"]
