"""The documentation as a site: `make docs` builds it into build/docs, without a network."""

import logging
import posixpath
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes

logging.getLogger("alembic").setLevel(logging.WARNING)  # it reports each part that it loads

project = "attention-autograder"
author = "The attention-autograder authors"
settings = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
release = settings["project"]["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
html_theme = "furo"
html_title = f"attention-autograder {release}"
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_typehints = "signature"
autodoc_member_order = "alphabetical"
exclude_patterns = ["_build"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}


def _without_lessons(app: Any, name: str, source: list[str]) -> None:
    """Takes the lessons out of the menu, unless `make docs` has written them."""
    if name == "index" and not Path(app.srcdir, "lessons").is_dir():
        begin = source[0].index("```{toctree}\n:caption: The lessons")
        end = source[0].index("```\n", begin + 1) + len("```\n")
        source[0] = source[0][:begin] + source[0][end:]


def _with_titles(app: Any, doctree: nodes.document, page: str) -> None:
    """Shows the title of a page where a link has the name of its file, as on GitHub."""
    for link in doctree.findall(nodes.reference):
        if link.astext().endswith(".md") and link.get("internal"):
            target = posixpath.join(posixpath.dirname(page), link["refuri"].partition("#")[0])
            if title := app.env.titles.get(posixpath.normpath(target).removesuffix(".html")):
                link.children = [nodes.Text(title.astext())]


def _without_addresses(app: Any, context: Any, lines: list[str]) -> None:
    """Keeps an address that is an example in a command's help from becoming a link."""
    lines[:] = [line.replace("tcp://", "tcp\\://") for line in lines]


def setup(app: Any) -> None:
    """Connects the functions above; called by Sphinx."""
    app.connect("source-read", _without_lessons)
    app.connect("doctree-resolved", _with_titles)
    app.connect("sphinx-click-process-options", _without_addresses)
