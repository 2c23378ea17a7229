"""The addresses in the package's metadata: those of the place that builds it, none where nobody says them.

PEGASOS_PROJECT_URL is the repository and PEGASOS_DOCS_URL the built documentation, to which estimators in notebooks
link; the workflow in .github/workflows sets both.
"""

import os

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Fills in `project.urls`."""

    def update(self, metadata):
        """Called by hatchling with the table `project` of pyproject.toml."""
        home = os.environ.get("PEGASOS_PROJECT_URL", "").rstrip("/")
        docs = os.environ.get("PEGASOS_DOCS_URL", "").rstrip("/")
        urls = {"Documentation": docs} if docs else {}
        if home:
            urls |= {
                "Source": home,
                "Issues": f"{home}/issues",
                "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
            }
        metadata["urls"] = urls
