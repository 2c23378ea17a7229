"""A scraper of sphinx-gallery that keeps matplotlib's animations as GIFs, which need no script and no video player."""

from pathlib import Path


def scrape(block, block_vars, gallery_conf) -> str:
    """The figures of a block of an example; an animation that it makes takes the place of its figure."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import Animation, PillowWriter
    from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

    found = block_vars["example_globals"]
    moving = [value for name, value in found.items() if isinstance(value, Animation) and f"{name} = " in block[1]]
    if not moving:
        return matplotlib_scraper(block, block_vars, gallery_conf)
    paths = []
    for animation in moving:
        paths.append(Path(next(block_vars["image_path_iterator"])).with_suffix(".gif"))
        animation.save(paths[-1], writer=PillowWriter(fps=4), dpi=80)
    plt.close("all")
    return figure_rst([str(path) for path in paths], gallery_conf["src_dir"])


def _get_sg_image_scraper():
    """How sphinx-gallery asks for it."""
    return scrape
