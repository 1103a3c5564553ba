"""The documentation as a site: `make docs` builds it into build/docs, without a network."""

import json
import logging
import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes

logging.getLogger("alembic").setLevel(logging.WARNING)  # it would report each part that it loads

project = "attention-autograder"
author = "The attention-autograder authors"
settings = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
release = settings["project"]["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
smartquotes = False  # examples of commands must stay as typed: `--all`, "a reason"
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
html_show_copyright = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}

#: the text of a page, between the menus
_ARTICLE = re.compile(r'<article\b[^>]*role="main".*?</article>', re.DOTALL)
#: parts that a summary does not show: scripts, formulas, pictures, links to headings, comments
_NO_TEXT = re.compile(
    r'<(script|style|svg|math)\b.*?</\1>|<a class="headerlink".*?</a>|<img\b[^>]*>|<!--.*?-->',
    re.DOTALL,
)


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
    """Keeps an example address in a command's help from becoming a link."""
    lines[:] = [line.replace("tcp://", "tcp\\://") for line in lines]


def _with_summaries(app: Any, page: str, template: str, context: Any, doctree: Any) -> None:
    """Adds the script to the page of search results that shows summaries without a server."""
    if page == "search":
        app.add_js_file("summaries.js", priority=100)


def _write_pages(app: Any, exception: Exception | None) -> None:
    """Writes the text of all pages as a script, because local pages can't read others."""
    if exception or app.builder.format != "html":
        return
    pages = {}
    for name in sorted(app.env.found_docs):
        path = Path(app.builder.get_outfilename(name))
        if found := _ARTICLE.search(path.read_text(encoding="utf-8")):
            pages[path.relative_to(app.outdir).as_posix()] = _NO_TEXT.sub("", found[0])
    script = f"window.PAGES = {json.dumps(pages, sort_keys=True)};\n"
    Path(app.outdir, "_static", "pages.js").write_text(script, encoding="utf-8")


def setup(app: Any) -> None:
    """Connects the functions above; called by Sphinx."""
    app.connect("source-read", _without_lessons)
    app.connect("doctree-resolved", _with_titles)
    app.connect("sphinx-click-process-options", _without_addresses)
    app.connect("html-page-context", _with_summaries)
    app.connect("build-finished", _write_pages)
