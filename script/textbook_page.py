"""Write docs/textbook.md from the source of `pegasos.textbook`; tests/test_textbook.py holds the two to each other."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "pegasos" / "textbook"
PAGE = ROOT / "docs" / "textbook.md"
FILES = {
    "linear.py": "Linear Pegasos",
    "kernel.py": "Kernel Pegasos",
    "multiclass.py": "More than two classes",
    "gradient_descent.py": "Online gradient descent",
    "sequential_minimal.py": "Sequential minimal optimisation",
    "draws.py": "The same draws as the estimators'",
}


def page() -> str:
    """The text of the page: what each file is, and all of its code."""
    parts = [
        "# The algorithms, to be read\n",
        "`pegasos.textbook` has the algorithms of the [source documents](documents/README.md) in plain NumPy, one",
        "problem and one step at a time, numbered or commented like the documents' own lines. They are slow; what they",
        "compute the estimators compute a thousand times sooner, and `tests/test_textbook.py` holds the two to the",
        "same numbers on the same draws. This page is made of the source by `script/textbook_page.py`.\n",
        "```python",
        "from pegasos import PegasosClassifier, textbook",
        "",
        "draws = textbook.draws_of(len(X), 1000, random_state=0)",
        "w = textbook.last_of(textbook.pegasos(X, y, 0.01, draws))  # y of ±1",
        'settings = {"lam": 0.01, "max_steps": 1000, "sampling": "replacement", "average": False, "random_state": 0}',
        'fast = PegasosClassifier(solver="pegasos", fit_intercept=False, **settings).fit(X, y)',
        "fast.coef_[0] - w  # zeros, but for rounding",
        "```\n",
    ]
    for name, title in FILES.items():
        text = (SOURCE / name).read_text(encoding="utf-8")
        about = ast.get_docstring(ast.parse(text))
        code = text[text.index('"""', 3) + 3 :].strip()
        code = code.removeprefix("from __future__ import annotations").strip()
        parts += [f"## {title}\n", f"{about}\n", "```python", code, "```\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written", file=sys.stderr)
