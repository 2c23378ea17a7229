"""The packages and the time that a result was made with."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("pegasos", "numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Versions of Python and the packages that compute, the platform and the number of processors."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    found["platform"] = platform.platform()
    found["CPUs"] = str(os.cpu_count() or "unknown")
    return found


def now() -> str:
    """The date and time in UTC, or SOURCE_DATE_EPOCH if it is set, for reproducible files."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
