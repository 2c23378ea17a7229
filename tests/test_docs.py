"""The documentation: its code runs, and its links lead somewhere, in the sources and in the pages that were built."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = DOCS / "_build" / "html"
GENERATED = ("gallery", "api/generated")  # by Sphinx
SHORT = ("strength", "training", "many-fits", "outliers", "multilabel")  # pages that run within a second or so
LONG = ("dask", "deployment", "images", "imbalanced", "large-files", "long-fits", "probabilities", "regression", "text",
        "tuning", "../start", "../from-sklearn")  # fmt: skip
SOURCES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def code_of(page: str) -> list[str]:
    """The blocks of a page that are to be run, one after the other: those that call themselves python."""
    return re.findall(
        r"^```python\n(.*?)^```", (DOCS / "guide" / f"{page}.md").read_text(encoding="utf-8"), re.M | re.S
    )


def run(page: str, folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    names: dict = {"__name__": "page"}
    for code in code_of(page):
        exec(compile(code, f"{page}.md", "exec"), names)


@pytest.mark.parametrize("page", SHORT)
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_a_short_page_runs(page, tmp_path, monkeypatch):
    run(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", LONG)
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_a_long_page_runs(page, tmp_path, monkeypatch):
    if page == "deployment":
        pytest.importorskip("onnxruntime")
    if page == "dask":
        pytest.importorskip("dask")
    run(page, tmp_path, monkeypatch)


def test_every_page_with_code_is_run():
    pages = {path.stem for path in (DOCS / "guide").glob("*.md") if code_of(path.stem)}
    assert pages == {*SHORT, *LONG} - {"../start", "../from-sklearn"}


@cache
def anchors_of(path: Path) -> set[str]:
    """The anchors of a Markdown file, as GitHub and MyST make them of its headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: list[str] = []
    for title in re.findall(r"^#+ +(.+?) *$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return set(found)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_markdown_lead_somewhere(path):
    text = re.sub(r"^```.*?^```|`[^`\n]+`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in LINK.findall(text):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if any(target.is_relative_to(DOCS / folder) for folder in GENERATED):
            continue
        assert target.exists(), f"{link}: there is no {target}"
        if parts.fragment and target.suffix == ".md":
            assert parts.fragment in anchors_of(target), f"{link}: {target.name} has no such heading"


class Links(HTMLParser):
    """The links of a page, what it loads, and the anchors it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """One element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img", "source", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and "href" in given and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


@cache
def parsed(path: Path) -> Links:
    """A page that was built."""
    return Links(path)


def test_links_of_the_built_pages_lead_somewhere():
    pages = [path for path in BUILT.rglob("*.html") if "_static" not in path.parts]
    if not pages:
        pytest.skip("script/docs has built no pages")
    broken = []
    for path in pages:
        for link in parsed(path).links + parsed(path).loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                broken.append(f"{path.relative_to(BUILT)}: {link}")
            elif target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).anchors:
                broken.append(f"{path.relative_to(BUILT)}: {link} has no such anchor")
    assert not broken, "\n".join(broken[:20])


def test_the_built_pages_load_nothing_from_elsewhere():
    pages = [path for path in BUILT.rglob("*.html") if "_static" not in path.parts]
    if not pages:
        pytest.skip("script/docs has built no pages")
    loaded = {link for path in pages for link in parsed(path).loaded if urlsplit(link).netloc}
    assert not loaded
