"""The documentation as a site: `make docs` builds it into build/docs, without a network."""

import logging

from autograder import __version__

logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of each part that it loads

project = "attention-autograder"
author = "The attention-autograder authors"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
html_theme = "furo"
html_title = f"attention-autograder {release}"
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_typehints = "signature"
autodoc_member_order = "alphabetical"
exclude_patterns = ["_build"]
