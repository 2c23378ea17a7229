"""Sphinx's settings. `script/docs` builds the pages; nothing here needs a network."""

import os
import re
import sys
import warnings
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

project = "pegasos"
author = "The pegasos developers"
project_copyright = author
try:
    release = metadata.version("pegasos")
except metadata.PackageNotFoundError:  # a source tree that is not installed
    release = "0.1.0"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
if os.environ.get("PEGASOS_DOCS_ONLINE"):  # links to the pages of others, whose lists of names are downloaded
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

exclude_patterns = [
    "_build",
    "_extensions",
    "_templates",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.md5",
    "sg_execution_times.rst",
    "gallery/sg_execution_times.rst",  # it loads scripts from elsewhere
]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "code"  # docstrings put names between single backquotes
smartquotes = False  # settings are quoted as they are typed
suppress_warnings = ["config.cache"]  # the settings of the gallery hold functions

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"pegasos {release}"
html_static_path = ["_static"]
html_css_files = ["pegasos.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "pegasos"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"start": [], "from-sklearn": [], "benchmarks": [], "changelog": []}  # room for wide tables

FIRST = (  # of the examples; the others follow by their names
    "ten_lines", "swap_svc", "certificate", "boundary_animation", "tuning_245_cells", "c_path", "permutation_test",
    "bootstrap", "searchlight", "regression", "calibration", "imbalanced", "multilabel_text", "one_class",
    "custom_kernel", "landmarks", "streaming", "dask", "callbacks", "onnx", "textbook",
)  # fmt: skip


class InOrder:
    """The place of an example in the gallery."""

    def __init__(self, folder: str):
        pass

    def __call__(self, filename: str) -> tuple[int, str]:
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)


sphinx_gallery_conf = {
    "image_scrapers": ("moving_figures",),
    "within_subsection_order": InOrder,
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]+\.py$",  # programs for a terminal
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "doc_module": ("pegasos",),
    "backreferences_dir": "gallery/uses",
    "inspect_global_variables": False,
    "plot_gallery": not os.environ.get("PEGASOS_DOCS_QUICK"),
}

# A figure that is drawn without a screen says so once; whatever else warns is shown.
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")


def _first_sentence_of_others(app, what, name, thing, options, lines: list[str]) -> None:
    """Of what is inherited from scikit-learn the first paragraph: the rest points into its own pages."""
    if (getattr(thing, "__module__", None) or "").startswith("sklearn"):
        end = lines.index("") if "" in lines else len(lines)
        plain = [re.sub(r":\w+:`~?([^`<]+?)(?: <[^`]*>)?`", r"\1", line) for line in lines[:end]]
        lines[:] = [*plain, "", "As in scikit-learn.", ""]


def setup(app) -> None:
    """Called by Sphinx; before numpydoc has read the docstrings."""
    app.connect("autodoc-process-docstring", _first_sentence_of_others, priority=400)
