"""Formulas as MathML, which browsers show by themselves: the pages need no script and no network for them."""

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def _inline(writer, node) -> None:
    writer.body.append(tex2mathml(node.astext()))
    _skip()


def _display(writer, node) -> None:
    writer.body.append(f'<div class="math-display">{tex2mathml(node.astext(), as_block=True)}</div>')
    _skip()


def _skip() -> None:
    from docutils.nodes import SkipNode

    raise SkipNode


def setup(app: Sphinx) -> dict:
    """Make it a choice of `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
