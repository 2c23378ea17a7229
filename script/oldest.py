"""Print the lower bounds of the dependencies in pyproject.toml as constraints for pip: the oldest versions we promise.

They follow SPEC 0 of Scientific Python: NumPy, SciPy and scikit-learn of the last two years.
"""

import re
import tomllib
from pathlib import Path

for line in tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["dependencies"]:
    name, lowest = re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups()
    print(f"{name}=={lowest}{'.*' if lowest.count('.') < 2 else ''}")
