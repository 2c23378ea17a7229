"""Links from estimators in notebooks to their pages in the documentation, where the package knows its address."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

IN_THE_PACKAGE = ("estimators", "search")  # their classes are public as `pegasos.Name`


@cache
def documentation() -> str:
    """The address of the documentation in the metadata of the installed package; "" where nobody said it."""
    try:
        urls = metadata("pegasos").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((url.partition(", ")[2] for url in urls if url.startswith("Documentation, ")), "")


class DocLink:
    """What scikit-learn's HTML of an estimator asks for: the page of its class, or no link at all."""

    _doc_link_module = "pegasos"

    @property
    def _doc_link_template(self) -> str:
        found = documentation()
        return f"{found}/api/generated/{{page}}.html" if found else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        package = type(self).__module__.split(".")[1]
        home = "pegasos" if package in IN_THE_PACKAGE else f"pegasos.{package}"
        return {"page": f"{home}.{type(self).__name__}"}
