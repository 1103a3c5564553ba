"""Pages of notebooks that nbgrader itself grades: seen in a browser, and made of any text."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import Browser, Route, sync_playwright

from .assignments import HANDED_IN
from .conftest import Submit, run, scores
from .hostile_markdown import CELLS, HOST, MARK

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
HONEST = HANDED_IN["texts"]["right"]
#: what a cell shows when it runs
SHOWN = (
    "from IPython.display import display, HTML, Javascript, SVG, Markdown, Latex",
    f"display(HTML('''<script>{MARK}</script><img src=x onerror=\"{MARK}\">'''))",
    f"display(HTML('''<img src=\"{HOST}/m.png\"><table><tr><td>kept</td></tr></table>'''))",
    f"display(Javascript('''{MARK}'''))",
    f"display(SVG('''<svg xmlns=\"http://www.w3.org/2000/svg\"><script>{MARK}</script></svg>'''))",
    f"display(Markdown('''![n]({HOST}/n.png) <img src=x onerror=\"{MARK}\">'''))",
)
#: cells that a reader must not go over again and again
LONG = {
    "spaces": new_code_cell(" " * 1_100_000 + "("),
    "newlines": new_markdown_cell("\n" * 400_000),
}


@pytest.fixture(scope="module")
def graded(released: Path, submit: Submit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of an honest student, one whose cells are hostile, and some whose cells are long."""
    course = tmp_path_factory.mktemp("pages") / "cs101"
    shutil.copytree(released, course, ignore=shutil.ignore_patterns("submitted"))
    submit(course, "zoe", "texts", HONEST)
    added = {name: [cell] for name, cell in LONG.items()}
    added["mal"] = [
        *map(new_markdown_cell, CELLS),
        new_markdown_cell("![p](attachment:p)", attachments={"p": {"text/html": MARK}}),
        *map(new_code_cell, SHOWN),
    ]
    for student, cells in added.items():
        submit(course, student, "texts", HONEST)
        path = course / "submitted" / student / "texts" / "texts.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells += cells
        notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
        nbformat.write(notebook, path)
    run(course, "autograder", "grade", "submitted", "--jobs", "2", "--json")
    return course


def _points(course: Path, student: str) -> float:
    return sum(score or 0 for (who, _, _), (score, _) in scores(course).items() if who == student)


@pytest.mark.parametrize("student", ["zoe", "mal", *LONG])
def test_what_else_a_notebook_holds_costs_no_points(graded: Path, student: str) -> None:
    assert _points(graded, student) == 8


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_no_script_of_a_student_runs_and_nothing_is_fetched(graded: Path) -> None:
    run(graded, "nbgrader", "generate_feedback", "texts", "--student=zoe", "--quiet")
    run(graded, "nbgrader", "generate_feedback", "texts", "--student=mal", "--quiet")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        own, _ = _seen(browser, graded / "feedback" / "zoe" / "texts" / "texts.html")
        asked, text = _seen(browser, graded / "feedback" / "mal" / "texts" / "texts.html")
        browser.close()
    assert asked <= own
    assert "elsewhere.invalid" in text  # it is shown, as it was written


def _seen(browser: Browser, path: Path) -> tuple[set[str], str]:
    """What a page asks other machines for, and its text; no script of a student has run."""
    page, asked = browser.new_page(), set()
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))

    def answer(route: Route) -> None:
        if route.request.url.startswith("file:"):
            return route.continue_()
        asked.add(route.request.url)
        return route.abort()

    page.route("**/*", answer)
    page.goto(path.as_uri())
    page.wait_for_timeout(500)
    assert page.evaluate("window.marker") is None
    return asked, page.inner_text("body")
